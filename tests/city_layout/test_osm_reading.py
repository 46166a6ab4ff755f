"""Reading extracts: formats, order, relations, and what bad files get."""

from __future__ import annotations

import gzip
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from osm_text import LAT, LON, OsmText, rectangle

from flaneur.city.layout import Window, read_extract, window_graph
from flaneur.city.layout.check import violations
from flaneur.errors import UserError

HERE = Window(LON, LAT)


def save(folder: Path, text: str, name: str = "map.osm") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def town() -> OsmText:
    osm = OsmText().cross()
    osm.way(rectangle(20, 20, 30, 20), closed=True, building="house", height="9")
    osm.node(60, 60, natural="tree")
    return osm


def test_order_compression_and_suffix_do_not_matter(tmp_path):
    plain = window_graph(read_extract(save(tmp_path, town().text())), HERE)
    shuffled = window_graph(read_extract(save(tmp_path, town().text(shuffled=True), "b.osm")), HERE)
    packed = tmp_path / "misnamed.pbf"
    packed.write_bytes(gzip.compress(town().text().encode()))
    zipped = window_graph(read_extract(packed), HERE)
    for other in (shuffled, zipped):
        same = {"name", "source_file", "source_sha256"}
        assert other.model_dump(exclude=same) == plain.model_dump(exclude=same)
    assert violations(plain) == []
    assert plain.buildings[0].height == 9 and plain.buildings[0].height_source == "tag"


def test_multipolygon_with_a_courtyard_of_two_ways(tmp_path):
    osm = OsmText().cross()
    corners = [osm.node(*p) for p in rectangle(20, 20, 40, 40)]
    halves = [osm.way_of(corners[:3], {}), osm.way_of([corners[2], corners[3], corners[0]], {})]
    court = osm.way(rectangle(30, 30, 20, 20), closed=True)
    relation = osm.relation([(halves[0], "outer"), (halves[1], "outer"), (court, "inner")], type="multipolygon", building="apartments")
    graph = window_graph(read_extract(save(tmp_path, osm.text())), HERE)
    (building,) = graph.buildings
    assert (building.osm.type, building.osm.id, len(building.polygon.holes)) == ("relation", relation, 1)


def test_building_relation_gives_its_outline_tags_and_parts(tmp_path):
    osm = OsmText().cross()
    outline = osm.way(rectangle(20, 20, 40, 30), closed=True)
    part = osm.way(rectangle(20, 20, 10, 30), closed=True, tags={"building:part": "yes", "height": "40"})
    hanging = osm.way(rectangle(30, 20, 10, 30), closed=True, tags={"building:part": "yes", "height": "30", "min_height": "8"})
    osm.relation([(outline, "outline"), (part, "part"), (hanging, "part")], type="building", building="office", building__levels="3")
    graph = window_graph(read_extract(save(tmp_path, osm.text())), HERE)
    (building,) = graph.buildings
    assert building.osm.id == outline and building.use == "office" and building.height == 40
    assert sorted((p.min_height, p.height) for p in building.parts)[0][0] == 0.0
    assert {(p.min_height, p.height) for p in building.parts} >= {(0.0, 40.0), (8.0, 30.0), (0.0, 9.6)}
    assert violations(graph) == []


@pytest.mark.parametrize("content", [b"", b"hello, this is a letter", b"<html><body>404</body></html>", b"\x1f\x8b\x08\x00broken", b"PK\x03\x04zip", b"\x00\x00\x00\x0e\x0a\x09OSMHeader\x18\xff"])
def test_no_osm_file_gets_one_line(tmp_path, content):
    path = tmp_path / "map.osm"
    path.write_bytes(content)
    with pytest.raises(UserError) as error:
        read_extract(path)
    assert str(path) in str(error.value) and "\n" not in str(error.value)


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(UserError, match="no such file"):
        read_extract(tmp_path / "none.osm.pbf")
    with pytest.raises(UserError, match="folder"):
        read_extract(tmp_path)


def test_truncated_files(tmp_path, shared_data):
    whole = (shared_data / "osm" / "vi_frederiksted_town.osm.pbf").read_bytes()
    for name, data in (("a.osm.pbf", whole[: len(whole) // 2]), ("b.osm", town().text().encode()[:600]), ("c.osm.gz", gzip.compress(town().text().encode())[:200])):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(UserError, match="damaged"):
            read_extract(tmp_path / name)


def test_window_outside_says_what_is_covered(tmp_path):
    extract = read_extract(save(tmp_path, town().text()))
    with pytest.raises(UserError, match=r"covers W,S,E,N 16\.3"):
        window_graph(extract, Window(10.0, 50.0))


def test_window_without_a_street(tmp_path):
    osm = OsmText()
    osm.way(rectangle(20, 20, 30, 20), closed=True, building="yes")
    with pytest.raises(UserError, match="no street"):
        window_graph(read_extract(save(tmp_path, osm.text())), HERE)


def test_helsinki_is_read_quickly(shared_data):
    start = time.process_time()
    extract = read_extract(shared_data / "osm" / "fi_helsinki_centre.osm.pbf")
    assert len(extract.lines) > 2000 and time.process_time() - start < 2.0


@pytest.mark.parametrize("box", ["1,2,3", "a,b,c,d", "16.4,48.2,16.3,48.3", "16.0,48.0,17.0,49.0", "nan,0,1,1"])
def test_bad_boxes(box):
    with pytest.raises(UserError, match="--window"):
        Window.parse_box(box)


@pytest.mark.parametrize("center", ["95,10", "1", "x,y", "10,inf"])
def test_bad_centers(center):
    with pytest.raises(UserError):
        Window.parse_center(center)
