"""How tall a building is: the tag, else its levels, else a prior by place type that is fixed per OSM id."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import shapely

from flaneur.city.layout import shapes
from flaneur.city.layout import tags as values
from flaneur.city.layout.graph import OsmRef

ROOF_SHAPES = ("flat", "gabled", "hipped", "pyramidal", "skillion", "mansard", "dome", "onion")
_ROOF_ALIASES = {
    "half-hipped": "hipped", "hip": "hipped", "gable": "gabled", "pitched": "gabled", "gambrel": "mansard", "saltbox": "gabled", "round": "dome", "cone": "pyramidal", "conical": "pyramidal",
    "double_saltbox": "gabled", "quadruple_saltbox": "hipped", "side_hipped": "hipped", "side_half-hipped": "hipped", "cross_gabled": "gabled", "crosspitched": "gabled", "lean_to": "skillion",
    "sawtooth": "skillion", "pyramid": "pyramidal", "dome": "dome", "half-dome": "dome",
}  # fmt: skip
SMALL_USES = frozenset(("garage", "garages", "shed", "carport", "hut", "kiosk", "roof", "greenhouse", "toilets", "service", "garbage_shed", "cabin", "container", "outbuilding", "sty"))
_CHURCHES = frozenset(("church", "cathedral", "chapel", "mosque", "temple", "synagogue", "religious"))
_HALLS = frozenset(("industrial", "warehouse", "retail", "supermarket", "barn", "farm_auxiliary", "hangar", "sports_hall", "cowshed", "stable", "manufacture"))
# Levels (low, high) of an unmapped building, and roofs with their weights.
PRIOR_LEVELS = {"cbd": (4, 9), "town": (2, 4), "suburb": (1, 2), "rural": (1, 2)}
_PRIOR_ROOFS = {
    "cbd": (("flat", 0.85), ("mansard", 0.15)),
    "town": (("gabled", 0.55), ("hipped", 0.2), ("flat", 0.15), ("mansard", 0.1)),
    "suburb": (("gabled", 0.6), ("hipped", 0.3), ("flat", 0.1)),
    "rural": (("gabled", 0.75), ("hipped", 0.2), ("skillion", 0.05)),
}
_TALLEST_PRIOR = 30.0  # metres: mapped towers say little about their unmapped neighbours
_LEAST_VOLUME = 6.0  # m3 of a building whose height is free
_EAVES = 2.2  # metres: what stays under the roof at least


@dataclass(frozen=True)
class Profile:
    """What the tags say about the vertical extent; None where they are silent."""

    height: float | None = None
    levels: float | None = None
    roof_levels: float | None = None
    min_height: float = 0.0
    roof_shape: str | None = None
    roof_height: float | None = None

    def above(self, other: Profile) -> bool:
        """Starts where the other ends, or higher."""
        top = other.height if other.height is not None else other.levels * values.METRES_PER_LEVEL if other.levels is not None else None
        return self.min_height > 0.5 and top is not None and self.min_height >= top - 0.3


@dataclass(frozen=True)
class Decided:
    height: float
    min_height: float
    levels: int
    roof_shape: str
    roof_height: float
    source: Literal["tag", "levels", "prior"]


def tagged_profile(tags: Mapping[str, str], repairs: Counter[str] | None = None) -> Profile:
    """The vertical tags that make sense; those that do not are counted as `heights_ignored`."""
    repairs = Counter() if repairs is None else repairs

    def read(key: str, parse, low: float, high: float) -> float | None:
        if key not in tags:
            return None
        value = parse(tags[key], low, high)
        repairs["heights_ignored"] += value is None
        return value

    height = read("height", values.bounded, 1.0, values.MAX_HEIGHT) or values.bounded(tags.get("building:height"), 1.0, values.MAX_HEIGHT)
    levels = read("building:levels", values.count, 0.5, 200)
    low = read("min_height", values.bounded, 0.0, values.MAX_HEIGHT)
    if low is None:
        low = (read("building:min_level", values.count, 0, 200) or 0.0) * values.METRES_PER_LEVEL
    roof = tags.get("roof:shape", tags.get("building:roof:shape", "")).lower().strip()
    roof = _ROOF_ALIASES.get(roof, roof)
    top = height if height is not None else levels * values.METRES_PER_LEVEL if levels else None
    if top is not None and low > top - 0.5:
        repairs["heights_ignored"] += 1
        low = 0.0
    return Profile(height, levels, values.count(tags.get("roof:levels"), 0, 6), low, roof if roof in ROOF_SHAPES else None, values.bounded(tags.get("roof:height"), 0.0, 100.0))


class HeightModel:
    """Decides every height of a window. Silent buildings follow their mapped neighbours, else the place type."""

    def __init__(self, place_type: str, known: Sequence[tuple[float, float]] = ()):
        """`known`: (height m, footprint m2) of buildings in this place whose height is mapped."""
        self.place_type = place_type
        houses = sorted(h for h, area in known if area > 40)
        self.middle = min(houses[len(houses) // 2], _TALLEST_PRIOR) if len(houses) >= 5 else None

    def decide(self, osm: OsmRef, tags: Mapping[str, str], profile: Profile, polygon: shapely.Polygon) -> Decided:
        u = _uniforms(osm, 3)
        height, source = self.total(profile)
        if height is None:
            height, source = self._prior(tags, polygon, u[0]), "prior"
            height = max(height, profile.min_height + values.METRES_PER_LEVEL, round(_LEAST_VOLUME / polygon.area, 1))
        use = tags.get("building", "yes")
        low = profile.min_height
        if use == "roof" and low == 0.0:
            low = max(0.0, height - 0.6)
        shape, roof = self._roof(profile, tags, polygon, height - low, source, u[1], u[2])
        levels = int(profile.levels) if profile.levels and profile.levels >= 1 else max(1, round((height - roof) / values.METRES_PER_LEVEL))
        return Decided(round(height, 2), round(low, 2), levels, shape, round(roof, 2), source)

    def decide_part(self, osm: OsmRef, tags: Mapping[str, str], profile: Profile, whole: Decided, polygon: shapely.Polygon) -> Decided:
        height, source = self.total(profile)
        if height is None:
            height, source = max(whole.height, profile.min_height + values.METRES_PER_LEVEL), whole.source
        roof_shape, roof = (profile.roof_shape, profile.roof_height) if profile.roof_shape else ("flat", 0.0)
        if roof_shape != "flat" and roof is None:
            roof = _roof_height(roof_shape, polygon, height - profile.min_height)
        roof = min(roof or 0.0, height - profile.min_height)
        return Decided(height, profile.min_height, max(1, round(height / values.METRES_PER_LEVEL)), roof_shape, roof, source)

    @staticmethod
    def total(profile: Profile) -> tuple[float | None, Literal["tag", "levels", "prior"]]:
        """The mapped height of the whole, and where it comes from."""
        if profile.height is not None:
            return profile.height, "tag"
        if profile.levels is not None:
            return max(2.4, (profile.levels + (profile.roof_levels or 0.0)) * values.METRES_PER_LEVEL), "levels"
        return None, "prior"

    def _prior(self, tags: Mapping[str, str], polygon: shapely.Polygon, u: float) -> float:
        use, area = tags.get("building", "yes"), polygon.area
        if use in SMALL_USES or area < 30:
            return round(2.4 + 0.8 * u, 1)
        if use in _CHURCHES or tags.get("amenity") == "place_of_worship":
            return round(10.0 + 8.0 * u, 1)
        if use in _HALLS:
            return round(6.0 + 4.0 * u, 1)
        if self.middle is not None and self.place_type in ("cbd", "town"):
            spread = 0.75 + 0.5 * u
            return round(max(3.2, self.middle * spread * (0.6 if area < 80 else 1.0)), 1)
        low, high = PRIOR_LEVELS[self.place_type]
        if area < 80:
            low, high = max(1, low // 2), max(1, high // 2)
        storeys = low + math.floor(u * (high - low + 1))
        attic = 2.5 if self.place_type != "cbd" else 0.4
        return round(storeys * values.METRES_PER_LEVEL + attic, 1)

    def _roof(self, profile: Profile, tags: Mapping[str, str], polygon: shapely.Polygon, extent: float, source: str, u: float, v: float) -> tuple[str, float]:
        shape = profile.roof_shape
        if shape is None:
            if tags.get("building") in SMALL_USES or polygon.area < 30:
                shape = "flat" if u < 0.5 else "gabled"
            elif tags.get("building") in _CHURCHES:
                shape = "gabled"
            elif extent > 24 or polygon.area > 1500 or (source != "prior" and extent > 16 and self.place_type == "cbd"):
                shape = "flat"
            else:
                shape = _weighted(_PRIOR_ROOFS[self.place_type], u)
            if tags.get("building") == "roof":
                shape = "flat"
        if shape == "flat":
            return shape, 0.0
        roof = profile.roof_height if profile.roof_height is not None else _roof_height(shape, polygon, extent) * (0.85 + 0.3 * v)
        roof = min(roof, extent - _EAVES if profile.roof_height is None else extent)
        return (shape, roof) if roof > 0.3 else ("flat", 0.0)


def _roof_height(shape: str, polygon: shapely.Polygon, extent: float) -> float:
    span = shapes.narrow_side(polygon)
    slope = {"gabled": 0.4, "hipped": 0.35, "pyramidal": 0.45, "skillion": 0.18, "mansard": 0.3, "dome": 0.5, "onion": 0.9}[shape]
    return min(span * slope, 0.45 * extent, 12.0 if shape not in ("dome", "onion") else 40.0)


def _weighted(options: Sequence[tuple[str, float]], u: float) -> str:
    for name, weight in options:
        if u < weight:
            return name
        u -= weight
    return options[-1][0]


def _uniforms(osm: OsmRef, n: int) -> np.ndarray:  # [n] in [0, 1)
    """Fixed per mapped object, so that a building looks the same in every window that shows it."""
    digest = hashlib.blake2b(f"{osm.type}/{osm.id}".encode(), digest_size=4 * n).digest()
    return np.frombuffer(digest, "<u4") / 2.0**32
