"""Measures of a place: by them windows are classified and told apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import shapely

from flaneur.city.layout import buildings, land, shapes
from flaneur.city.layout.classify import BUSINESS, PlaceFeatures
from flaneur.city.layout.heights import HeightModel
from flaneur.city.layout.osm import Extract
from flaneur.city.layout.window import Window

_AROUND = 200.0  # metres beyond the window that count as its surroundings
COUNTRY = ("farmland", "meadow", "forest", "scrub", "orchard")
_NO_PLACES = frozenset(("bench", "waste_basket", "bicycle_parking", "parking", "vending_machine", "parking_entrance", "post_box", "recycling", "motorcycle_parking", "telephone", "clock"))


def measure(found: Sequence[buildings.Footprint], amenities: Sequence[tuple[shapely.Point, str, str]], extract: Extract, window: Window) -> PlaceFeatures:
    """The measures by which the window is classified."""
    ground, hectares = window.size**2, window.size**2 / 10_000
    sizes = [f.shape.area for f in found]
    heights = [HeightModel.total(f.profile)[0] or 0.0 for f in found]
    known = sum(a for h, a in zip(heights, sizes, strict=True) if h > 0)
    signals = sum(p.tags.get("highway") in ("traffic_signals", "crossing") for p in extract.points_in(window.degrees()))
    cover_around, country_around = _surroundings(extract, window)
    return PlaceFeatures(
        cover=sum(sizes) / ground, height=sum(h * a for h, a in zip(heights, sizes, strict=True)) / known if known else 0.0, largest=max((f.full_area for f in found), default=0.0),
        business=sum(kind in BUSINESS for _, kind, _ in amenities) / hectares, signals=signals / hectares, cover_around=cover_around, country_around=country_around,
    )  # fmt: skip


def _surroundings(extract: Extract, window: Window) -> tuple[float, float]:
    """Cover by buildings and by country within the surroundings, as shares of what the extract covers there."""
    around = shapely.box(-_AROUND, -_AROUND, window.size + _AROUND, window.size + _AROUND)
    low, high = window.project(np.array(extract.core).reshape(2, 2))
    covered = around.intersection(shapely.box(*low, *high)).area or around.area
    built, country = 0.0, []
    for s in extract.shapes_near(window.degrees(_AROUND)):
        if s.tags.get("building", "no") != "no":
            built += shapely.Polygon(window.project(s.outers[0])).area
        elif land.cover_kind(s.tags) in COUNTRY:
            country.append(shapes.clean(buildings.metric(s, window).intersection(around)))
    return built / covered, min(1.0, shapes.union(country).area / covered if country else 0.0)


def public_places(extract: Extract, window: Window) -> list[tuple[shapely.Point, str, str]]:
    """Shops, offices, restaurants and the like with their names."""
    out = []
    for p in extract.points_in(window.degrees()):
        t = p.tags
        kind = "shop" if "shop" in t else "office" if "office" in t else t.get("amenity") or (t.get("tourism") if t.get("tourism") in ("hotel", "museum", "hostel", "gallery") else None)
        if kind and kind not in _NO_PLACES:
            out.append((shapely.Point(np.round(window.project(np.array([p.lon, p.lat])), 3)), kind, t.get("name", "")))
    return out
