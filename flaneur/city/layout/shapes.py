"""Between shapely and the contract: cleaning, rounding to the millimetre, one canonical order of vertices."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import shapely
import shapely.errors
from shapely.geometry.base import BaseGeometry

from flaneur.city.layout.graph import Polygon

GRID = 0.001  # metres


def polygons(geometry: BaseGeometry, least: float = 0.0) -> list[shapely.Polygon]:
    """The polygons inside any geometry that are larger than `least` m2, from south-west to north-east."""
    parts = [p for p in shapely.get_parts(shapely.get_parts(geometry)).tolist() if isinstance(p, shapely.Polygon) and not p.is_empty and p.area > least]
    return sorted(parts, key=lambda p: (*p.bounds, p.area))


def lines(geometry: BaseGeometry) -> list[shapely.LineString]:
    """The line strings inside any geometry."""
    return [p for p in shapely.get_parts(shapely.get_parts(geometry)).tolist() if isinstance(p, (shapely.LineString, shapely.LinearRing)) and p.length > 0]


def clean(geometry: BaseGeometry) -> BaseGeometry:
    """Valid and polygonal; self-crossing outlines become what they enclose."""
    if not geometry.is_valid:
        geometry = shapely.make_valid(geometry)
    return shapely.union_all(polygons(geometry)) if geometry.geom_type == "GeometryCollection" else geometry


def common(a: BaseGeometry, b: BaseGeometry) -> BaseGeometry:
    """What two polygonal geometries share, valid and on the millimetre grid."""
    return _overlay(shapely.intersection, a, b)


def minus(a: BaseGeometry, b: BaseGeometry) -> BaseGeometry:
    """`a` without `b`, both polygonal, valid and on the millimetre grid."""
    return _overlay(shapely.difference, a, b)


def _overlay(operation: Callable[..., BaseGeometry], a: BaseGeometry, b: BaseGeometry) -> BaseGeometry:
    try:
        return clean(operation(a, b, grid_size=GRID))
    except shapely.errors.GEOSException:
        # Offsetting sometimes leaves rings that touch themselves, which overlay refuses.
        return clean(operation(clean(a.buffer(0)), clean(b.buffer(0)), grid_size=GRID))


def union(parts: Iterable[BaseGeometry]) -> BaseGeometry:
    return shapely.union_all([p for p in parts if not p.is_empty])


def snapped(geometry: BaseGeometry) -> BaseGeometry:
    """On the millimetre grid and still valid."""
    return shapely.set_precision(geometry, GRID)


def to_contract(polygon: shapely.Polygon) -> Polygon:
    return Polygon(exterior=_ring(polygon.exterior, True), holes=[_ring(h, False) for h in polygon.interiors])


def from_contract(polygon: Polygon) -> shapely.Polygon:
    return shapely.Polygon(polygon.exterior, polygon.holes)


def _ring(ring: shapely.LinearRing, counter_clockwise: bool) -> list[tuple[float, float]]:
    """Not closed, the given turn, starting at the lowest vertex, so that equal shapes give equal bytes."""
    xy = np.round(np.asarray(ring.coords)[:-1, :2], 3) + 0.0
    if ring.is_ccw != counter_clockwise:
        xy = xy[::-1]
    first = min(range(len(xy)), key=lambda i: (xy[i][0], xy[i][1]))
    return [(float(x), float(y)) for x, y in np.roll(xy, -first, axis=0)]


def points(line: BaseGeometry) -> list[tuple[float, float]]:
    xy = np.round(np.asarray(line.coords)[:, :2], 3) + 0.0
    return [(float(x), float(y)) for x, y in xy]


def narrow_side(polygon: BaseGeometry) -> float:
    """The shorter side of the smallest rectangle around it, metres."""
    rectangle = polygon.minimum_rotated_rectangle
    if rectangle.geom_type != "Polygon":
        return 0.0
    xy = shapely.get_coordinates(rectangle)
    return float(min(np.hypot(*(xy[1] - xy[0])), np.hypot(*(xy[2] - xy[1]))))
