"""Where cars drive: the carriageways as an area. Blocks are what is left of the window."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from flaneur.city.layout import shapes
from flaneur.city.layout.graph import Building, CityGraph, Junction, Street

_BEYOND = 12.0  # metres a street is drawn on past the window, so that its kerbs meet the edge squarely
GROUND = 2.5  # metres: a building that starts above this leaves the ground free


def carriageway_area(streets: Iterable[Street], junctions: list[Junction], size: float, buildings: BaseGeometry) -> BaseGeometry:
    """The union of the carriageways, kerb to kerb, less the buildings that stand on the ground."""
    driven = [s for s in streets if s.carriageway and not s.passage]
    parts: list[BaseGeometry] = [extended(s.line, size).buffer(s.width / 2, quad_segs=4) for s in driven]
    parts += [shapely.Point(j.at).buffer(j.radius, quad_segs=6) for j in junctions if j.radius > 0]
    area = shapes.union(parts).intersection(shapely.box(0, 0, size, size))
    return shapes.clean(area.difference(buildings))


def street_surface(graph: CityGraph) -> BaseGeometry:
    """The carriageway of a finished graph: everything that is no block."""
    blocks = shapes.union(shapes.from_contract(b.polygon) for b in graph.blocks)
    return shapes.clean(shapely.box(0, 0, graph.size, graph.size).difference(blocks))


def stands_on_ground(building: Building) -> bool:
    lowest = min([p.min_height for p in building.parts], default=building.min_height)
    return lowest < GROUND


def extended(line: list[tuple[float, float]], size: float) -> shapely.LineString:
    """The line, drawn on past the window's edge where it ends there."""
    xy = [np.array(p) for p in line]
    for end, inner in ((0, 1), (-1, -2)):
        p = xy[end]
        if min(p[0], p[1], size - p[0], size - p[1]) < 0.02:
            step = p - xy[inner]
            xy[end] = p + step / max(1e-9, float(np.hypot(*step))) * _BEYOND
    return shapely.LineString(xy)
