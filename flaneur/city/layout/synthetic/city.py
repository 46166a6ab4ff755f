"""Puts an invented street plan through the same steps as a mapped one: network, blocks, then lots and a few features."""

from __future__ import annotations

import zlib
from collections import Counter

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from flaneur.city.layout import blocks, shapes
from flaneur.city.layout.graph import PLACE_TYPES, Area, Barrier, Block, BlockType, CityGraph, Junction, Lot, Street
from flaneur.city.layout.network import build_network
from flaneur.city.layout.surfaces import bands, carriageway_area
from flaneur.city.layout.synthetic import furniture, lots
from flaneur.city.layout.synthetic.cbd import cbd_plan
from flaneur.city.layout.synthetic.names import NameGiver
from flaneur.city.layout.synthetic.plan import SIZE, Place, StreetPlan
from flaneur.city.layout.synthetic.rural import rural_plan
from flaneur.city.layout.synthetic.suburb import suburb_plan
from flaneur.city.layout.synthetic.town import town_plan
from flaneur.errors import UserError

_PLANS = {"cbd": cbd_plan, "town": town_plan, "suburb": suburb_plan, "rural": rural_plan}
_STUB = 12.0  # metres: plans draw streets a little too long so that they surely meet
_LOTTED = ("residential", "commercial", "mixed", "civic", "industrial")
# Frontage and depth in metres, least area in m2.
_FRONTAGE = {"cbd": (26.0, 27.0, 120.0), "town": (11.0, 20.0, 60.0), "suburb": (19.0, 33.0, 180.0), "rural": (24.0, 34.0, 250.0)}

_CBD_LOT = {"commercial": 850.0, "mixed": 560.0, "residential": 480.0, "civic": 1500.0, "industrial": 1200.0}  # m2


def synthetic_graph(place_type: str, seed: int = 0, name: str = "") -> CityGraph:
    """An invented window of one of the four place types; one seed is one place."""
    if place_type not in PLACE_TYPES:
        raise UserError(f"--synthetic {place_type}: choose one of {', '.join(PLACE_TYPES)}")
    if seed < 0:
        raise UserError(f"--seed {seed}: give a whole number from 0")
    rng = np.random.default_rng([seed, zlib.crc32(place_type.encode())])
    names = NameGiver(place_type, rng)
    plan = _PLANS[place_type](rng, names)
    square, repairs = shapely.box(0, 0, SIZE, SIZE), Counter()
    nothing = shapely.Polygon()
    junctions, streets = build_network(plan.streets, square, nothing, shapes.union(p.shape for p in plan.places if p.kind == "water"), repairs, stub=_STUB)
    _widen_ends(plan, junctions)
    road = carriageway_area(streets, junctions, SIZE, nothing)
    faces = blocks.make_blocks(road, square, repairs)
    road = shapes.minus(square, shapes.union(faces))
    areas = _areas(plan, road)
    described = _describe(plan, faces, streets, place_type, names, rng)
    graph = CityGraph(
        name=name or f"{place_type}_{seed:03d}", place_type=place_type, source="synthetic", seed=seed, junctions=junctions, streets=streets,  # type: ignore[arg-type]
        blocks=described, areas=areas, repairs={k: v for k, v in sorted(repairs.items()) if v},
    )  # fmt: skip
    graph.lots = _lots(graph, faces, plan, names, rng)
    graph.barriers = _hedges(plan, road, graph.lots)
    furniture.furnish(graph, rng)
    return graph


def _widen_ends(plan: StreetPlan, junctions: list[Junction]) -> None:
    for x, y, radius in plan.circles:
        for j in junctions:
            if np.hypot(j.at[0] - x, j.at[1] - y) < 1.0:
                j.radius = radius


def _areas(plan: StreetPlan, road: BaseGeometry) -> list[Area]:
    out, used = [], road
    for place in plan.places:
        free = shapes.minus(shapes.common(place.shape, shapely.box(0, 0, SIZE, SIZE)), used)
        if place.kind != "farmyard":
            out += [Area(kind=place.kind, polygon=shapes.to_contract(p), name=place.name) for p in shapes.polygons(free, 4.0)]
        used = used.union(place.shape)
    return out


def _hedges(plan: StreetPlan, road: BaseGeometry, built: list[Lot]) -> list[Barrier]:
    """Field boundaries, open where a street or a homestead is."""
    places = [p.shape.buffer(1.0) for p in plan.places if p.kind in ("water", "forest", "farmyard")]
    homes = shapes.union([road.buffer(2.0), *(shapes.from_contract(lot.polygon).buffer(2.0) for lot in built), *places])
    free = [part for hedge in plan.hedges for part in shapes.lines(hedge.intersection(shapely.box(0, 0, SIZE, SIZE)).difference(homes))]
    return [Barrier(kind="hedge", line=shapes.points(part)) for part in free if part.length > 6.0]


