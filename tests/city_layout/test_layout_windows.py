"""Real windows: sound graphs, faithful footprints, connected streets, varied choices."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import shapely

sys.path.insert(0, str(Path(__file__).parent))
from osm_text import LAT, LON, OsmText, rectangle

from flaneur.city.layout import CityGraph, Window, read_extract, shapes, window_graph, windows_auto
from flaneur.city.layout.check import fidelity, violations
from flaneur.city.layout.surfaces import street_surface
from flaneur.errors import UserError

# One window per extract here; `python benchmarks/layout.py` measures all fifty.
PLACE_TYPES = {
    "us_newyork_westvillage": "town", "sg_marina_bay": "cbd", "fi_helsinki_centre": "cbd", "tw_taipei_zhongshan": "cbd", "fr_paris_9e": "cbd", "de_berlin_neukoelln": "town",
    "pt_lisbon_saldanha": "cbd", "at_krems_town": "town", "us_austin_east": "suburb", "fi_kotka_suburb": "suburb", "vi_frederiksted_town": "town", "de_bindlach_rural": "rural",
    "br_brumadinho_rural": "rural",
}  # fmt: skip


@pytest.mark.parametrize("place", sorted(PLACE_TYPES))
def test_real_window(shared_data, place):
    rows = csv.DictReader((shared_data / "osm" / "windows.csv").open())
    row = next(r for r in rows if r["extract"] == place and r["window"] == "0")
    window = Window.from_box(*(float(row[k]) for k in ("west", "south", "east", "north")))
    path = shared_data / "osm" / f"{place}.osm.pbf"
    graph = window_graph(read_extract(path), window)
    assert violations(graph) == []
    measured = fidelity(path, graph, window)
    assert measured.footprint_iou >= 0.98 and measured.worst >= 0.9
    assert measured.tagged_right == measured.tagged and measured.without_id == 0 and measured.clipped_wrong == 0
    assert graph.place_type == PLACE_TYPES[place]
    assert graph.attribution and len(graph.source_sha256) == 64


def test_graph_survives_saving_and_repeats(shared_data, tmp_path):
    extract = read_extract(shared_data / "osm" / "at_krems_town.osm.pbf")
    window = windows_auto(extract, 1)[0]
    graph = window_graph(extract, window, seed=3, name="krems")
    graph.save(tmp_path / "a.json")
    window_graph(extract, window, seed=3, name="krems").save(tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert CityGraph.load(tmp_path / "a.json") == graph


def test_auto_windows_do_not_overlap_and_differ(shared_data):
    extract = read_extract(shared_data / "osm" / "fi_helsinki_centre.osm.pbf")
    windows = windows_auto(extract, 5)
    corners = np.array([windows[0].project(np.array([w.lon, w.lat])) for w in windows])
    apart = np.abs(corners[:, None] - corners[None]).max(-1)
    assert (apart[~np.eye(5, dtype=bool)] > 199).all()
    with pytest.raises(UserError, match="--auto"):
        windows_auto(extract, 10_000)
    with pytest.raises(UserError, match="--auto"):
        windows_auto(extract, 0)


def test_projection_is_metric_and_returns():
    window = Window(24.94, 60.17)
    xy = np.random.default_rng(1).uniform(-100, 300, (50, 2))
    assert np.abs(window.project(window.unproject(xy)) - xy).max() < 1e-6
    from pyproj import Geod

    lonlat = window.unproject(np.array([[0.0, 0.0], [200.0, 200.0]]))
    _, _, metres = Geod(ellps="WGS84").inv(*lonlat[0], *lonlat[1])
    assert metres == pytest.approx(200 * 2**0.5, abs=1e-3)


def graph_of(folder: Path, osm: OsmText) -> CityGraph:
    (folder / "m.osm").write_text(osm.text(), "utf-8")
    graph = window_graph(read_extract(folder / "m.osm"), Window(LON, LAT))
    assert violations(graph) == []
    return graph


def test_streets_that_cross_without_a_shared_node_are_split(tmp_path):
    osm = OsmText()
    osm.way([(-20, 50), (220, 60)], highway="residential")
    osm.way([(50, -20), (60, 220)], highway="primary")
    graph = graph_of(tmp_path, osm)
    assert len(graph.streets) == 4 and len(graph.blocks) == 4
    assert all(len(b.neighbours) >= 2 for b in graph.blocks)


def test_loose_ends_are_snapped_and_pieces_connected_around_buildings(tmp_path):
    osm = OsmText()
    osm.way([(-20, 40), (220, 40)], highway="residential")
    osm.way([(60, 41), (60, 90)], highway="service")  # stops a metre short
    osm.way([(30, 150), (170, 150)], highway="residential")  # an island of its own
    osm.way(rectangle(10, 100, 180, 30), closed=True, building="yes")
    graph = graph_of(tmp_path, osm)
    assert graph.repairs["ends_snapped"] == 1 and graph.repairs["connectors"] >= 1
    house = shapes.from_contract(graph.buildings[0].polygon)
    connectors = [shapely.LineString(s.line) for s in graph.streets if s.connector]
    assert connectors and all(line.intersection(house).length < 0.5 for line in connectors)


def test_oneway_against_the_way_is_turned(tmp_path):
    osm = OsmText()
    osm.way([(-20, 50), (220, 50)], highway="residential", oneway="-1")
    (street,) = graph_of(tmp_path, osm).streets
    assert street.oneway and street.line[0][0] > street.line[-1][0]


def test_blocks_fill_the_window_up_to_the_kerb(tmp_path):
    graph = graph_of(tmp_path, OsmText().cross())
    assert len(graph.blocks) == 4 and nx.is_connected(nx.Graph([(s.start, s.end) for s in graph.streets]))
    assert street_surface(graph).area == pytest.approx(2 * 200 * 6.5 - 6.5**2, rel=0.01)
    assert {s.name for s in graph.streets} == {"Long Street", "High Street"}


def test_the_sea_lies_to_the_right_of_the_coastline(tmp_path):
    osm = OsmText().cross()
    osm.way([(-50, 30), (250, 30)], natural="coastline")  # eastwards: water in the south
    water = shapely.union_all([shapes.from_contract(a.polygon) for a in graph_of(tmp_path, osm).areas if a.kind == "water"])
    assert 5000 < water.area <= 6000 and water.bounds[3] <= 30.1


def test_trees_in_walls_or_water_are_left_out_and_those_on_the_kerb_move(tmp_path):
    osm = OsmText().cross()
    osm.way(rectangle(20, 20, 30, 20), closed=True, building="yes")
    osm.way(rectangle(130, 130, 30, 30), closed=True, natural="water")
    for x, y in ((35, 30), (145, 145), (60, 98), (170, 50)):
        osm.node(x, y, natural="tree")
    graph = graph_of(tmp_path, osm)
    assert sum(f.kind == "tree" for f in graph.features) == 2
    assert graph.repairs["points_moved"] == 1 and graph.repairs["points_left_out"] == 2
