"""Whole buildings against independent libraries: closed meshes, exact volumes, kept footprints and heights."""

from __future__ import annotations

import hashlib
import time
from itertools import pairwise

import numpy as np
import pytest
import shapely
import trimesh
from shapely.geometry import Polygon

from flaneur.city.assets.materials import MATERIALS
from flaneur.city.grammar.buildings import build_buildings
from flaneur.city.grammar.built import BuiltBuilding
from flaneur.city.grammar.edge import cut_at_window
from flaneur.city.layout.graph import Building, BuildingPart, CityGraph, Lot, OsmRef, Street
from flaneur.city.layout.graph import Polygon as GraphPolygon
from flaneur.city.layout.mapped import window_graph
from flaneur.city.layout.osm import read_extract
from flaneur.city.layout.synthetic import synthetic_graph
from flaneur.city.layout.window import Window
from flaneur.city.planning.builtin import plan_builtin
from flaneur.city.planning.library import ARCHITECTURE_STYLES, Architecture, Assignment, CityPlan, Range, Rule, RuleLibrary
from flaneur.city.planning.rules import builtin_library
from flaneur.classes import load_classes

ROOFS = ("flat", "gabled", "hipped", "pyramidal", "skillion", "mansard", "dome", "onion")


def range_of(value: float) -> Range:
    return Range(low=0.0, high=60.0, default=value)


def built(buildings: list[Building] = (), lots: list[Lot] = (), style: str = "plaster_perimeter", place: str = "town", seed: int = 0) -> list[BuiltBuilding]:
    street = Street(id=0, kind="residential", carriageway=True, line=[(0, -8), (200, -8)], start=0, end=1, width=8)
    graph = CityGraph(name="test", place_type=place, source="synthetic", streets=[street], buildings=list(buildings), lots=list(lots))  # type: ignore[arg-type]
    look = Architecture(style=style, storeys=range_of(4), shop_share=range_of(0.5), balcony_share=range_of(0.5), coverage=Range(low=0, high=1, default=0.5))  # type: ignore[arg-type]
    library = RuleLibrary(name="test", rules=[Rule(name="rule", scene_types=["town"], block_types=["mixed"], architecture=look, distributions=[])])
    return build_buildings(graph, CityPlan(library="test", planner="builtin", seed=0, assignments=[Assignment(block=0, rule="rule")]), library, seed)


def mapped(k: int, ring: list[tuple[float, float]], holes=(), **more) -> Building:
    fields = {"height": 12.0, "height_source": "tag", **more}
    return Building(id=k, block=0, polygon=GraphPolygon(exterior=ring, holes=list(holes)), **fields)  # type: ignore[arg-type]


def square(x: float, y: float, w: float, d: float) -> list[tuple[float, float]]:
    return [(x, y), (x + w, y), (x + w, y + d), (x, y + d)]


def random_outline(rng: np.random.Generator, n: int, radius: float) -> list[tuple[float, float]]:
    angles = np.sort(rng.uniform(0, 2 * np.pi, n))
    reach = radius * rng.uniform(0.4, 1.0, n)
    return [(float(100 + r * np.cos(a)), float(100 + r * np.sin(a))) for a, r in zip(angles, reach, strict=True)]


def mesh_of(building: BuiltBuilding) -> trimesh.Trimesh:
    return trimesh.Trimesh(building.prototype.vertices, building.prototype.faces, process=True)


def silhouette(building: BuiltBuilding) -> shapely.Geometry:
    corners = (building.prototype.vertices[building.prototype.faces] + building.position)[:, :, :2]
    triangles = shapely.polygons(corners)
    return shapely.union_all(triangles[shapely.area(triangles) > 1e-4])


def overlap(a: shapely.Geometry, b: shapely.Geometry) -> float:
    return a.intersection(b).area / a.union(b).area


def assert_sound(buildings: list[BuiltBuilding]) -> None:
    classes = load_classes()
    for b in buildings:
        mesh, p = mesh_of(b), b.prototype
        assert mesh.is_watertight, p.name
        assert mesh.volume == pytest.approx(p.volume, rel=0.01), p.name
        low, high = classes[p.class_id].volume_m3
        assert low <= p.volume < high, p.name
        assert p.uv.shape == (len(p.vertices), 2)
        assert np.isfinite(p.vertices).all()
        assert np.isfinite(p.uv).all()
        assert p.materials.max() < len(MATERIALS)
        assert p.vertices[:, 2].min() >= -1e-6


def assert_kept(buildings: list[BuiltBuilding], graph: list[Building]) -> None:
    source = {f"building_{b.id}": b for b in graph}
    for b in buildings:
        s = source[b.prototype.name]
        outline = Polygon(s.polygon.exterior, s.polygon.holes)
        assert overlap(b.footprint, outline) >= 0.98
        assert overlap(silhouette(b), outline) >= 0.98, b.prototype.name
        if s.height_source != "prior":
            assert b.prototype.vertices[:, 2].max() == pytest.approx(s.height, rel=0.05), b.prototype.name
        assert b.osm == s.osm


