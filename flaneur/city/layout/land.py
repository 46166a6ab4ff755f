"""Land cover, mapped points and barriers of a window, none of them in conflict with buildings or carriageways."""

from __future__ import annotations

from collections import Counter

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from flaneur.city.layout import shapes
from flaneur.city.layout import tags as values
from flaneur.city.layout.buildings import metric
from flaneur.city.layout.graph import Area, Barrier, Feature, OsmRef
from flaneur.city.layout.osm import Extract, Line, Shape
from flaneur.city.layout.window import Window

# OSM key and value -> our kind of land cover. Zones (landuse=residential and the like) only colour the blocks.
_COVER = {
    ("natural", "water"): "water", ("waterway", "riverbank"): "water", ("waterway", "dock"): "water", ("landuse", "reservoir"): "water",
    ("landuse", "basin"): "water", ("landuse", "pond"): "water",
    ("leisure", "swimming_pool"): "pool", ("amenity", "fountain"): "fountain", ("natural", "wetland"): "wetland", ("natural", "beach"): "sand", ("natural", "sand"): "sand",
    ("amenity", "parking"): "parking", ("leisure", "pitch"): "pitch", ("leisure", "track"): "pitch", ("leisure", "playground"): "playground",
    ("place", "square"): "square", ("highway", "pedestrian"): "square", ("highway", "footway"): "square", ("man_made", "pier"): "pier",
    ("leisure", "garden"): "garden", ("landuse", "allotments"): "garden",
    ("landuse", "grass"): "grass", ("natural", "grassland"): "grass", ("landuse", "village_green"): "grass", ("landuse", "recreation_ground"): "grass", ("landuse", "meadow"): "meadow",
    ("landuse", "flowerbed"): "garden", ("landuse", "greenfield"): "meadow", ("natural", "scrub"): "scrub", ("natural", "heath"): "scrub",
    ("landuse", "cemetery"): "cemetery", ("amenity", "grave_yard"): "cemetery",
    ("landuse", "forest"): "forest", ("natural", "wood"): "forest", ("landuse", "orchard"): "orchard", ("landuse", "vineyard"): "orchard",
    ("landuse", "farmland"): "farmland", ("landuse", "farm"): "farmland",
    ("landuse", "construction"): "construction", ("landuse", "brownfield"): "construction", ("landuse", "railway"): "railway", ("leisure", "park"): "park",
    ("leisure", "common"): "park", ("leisure", "golf_course"): "grass",
}  # fmt: skip
# The first named wins where two covers overlap: small and definite before wide and vague.
COVER_ORDER = (
    "pool", "fountain", "water", "parking", "playground", "pitch", "pier", "square", "garden", "sand", "construction", "railway", "cemetery", "grass", "orchard",
    "scrub", "wetland", "forest", "meadow", "farmland", "park",
)  # fmt: skip
_STREAM_WIDTHS = {"river": 8.0, "canal": 8.0, "stream": 1.5, "drain": 1.2, "ditch": 1.0}
_FEATURES = {
    ("natural", "tree"): "tree", ("highway", "street_lamp"): "street_lamp", ("highway", "crossing"): "crossing",
    ("highway", "traffic_signals"): "traffic_signals", ("highway", "bus_stop"): "bus_stop",
    ("highway", "stop"): "stop_sign", ("highway", "give_way"): "give_way", ("highway", "turning_circle"): "turning_circle",
    ("emergency", "fire_hydrant"): "fire_hydrant", ("amenity", "bench"): "bench",
    ("amenity", "waste_basket"): "waste_basket", ("amenity", "waste_disposal"): "waste_disposal", ("amenity", "recycling"): "recycling",
    ("amenity", "post_box"): "post_box", ("amenity", "bicycle_parking"): "bicycle_parking",
    ("amenity", "motorcycle_parking"): "motorcycle_parking", ("amenity", "bicycle_rental"): "bicycle_parking",
    ("amenity", "vending_machine"): "vending_machine", ("amenity", "telephone"): "telephone",
    ("amenity", "fountain"): "fountain", ("amenity", "shelter"): "shelter", ("amenity", "taxi"): "taxi", ("amenity", "charging_station"): "charging_station",
    ("barrier", "bollard"): "bollard", ("barrier", "block"): "bollard",
    ("barrier", "gate"): "gate", ("barrier", "lift_gate"): "gate", ("advertising", "column"): "advertising_column", ("advertising", "billboard"): "billboard",
    ("man_made", "mast"): "mast", ("man_made", "flagpole"): "flagpole",
    ("tourism", "artwork"): "artwork", ("natural", "shrub"): "shrub", ("natural", "stone"): "stone", ("amenity", "parking"): "parking",
}  # fmt: skip
_ON_STREET = frozenset(("crossing", "traffic_signals", "stop_sign", "give_way", "turning_circle", "gate"))
_BARRIERS = {"fence": "fence", "guard_rail": "fence", "handrail": "fence", "railing": "fence", "wall": "wall", "retaining_wall": "wall", "city_wall": "wall", "hedge": "hedge"}
_TREE_ROW = 8.0  # metres between the trees of a mapped row
_LEAST_AREA = 2.0  # m2


