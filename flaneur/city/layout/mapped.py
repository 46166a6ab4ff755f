"""From an extract and a window to a CityGraph: the order in which everything is read, repaired and put together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from flaneur.city.layout import blocks, buildings, classify, land, shapes
from flaneur.city.layout.graph import Area, BlockType, CityGraph, Feature, Junction
from flaneur.city.layout.heights import HeightModel
from flaneur.city.layout.network import build_network
from flaneur.city.layout.osm import ATTRIBUTION, Extract, Shape
from flaneur.city.layout.streets import KINDS, StreetLine, street_lines
from flaneur.city.layout.surfaces import GROUND, carriageway_area
from flaneur.city.layout.window import Window
from flaneur.errors import UserError

_ZONES: dict[str, BlockType] = {
    "residential": "residential", "commercial": "commercial", "retail": "commercial", "industrial": "industrial", "railway": "industrial", "port": "industrial", "farmyard": "residential",
    "education": "civic", "institutional": "civic", "religious": "civic", "civil": "civic", "military": "civic", "garages": "parking",
}  # fmt: skip
_CIVIC_AMENITIES = frozenset(("school", "university", "college", "hospital", "kindergarten", "place_of_worship", "townhall", "courthouse", "library", "police", "fire_station", "museum", "public_building"))
_COVER_TYPES: dict[str, BlockType] = {
    "water": "water", "pool": "water", "park": "park", "grass": "park", "garden": "park", "playground": "park", "pitch": "park", "cemetery": "park", "scrub": "forest", "forest": "forest", "farmland": "farmland",
    "meadow": "farmland", "orchard": "farmland", "square": "square", "parking": "parking", "railway": "industrial", "construction": "industrial",
}  # fmt: skip
_NEIGHBOURHOOD = 150.0  # metres around the window in which mapped heights inform the prior


def window_graph(extract: Extract, window: Window, seed: int = 0, name: str = "") -> CityGraph:
    """The cleaned and connected street map of one window."""
    west, south, east, north = window.degrees()
    w, s, e, n = extract.bounds
    if east < w or west > e or north < s or south > n:
        raise UserError(f"{extract.path}: the window {west:.6f},{south:.6f},{east:.6f},{north:.6f} lies outside the extract, which covers {extract.covers()}")
    repairs = Counter(extract.repairs)
    square = window.square
    near = buildings.near_shapes(extract, window)
    found = buildings.footprints(near, window, repairs)
    lines = street_lines(extract, window, repairs)
    if not any(line.line.intersection(square).length > 5.0 for line in lines):
        raise UserError(f"{extract.path}: the window at {window.lat:.6f},{window.lon:.6f} holds no street; choose another with --center or let --auto N choose (the extract covers {extract.covers()})")
    water = land.water_area(near, extract, window)
    walls = shapes.union(f.shape for f in found if min([f.profile.min_height, *(p.min_height for _, p, _ in f.parts)] if f.parts else [f.profile.min_height]) < GROUND and f.tags.get("building") != "roof")
    junctions, streets = build_network(lines, square, walls, water, repairs)
    amenities = _amenities(extract, window)
    place = classify.classify(_features(found, lines, near, amenities, extract, window))
    model = HeightModel(place, _known_heights(extract, window))
    built = buildings.build(found, model)
    road = carriageway_area(streets, junctions, window.size, walls)
    faces = blocks.make_blocks(road, square, repairs)
    road = shapes.clean(square.difference(shapes.union(faces)))
    blocks.locate(built, faces)
    covers = land.areas(near, water, window, shapes.union([road, walls]), repairs)
    points = land.features(extract, window, walls, road, water, repairs)
    _mark_junctions(junctions, points)
    _name_buildings(built, amenities)
    names = [(buildings.metric(s, window), s.tags["name"]) for s in near if "name" in s.tags and (land.cover_kind(s.tags) or "landuse" in s.tags or "amenity" in s.tags or "leisure" in s.tags)]
    described = blocks.describe(faces, streets, built, _zones(near, covers, window), [(p, a) for p, a, _ in amenities], place, names)
    return CityGraph(
        name=name or extract.name, place_type=place, source="osm", seed=seed, size=window.size, origin=window.origin, attribution=ATTRIBUTION, source_file=extract.path.name, source_sha256=extract.sha256,
        junctions=junctions, streets=streets, blocks=described, buildings=built, areas=covers, features=points,
        barriers=land.barriers(extract, window, shapes.union([road, walls])), repairs={k: int(repairs[k]) for k in sorted(repairs) if repairs[k]},
    )  # fmt: skip


def place_features(extract: Extract, window: Window) -> classify.PlaceFeatures:
    """The measures by which windows are classified and told apart."""
    near = buildings.near_shapes(extract, window)
    ignored: Counter[str] = Counter()
    return _features(buildings.footprints(near, window, ignored), street_lines(extract, window, ignored), near, _amenities(extract, window), extract, window)


def _features(found: Sequence[buildings.Footprint], lines: Sequence[StreetLine], near: Sequence[Shape], amenities: Sequence[tuple[shapely.Point, str, str]], extract: Extract, window: Window) -> classify.PlaceFeatures:
    square, hectares = window.square, window.size**2 / 10_000
    sizes = [f.shape.area for f in found]
    heights = [h if h is not None else (f.profile.levels or 0) * 3.2 for f in found for h in [f.profile.height]]
    known = [(h, a) for h, a in zip(heights, sizes, strict=True) if h > 0]
    country = [buildings.metric(s, window).intersection(square) for s in near if land.cover_kind(s.tags) in ("farmland", "meadow", "forest", "scrub", "orchard")]
    lengths = [(line.kind, line.line.intersection(square).length) for line in lines if line.carriageway]
    total = sum(length for _, length in lengths)
    west, south, east, north = window.degrees()
    c = extract.point_coords
    near_points = np.flatnonzero((c[:, 0] >= west) & (c[:, 0] <= east) & (c[:, 1] >= south) & (c[:, 1] <= north)) if len(c) else []
    signals = sum(extract.points[i].tags.get("highway") in ("traffic_signals", "crossing") for i in near_points)
    big = [a for a in sizes if a > 30]
    return classify.PlaceFeatures(
        cover=sum(sizes) / window.size**2, floor_area=sum((h / 3.2 if h else 2.5) * a for h, a in zip(heights, sizes, strict=True)) / window.size**2,
        height=classify.weighted_mean([h for h, _ in known], [a for _, a in known]), footprint=float(np.median(big)) if big else 0.0, largest=max((f.full_area for f in found), default=0.0),
        business=sum(kind in classify.BUSINESS for _, kind, _ in amenities) / hectares, country=shapes.union(country).area / window.size**2 if country else 0.0,
        road=total / hectares, tracks=sum(length for kind, length in lengths if kind == "track") / total if total else 0.0, signals=signals / hectares,
    )  # fmt: skip


def _amenities(extract: Extract, window: Window) -> list[tuple[shapely.Point, str, str]]:
    """Shops, offices, restaurants and the like with their names."""
    west, south, east, north = window.degrees()
    c = extract.point_coords
    out = []
    for i in np.flatnonzero((c[:, 0] >= west) & (c[:, 0] <= east) & (c[:, 1] >= south) & (c[:, 1] <= north)):
        t = extract.points[i].tags
        kind = "shop" if "shop" in t else "office" if "office" in t else t.get("amenity") or (t.get("tourism") if t.get("tourism") in ("hotel", "museum", "hostel", "gallery") else None)
        if kind and kind not in ("bench", "waste_basket", "bicycle_parking", "parking", "vending_machine", "parking_entrance", "post_box", "recycling", "motorcycle_parking", "telephone", "clock"):
            out.append((shapely.Point(np.round(window.project(c[i]), 3)), kind, t.get("name", "")))
    return out


def _known_heights(extract: Extract, window: Window) -> list[tuple[float, float]]:
    """Mapped heights in and around the window with rough footprints."""
    west, south, east, north = window.degrees(margin=_NEIGHBOURHOOD)
    b = extract.shape_boxes
    out = []
    for i in np.flatnonzero((b[:, 0] <= east) & (b[:, 2] >= west) & (b[:, 1] <= north) & (b[:, 3] >= south)) if len(b) else []:
        s = extract.shapes[i]
        if s.tags.get("building", "no") != "no" and ("height" in s.tags or "building:levels" in s.tags):
            height, _ = HeightModel._total(buildings.tagged_profile(s.tags, Counter()))
            if height:
                out.append((height, shapely.Polygon(window.project(s.outers[0])).area))
    return out


def _zones(near: Sequence[Shape], covers: Sequence[Area], window: Window) -> list[blocks.Zone]:
    out = [blocks.Zone(_COVER_TYPES[a.kind], shapes.from_contract(a.polygon)) for a in covers if a.kind in _COVER_TYPES]
    for s in near:
        kind = _ZONES.get(s.tags.get("landuse", "")) or ("civic" if s.tags.get("amenity") in _CIVIC_AMENITIES else None)
        if kind:
            out.append(blocks.Zone(kind, buildings.metric(s, window).intersection(window.square)))
    return out


def _mark_junctions(junctions: list[Junction], points: Sequence[Feature]) -> None:
    """Signals belong to the junction they control; a turning circle widens the street's end."""
    if not junctions:
        return
    at = shapely.points([j.at for j in junctions])
    tree = shapely.STRtree(at)
    for f in points:
        reach = {"traffic_signals": 15.0, "turning_circle": 3.0}.get(f.kind)
        if reach is None:
            continue
        nearest = int(tree.nearest(shapely.Point(f.at)))
        if at[nearest].distance(shapely.Point(f.at)) <= reach:
            if f.kind == "traffic_signals":
                junctions[nearest].signals = True


