"""Measures of a place: by them windows are classified and told apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import shapely

from flaneur.city.layout import buildings, classify, land, shapes
from flaneur.city.layout.osm import Extract, Shape
from flaneur.city.layout.streets import StreetLine, street_lines
from flaneur.city.layout.window import Window

_AROUND = 200.0  # metres beyond the window that count as its surroundings
_COUNTRY = ("farmland", "meadow", "forest", "scrub", "orchard")
_NO_PLACES = frozenset(("bench", "waste_basket", "bicycle_parking", "parking", "vending_machine", "parking_entrance", "post_box", "recycling", "motorcycle_parking", "telephone", "clock"))


def place_features(extract: Extract, window: Window) -> classify.PlaceFeatures:
    """The measures by which windows are classified and told apart."""
    near = buildings.near_shapes(extract, window)
    ignored: Counter[str] = Counter()
    return measure(buildings.footprints(near, window, ignored), street_lines(extract, window, ignored), near, public_places(extract, window), extract, window)


def measure(found: Sequence[buildings.Footprint], lines: Sequence[StreetLine], near: Sequence[Shape], amenities: Sequence[tuple[shapely.Point, str, str]], extract: Extract, window: Window) -> classify.PlaceFeatures:
    square, hectares = window.square, window.size**2 / 10_000
    sizes = [f.shape.area for f in found]
    heights = [h if h is not None else (f.profile.levels or 0) * 3.2 for f in found for h in [f.profile.height]]
    known = [(h, a) for h, a in zip(heights, sizes, strict=True) if h > 0]
    country = [buildings.metric(s, window).intersection(square) for s in near if land.cover_kind(s.tags) in _COUNTRY]
    lengths = [(line.kind, line.line.intersection(square).length) for line in lines if line.carriageway]
    total = sum(length for _, length in lengths)
    west, south, east, north = window.degrees()
    c = extract.point_coords
    near_points = np.flatnonzero((c[:, 0] >= west) & (c[:, 0] <= east) & (c[:, 1] >= south) & (c[:, 1] <= north)) if len(c) else []
    signals = sum(extract.points[i].tags.get("highway") in ("traffic_signals", "crossing") for i in near_points)
    big = [a for a in sizes if a > 30]
    cover_around, country_around = _surroundings(extract, window)
    return classify.PlaceFeatures(
        cover=sum(sizes) / window.size**2, floor_area=sum((h / 3.2 if h else 2.5) * a for h, a in zip(heights, sizes, strict=True)) / window.size**2,
        height=classify.weighted_mean([h for h, _ in known], [a for _, a in known]), footprint=float(np.median(big)) if big else 0.0, largest=max((f.full_area for f in found), default=0.0),
        business=sum(kind in classify.BUSINESS for _, kind, _ in amenities) / hectares, country=shapes.union(country).area / window.size**2 if country else 0.0, country_around=country_around, cover_around=cover_around,
        road=total / hectares, tracks=sum(length for kind, length in lengths if kind == "track") / total if total else 0.0, signals=signals / hectares,
    )  # fmt: skip


def _surroundings(extract: Extract, window: Window) -> tuple[float, float]:
    """Cover by buildings and by country within the surroundings, as shares of what the extract covers there."""
    west, south, east, north = window.degrees(_AROUND)
    b = extract.shape_boxes
    near = np.flatnonzero((b[:, 0] <= east) & (b[:, 2] >= west) & (b[:, 1] <= north) & (b[:, 3] >= south)) if len(b) else []
    around = shapely.box(-_AROUND, -_AROUND, window.size + _AROUND, window.size + _AROUND)
    low, high = window.project(np.array(extract.core).reshape(2, 2))
    covered = around.intersection(shapely.box(*low, *high)).area or around.area
    built, country = 0.0, []
    for i in near:
        s = extract.shapes[i]
        if s.tags.get("building", "no") != "no":
            built += shapely.Polygon(window.project(s.outers[0])).area
        elif land.cover_kind(s.tags) in _COUNTRY:
            country.append(shapes.clean(buildings.metric(s, window).intersection(around)))
    return built / covered, min(1.0, shapes.union(country).area / covered if country else 0.0)


def public_places(extract: Extract, window: Window) -> list[tuple[shapely.Point, str, str]]:
    """Shops, offices, restaurants and the like with their names."""
    west, south, east, north = window.degrees()
    c = extract.point_coords
    out = []
    for i in np.flatnonzero((c[:, 0] >= west) & (c[:, 0] <= east) & (c[:, 1] >= south) & (c[:, 1] <= north)):
        t = extract.points[i].tags
        kind = "shop" if "shop" in t else "office" if "office" in t else t.get("amenity") or (t.get("tourism") if t.get("tourism") in ("hotel", "museum", "hostel", "gallery") else None)
        if kind and kind not in _NO_PLACES:
            out.append((shapely.Point(np.round(window.project(c[i]), 3)), kind, t.get("name", "")))
    return out
