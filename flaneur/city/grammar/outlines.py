"""Outlines in the plane: clean footprints, offsets that keep their corners, and where a polygon's far inside is."""

from __future__ import annotations

import math
from collections.abc import Sequence

import shapely
from shapely.geometry import MultiPolygon, Polygon
from shapely.geometry.polygon import orient

Point = tuple[float, float]
SNAP = 0.01  # metres


def largest(geometry: shapely.Geometry) -> Polygon:
    """The largest polygon in whatever a set operation returned; empty where there is none."""
    if isinstance(geometry, Polygon):
        return geometry
    parts = [g for g in getattr(geometry, "geoms", ()) if isinstance(g, (Polygon, MultiPolygon))]
    return max((largest(g) for g in parts), key=lambda g: g.area, default=Polygon())


def clean(polygon: Polygon, tolerance: float = 0.04, erode: float = 0.0) -> Polygon:
    """The polygon on the 1 cm grid, valid, without needless corners; `erode` also opens pinches narrower than twice its value."""
    if not polygon.is_valid:
        polygon = largest(polygon.buffer(0))
    if erode:
        polygon = largest(polygon.buffer(-erode, join_style="mitre"))
    reference = polygon.area
    for factor in (1.0, 4.0, 8.0):
        simple = largest(polygon.simplify(tolerance * factor))
        if simple.is_empty or simple.symmetric_difference(polygon).area > 0.006 * reference:
            break
        polygon = simple
        if shapely.get_num_coordinates(polygon) <= 40:
            break
    polygon = largest(shapely.set_precision(polygon, SNAP))
    holes = [ring for ring in polygon.interiors if Polygon(ring).area > 1.0]
    polygon = Polygon(_without_straight(polygon.exterior.coords[:-1]), [_without_straight(ring.coords[:-1]) for ring in holes]) if not polygon.is_empty else polygon
    return orient(polygon)


def _without_straight(ring: Sequence[tuple[float, ...]]) -> list[Point]:
    """Drop repeated corners and those within 2 cm of the line between their neighbours."""
    points = [(round(p[0], 2), round(p[1], 2)) for p in ring]
    i = 0
    while i < len(points) and len(points) > 3:
        (ax, ay), (bx, by), (cx, cy) = points[i - 1], points[i], points[(i + 1) % len(points)]
        length = math.hypot(cx - ax, cy - ay)
        off = abs((cx - ax) * (by - ay) - (cy - ay) * (bx - ax)) / length if length > 0 else 0.0
        if off < 0.02 or math.hypot(bx - ax, by - ay) < 0.03:
            points.pop(i)
            i = max(i - 1, 0)
        else:
            i += 1
    return points


def shifted(rings: list[list[Point]], distances: list[list[float]]) -> list[list[Point]] | None:
    """Each edge moved outwards by its own distance; corners keep their order. None where the result would fold."""
    out = []
    for ring, moves in zip(rings, distances, strict=True):
        n, moved = len(ring), []
        lines = []
        for i, (ax, ay) in enumerate(ring):
            bx, by = ring[(i + 1) % n]
            length = math.hypot(bx - ax, by - ay)
            nx, ny = (by - ay) / length, -(bx - ax) / length
            lines.append((nx, ny, nx * ax + ny * ay + moves[i]))
        for i, (x, y) in enumerate(ring):
            (ax, ay, ac), (bx, by, bc) = lines[i - 1], lines[i]
            determinant = ax * by - ay * bx
            if abs(determinant) < 0.12:
                d = (moves[i - 1] + moves[i]) / 2
                length = math.hypot(ax + bx, ay + by)
                if length < 1.0:
                    return None
                moved.append((x + (ax + bx) / length * d, y + (ay + by) / length * d))
            else:
                moved.append(((ac * by - ay * bc) / determinant, (ax * bc - ac * bx) / determinant))
        for i in range(n):
            (ax, ay), (bx, by), (px, py), (qx, qy) = ring[i], ring[(i + 1) % n], moved[i], moved[(i + 1) % n]
            if (bx - ax) * (qx - px) + (by - ay) * (qy - py) < 1e-3:
                return None
        out.append(moved)
    polygon = Polygon(out[0], out[1:])
    return out if polygon.is_valid and polygon.exterior.is_ccw else None


def is_star_shaped(ring: list[Point], centre: Point) -> bool:
    cx, cy = centre
    return all((ax - cx) * (by - cy) - (ay - cy) * (bx - cx) > 0.05 for (ax, ay), (bx, by) in zip(ring, ring[1:] + ring[:1], strict=True))


def inner_depth(polygon: Polygon) -> float:
    """Radius of the largest circle inside, to about 10 cm, metres."""
    return float(shapely.maximum_inscribed_circle(polygon, 0.1).length)