def cover_kind(tags: dict[str, str]) -> str | None:
    if tags.get("highway") in ("pedestrian", "footway", "service") or tags.get("place") == "square":
        return "square" if tags.get("highway") != "service" else "parking"
    if tags.get("amenity") == "parking" and tags.get("parking", "surface") not in ("surface", "street_side", "lane", "on_kerb", "half_on_kerb"):
        return None
    kinds = {kind for (key, value), kind in _COVER.items() if tags.get(key) == value}
    return next((k for k in COVER_ORDER if k in kinds), None)


def water_area(near: list[Shape], extract: Extract, window: Window) -> BaseGeometry:
    """All mapped water: polygons, streams as bands, the sea beyond a coastline."""
    parts = [metric(s, window) for s in near if cover_kind(s.tags) == "water" and not values.underground(s.tags)]
    coast = []
    for line in _near_lines(extract, window):
        kind = line.tags.get("waterway")
        xy = shapely.LineString(window.project(line.coords))
        if kind in _STREAM_WIDTHS and not values.underground(line.tags):
            width = values.bounded(line.tags.get("width"), 0.5, 60.0) or _STREAM_WIDTHS[kind]
            parts.append(xy.buffer(width / 2, cap_style="flat", quad_segs=4))
        elif line.tags.get("natural") == "coastline":
            coast.append(xy)
    parts += _sea(coast, window)
    return shapes.common(shapes.union(parts), window.square)


def _sea(coast: list[shapely.LineString], window: Window) -> list[BaseGeometry]:
    """Faces of the window that lie to the right of the coastline."""
    wide = window.square.buffer(5.0)
    inside = [p for c in coast for p in shapes.lines(c.intersection(wide))]
    if not inside:
        return []
    faces = shapely.get_parts(shapely.polygonize([*shapes.lines(shapely.union_all([*inside, wide.exterior]))]))
    out = []
    for face in faces.tolist():
        votes = 0
        for line in inside:
            xy = np.asarray(line.coords)
            middle, step = (xy[1:] + xy[:-1]) / 2, np.diff(xy, axis=0)
            right = np.stack([step[:, 1], -step[:, 0]], 1) / np.maximum(1e-9, np.hypot(step[:, 0], step[:, 1]))[:, None]
            votes += int(shapely.contains_xy(face, middle + 0.05 * right).sum()) - int(shapely.contains_xy(face, middle - 0.05 * right).sum())
        if votes > 0:
            out.append(face)
    return out


def areas(near: list[Shape], water: BaseGeometry, window: Window, taken: BaseGeometry, repairs: Counter[str]) -> list[Area]:
    """Disjoint land cover off the carriageways and buildings (`taken`)."""
    candidates: list[tuple[int, float, str, BaseGeometry, str, OsmRef | None]] = [(COVER_ORDER.index("water"), 0.0, "water", water, "", None)]
    for s in near:
        kind = cover_kind(s.tags)
        if kind is None or kind == "water" or values.underground(s.tags) or s.tags.get("building", "no") != "no":
            continue
        shape = shapes.common(metric(s, window), window.square)
        candidates.append((COVER_ORDER.index(kind), shape.area, kind, shape, s.tags.get("name", ""), OsmRef.model_validate({"type": s.type, "id": s.id})))
    out, used = [], taken
    for _, _, kind, shape, name, osm in sorted(candidates, key=lambda c: (c[0], c[1], c[5].id if c[5] else 0)):
        free = shapes.minus(shape, used)
        repairs["areas_trimmed"] += free.area < 0.98 * shape.area
        pieces = shapes.polygons(free, _LEAST_AREA)
        if kind == "water" and not osm:
            name = next((s.tags["name"] for s in near if cover_kind(s.tags) == "water" and "name" in s.tags), "")
        out += [Area(kind=kind, polygon=shapes.to_contract(p), name=name, osm=osm) for p in pieces]
        used = used.union(shape)
    return out


