"""A made-up street map for the tests: two crossing streets, four blocks (houses, shops, a park with a pond, a car park)."""

from __future__ import annotations

from flaneur.city.layout.graph import Area, Barrier, Block, Building, CityGraph, Feature, Junction, OsmRef, Polygon, Street
from flaneur.city.planning.library import Architecture, Assignment, CityPlan, Distribution, Range, Rule, RuleLibrary

EAST_WEST, NORTH_SOUTH = 8.0, 6.0  # metres, kerb to kerb


def _rectangle(x0: float, y0: float, x1: float, y1: float) -> Polygon:
    return Polygon(exterior=[(x0, y0), (x1, y0), (x1, y1), (x0, y1)])


def small_town() -> CityGraph:
    w, e, s, n = 100 - NORTH_SOUTH / 2, 100 + NORTH_SOUTH / 2, 100 - EAST_WEST / 2, 100 + EAST_WEST / 2
    ends = [(0.0, 100.0), (200.0, 100.0), (100.0, 0.0), (100.0, 200.0)]
    streets = [
        Street(id=k, kind="tertiary" if k < 2 else "residential", carriageway=True, line=[end, (100.0, 100.0)], start=k + 1, end=0, lanes=2, width=EAST_WEST if k < 2 else NORTH_SOUTH)
        for k, end in enumerate(ends)
    ]
    outlines = [(0, 0, w, s), (e, 0, 200, s), (0, n, w, 200), (e, n, 200, 200)]
    types = ["residential", "commercial", "park", "parking"]
    buildings = [
        Building(id=k, block=0, polygon=_rectangle(x, y, x + 12, y + 10), height=7.0, levels=2, osm=OsmRef(type="way", id=1000 + k), clipped=x == 0)
        for k, (x, y) in enumerate((x, y) for x in (0, 25, 50, 75) for y in (15, 60))
    ]
    buildings += [Building(id=20 + k, block=1, polygon=_rectangle(x, 60, x + 20, 85), height=18.0, levels=5, osm=OsmRef(type="way", id=2000 + k)) for k, x in enumerate((110, 140, 170))]
    return CityGraph(
        name="small town", place_type="town", source="osm", attribution="(c) OpenStreetMap contributors, ODbL 1.0",
        junctions=[Junction(id=0, at=(100.0, 100.0), signals=True), *(Junction(id=k + 1, at=at) for k, at in enumerate(ends))],
        streets=streets,
        blocks=[Block(id=k, type=t, polygon=_rectangle(*o)) for k, (t, o) in enumerate(zip(types, outlines, strict=True))],  # type: ignore[arg-type]
        buildings=buildings,
        areas=[Area(kind="water", polygon=_rectangle(30, 140, 60, 170))],
        features=[Feature(kind=kind, at=at, osm=OsmRef(type="node", id=500 + k)) for k, (kind, at) in enumerate([
            ("tree", (20.0, 120.0)), ("street_lamp", (40.0, 94.9)), ("fire_hydrant", (60.0, 99.0)), ("tree", (45.0, 150.0)),
        ])],
        barriers=[Barrier(kind="fence", line=[(10.0, 180.0), (60.0, 180.0)], osm=OsmRef(type="way", id=900))],
    )  # fmt: skip


def _distribution(asset: str, function: str, **parameters: float) -> Distribution:
    return Distribution(asset=asset, function=function, parameters={k: Range(low=v, high=v, default=v) for k, v in parameters.items()})


def small_plan() -> tuple[RuleLibrary, CityPlan]:
    """One rule that uses every distribution function, on all four blocks."""
    distributions = [
        _distribution("street_lamp", "along_kerb", spacing=25),
        _distribution("tree", "along_kerb", spacing=12, offset=1.0),
        _distribution("bench", "along_facade", spacing=15),
        _distribution("car", "parked_at_kerb", occupancy=0.8),
        _distribution("car", "in_traffic", density=2),
        _distribution("bus", "in_traffic", density=0.3),
        _distribution("car", "in_rows", occupancy=0.7),
        _distribution("person", "on_pavement", density=6),
        _distribution("shrub", "in_open_space", density=3),
        _distribution("tree", "in_open_space", density=0.6),
        _distribution("fence", "along_boundary"),
        _distribution("planter", "around_buildings", spacing=6),
        _distribution("mailbox", "at_entrances"),
        _distribution("air_conditioner", "on_roof", density=2),
        _distribution("air_conditioner", "on_facade", density=2),
        _distribution("traffic_light", "at_junctions"),
        _distribution("waste_bin", "along_kerb", spacing=30),
    ]  # fmt: skip
    one = lambda v: Range(low=v, high=v, default=v)  # noqa: E731
    architecture = Architecture(style="plaster_perimeter", storeys=one(4), shop_share=one(0.3), balcony_share=one(0.2), coverage=one(0.5))
    rule = Rule(name="everything", scene_types=["town"], block_types=["residential", "commercial", "park", "parking"], architecture=architecture, distributions=distributions)
    library = RuleLibrary(name="small", rules=[rule])
    return library, CityPlan(library="small", planner="test", seed=0, assignments=[Assignment(block=k, rule="everything") for k in range(4)])