@pytest.mark.parametrize("roof", ROOFS)
def test_mapped_roofs_keep_footprint_and_height(roof: str) -> None:
    rng = np.random.default_rng(ROOFS.index(roof))
    outlines = [square(10, 10, 12, 8), [(10, 10), (30, 10), (30, 18), (18, 18), (18, 30), (10, 30)], *(random_outline(rng, int(rng.integers(4, 14)), 14.0) for _ in range(8))]
    outlines = [ring for ring in outlines if Polygon(ring).is_valid and Polygon(ring).area > 40]
    source = [mapped(k, ring, roof_shape=roof, roof_height=3.0 if roof != "flat" else 0.0, osm=OsmRef(type="way", id=k + 1)) for k, ring in enumerate(outlines)]
    # Each alone, because neighbours change each other's walls.
    for s in source:
        made = built([s])
        assert len(made) == 1
        assert_sound(made)
        assert_kept(made, source)


def test_difficult_footprints() -> None:
    circle = [(float(50 + 20 * np.cos(a)), float(50 + 20 * np.sin(a))) for a in np.linspace(0, 2 * np.pi, 3000, endpoint=False)]
    collinear = [(float(x), 10.0) for x in range(10, 31)] + [(30.0, 20.0), (10.0, 20.0)]
    courtyard = mapped(2, square(0, 0, 40, 30), [square(10, 10, 8, 8), square(22, 10, 8, 8)])
    pinched = mapped(3, square(0, 0, 40, 30), [[(0.0, 15.0), (8.0, 20.0), (8.0, 10.0)]])
    sliver = mapped(4, square(0, 0, 60, 0.8), height=5.0)
    for source in (mapped(0, circle, roof_shape="hipped", roof_height=4.0), mapped(1, collinear), courtyard, pinched, sliver, mapped(5, circle, roof_shape="dome", roof_height=6.0)):
        made = built([source])
        assert len(made) == 1, source.id
        assert_sound(made)
        assert_kept(made, [source])


def test_parts_become_one_solid() -> None:
    def part(x: float, y: float, w: float, d: float, low: float, high: float, roof: str = "flat", roof_height: float = 0.0) -> BuildingPart:
        return BuildingPart(polygon=GraphPolygon(exterior=square(x, y, w, d)), min_height=low, height=high, roof_shape=roof, roof_height=roof_height)

    parts = [part(0, 0, 20, 20, 0, 10), part(5, 5, 10, 10, 10, 40), part(20, 0, 10, 20, 0, 12, "gabled", 3.0), part(7, 7, 6, 6, 40, 50, "pyramidal", 6.0)]
    source = mapped(0, square(0, 0, 30, 20), height=50.0, parts=parts)
    (made,) = built([source])
    assert_sound([made])
    assert_kept([made], [source])
    exact = 4000 + 3000 + (200 * 9 + 200 * 3 / 2) + (36 * 4 + 36 * 6 / 3)
    assert made.prototype.volume == pytest.approx(exact, rel=0.03)
    for roof, z in made.flat_roofs:
        assert not roof.intersects(shapely.box(5.5, 5.5, 14.5, 14.5)) or z > 12


def test_classes_follow_height_and_volume() -> None:
    names = load_classes().names
    shed, house, tower = mapped(0, square(0, 0, 4, 4), height=2.5), mapped(1, square(20, 0, 10, 10), height=9.0), mapped(2, square(50, 0, 30, 30), height=90.0)
    nothing = mapped(3, square(150, 0, 1, 1), height=2.0)
    assert [names[b.prototype.class_id] for b in built([shed, house, tower, nothing])] == ["shed", "building", "skyscraper"]


def test_mapped_colour_becomes_the_tint() -> None:
    red, plain = built([mapped(0, square(0, 0, 10, 10), colour="#803020")]), built([mapped(0, square(0, 0, 10, 10), colour="no such colour")])
    assert red[0].tint[0] > 1.5 * red[0].tint[2]
    assert len(plain) == 1


@pytest.mark.parametrize("style", ARCHITECTURE_STYLES)
def test_lots_of_every_style(style: str) -> None:
    sizes = [(7, 20), (16, 24), (30, 30), (48, 44)]
    lots, x = [], 0.0
    for k, (w, d) in enumerate(sizes):
        lots.append(Lot(id=k, block=0, polygon=GraphPolygon(exterior=square(x, 0, w, d)), front=0))
        x += w + 8
    made = built(lots=lots, style=style)
    assert len(made) == len(lots)
    assert_sound(made)
    for b, lot in zip(made, lots, strict=True):
        assert Polygon(lot.polygon.exterior).buffer(0.1).contains(b.footprint)
        assert b.entrances
        x, y, yaw = b.entrances[0]
        assert not b.footprint.contains(shapely.Point(x + 0.1 * np.cos(yaw), y + 0.1 * np.sin(yaw)))
        assert all(b.footprint.buffer(0.05).contains(roof) for roof, _ in b.flat_roofs)


