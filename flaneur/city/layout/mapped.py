"""From an extract and a window to a CityGraph: the order in which everything is read, repaired and put together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from flaneur.city.layout import blocks, buildings, land, shapes
from flaneur.city.layout.classify import classify
from flaneur.city.layout.graph import Area, BlockType, Building, CityGraph, Feature, Junction, Street
from flaneur.city.layout.heights import HeightModel
from flaneur.city.layout.network import build_network
from flaneur.city.layout.osm import ATTRIBUTION, Extract, Shape
from flaneur.city.layout.place import measure, public_places
from flaneur.city.layout.streets import street_lines
from flaneur.city.layout.surfaces import GROUND, carriageway_area
from flaneur.city.layout.window import Window
from flaneur.errors import UserError

_ZONES: dict[str, BlockType] = {
    "residential": "residential", "farmyard": "residential", "commercial": "commercial", "retail": "commercial", "industrial": "industrial", "railway": "industrial",
    "port": "industrial", "education": "civic", "institutional": "civic", "religious": "civic", "civil": "civic", "military": "civic", "garages": "parking",
}  # fmt: skip
_CIVIC_AMENITIES = frozenset((
    "school", "university", "college", "hospital", "kindergarten", "place_of_worship", "townhall", "courthouse", "library", "police", "fire_station", "museum", "public_building",
))  # fmt: skip
_NAMING = _CIVIC_AMENITIES | {"hotel", "theatre", "cinema", "bank"}
_COVER_TYPES: dict[str, BlockType] = {
    "water": "water", "pool": "water", "park": "park", "grass": "park", "garden": "park", "playground": "park", "pitch": "park", "cemetery": "park", "scrub": "forest",
    "forest": "forest", "farmland": "farmland", "meadow": "farmland", "orchard": "farmland", "square": "square", "parking": "parking", "railway": "industrial", "construction": "industrial",
}  # fmt: skip
_TURNING_CIRCLE = 6.5  # metres, radius
_SIGNAL_REACH = 15.0  # metres from a mapped signal to the junction it controls
_NEIGHBOURHOOD = 150.0  # metres around the window in which mapped heights inform the prior


def window_graph(extract: Extract, window: Window, seed: int = 0, name: str = "") -> CityGraph:
    """The cleaned and connected street map of one window."""
    west, south, east, north = window.degrees()
    w, s, e, n = extract.bounds
    if east < w or west > e or north < s or south > n:
        raise UserError(f"{extract.path}: the window {west:.6f},{south:.6f},{east:.6f},{north:.6f} lies outside the extract, which covers {extract.covers()}")
    repairs = Counter(extract.repairs)
    square = window.square
    near = extract.shapes_near(window.degrees())
    found = buildings.footprints(near, window, repairs)
    lines = street_lines(extract, window, repairs)
    if not any(line.line.intersection(square).length > 5.0 for line in lines):
        where = f"the window at {window.lat:.6f},{window.lon:.6f} holds no street"
        raise UserError(f"{extract.path}: {where}; choose another with --center or let --auto N choose (the extract covers {extract.covers()})")
    water = land.water_area(near, extract, window)
    walls = shapes.union(f.shape for f in found if f.lowest < GROUND and f.tags.get("building") != "roof")
    junctions, streets = build_network(lines, square, walls, water, repairs)
    _turning_circles(junctions, extract, window, walls)
    amenities = public_places(extract, window)
    place = classify(measure(found, amenities, extract, window))
    model = HeightModel(place, _known_heights(extract, window))
    built = buildings.build(found, model)
    road = carriageway_area(streets, junctions, window.size, walls)
    faces = blocks.make_blocks(road, square, repairs)
    road = shapes.minus(square, shapes.union(faces))
    blocks.locate(built, faces)
    covers = land.areas(near, water, window, shapes.union([road, walls]), repairs)
    points = land.features(extract, window, walls, road, water, repairs)
    _mark_signals(junctions, streets, points)
    _name_buildings(built, amenities)
    named = [s for s in near if "name" in s.tags and (land.cover_kind(s.tags) or any(k in s.tags for k in ("landuse", "amenity", "leisure")))]
    names = [(buildings.metric(s, window), s.tags["name"]) for s in named]
    described = blocks.describe(faces, streets, built, _zones(near, covers, window), [(p, a) for p, a, _ in amenities], place, names)
    return CityGraph(
        name=name or extract.name, place_type=place, source="osm", seed=seed, size=window.size, origin=window.origin,
        attribution=ATTRIBUTION, source_file=extract.path.name, source_sha256=extract.sha256,
        junctions=junctions, streets=streets, blocks=described, buildings=built, areas=covers, features=points,
        barriers=land.barriers(extract, window, shapes.union([road, walls])), repairs={k: int(repairs[k]) for k in sorted(repairs) if repairs[k]},
    )  # fmt: skip


def _known_heights(extract: Extract, window: Window) -> list[tuple[float, float]]:
    """Mapped heights in and around the window with rough footprints."""
    out = []
    for s in extract.shapes_near(window.degrees(margin=_NEIGHBOURHOOD)):
        if s.tags.get("building", "no") != "no" and ("height" in s.tags or "building:levels" in s.tags):
            height, _ = HeightModel.total(buildings.tagged_profile(s.tags))
            if height:
                out.append((height, shapely.Polygon(window.project(s.outers[0])).area))
    return out


def _zones(near: Sequence[Shape], covers: Sequence[Area], window: Window) -> list[blocks.Zone]:
    out = [blocks.Zone(_COVER_TYPES[a.kind], shapes.from_contract(a.polygon)) for a in covers if a.kind in _COVER_TYPES]
    for s in near:
        kind = _ZONES.get(s.tags.get("landuse", "")) or ("civic" if s.tags.get("amenity") in _CIVIC_AMENITIES else None)
        if kind:
            out.append(blocks.Zone(kind, shapes.common(buildings.metric(s, window), window.square)))
    return out


def _turning_circles(junctions: list[Junction], extract: Extract, window: Window, walls: BaseGeometry) -> None:
    """Widen the ends of streets where a turning circle is mapped, as far as the walls allow."""
    if not junctions:
        return
    at = [shapely.Point(j.at) for j in junctions]
    tree = shapely.STRtree(at)
    for p in extract.points_in(window.degrees()):
        if p.tags.get("highway") in ("turning_circle", "turning_loop"):
            point = shapely.Point(window.project(np.array([p.lon, p.lat])))
            nearest = int(tree.nearest(point))
            radius = min(_TURNING_CIRCLE, at[nearest].distance(walls) - 0.3 if not walls.is_empty else _TURNING_CIRCLE)
            if at[nearest].distance(point) < 3.0 and radius > 2.0:
                junctions[nearest].radius = round(radius, 2)


def _mark_signals(junctions: list[Junction], streets: Sequence[Street], points: Sequence[Feature]) -> None:
    """Signals belong to the nearest junction of three or more carriageways, else to the nearest of all."""
    arms = Counter(end for s in streets if s.carriageway for end in (s.start, s.end))
    for f in points:
        if f.kind == "traffic_signals":
            near = [(np.hypot(j.at[0] - f.at[0], j.at[1] - f.at[1]), j.id) for j in junctions]
            near = sorted((round(float(d), 2), i) for d, i in near if d < _SIGNAL_REACH)
            crossing = [i for _, i in near if arms[i] > 2] or [i for _, i in near]
            if crossing:
                junctions[crossing[0]].signals = True


def _name_buildings(built: Sequence[Building], amenities: Sequence[tuple[shapely.Point, str, str]]) -> None:
    """A nameless building takes the name of the one public place in it."""
    named = [(p, name) for p, kind, name in amenities if name and kind in _NAMING]
    if not named:
        return
    tree = shapely.STRtree([p for p, _ in named])
    for b in built:
        if not b.name:
            inside = tree.query(shapes.from_contract(b.polygon), predicate="contains")
            if len(inside) == 1:
                b.name = named[int(inside[0])][1]
