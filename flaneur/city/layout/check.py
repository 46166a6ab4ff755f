"""What must hold for every CityGraph, and how faithful a mapped one is to the map."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import osmium
import osmium.geom
import shapely
from shapely import wkb
from shapely.geometry.base import BaseGeometry

from flaneur.city.layout import shapes
from flaneur.city.layout import tags as values
from flaneur.city.layout.graph import Building, CityGraph
from flaneur.city.layout.surfaces import stands_on_ground, street_surface
from flaneur.city.layout.window import Window

_SLACK = 0.05  # m2 of overlap that rounding to millimetres may leave


def violations(graph: CityGraph) -> list[str]:
    """One line per broken promise; an empty list is a sound graph."""
    return [*_streets(graph), *_blocks(graph), *_buildings(graph), *_grounds(graph)]


def _streets(graph: CityGraph) -> list[str]:
    out = []
    for name in ("junctions", "streets", "blocks", "buildings", "lots"):
        if [item.id for item in getattr(graph, name)] != list(range(len(getattr(graph, name)))):
            out.append(f"{name}: ids do not count from 0")
    network = nx.Graph()
    network.add_nodes_from(j.id for j in graph.junctions)
    for s in graph.streets:
        network.add_edge(s.start, s.end)
        if s.line[0] != graph.junctions[s.start].at or s.line[-1] != graph.junctions[s.end].at:
            out.append(f"street {s.id}: does not end at its junctions")
        if shapely.LineString(s.line).length < 0.15 or s.width <= 0:
            out.append(f"street {s.id}: has no length or width")
        if any(not (-0.01 <= v <= graph.size + 0.01) for p in s.line for v in p):
            out.append(f"street {s.id}: leaves the window")
    if not len(network) or not nx.is_connected(network):
        out.append(f"streets: {nx.number_connected_components(network)} separate networks, must be 1")
    return out


def _blocks(graph: CityGraph) -> list[str]:
    out = []
    polygons = [shapes.from_contract(b.polygon) for b in graph.blocks]
    out += [f"block {b.id}: polygon is not valid" for b, p in zip(graph.blocks, polygons, strict=True) if not p.is_valid]
    out += [f"block {b.id}: no street reaches it" for b in graph.blocks if not b.streets]
    out += [f"block {b.id}: not a neighbour of its neighbour {n}" for b in graph.blocks for n in b.neighbours if b.id not in graph.blocks[n].neighbours]
    lines = [shapely.LineString(s.line) for s in graph.streets]
    for b, p in zip(graph.blocks, polygons, strict=True):
        reach = [lines[i].distance(p) - graph.streets[i].width / 2 for i in b.streets]
        if reach and min(reach) > 3.0:
            out.append(f"block {b.id}: its nearest street is {min(reach):.1f} m off")
    out += _overlaps("block", polygons, 0.5)
    lots = [shapes.from_contract(lot.polygon) for lot in graph.lots]
    out += _overlaps("lot", lots, 0.5)
    for lot, p in zip(graph.lots, lots, strict=True):
        if not p.is_valid or p.difference(polygons[lot.block]).area > 0.5:
            out.append(f"lot {lot.id}: not inside block {lot.block}")
    return out


def _overlaps(name: str, polygons: list[shapely.Polygon], slack: float) -> list[str]:
    tree = shapely.STRtree(polygons)
    a, b = tree.query(polygons, predicate="intersects") if polygons else (np.zeros(0, int), np.zeros(0, int))
    return [f"{name}s {i} and {j}: overlap" for i, j in zip(a.tolist(), b.tolist(), strict=True) if i < j and polygons[i].intersection(polygons[j]).area > slack]


def _solids(building: Building) -> list[tuple[shapely.Polygon, float, float]]:
    """Footprint, bottom and top of each solid of a building."""
    if building.parts:
        return [(shapes.from_contract(p.polygon), p.min_height, p.height) for p in building.parts]
    return [(shapes.from_contract(building.polygon), building.min_height, building.height)]


def _buildings(graph: CityGraph) -> list[str]:
    out, solids = [], []
    for b in graph.buildings:
        polygon = shapes.from_contract(b.polygon)
        if not polygon.is_valid or polygon.area < 1.0:
            out.append(f"building {b.id}: polygon is not valid")
        if not (0 <= b.min_height < b.height <= values.MAX_HEIGHT) or not (0 <= b.roof_height <= b.height - b.min_height + 0.01):
            out.append(f"building {b.id}: heights {b.min_height}, {b.height}, roof {b.roof_height} make no sense")
        if not 0 <= b.block < len(graph.blocks):
            out.append(f"building {b.id}: stands on no block")
        if b.parts and abs(max(p.height for p in b.parts) - b.height) > 0.01:
            out.append(f"building {b.id}: its parts are not as tall as it is")
        for solid in _solids(b):
            if not solid[0].is_valid or solid[0].difference(polygon).area > 0.5:
                out.append(f"building {b.id}: a part leaves the footprint")
            solids.append((b.id, *solid))
    footprints = [s[1] for s in solids]
    pairs = shapely.STRtree(footprints).query(footprints, predicate="intersects").T.tolist() if footprints else []
    for i, j in pairs:
        if i < j and solids[i][2] < solids[j][3] - 0.01 and solids[j][2] < solids[i][3] - 0.01:
            common = footprints[i].intersection(footprints[j]).area
            if common > _SLACK + 0.01 * min(footprints[i].area, footprints[j].area):
                out.append(f"buildings {solids[i][0]} and {solids[j][0]}: share {common:.2f} m2 of ground")
    return out


def _grounds(graph: CityGraph) -> list[str]:
    out = []
    road = street_surface(graph)
    walls = shapes.union(shapes.from_contract(b.polygon) for b in graph.buildings if stands_on_ground(b) and b.use != "roof")
    water = shapes.union(shapes.from_contract(a.polygon) for a in graph.areas if a.kind == "water")
    if road.intersection(walls).area > 1.0:
        out.append(f"carriageway: {road.intersection(walls).area:.1f} m2 run through buildings")
    covers = [shapes.from_contract(a.polygon) for a in graph.areas]
    out += [f"area {i} ({a.kind}): polygon is not valid" for i, (a, p) in enumerate(zip(graph.areas, covers, strict=True)) if not p.is_valid]
    out += _overlaps("area", covers, 1.0)
    for i, p in enumerate(covers):
        if p.intersection(road).area > 1.0 or p.intersection(walls).area > 1.0:
            out.append(f"area {i} ({graph.areas[i].kind}): lies on a carriageway or under a building")
    for g in (road, walls, water):
        shapely.prepare(g)
    for i, f in enumerate(graph.features):
        at = shapely.Point(f.at)
        if not (0 <= f.at[0] <= graph.size and 0 <= f.at[1] <= graph.size):
            out.append(f"feature {i} ({f.kind}): outside the window")
        elif walls.contains(at):
            out.append(f"feature {i} ({f.kind}): inside a building")
        elif f.kind in ("tree", "street_lamp", "bench", "fire_hydrant") and (road.contains(at) or water.contains(at)):
            out.append(f"feature {i} ({f.kind}): on the carriageway or in the water")
    return out


@dataclass(frozen=True)
class Fidelity:
    """How a mapped window compares with the map."""

    footprint_iou: float  # union of all footprints against the map's, within the window
    buildings: int  # mapped buildings of at least 10 m2 within the window
    faithful: int  # of these, built with an IoU of at least 0.98 (less what overlaps another mapped building)
    worst: float  # the lowest of these IoUs
    tagged: int  # buildings with a sensible height tag
    tagged_right: int  # of these, built within 5 %
    without_id: int  # built buildings without an OSM id
    clipped_wrong: int  # buildings whose `clipped` disagrees with the map


def fidelity(path: Path | str, graph: CityGraph, window: Window) -> Fidelity:
    """Against osmium's own area assembler, which shares no code with our reading."""
    mapped = mapped_buildings(path, window)
    square = window.square
    built: dict[tuple[str, int], list[Building]] = defaultdict(list)
    for b in graph.buildings:
        if b.osm:
            built[b.osm.type, b.osm.id].append(b)
    ours = {key: shapes.union(shapes.from_contract(b.polygon) for b in bs) for key, bs in built.items()}
    all_ours, all_theirs = shapes.union(ours.values()), shapes.union(g.intersection(square) for _, g in mapped.values())
    joint = all_ours.union(all_theirs).area
    total = faithful = tagged = tagged_right = clipped_wrong = 0
    worst = 1.0
    keys = list(mapped)
    tree = shapely.STRtree([mapped[k][1] for k in keys])
    for i, key in enumerate(keys):
        tags, whole = mapped[key]
        inside = whole.intersection(square)
        if inside.area < 10.0:
            continue
        if key in built and any(b.clipped for b in built[key]) != (whole.difference(square).area > 0.01):
            clipped_wrong += 1
        height = values.bounded(tags.get("height"), 1.0, values.MAX_HEIGHT)
        if height is not None and key in built:
            tagged += 1
            tagged_right += abs(max(b.height for b in built[key]) - height) <= 0.05 * height
        others = shapes.union(mapped[keys[j]][1] for j in tree.query(whole, predicate="intersects") if j != i)
        alone, mine = inside.difference(others), ours.get(key, shapely.Polygon()).difference(others)
        if alone.area < 10.0:
            continue
        iou = alone.intersection(mine).area / alone.union(mine).area
        total, faithful, worst = total + 1, faithful + (iou >= 0.98), min(worst, iou)
    return Fidelity(
        all_ours.intersection(all_theirs).area / joint if joint else 1.0, total, faithful, worst, tagged, tagged_right, sum(b.osm is None for b in graph.buildings), clipped_wrong
    )  # fmt: skip


def mapped_buildings(path: Path | str, window: Window) -> dict[tuple[str, int], tuple[dict[str, str], BaseGeometry]]:
    """Tags and metric outline of each building above ground that touches the window."""
    factory, out = osmium.geom.WKBFactory(), {}
    items: Iterator[Any] = iter(osmium.FileProcessor(str(path)).with_areas())
    for item in items:
        if not item.is_area() or item.tags.get("building", "no") in ("no", "construction"):
            continue
        tags = {t.k: t.v for t in item.tags}
        if values.underground(tags):
            continue
        try:
            degrees = wkb.loads(factory.create_multipolygon(item), hex=True)
        except RuntimeError:
            continue
        outline = shapely.transform(degrees, window.project)
        outline = outline if outline.is_valid else shapely.make_valid(outline)
        if outline.intersects(window.square):
            out["way" if item.from_way() else "relation", item.orig_id()] = (tags, outline)
    return out