def test_neighbours_share_a_blank_wall() -> None:
    a, b = built([mapped(0, square(0, 0, 10, 12)), mapped(1, square(10, 0, 10, 12))])
    hidden = [f for f in a.facades if not f.exposed]
    assert [(f.start[0], f.end[0]) for f in hidden] == [(10.0, 10.0)]
    assert sum(not f.exposed for f in b.facades) == 1


def test_a_church_has_a_tower() -> None:
    (church,) = built([mapped(0, square(0, 0, 30, 12), use="church", height=36.0)])
    assert_sound([church])
    z = church.prototype.vertices[:, 2]
    assert z.max() == pytest.approx(36.0, rel=0.05)
    assert church.prototype.volume < 30 * 12 * 36 / 2


def test_a_centre_can_hold_the_papers_largest_object() -> None:
    lot = Lot(id=0, block=0, polygon=GraphPolygon(exterior=square(0, 0, 52, 50)), front=0, use="tower")
    (tower,) = built(lots=[lot], style="glass_tower", place="cbd")
    assert_sound([tower])
    assert 208_000 <= tower.prototype.volume <= 230_000


@pytest.mark.parametrize("place", ["cbd", "town", "suburb", "rural"])
def test_synthetic_cities_are_sound_and_lean(place: str) -> None:
    graph = synthetic_graph(place, 1)
    plan = plan_builtin(graph, builtin_library(), 1)
    start = time.process_time()
    made = build_buildings(graph, plan, builtin_library(), 1)
    assert (time.process_time() - start) / len(made) < 0.06  # three times the bar, for busy machines
    assert_sound(made)
    assert np.mean([len(b.prototype.faces) for b in made]) < 300
    again = build_buildings(graph, plan, builtin_library(), 1)
    assert digest(made) == digest(again)
    assert digest(made) != digest(build_buildings(graph, plan, builtin_library(), 2))


def test_a_garage_apart_from_its_house_is_known_to_what_places_objects() -> None:
    """Of a house and a garage that do not touch, one is the footprint; the other must not be stood in either."""
    graph = synthetic_graph("town", 67)
    made = build_buildings(graph, plan_builtin(graph, builtin_library(), 67), builtin_library(), 67)
    apart = [b for b in made if isinstance(silhouette(b), shapely.MultiPolygon)]
    assert "lot_49" in {b.prototype.name for b in apart}
    for b in made:
        taken = shapely.union_all([b.footprint, *(outline for outline, low, _ in b.obstacles if low < 0.3)])
        for part in shapely.get_parts(silhouette(b).buffer(-0.3)):
            assert part.intersection(taken).area > 0.5 * part.area, b.prototype.name  # the rest is eaves


def test_no_building_of_a_city_reaches_over_the_edge() -> None:
    """One of its roofs has a hip that ends in the window's very corner."""
    graph = synthetic_graph("cbd", 58)
    made = [cut_at_window(b, graph.size) for b in build_buildings(graph, plan_builtin(graph, builtin_library(), 58), builtin_library(), 58)]
    assert_sound(made)
    for b in made:
        world = b.prototype.vertices[:, :2] + b.position[:2]
        assert world.min() > -0.011 and world.max() < graph.size + 0.011, b.prototype.name


def digest(buildings: list[BuiltBuilding]) -> str:
    sha = hashlib.sha256()
    for b in buildings:
        for array in (b.prototype.vertices, b.prototype.faces, b.prototype.uv, b.prototype.materials, b.tint, b.position):
            sha.update(np.ascontiguousarray(array).tobytes())
    return sha.hexdigest()


@pytest.mark.parametrize(
    "extract",
    [
        "de_berlin_neukoelln", "fi_helsinki_centre", "us_newyork_westvillage", "at_krems_town", "sg_marina_bay",
    ],
)  # fmt: skip
def test_mapped_windows(shared_data, extract: str) -> None:
    rows = [line.split(",") for line in (shared_data / "osm" / "windows.csv").read_text("utf-8").splitlines()[1:]]
    west, south, east, north = next(tuple(map(float, r[2:6])) for r in rows if r[0] == extract)
    graph = window_graph(read_extract(shared_data / "osm" / f"{extract}.osm.pbf"), Window.from_box(west, south, east, north), 0)
    made = build_buildings(graph, plan_builtin(graph, builtin_library(), 0), builtin_library(), 0)
    assert len(made) >= 0.97 * sum(1 for b in graph.buildings if Polygon(b.polygon.exterior).area * (b.height - b.min_height) > 6)
    assert_sound(made)
    assert_kept(made, graph.buildings)


def test_facades_run_counter_clockwise() -> None:
    (b,) = built([mapped(0, square(0, 0, 10, 12))])
    ends = [(f.start, f.end) for f in b.facades]
    assert all(a[1] == c[0] for a, c in pairwise(ends))
    assert Polygon([s for s, _ in ends]).exterior.is_ccw
