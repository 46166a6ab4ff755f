"""Solids from rasters: a set of cells with heights becomes one closed mesh with vertical sides."""

from __future__ import annotations

import numpy as np
import shapely
from manifold3d import CrossSection, FillRule, Manifold, Mesh
from shapely.geometry.base import BaseGeometry


def relief(mask: np.ndarray, top: np.ndarray, bottom: float, cell: float, corner: tuple[float, float]) -> Manifold:
    """Cells [h, w] of a raster whose south-west corner is `corner`; the top passes smoothly through the cells' heights."""
    mask = without_pinches(np.pad(mask, 1))
    top = np.pad(np.maximum(top, bottom + 0.05), 1)
    weight, total = _around(mask.astype(float)), _around(np.where(mask, top, 0.0))
    used = weight > 0  # [h + 1, w + 1] corners
    index = np.cumsum(used.ravel()).reshape(used.shape) - 1
    row, column = np.nonzero(used)
    x, y = corner[0] + (column - 1) * cell, corner[1] + (row - 1) * cell
    count = len(row)
    vertices = np.concatenate([np.stack([x, y, (total / np.maximum(weight, 1))[used]], 1), np.stack([x, y, np.full(count, bottom)], 1)])
    i, j = np.nonzero(mask)
    a, b, c, d = index[i, j], index[i, j + 1], index[i + 1, j + 1], index[i + 1, j]
    faces = [np.stack(f, 1) for f in ((a, b, c), (a, c, d), (a + count, c + count, b + count), (a + count, d + count, c + count))]
    # One wall for each side of a cell that has no neighbour; p -> q runs with the cell on the left.
    for (di, dj), (p, q) in (((-1, 0), (a, b)), ((0, 1), (b, c)), ((1, 0), (c, d)), ((0, -1), (d, a))):
        edge = ~mask[i + di, j + dj]
        p, q = p[edge], q[edge]
        faces += [np.stack([q, p, p + count], 1), np.stack([q, p + count, q + count], 1)]
    return Manifold(Mesh(vertices.astype(np.float32), np.concatenate(faces).astype(np.uint32)))


def _around(cells: np.ndarray) -> np.ndarray:
    """[h + 1, w + 1]: at every corner the sum over its four cells."""
    p = np.pad(cells, 1)
    return p[:-1, :-1] + p[:-1, 1:] + p[1:, :-1] + p[1:, 1:]


def without_pinches(mask: np.ndarray) -> np.ndarray:
    """Cells that touch by a corner alone are joined: a solid may not meet itself in an edge."""
    mask = mask.copy()
    while True:
        a, b, c, d = mask[:-1, :-1], mask[:-1, 1:], mask[1:, :-1], mask[1:, 1:]
        first, second = a & d & ~b & ~c, b & c & ~a & ~d
        if not (first.any() or second.any()):
            return mask
        mask[:-1, 1:] |= first
        mask[:-1, :-1] |= second


def outline(mask: np.ndarray, cell: float, corner: tuple[float, float], tolerance: float = 0.0) -> BaseGeometry:
    """The cells' outline in metres, straightened to `tolerance`."""
    boxes = []
    padded = np.pad(mask, ((0, 0), (1, 1))).astype(np.int8)
    for row in range(len(mask)):
        step = np.diff(padded[row])
        boxes += [(start, row, end, row + 1) for start, end in zip(np.flatnonzero(step == 1), np.flatnonzero(step == -1), strict=True)]
    b = np.array(boxes, float).reshape(-1, 4) * cell
    union = shapely.union_all(shapely.box(b[:, 0] + corner[0], b[:, 1] + corner[1], b[:, 2] + corner[0], b[:, 3] + corner[1]))
    if not tolerance:
        return union
    # Drawn in by half a centimetre: parts that touch in a point alone would share an edge of their walls.
    return shapely.make_valid(union.simplify(tolerance)).buffer(-0.005, join_style="mitre")


def rings(shape: BaseGeometry) -> list[np.ndarray]:
    """Outer rings counter-clockwise, holes clockwise, without the repeated last corner."""
    polygons = [p for p in getattr(shape, "geoms", [shape]) if p.geom_type == "Polygon" and not p.is_empty]
    found = []
    for p in polygons:
        p = shapely.geometry.polygon.orient(p)
        found += [np.array(r.coords)[:-1, :2] for r in (p.exterior, *p.interiors)]
    return found


def prism(shape: BaseGeometry, low: float, high: float) -> Manifold:
    """The shape from `low` to `high`; empty when it has no area."""
    found = rings(shape)
    if not found:
        return Manifold()
    section = CrossSection([r.astype(np.float64) for r in found], FillRule.NonZero)
    return section.extrude(high - low).translate((0, 0, low))
