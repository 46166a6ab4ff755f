"""Where cars drive: the carriageways as an area. Blocks are what is left of the window."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from flaneur.city.layout import shapes
from flaneur.city.layout.graph import Building, CityGraph, Junction, Street

_BEYOND = 12.0  # metres a street is drawn on past the window, so that its kerbs meet the edge squarely
GROUND = 2.5  # metres: a building that starts above this leaves the ground free


def bands(streets: Iterable[Street], junctions: Sequence[Junction], size: float, widths: Callable[[Street], float]) -> BaseGeometry:
    """The ground within half a width of the streets. Ends are square where streets meet, with a disc no wider
    than the narrowest of them, so that a broad street does not bulge across a narrow one; dead ends are round."""
    parts: list[BaseGeometry] = []
    radii: dict[int, list[float]] = defaultdict(list)
    for s in streets:
        half = widths(s) / 2
        parts.append(extended(s.line, size).buffer(half, quad_segs=4, cap_style="flat"))
        radii[s.start].append(half)
        radii[s.end].append(half)
    parts += [shapely.Point(junctions[j].at).buffer(min(r), quad_segs=4) for j, r in radii.items()]
    parts += [shapely.Point(j.at).buffer(j.radius, quad_segs=6) for j in junctions if j.radius > 0]
    return shapes.common(shapes.union(parts), shapely.box(0, 0, size, size))


def carriageway_area(streets: Iterable[Street], junctions: Sequence[Junction], size: float, buildings: BaseGeometry) -> BaseGeometry:
    """The union of the carriageways, kerb to kerb, less the buildings that stand on the ground."""
    area = bands([s for s in streets if s.carriageway and not s.passage], junctions, size, lambda s: s.width)
    return shapes.minus(area, buildings)


def street_surface(graph: CityGraph) -> BaseGeometry:
    """The carriageway of a finished graph: everything that is no block."""
    blocks = shapes.union(shapes.from_contract(b.polygon) for b in graph.blocks)
    return shapes.minus(shapely.box(0, 0, graph.size, graph.size), blocks)


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
