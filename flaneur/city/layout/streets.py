"""From OSM ways to street lines in metres, with widths, lanes and pavements."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import shapely

from flaneur.city.layout import tags as values
from flaneur.city.layout.graph import OsmRef
from flaneur.city.layout.osm import Extract
from flaneur.city.layout.window import Window


class Kind(NamedTuple):
    """Defaults of one highway value where the map is silent."""

    carriageway: bool
    rank: int  # the more important street keeps a stretch that two ways share
    width: float  # metres, kerb to kerb
    lanes: int
    pavement: float  # metres on either side


KINDS: dict[str, Kind] = {
    "motorway": Kind(True, 20, 11.0, 3, 0.0), "motorway_link": Kind(True, 19, 5.0, 1, 0.0),
    "trunk": Kind(True, 18, 10.0, 2, 2.0), "trunk_link": Kind(True, 17, 5.0, 1, 0.0),
    "primary": Kind(True, 16, 9.5, 2, 3.0), "primary_link": Kind(True, 15, 5.0, 1, 2.0),
    "secondary": Kind(True, 14, 8.5, 2, 3.0), "secondary_link": Kind(True, 13, 5.0, 1, 2.0),
    "tertiary": Kind(True, 12, 7.5, 2, 2.5), "tertiary_link": Kind(True, 11, 4.5, 1, 2.0),
    "unclassified": Kind(True, 10, 6.5, 2, 2.0), "residential": Kind(True, 9, 6.5, 2, 2.0), "road": Kind(True, 8, 6.0, 2, 1.5),
    "living_street": Kind(True, 8, 5.0, 1, 1.5), "busway": Kind(True, 8, 3.5, 1, 0.0), "service": Kind(True, 7, 4.0, 1, 0.0), "track": Kind(True, 6, 2.8, 1, 0.0),
    "pedestrian": Kind(False, 5, 6.0, 0, 0.0), "cycleway": Kind(False, 4, 2.0, 0, 0.0), "footway": Kind(False, 3, 2.0, 0, 0.0),
    "path": Kind(False, 2, 1.4, 0, 0.0), "steps": Kind(False, 2, 2.0, 0, 0.0), "bridleway": Kind(False, 1, 1.5, 0, 0.0), "trail": Kind(False, 1, 1.4, 0, 0.0),
}  # fmt: skip
_SERVICE_WIDTHS = {"driveway": 3.0, "alley": 3.0, "parking_aisle": 5.5, "drive-through": 3.0, "emergency_access": 3.5}
_LANE = 3.1  # metres


@dataclass(frozen=True)
class StreetLine:
    """A street before it is cut into pieces."""

    kind: str
    line: shapely.LineString
    width: float
    lanes: int = 1
    oneway: bool = False
    pavement: float = 0.0
    name: str = ""
    osm: OsmRef | None = None
    connector: bool = False

    @property
    def carriageway(self) -> bool:
        return KINDS[self.kind].carriageway

    @property
    def attributes(self) -> tuple:
        return (self.kind, self.width, self.lanes, self.oneway, self.pavement, self.name, self.connector)


def designed(kind: str, line: shapely.LineString, name: str = "", width: float | None = None, oneway: bool = False, pavement: float | None = None, lanes: int | None = None) -> StreetLine:
    """A street of an invented layout with its kind's defaults."""
    k = KINDS[kind]
    return StreetLine(kind, line, k.width if width is None else width, k.lanes if lanes is None else lanes, oneway, k.pavement if pavement is None else pavement, name)


def street_lines(extract: Extract, window: Window, repairs: Counter[str]) -> list[StreetLine]:
    """All streets and paths at ground level that touch the window; tunnels and indoor ways are left out."""
    out = []
    for way in extract.lines_near(window.degrees(margin=5.0)):
        kind = way.tags.get("highway")
        if kind not in KINDS:
            continue
        if values.underground(way.tags):
            repairs["tunnels_left_out"] += 1
            continue
        xy = window.project(way.coords)
        keep = np.r_[True, np.abs(np.diff(xy, axis=0)).max(1) > 1e-6]
        if keep.sum() < 2:
            repairs["streets_without_length"] += 1
            continue
        xy = xy[keep]
        direction = values.oneway(way.tags)
        line = shapely.LineString(xy[::-1] if direction < 0 else xy)
        out.append(_street(kind, line, way.tags, direction != 0, OsmRef(type="way", id=way.id)))
    return out


def _street(kind: str, line: shapely.LineString, tags: dict[str, str], oneway: bool, osm: OsmRef) -> StreetLine:
    default = KINDS[kind]
    lanes = values.count(tags.get("lanes"), 1, 10)
    width = values.bounded(tags.get("width"), 1.0, 40.0)
    lane_count = int(lanes) if lanes else max(1, default.lanes - 1) if oneway and default.lanes == 2 else default.lanes
    if width is None and default.carriageway:
        if lanes:
            width = lane_count * _LANE + (0.5 if default.rank > 7 else 0.0)
        else:
            width = _SERVICE_WIDTHS.get(tags.get("service", ""), default.width)
            if oneway and default.lanes == 2:
                width = max(4.5, width - 2.0)
    pavement = 0.0 if tags.get("sidewalk") in ("no", "none") else default.pavement
    name = " ".join(tags.get("name", "").split())
    return StreetLine(kind, line, round(width or default.width, 2), lane_count if default.carriageway else 0, oneway, pavement, name, osm)
