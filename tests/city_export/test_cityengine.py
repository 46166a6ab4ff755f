"""CityEngine: CGA text of the rule library, Shapefiles read back by pyshp, OSM XML by pyosmium, rule packages by PyPRT."""

from __future__ import annotations

import re

import numpy as np
import osmium
import pytest
import shapely

from flaneur.city.export.cga import cga_text, identifier
from flaneur.city.export.cityengine import read_design, write_cityengine
from flaneur.city.export.shapefile import write_shapefile
from flaneur.city.grammar.rule_packages import generate
from flaneur.city.layout.synthetic.city import synthetic_graph
from flaneur.city.planning.plan import make_plan
from flaneur.errors import UserError


@pytest.fixture(scope="module")
def planned():
    graph = synthetic_graph("town", 1)
    return graph, *make_plan(graph, seed=1)


def test_cga_has_a_start_rule_and_every_parameter(planned):
    _, library, _ = planned
    text = cga_text(library)
    starts = re.findall(r"@StartRule\n(\w+) -->", text)
    assert starts == [identifier(r.name) for r in library.rules]
    for opening, closing in ("()", "{}", "[]"):
        assert text.count(opening) == text.count(closing)
    attributes = re.findall(r"^attr (\w+) = ", text, re.M)
    assert len(attributes) == len(set(attributes))
    wanted = sum(len(d.parameters) for r in library.rules for d in r.distributions) + 4 * sum(r.architecture is not None for r in library.rules)
    assert len(attributes) == wanted
    # Every rule that is called is defined, apart from the leaves that end in a full stop and the generic Bay.
    defined = set(re.findall(r"^(\w+) -->", text, re.M))
    called = set(re.findall(r"\b(\w+_(?:Place|Row|One|Item|Lot|Mass|Facade|Street|Storey|Roof))\b", text))
    assert called <= defined


def test_project_folder(planned, tmp_path):
    shapefile = pytest.importorskip("shapefile", reason="pyshp, the test's oracle, is not installed")
    graph, library, plan = planned
    write_cityengine(graph, plan, library, tmp_path / "project")
    with shapefile.Reader(str(tmp_path / "project" / "maps" / "blocks")) as blocks:
        assert len(blocks) == len(graph.blocks)
        for block, item in zip(graph.blocks, blocks.iterShapeRecords(), strict=True):
            assert item.record["block"] == block.id and item.record["type"] == block.type
            assert shapely.geometry.shape(item.shape.__geo_interface__).symmetric_difference(shapely.Polygon(block.polygon.exterior, block.polygon.holes)).area < 1e-6
    ways = {}
    for item in osmium.FileProcessor(str(tmp_path / "project" / "maps" / "city.osm")):
        if item.is_way():
            ways[item.id] = dict(item.tags)
    tagged = [t for t in ways.values() if "flaneur:block" in t]
    assert len(tagged) == len(graph.blocks) and len(ways) == len(graph.blocks) + len(graph.streets)
    text = cga_text(library)
    for tags in tagged:
        for key in tags:
            if key.startswith(f"{tags['startRule']}_"):
                assert f"attr {key} = " in text, "a planned parameter is an attribute of its rule"


def test_shapefile_keeps_holes_parts_and_unicode(tmp_path):
    shapefile = pytest.importorskip("shapefile", reason="pyshp, the test's oracle, is not installed")
    ring = shapely.Polygon([(0, 0), (10, 0), (10, 10), (0, 10)], [[(2, 2), (2, 4), (4, 4), (4, 2)]])
    both = shapely.MultiPolygon([ring, shapely.box(20, 0, 25, 5)])
    write_shapefile(tmp_path / "a.shp", [ring, both], {"name": ["Grünstraße " * 20, "東京"], "n": [1, -2], "x": [0.5, 1e6]})
    with shapefile.Reader(str(tmp_path / "a")) as reader:
        shapes = [shapely.geometry.shape(s.__geo_interface__) for s in reader.shapes()]
        assert shapes[0].equals(ring) and shapes[1].equals(both)
        assert reader.record(1)["name"] == "東京" and reader.record(0)["name"].startswith("Grünstraße")
        assert [r["n"] for r in reader.records()] == [1, -2] and [r["x"] for r in reader.records()] == [0.5, 1e6]
    write_shapefile(tmp_path / "none.shp", [], {"n": []})
    with shapefile.Reader(str(tmp_path / "none")) as reader:
        assert len(reader) == 0


def test_rule_package_that_is_not_there(tmp_path):
    pytest.importorskip("pyprt", reason="extra cityengine is not installed (non-commercial licence)")
    square = np.array([[0, 0], [10, 0], [10, 10], [0, 10]], float)
    with pytest.raises(UserError, match="no such rule package"):
        generate(tmp_path / "none.rpk", [square], [{}], [0])
    (tmp_path / "bad.rpk").write_bytes(b"nothing")
    with pytest.raises(UserError, match=r"bad\.rpk"):
        generate(tmp_path / "bad.rpk", [square], [{}], [0])


def test_a_built_citys_folder_is_read(planned, tmp_path):
    graph, library, plan = planned
    with pytest.raises(UserError, match=r"graph\.json"):
        read_design(tmp_path)
    graph.save(tmp_path / "graph.json")
    with pytest.raises(UserError, match=r"plan\.json: no plan here"):
        read_design(tmp_path)
    (tmp_path / "plan.json").write_text(plan.model_dump_json())
    assert read_design(tmp_path) == (graph, plan, library)
    (tmp_path / "plan.json").write_text(plan.model_copy(update={"library": "other"}).model_dump_json())
    with pytest.raises(UserError, match=r"library\.json"):
        read_design(tmp_path)
