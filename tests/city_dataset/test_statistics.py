"""Statistics, the comparison table and the word cloud's layout."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flaneur.city.dataset.figure import place_words
from flaneur.city.dataset.statistics import scene_statistics, summary
from flaneur.city.dataset.table import COLUMNS, comparison, volume


def test_counts_are_the_scenes(tiny_scene):
    scene = tiny_scene(4)
    s = scene_statistics(scene)
    assert s["objects"] == sum(s["classes"].values()) == sum(s["groups"].values()) == sum(s["fine_names"].values())
    assert s["objects"] + sum(s["background"].values()) == len(scene.instances)
    assert s["triangles"] == len(scene.triangles()[1]) > s["own_triangles"]
    assert s["smallest_m3"] == pytest.approx(scene.volume[scene.is_object].min(), abs=1e-6)
    assert s["outside_range"] == 0
    scene.instances.scale[:] = 20.0
    scene.__dict__.pop("volume")
    assert scene_statistics(scene)["outside_range"] > 0


def test_summary_adds_up(tiny_scene):
    scenes = [{"statistics": scene_statistics(tiny_scene(k)), "place_type": ("cbd", "town")[k % 2], "split": "train", "light": "day", "place": f"p{k}"} for k in range(3)]
    total = summary(scenes)
    assert total["objects"] == sum(s["statistics"]["objects"] for s in scenes) and total["scenes"] == total["places"] == 3
    assert total["place_types"]["cbd"]["scenes"] == 2 and total["splits"] == {"train": 3}
    assert total["mean_objects"] == pytest.approx(total["objects"] / 3, abs=0.05)
    table = comparison("ours", total)
    assert len({line.count("|") for line in table.strip().splitlines()}) == 1 and table.count("\n") == 2 + 8
    assert len(COLUMNS) == 8 and f"{total['mean_objects']:.1f}" in table
    assert summary([])["scenes"] == 0


def test_volumes_are_written_as_the_paper_does():
    assert [volume(v) for v in (0.01013, 4.5, 208_470.0, 2_540_205.0, None)] == ["0.01", "4.50", "208.47k", "2.54M", "-"]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.floats(2, 60), st.floats(2, 12)), min_size=1, max_size=40))
def test_words_stay_in_the_frame_and_apart(sizes):
    sizes = np.array(sizes)
    at = place_words(sizes, 150, 105)
    placed = np.flatnonzero(np.isfinite(at[:, 0]))
    assert 0 in placed and (np.diff(placed) == 1).all()
    low, high = at - sizes / 2, at + sizes / 2
    assert (low[placed] >= 0).all() and (high[placed] <= (150, 105)).all()
    for i in placed:
        for j in placed[placed < i]:
            overlap = np.minimum(high[i], high[j]) - np.maximum(low[i], low[j])
            assert (overlap <= 1e-9).any()
    assert np.array_equal(at, place_words(sizes, 150, 105), equal_nan=True)