def _describe(plan: StreetPlan, faces: list[shapely.Polygon], streets: list[Street], place_type: str, names: NameGiver, rng: np.random.Generator) -> list[Block]:
    named = [(p.shape, p.name) for p in plan.places if p.name]
    out = blocks.describe(faces, streets, place_type=place_type, names=named)
    for block, face in zip(out, faces, strict=True):
        block.type = _block_type(plan.places, face, place_type, rng)
        block.tags = {}
    return out


def _block_type(places: list[Place], face: shapely.Polygon, place_type: str, rng: np.random.Generator) -> BlockType:
    for place in places:
        if place.block and place.shape.intersection(face).area > 0.6 * face.area:
            return place.block
    draw = float(rng.random())
    if place_type == "rural":
        homes = face.area < 5000
        return "residential" if homes else "farmland"
    if face.area < 180:
        return "park" if place_type == "suburb" else "square"
    if place_type == "cbd":
        return "commercial" if draw < 0.6 else "mixed" if draw < 0.85 else "civic" if draw < 0.92 else "parking" if draw < 0.96 and face.area < 3500 else "residential"
    if place_type == "town":
        return "mixed" if draw < 0.45 else "residential" if draw < 0.88 else "commercial" if draw < 0.95 else "civic"
    return "residential" if draw < 0.93 else "commercial"


def _lots(graph: CityGraph, faces: list[shapely.Polygon], plan: StreetPlan, names: NameGiver, rng: np.random.Generator) -> list[Lot]:
    lines = [shapely.LineString(s.line) for s in graph.streets]
    out: list[Lot] = []

    def add(block: int, polygon: shapely.Polygon, use: str = "", name: str = "") -> None:
        ids = [i for i in graph.blocks[block].streets if graph.streets[i].carriageway] or graph.blocks[block].streets
        clean = max(shapes.polygons(shapes.snapped(polygon)), key=lambda p: p.area)
        out.append(Lot(id=len(out), block=block, polygon=shapes.to_contract(clean), front=lots.fronting_street(polygon, lines, ids), use=use, name=name))

    if graph.place_type == "rural":
        for yard in plan.yards:
            block = max(range(len(faces)), key=lambda k: (faces[k].intersection(yard.shape).area, -k))
            for piece in shapes.polygons(shapes.common(yard.shape, faces[block].buffer(-0.5)), 60.0):
                add(block, piece, yard.use, yard.name)
    else:
        reserved = shapes.union(p.shape.buffer(0.5) for p in plan.places if p.kind in ("water", "park", "square", "forest", "playground"))
        for block, face in zip(graph.blocks, faces, strict=True):
            if block.type in _LOTTED:
                for piece in _divided(graph, block, face, lines, reserved, rng):
                    add(block.id, piece)
    taken: set[int] = set()
    for use, at in plan.landmarks:
        point = shapely.Point(at)
        free = [lot for lot in out if lot.id not in taken and not lot.use]
        if free:
            lot = min(free, key=lambda lot: (round(shapes.from_contract(lot.polygon).distance(point), 2), lot.id))
            taken.add(lot.id)
            lot.use, lot.name = use, names.place(use)
    return out


def _divided(graph: CityGraph, block: Block, face: shapely.Polygon, lines: list[shapely.LineString], reserved: BaseGeometry, rng: np.random.Generator) -> list[shapely.Polygon]:
    """The lots of one block: behind the pavement, off the paths and reserved places."""
    frontage, depth, least = _FRONTAGE[graph.place_type]
    bordering = [s for s in (graph.streets[i] for i in block.streets) if s.carriageway]
    front = shapes.union([
        bands(bordering, graph.junctions, graph.size, lambda s: s.width + 2 * s.pavement), *(shapely.Point(j.at).buffer(j.radius + 1.5) for j in graph.junctions if j.radius > 0),
    ])  # fmt: skip
    paths = shapes.union(lines[i].buffer(1.6) for i in block.streets if not graph.streets[i].carriageway)
    out = []
    for land in shapes.polygons(shapes.minus(face, shapes.union([front, reserved, paths])).buffer(-0.05), least):
        if graph.place_type == "cbd":
            target = _CBD_LOT[block.type] * float(rng.uniform(0.75, 1.35))
            out += lots.split_lots(land, target, front, rng)
        else:
            out += lots.frontage_lots(land, front, frontage * float(rng.uniform(0.85, 1.2)), depth, least, rng)
    return out
