"""The whole grammar on the small town: what a finished scene promises."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from small_town import small_plan, small_town

from flaneur.city.check import check_scene
from flaneur.city.grammar.build import build_scene
from flaneur.city.scene import Scene

BUILD = "import sys; sys.path.insert(0, sys.argv[2]); from small_town import *; from flaneur.city.grammar.build import build_scene; build_scene(small_town(), *small_plan(), 3).save(sys.argv[1])"


@pytest.fixture(scope="module")
def scene() -> Scene:
    return build_scene(small_town(), *small_plan(), 3)


def test_no_violation(scene):
    report = check_scene(scene, small_town())
    assert report.ok, [v.text for v in report.violations[:10]]
    assert report.objects > 1500 and report.pairs > 100


def test_one_instance_per_thing_sorted_by_prototype(scene):
    i = scene.instances
    assert (np.diff(i.prototype) >= 0).all()
    assert set(np.unique(i.prototype)) == set(range(len(scene.prototypes)))
    names = np.array(scene.classes.names)[scene.class_id]
    for name in ("building", "tree", "car", "person", "shrub", "fence", "road", "pavement", "terrain", "water"):
        assert (names == name).any(), name
    assert (names == "building").sum() + (names == "shed").sum() == len(small_town().buildings)


def test_osm_ids_licence_blocks_and_rules_are_kept(scene):
    i = scene.instances
    names = np.array(scene.classes.names)[scene.class_id]
    built = np.isin(names, ("building", "skyscraper", "shed")) & (i.osm_id > 0)
    assert set(i.osm_id[built]) == {b.osm.id for b in small_town().buildings}
    assert (i.osm_type[built] == 2).all() and i.clipped[built].sum() == 2
    assert {500, 501, 502} <= set(i.osm_id) and 503 not in i.osm_id  # a tree mapped in the pond is left out
    assert (i.osm_id == 900).sum() > 5
    assert "OpenStreetMap" in scene.licence and scene.provenance["source"] == "osm"
    assert [b["type"] for b in scene.blocks] == ["residential", "commercial", "park", "parking"]
    assert scene.rules[i.rule[names == "person"][0]] == "everything"


def test_positions_are_quantised_and_parameters_hold(scene):
    objects = scene.is_object
    assert np.allclose(np.round(scene.instances.position * 100), scene.instances.position * 100, atol=2e-3)
    names = np.array(scene.classes.names)[scene.class_id]
    assert len(np.unique(scene.instances.scale[names == "person"])) <= 6
    assert (scene.volume[objects] > 0).all()


def test_save_and_load_give_equal_content(scene, tmp_path):
    checksum = scene.save(tmp_path / "a")
    loaded = Scene.load(tmp_path / "a", verify=True)
    assert loaded.save(tmp_path / "b") == checksum
    for p, q in zip(scene.prototypes, loaded.prototypes, strict=True):
        np.testing.assert_array_equal(p.faces, q.faces)
        np.testing.assert_allclose(p.vertices, q.vertices, atol=1e-4)
    assert sum(f.stat().st_size for f in (tmp_path / "a").iterdir()) < 500_000


def test_same_seed_same_bytes_in_two_processes_and_another_seed_differs(scene, tmp_path):
    checksum = scene.save(tmp_path / "here")
    command = [sys.executable, "-c", BUILD, str(tmp_path / "there"), str(Path(__file__).parents[1])]
    subprocess.run(command, check=True, env={"PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONHASHSEED": "7", "PATH": ""})
    for name in ("scene.json", "instances.npz", "prototypes.npz"):
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes(), name
    assert build_scene(small_town(), *small_plan(), 4).save(tmp_path / "other") != checksum
