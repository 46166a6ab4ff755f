"""Lots: the buildable land of a block divided along its streets."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import shapely
import shapely.ops
from shapely.geometry.base import BaseGeometry

from flaneur.city.layout import shapes

_NEAR = 1.5  # metres: how far from the building line an edge still fronts a street


def frontage_lots(land: shapely.Polygon, street_side: BaseGeometry, frontage: float, depth: float, least: float, rng: np.random.Generator) -> list[shapely.Polygon]:
    """Lots side by side along the part of the land's boundary near `street_side`, each at most `depth` deep.

    Ground belongs to the lot whose frontage is nearest, which divides corners fairly and backs along the middle.
    """
    fronts = []
    for edge in _merged(land.exterior.intersection(street_side.buffer(_NEAR))):
        fronts += _stretches(edge, frontage, rng)
    if not fronts:
        return []
    seeds, owner = [], []
    for k, front in enumerate(fronts):
        n = max(2, round(front.length / 1.5))
        xy = shapely.get_coordinates(shapely.line_interpolate_point(front, (np.arange(n) + 0.5) / n, normalized=True))
        seeds.append(xy)
        owner += [k] * n
    points = shapely.MultiPoint(np.round(np.concatenate(seeds), 3))
    cells = shapely.get_parts(shapely.voronoi_polygons(points, extend_to=land.envelope))
    tree = shapely.STRtree(cells)
    at = {int(i): int(j) for i, j in tree.query(shapely.get_parts(points), predicate="intersects").T}
    groups: dict[int, list[BaseGeometry]] = {}
    for i, k in enumerate(owner):
        groups.setdefault(k, []).append(cells[at[i]])
    out = []
    for k, front in enumerate(fronts):
        lot = shapely.union_all(groups[k]).intersection(land).intersection(front.buffer(depth, cap_style="flat").union(front.buffer(depth * 0.55)))
        out.append(lot)
    out = [max(shapes.polygons(g), key=lambda p: p.area) if shapes.polygons(g) else shapely.Polygon() for g in out]
    kept = [p for p in out if p.area >= least]
    if not kept:
        return []
    done: list[shapely.Polygon] = []
    for lot in shapely.coverage_simplify(kept, 1.2):
        # Lots whose sides did not match vertex for vertex may have come to overlap.
        free = shapes.minus(shapes.common(lot, land), shapes.union(p for p in done if p.intersects(lot)))
        done += [p for p in shapes.polygons(free, least) if shapes.narrow_side(p) > 3.5]
    return done


def split_lots(land: shapely.Polygon, target: float, street_side: BaseGeometry, rng: np.random.Generator) -> list[shapely.Polygon]:
    """Halve the land across its longer side until pieces are about `target` m2; pieces without a street are left as court."""
    done, queue = [], [land]
    while queue:
        piece = queue.pop(0)
        if piece.area < target * float(rng.uniform(1.15, 1.9)) or shapes.narrow_side(piece) < 14:
            done.append(piece)
            continue
        parts = _halved(piece, float(rng.uniform(0.4, 0.6)))
        if len(parts) < 2 or min(p.area for p in parts) < target * 0.3:
            done.append(piece)
        else:
            queue += parts
    return [p for p in done if p.distance(street_side) < _NEAR and p.area > target * 0.25]


def _halved(piece: shapely.Polygon, share: float) -> list[shapely.Polygon]:
    box = shapely.get_coordinates(piece.minimum_rotated_rectangle)
    a, b, d = box[0], box[1], box[3]
    if np.hypot(*(d - a)) > np.hypot(*(b - a)):
        b, d = d, b
    across, along = d - a, b - a
    start = a + along * share
    blade = shapely.LineString([start - across * 0.2, start + across * 1.2])
    return shapes.polygons(shapely.GeometryCollection(list(shapely.ops.split(piece, blade).geoms)), 1.0)


def _merged(geometry: BaseGeometry) -> list[shapely.LineString]:
    parts = shapes.lines(geometry)
    merged = shapely.line_merge(shapely.MultiLineString(parts)) if parts else shapely.GeometryCollection()
    return sorted(shapes.lines(merged), key=lambda g: g.coords[0])


def _stretches(edge: shapely.LineString, frontage: float, rng: np.random.Generator) -> list[shapely.LineString]:
    """The edge in stretches of roughly the given length; short edges stay whole."""
    n = max(1, round(edge.length / frontage))
    cuts = np.arange(1, n) / n + rng.uniform(-0.18, 0.18, n - 1) / n if n > 1 else np.zeros(0)
    marks = [0.0, *(cuts * edge.length).tolist(), edge.length]
    return [part for a, b in pairwise(marks) if b - a > 2.5 for part in shapes.lines(shapely.ops.substring(edge, a, b))]


def fronting_street(lot: shapely.Polygon, lines: Sequence[shapely.LineString], ids: Sequence[int]) -> int | None:
    """The nearest street; ties go to the lower id."""
    return min(ids, key=lambda i: (round(lines[i].distance(lot), 2), i), default=None)