def _name_buildings(built: Sequence, amenities: Sequence[tuple[shapely.Point, str, str]]) -> None:
    """A nameless building takes the name of the one public place in it."""
    named = [(p, name) for p, kind, name in amenities if name and kind in _CIVIC_AMENITIES | {"hotel", "museum", "theatre", "cinema", "bank"}]
    if not named:
        return
    tree = shapely.STRtree([p for p, _ in named])
    for b in built:
        if not b.name:
            inside = tree.query(shapes.from_contract(b.polygon), predicate="contains")
            if len(inside) == 1:
                b.name = named[int(inside[0])][1]


def windows_auto(extract: Extract, n: int, size: float = 200.0) -> list[Window]:
    """The `n` most varied windows that do not overlap, the one with most streets and buildings first."""
    if n < 1:
        raise UserError(f"--auto {n}: give a number of windows, at least 1")
    w, s, e, north = _dense_bounds(extract)
    middle = Window((w + e) / 2, (s + north) / 2, size)
    low, high = middle.project(np.array([[w, s], [e, north]]))
    steps = [np.arange(a + size / 2, max(b - size / 2, a + size / 2) + 1.0, size / 2) for a, b in zip(low, high, strict=True)]
    centres = np.stack(np.meshgrid(*steps), -1).reshape(-1, 2)
    candidates, vectors, worth = [], [], []
    for lonlat in middle.unproject(centres):
        window = Window(round(float(lonlat[0]), 7), round(float(lonlat[1]), 7), size)
        street, built, inner = _content(extract, window)
        if street < 150 or built < 1 or not inner:
            continue
        candidates.append(window)
        worth.append(min(street / 1500, 1.0) + min(built / 40, 1.0))
    if not candidates:
        raise UserError(f"{extract.path}: no window with streets and buildings was found; the extract covers {extract.covers()}")
    # Only the richer ones are measured in full, which keeps a large extract fast.
    order = np.argsort(-np.array(worth), kind="stable")[: max(60, 12 * n)]
    candidates, worth = [candidates[i] for i in order], [worth[i] for i in order]
    vectors = np.array([place_features(extract, c).vector() for c in candidates])
    chosen = [0]
    at = np.array([middle.project(np.array([c.lon, c.lat])) for c in candidates])
    while len(chosen) < n:
        apart = np.abs(at[:, None] - at[chosen][None]).max(-1).min(1) >= size - 1.0
        variety = np.linalg.norm(vectors[:, None] - vectors[chosen][None], axis=-1).min(1) + 0.5 * np.array(worth)
        variety[~apart] = -1.0
        best = int(np.argmax(np.round(variety, 6)))
        if variety[best] < 0:
            raise UserError(f"{extract.path}: holds only {len(chosen)} windows of {size:.0f} m with streets and buildings; ask for --auto {len(chosen)} or fewer")
        chosen.append(best)
    return [candidates[i] for i in chosen]