def features(extract: Extract, window: Window, walls: BaseGeometry, carriageway: BaseGeometry, water: BaseGeometry, repairs: Counter[str]) -> list[Feature]:
    """Mapped points; what a guessed kerb or wall has swallowed moves out if that is near, else it is left out."""
    found = []
    for p in extract.points_in(window.degrees()):
        kind = next((kind for (key, value), kind in _FEATURES.items() if p.tags.get(key) == value), None)
        if kind is not None:
            found.append((kind, window.project(np.array([p.lon, p.lat])), p.tags, OsmRef(type="node", id=p.id)))
    for line in _near_lines(extract, window):
        if line.tags.get("natural") == "tree_row":
            row = shapely.LineString(window.project(line.coords))
            for d in np.arange(0.0, row.length, _TREE_ROW):
                found.append(("tree", np.array(row.interpolate(d).coords[0]), {k: v for k, v in line.tags.items() if k != "natural"}, OsmRef(type="way", id=line.id)))
    blocked = shapes.union([walls, carriageway])
    for g in (blocked, walls, water):
        shapely.prepare(g)
    out = []
    for kind, xy, tags, osm in found:
        at = shapely.Point(xy)
        if kind in _ON_STREET:
            ok = not walls.contains(at)
        elif water.contains(at):
            ok = False
        elif blocked.contains(at):
            at, moved = _step_out(at, blocked)
            ok = moved <= 2.5 and not water.contains(at)
            repairs["points_moved"] += ok
        else:
            ok = True
        x, y = round(at.x, 3), round(at.y, 3)
        if not ok or not (0 < x < window.size and 0 < y < window.size):
            repairs["points_left_out"] += not ok
            continue
        out.append(Feature(kind=kind, at=(x, y), tags={k: tags[k] for k in sorted(tags)}, osm=osm))
    return sorted(out, key=lambda f: (f.kind, f.osm.id if f.osm else 0, f.at))


def _step_out(at: shapely.Point, blocked: BaseGeometry) -> tuple[shapely.Point, float]:
    """The nearest free place half a metre off the boundary, and how far it is."""
    edge = shapely.shortest_line(at, blocked.boundary)
    (x0, y0), (x1, y1) = edge.coords[0], edge.coords[-1]
    if edge.length < 1e-6:
        return at, 99.0
    k = 1 + 0.5 / edge.length
    out = shapely.Point(x0 + (x1 - x0) * k, y0 + (y1 - y0) * k)
    return out, 99.0 if blocked.contains(out) else edge.length


def barriers(extract: Extract, window: Window, taken: BaseGeometry) -> list[Barrier]:
    out = []
    for line in _near_lines(extract, window):
        kind = _BARRIERS.get(line.tags.get("barrier", ""))
        if kind is None or values.underground(line.tags):
            continue
        free = shapely.LineString(window.project(line.coords)).intersection(window.square).difference(taken.buffer(0.2))
        for part in shapes.lines(shapely.line_merge(free) if free.geom_type == "MultiLineString" else free):
            if part.length > 1.0:
                out.append(Barrier(kind=kind, line=shapes.points(part.simplify(0.05)), osm=OsmRef(type="way", id=line.id)))
    return sorted(out, key=lambda b: (b.kind, b.line))


def _near_lines(extract: Extract, window: Window) -> list[Line]:
    """Ways near the window that have a length."""
    return [w for w in extract.lines_near(window.degrees(margin=6.0)) if len(w.coords) > 1 and (np.ptp(w.coords, axis=0) > 0).any()]
