"""Nonsense in buildings: heights, broken outlines, overlaps, streets through walls."""

from __future__ import annotations

import math
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
from osm_text import LAT, LON, OsmText, rectangle

from flaneur.city.layout import Window, read_extract, shapes, window_graph
from flaneur.city.layout import tags as values
from flaneur.city.layout.check import violations
from flaneur.city.layout.heights import tagged_profile


def build(folder: Path, osm: OsmText):
    path = folder / "map.osm"
    path.write_text(osm.text(), "utf-8")
    graph = window_graph(read_extract(path), Window(LON, LAT))
    assert violations(graph) == []
    return graph


@pytest.mark.parametrize(("text", "metres"), [
    ("12", 12), ("12 m", 12), ("12.5m", 12.5), ("12,5", 12.5), ("40 ft", 12.192), ("40'", 12.192), ("40'6\"", 12.3444), ("40′6″", 12.3444),
    ("3-4", None), ("-5", None), ("1e9", None), ("", None), ("tall", None), ("١٢", None), ("１２", None), ("12;15", None), ("~10", None), ("nan", None), ("inf", None), ("🏠", None),
])  # fmt: skip
def test_lengths(text, metres):
    assert values.length(text) == (None if metres is None else pytest.approx(metres))


@given(st.text(max_size=20))
def test_any_height_text_gives_a_sane_profile(text):
    profile = tagged_profile({"building": "yes", "height": text, "building:levels": text, "min_height": text, "roof:height": text, "roof:shape": text})
    assert profile.height is None or 1 <= profile.height <= values.MAX_HEIGHT
    assert profile.height is None or profile.min_height < profile.height


@pytest.mark.parametrize("height", ["-5", "1e9", "3-4", "x", "99999"])
def test_nonsense_heights_fall_back_to_levels_and_are_counted(tmp_path, height):
    osm = OsmText().cross()
    osm.way(rectangle(20, 20, 30, 20), closed=True, tags={"building": "yes", "height": height, "building:levels": "4"})
    graph = build(tmp_path, osm)
    assert (graph.buildings[0].height, graph.buildings[0].height_source) == (12.8, "levels")
    assert graph.repairs["heights_ignored"] == 1


def test_prior_is_fixed_per_building_and_varies(tmp_path):
    osm = OsmText().cross()
    for k in range(6):
        osm.way(rectangle(10 + 14 * (k % 3), 10 + 20 * (k // 3), 11, 14), closed=True, building="house")
    first, second = build(tmp_path, osm), build(tmp_path, osm)
    assert first == second
    assert len({b.height for b in first.buildings}) > 1 and {b.height_source for b in first.buildings} == {"prior"}


def test_broken_outlines(tmp_path):
    osm = OsmText().cross()
    osm.way([(20, 20), (40, 40), (40, 20), (20, 40)], closed=True, building="yes")  # crosses itself
    osm.way([(60, 20), (70, 20), (80, 20)], closed=True, building="yes")  # no area
    osm.way([(60, 30), (60, 30), (60, 30)], closed=True, building="yes")
    osm.way(rectangle(20, 60, 20, 20), closed=True, building="yes", height="7")
    osm.way(rectangle(20, 60, 20, 20), closed=True, building="yes")  # twice
    osm.way(rectangle(130, 130, 30, 20), closed=True, building="yes")
    osm.way(rectangle(150, 130, 30, 20), closed=True, building="yes")  # overlaps its neighbour
    graph = build(tmp_path, osm)
    assert graph.repairs["polygons_without_area"] == 2
    assert graph.repairs["duplicate_buildings_dropped"] == 1
    assert graph.repairs["building_overlaps_resolved"] == 1
    assert [b.height for b in graph.buildings if b.height_source == "tag"] == [7]
    total = shapely.union_all([shapes.from_contract(b.polygon) for b in graph.buildings if b.polygon.exterior[0][0] > 120]).area
    assert total == pytest.approx(50 * 20, rel=0.01)


def test_ten_thousand_vertices(tmp_path):
    osm = OsmText().cross()
    ring = [(50 + (30 + 0.4 * math.sin(200 * a)) * math.cos(a), 50 + (30 + 0.4 * math.sin(200 * a)) * math.sin(a)) for a in (i * 2 * math.pi / 10_000 for i in range(10_000))]
    osm.way(ring, closed=True, building="yes")
    start = time.process_time()
    graph = build(tmp_path, osm)
    built = shapely.union_all([shapes.from_contract(b.polygon) for b in graph.buildings])
    mapped = shapely.Polygon(ring)
    assert len(graph.buildings[0].polygon.exterior) < 2000
    assert built.intersection(mapped).area / built.union(mapped).area > 0.97
    assert time.process_time() - start < 10


def test_a_street_through_a_building_becomes_a_passage(tmp_path):
    osm = OsmText().cross()
    osm.way(rectangle(85, 140, 30, 20), closed=True, building="yes", height="12")
    graph = build(tmp_path, osm)
    passages = [s for s in graph.streets if s.passage]
    assert len(passages) == 1 and shapely.LineString(passages[0].line).length == pytest.approx(20, abs=0.5)
    assert graph.repairs["passages"] == 1


def test_a_bridge_building_leaves_the_street_open(tmp_path):
    osm = OsmText().cross()
    osm.way(rectangle(85, 140, 30, 20), closed=True, building="yes", height="12", min_height="6")
    assert not any(s.passage for s in build(tmp_path, osm).streets)


def test_a_wall_beside_the_street_narrows_it(tmp_path):
    osm = OsmText().cross()
    osm.way(rectangle(20, 102, 60, 20), closed=True, building="yes")
    graph = build(tmp_path, osm)
    assert min(s.width for s in graph.streets if s.carriageway) == pytest.approx(2 * (2 - 0.1), abs=0.1)


def test_clipped_at_the_edge(tmp_path):
    osm = OsmText().cross()
    osm.way(rectangle(-10, 20, 30, 20), closed=True, building="yes")
    osm.way(rectangle(40, 20, 30, 20), closed=True, building="yes")
    assert Counter(b.clipped for b in build(tmp_path, osm).buildings) == {True: 1, False: 1}


def test_pieces_that_the_edge_cuts_off_stay_where_they_count(tmp_path):
    osm = OsmText().cross()
    # A tooth of 1.2 m2 reaches into the window beside a room of 48 m2 and beside one of 198 m2, of which it is no fiftieth.
    for y, depth in ((20, 5.0), (60, 20.0)):
        comb = [(205, y), (205, y + 20), (200 - depth, y + 20), (200 - depth, y + 10), (203, y + 10), (203, y + 1.5), (199, y + 1.5), (199, y)]
        osm.way(comb, closed=True, building="yes")
    built = sorted(round(shapes.from_contract(b.polygon).area, 1) for b in build(tmp_path, osm).buildings)
    assert built == pytest.approx([1.2, 48.2, 198.4], abs=0.2)
