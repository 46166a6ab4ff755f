"""Free space: what rays pass through is free, for planners and the executor."""

# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false, reportOperatorIssue=false, reportCallIssue=false, reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false, reportAssignmentType=false, reportReturnType=false

from __future__ import annotations

import warp as wp

from flaneur.mapping.kernels import FREE, height_bin

wp.set_module_options({"enable_backward": False})

LOW = wp.constant(2.0)  # metres: a column counts as explored from above only when it was seen this near to the ground


@wp.kernel
def carve(
    depth: wp.array3d(dtype=float),  # [B, H, W] planar metres
    matrix: wp.array3d(dtype=float),  # [B, 4, 4] camera to world
    focal: wp.vec2,
    centre: wp.vec2,
    stride: int,
    max_range: float,
    carve_misses: bool,
    ground: wp.array3d(dtype=float),  # [S, Hm, Wm]
    scene: wp.array(dtype=int),
    edges: wp.array(dtype=float),
    cell: float,
    cells: int,
    occupancy: wp.array2d(dtype=wp.uint8),  # [B, V]
    planar: wp.array2d(dtype=wp.uint8),  # [B, Hm * Wm]
):
    """Walk every stride-th ray through the columns of the grid (DDA) and mark the height bins it crosses in each.

    Occupied wins over free whatever the order: a voxel holds more than the ray that missed its content.
    """
    b, rs, cs = wp.tid()
    r = wp.min(rs * stride + stride / 2, depth.shape[1] - 1)
    c = wp.min(cs * stride + stride / 2, depth.shape[2] - 1)
    d = depth[b, r, c]
    if not (d > 0.0 and d < 1.0e6):
        if not carve_misses or d != d:
            return
        d = max_range
    qx = (float(c) + 0.5 - centre[0]) / focal[0]
    qy = -(float(r) + 0.5 - centre[1]) / focal[1]
    dx = (matrix[b, 0, 0] * qx + matrix[b, 0, 1] * qy - matrix[b, 0, 2]) / cell
    dy = (matrix[b, 1, 0] * qx + matrix[b, 1, 1] * qy - matrix[b, 1, 2]) / cell
    dz = matrix[b, 2, 0] * qx + matrix[b, 2, 1] * qy - matrix[b, 2, 2]
    ox = matrix[b, 0, 3] / cell
    oy = matrix[b, 1, 3] / cell
    oz = matrix[b, 2, 3]
    bins = edges.shape[0] - 1
    x = int(wp.floor(ox))
    y = int(wp.floor(oy))
    step_x = int(1)
    next_x = float(1.0e30)
    if dx > 0.0:
        next_x = (float(x + 1) - ox) / dx
    elif dx < 0.0:
        next_x = (float(x) - ox) / dx
        step_x = -1
    step_y = int(1)
    next_y = float(1.0e30)
    if dy > 0.0:
        next_y = (float(y + 1) - oy) / dy
    elif dy < 0.0:
        next_y = (float(y) - oy) / dy
        step_y = -1
    t = float(0.0)
    while t < d and x >= 0 and y >= 0 and x < cells and y < cells:
        leave = wp.min(wp.min(next_x, next_y), d)
        base = ground[scene[b], y, x]
        low = wp.min(oz + dz * t, oz + dz * leave) - base
        high = wp.max(oz + dz * t, oz + dz * leave) - base
        if low < edges[bins] and high >= edges[0]:
            first = height_bin(edges, bins, wp.max(low, edges[0]))
            k = int(wp.max(first, 0))
            crossed = bool(False)
            while k < bins and edges[k] <= high:
                v = (k * cells + y) * cells + x
                if occupancy[b, v] == wp.uint8(0):
                    occupancy[b, v] = FREE
                if k > 0 and edges[k] < LOW:
                    crossed = True
                k += 1
            if crossed and planar[b, y * cells + x] == wp.uint8(0):
                planar[b, y * cells + x] = FREE
        t = leave
        if next_x < next_y:
            x += step_x
            next_x += wp.abs(1.0 / dx)
        else:
            y += step_y
            next_y += wp.abs(1.0 / dy)