def _dense_bounds(extract: Extract) -> tuple[float, float, float, float]:
    """The box of the buildings and streets: long ways and relations reach far beyond what was extracted."""
    middles = [s.outers[0].mean(0) for s in extract.shapes if "building" in s.tags] or [line.coords.mean(0) for line in extract.lines if "highway" in line.tags]
    if not middles:
        raise UserError(f"{extract.path}: holds no streets; fetch an extract with highways (the extract covers {extract.covers()})")
    m = np.array(middles)
    return (*m.min(0).tolist(), *m.max(0).tolist())


def _content(extract: Extract, window: Window) -> tuple[float, int, bool]:
    """Metres of street, number of buildings, and whether streets reach all four quarters of the neighbourhood."""
    west, south, east, north = window.degrees()
    b, c = extract.line_boxes, extract.shape_boxes
    street = 0.0
    for i in np.flatnonzero((b[:, 0] <= east) & (b[:, 2] >= west) & (b[:, 1] <= north) & (b[:, 3] >= south)):
        if extract.lines[i].tags.get("highway") in KINDS:
            street += shapely.LineString(window.project(extract.lines[i].coords)).intersection(window.square).length
    mx, my = (c[:, 0] + c[:, 2]) / 2, (c[:, 1] + c[:, 3]) / 2
    near = np.flatnonzero((mx >= west) & (mx <= east) & (my >= south) & (my <= north))
    return street, sum("building" in extract.shapes[i].tags for i in near), street > 0


__all__ = ["Window", "place_features", "window_graph", "windows_auto"]
