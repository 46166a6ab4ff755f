"""Fusion kernels, one source for CPU and CUDA. Axes: b environment, z/y/x voxel, c class, slot pending voxel.

A pending observation is sparse: every voxel that a pixel falls in gets a slot, and only slots hold sums. Sums are
integers (similarity in units of 2^-32), so they do not depend on the order in which threads arrive.
"""

# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false, reportOperatorIssue=false, reportCallIssue=false, reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false, reportAssignmentType=false, reportReturnType=false

from __future__ import annotations

import warp as wp

from flaneur.sim.start import start_warp

start_warp()

UNIT = wp.constant(wp.float64(4294967296.0))  # 2^32 fixed-point steps in 1
LARGEST = wp.constant(float(16384.0))  # |similarity| is clamped here: 65,536 pixels of it still fit in 63 bits
FREE = wp.constant(wp.uint8(1))
OCCUPIED = wp.constant(wp.uint8(2))
ONE = wp.constant(wp.uint8(1))
UNSEEN = wp.constant(wp.uint8(255))


@wp.func
def height_bin(edges: wp.array(dtype=float), bins: int, z: float):
    """Bin of a height above the local ground, -1 outside."""
    if z < edges[0] or z >= edges[bins]:
        return -1
    k = int(0)
    while z >= edges[k + 1]:
        k += 1
    return k


@wp.kernel
def locate(
    depth: wp.array3d(dtype=float),  # [B, H, W] planar metres; 0, negative and NaN mean none
    matrix: wp.array3d(dtype=float),  # [B, 4, 4] camera to world
    focal: wp.vec2,
    centre: wp.vec2,
    ground: wp.array3d(dtype=float),  # [S, Hm, Wm] metres
    scene: wp.array(dtype=int),  # [B]
    edges: wp.array(dtype=float),  # [Z + 1]
    cell: float,
    cells: int,
    pixel_voxel: wp.array3d(dtype=int),  # out [B, H, W], -1 none
    slot_of: wp.array2d(dtype=int),  # [B, V], -1 untouched
    touched: wp.array2d(dtype=int),  # [B, P] voxel of each slot
    used: wp.array(dtype=int),  # [B] slots in use
    occupancy: wp.array2d(dtype=wp.uint8),  # [B, V]
    planar: wp.array2d(dtype=wp.uint8),  # [B, Hm * Wm]
):
    """Back-project every pixel and give each voxel that is hit a slot."""
    b, r, c = wp.tid()
    pixel_voxel[b, r, c] = -1
    d = depth[b, r, c]
    if not (d > 0.0 and d < 1.0e6):
        return
    qx = (float(c) + 0.5 - centre[0]) / focal[0] * d
    qy = -(float(r) + 0.5 - centre[1]) / focal[1] * d
    px = matrix[b, 0, 0] * qx + matrix[b, 0, 1] * qy - matrix[b, 0, 2] * d + matrix[b, 0, 3]
    py = matrix[b, 1, 0] * qx + matrix[b, 1, 1] * qy - matrix[b, 1, 2] * d + matrix[b, 1, 3]
    pz = matrix[b, 2, 0] * qx + matrix[b, 2, 1] * qy - matrix[b, 2, 2] * d + matrix[b, 2, 3]
    x = int(wp.floor(px / cell))
    y = int(wp.floor(py / cell))
    if x < 0 or y < 0 or x >= cells or y >= cells:
        return
    bins = edges.shape[0] - 1
    z = height_bin(edges, bins, pz - ground[scene[b], y, x])
    if z < 0:
        return
    v = (z * cells + y) * cells + x
    pixel_voxel[b, r, c] = v
    if wp.atomic_cas(slot_of, b, v, -1, -2) == -1:
        slot = wp.atomic_add(used, b, 1)
        touched[b, slot] = v
        slot_of[b, v] = slot
        occupancy[b, v] = OCCUPIED
        if z > 0:
            planar[b, y * cells + x] = OCCUPIED
        elif planar[b, y * cells + x] == wp.uint8(0):
            planar[b, y * cells + x] = FREE


@wp.kernel
def accumulate(
    similarity: wp.array4d(dtype=float),  # [B, C, h, w]
    pixel_voxel: wp.array3d(dtype=int),  # [B, H, W]
    slot_of: wp.array2d(dtype=int),
    counts: wp.array2d(dtype=int),  # [B, P] pixels of each slot
    sums: wp.array3d(dtype=wp.int64),  # [B, P, C]
):
    """Add each pixel's patch (nearest) to its voxel's sums; a thread owns one image row of one patch and adds runs."""
    b, r, j = wp.tid()
    height = pixel_voxel.shape[1]
    width = pixel_voxel.shape[2]
    classes = similarity.shape[1]
    i = r * similarity.shape[2] // height
    w = similarity.shape[3]
    c = (j * width + w - 1) // w
    end = ((j + 1) * width + w - 1) // w
    while c < end:
        v = pixel_voxel[b, r, c]
        run = int(1)
        while c + run < end and pixel_voxel[b, r, c + run] == v:
            run += 1
        c += run
        if v >= 0:
            slot = slot_of[b, v]
            wp.atomic_add(counts, b, slot, run)
            for k in range(classes):
                s = wp.clamp(similarity[b, k, i, j], -LARGEST, LARGEST)
                q = wp.int64(wp.rint(wp.float64(s) * UNIT)) * wp.int64(run)
                if q != wp.int64(0):
                    wp.atomic_add(sums, b, slot, k, q)


@wp.kernel
def average(
    used: wp.array(dtype=int),
    counts: wp.array2d(dtype=int),
    sums: wp.array3d(dtype=wp.int64),
    mean: wp.array(dtype=float),  # [C]
    scale: float,
    logits: wp.array3d(dtype=float),  # out [B, P, C]
):
    """Voxel logits before centring: the mean over pixels, less the class's mean, times the scale."""
    b, slot = wp.tid()
    if slot >= used[b]:
        return
    per_pixel = wp.float64(1.0) / (UNIT * wp.float64(counts[b, slot]))
    for k in range(sums.shape[2]):
        logits[b, slot, k] = float(wp.float64(sums[b, slot, k]) * per_pixel - wp.float64(mean[k])) * scale


@wp.func
def bin_weight(z: int, bins: int):
    """1 and a little more with height: of two equal halves of the bins the one that holds the topmost bin wins."""
    return 1.0 + wp.pow(2.0, float(z - bins)) / 64.0


@wp.kernel
def observe(
    used: wp.array(dtype=int),
    touched: wp.array2d(dtype=int),
    slot_of: wp.array2d(dtype=int),
    logits: wp.array3d(dtype=float),
    sky: int,
    of_log_odds: bool,
    cells: int,
    bins: int,
    out: wp.array3d(dtype=float),  # [B, Hm * Wm, C] raw observation map
    affected: wp.array2d(dtype=wp.uint8),  # [B, Hm * Wm]
):
    """The raw observation map of the pending voxels: one thread per column, the one that owns its topmost voxel."""
    b, slot = wp.tid()
    if slot >= used[b]:
        return
    layer = cells * cells
    top = touched[b, slot] // layer
    xy = touched[b, slot] % layer
    for z in range(top + 1, bins):
        if slot_of[b, z * layer + xy] >= 0:
            return
    affected[b, xy] = ONE
    classes = out.shape[2]
    first = int(0)
    if top > 0 and not of_log_odds:
        first = 1
    total = float(0.0)
    for z in range(first, top + 1):
        s = slot_of[b, z * layer + xy]
        if s >= 0:
            if of_log_odds:
                for k in range(classes):
                    out[b, xy, k] += logits[b, s, k]
                total += 1.0
            else:
                high = float(-1.0e30)
                for k in range(classes):
                    if k != sky:
                        high = wp.max(high, logits[b, s, k])
                norm = float(0.0)
                for k in range(classes):
                    if k != sky:
                        norm += wp.exp(logits[b, s, k] - high)
                weight = bin_weight(z, bins)
                for k in range(classes):
                    if k != sky:
                        out[b, xy, k] += weight * wp.exp(logits[b, s, k] - high) / norm
                total += weight
    finish_column(out, b, xy, total, sky, of_log_odds)


@wp.func
def finish_column(out: wp.array3d(dtype=float), b: int, xy: int, total: float, sky: int, of_log_odds: bool):
    """Sums over bins -> probabilities: divide, or softmax of the mean; the sky is never in the map."""
    classes = out.shape[2]
    if not of_log_odds:
        for k in range(classes):
            out[b, xy, k] = out[b, xy, k] / total
        return
    high = float(-1.0e30)
    for k in range(classes):
        if k != sky:
            high = wp.max(high, out[b, xy, k] / total)
    norm = float(0.0)
    for k in range(classes):
        if k != sky:
            norm += wp.exp(out[b, xy, k] / total - high)
    for k in range(classes):
        if k == sky:
            out[b, xy, k] = 0.0
        else:
            out[b, xy, k] = wp.exp(out[b, xy, k] / total - high) / norm


@wp.kernel
def fuse(
    used: wp.array(dtype=int),
    touched: wp.array2d(dtype=int),
    logits: wp.array3d(dtype=float),  # consumed: scratch afterwards
    centred: bool,
    beta: wp.array4d(dtype=float),  # [B, K, h, w]
    channel: wp.array(dtype=int),  # [C] channel of beta
    bound: float,
    cells: int,
    log_odds: wp.array3d(dtype=float),  # [B, V, C]
    observed: wp.array2d(dtype=wp.uint8),  # [B, V]
):
    """Calibrated softmax (Eq. 1) and log-odds update (Eq. 2) of every pending voxel.

    log(p / (1 - p)) = a_c - logsumexp over the others. The largest is kept apart: of the rest, no term's sum of the
    others falls below exp(largest), so nothing cancels.
    """
    b, slot = wp.tid()
    if slot >= used[b]:
        return
    v = touched[b, slot]
    xy = v % (cells * cells)
    i = (xy // cells) * beta.shape[2] // cells
    j = (xy % cells) * beta.shape[3] // cells
    classes = log_odds.shape[2]
    middle = float(0.0)
    if centred:
        for k in range(classes):
            middle += logits[b, slot, k]
        middle = middle / float(classes)
    high = float(-1.0e30)
    second = float(-1.0e30)
    best = int(0)
    for k in range(classes):
        a = beta[b, channel[k], i, j] * (logits[b, slot, k] - middle)
        logits[b, slot, k] = a
        if a > high:
            second = high
            high = a
            best = k
        elif a > second:
            second = a
    others = float(0.0)
    for k in range(classes):
        if k != best:
            others += wp.exp(logits[b, slot, k] - second)
    shrink = wp.exp(second - high)
    norm = 1.0 + shrink * others
    for k in range(classes):
        update = high - second - wp.log(others)
        if k != best:
            a = logits[b, slot, k]
            update = a - high - wp.log(norm - shrink * wp.exp(a - second))
        log_odds[b, v, k] += wp.clamp(update, -bound, bound)
    observed[b, v] = ONE


@wp.kernel
def project(
    used: wp.array(dtype=int),
    touched: wp.array2d(dtype=int),
    slot_of: wp.array2d(dtype=int),
    log_odds: wp.array3d(dtype=float),
    observed: wp.array2d(dtype=wp.uint8),
    scratch: wp.array3d(dtype=float),  # [B, P, C]
    sky: int,
    of_log_odds: bool,
    cells: int,
    bins: int,
    out: wp.array3d(dtype=float),  # [B, Hm * Wm, C] planar map
    labels: wp.array2d(dtype=wp.uint8),  # [B, Hm * Wm], 255 unexplored
):
    """The planar map of the columns that the update touched."""
    b, slot = wp.tid()
    if slot >= used[b]:
        return
    layer = cells * cells
    top = touched[b, slot] // layer
    xy = touched[b, slot] % layer
    for z in range(top + 1, bins):
        if slot_of[b, z * layer + xy] >= 0:
            return
    classes = out.shape[2]
    first = int(0)
    if not of_log_odds:
        for z in range(1, bins):
            if observed[b, z * layer + xy] != wp.uint8(0):
                first = 1
    for k in range(classes):
        out[b, xy, k] = 0.0
    total = float(0.0)
    for z in range(first, bins):
        v = z * layer + xy
        if observed[b, v] != wp.uint8(0):
            if of_log_odds:
                for k in range(classes):
                    out[b, xy, k] += log_odds[b, v, k]
                total += 1.0
            else:
                high = float(-1.0e30)
                for k in range(classes):
                    if k != sky:
                        high = wp.max(high, log_odds[b, v, k])
                norm = float(0.0)
                for k in range(classes):
                    if k != sky:
                        e = wp.exp(log_odds[b, v, k] - high)
                        scratch[b, slot, k] = e
                        norm += e
                weight = bin_weight(z, bins)
                for k in range(classes):
                    if k != sky:
                        out[b, xy, k] += weight / norm * scratch[b, slot, k]
                total += weight
    finish_column(out, b, xy, total, sky, of_log_odds)
    best = int(0)
    for k in range(1, classes):
        if out[b, xy, k] > out[b, xy, best]:
            best = k
    labels[b, xy] = wp.uint8(best)


@wp.kernel
def clear(
    used: wp.array(dtype=int),
    touched: wp.array2d(dtype=int),
    slot_of: wp.array2d(dtype=int),
    counts: wp.array2d(dtype=int),
    sums: wp.array3d(dtype=wp.int64),
    cells: int,
    out: wp.array3d(dtype=float),
    affected: wp.array2d(dtype=wp.uint8),
):
    """Forget the pending observation, touching only what it touched."""
    b, slot = wp.tid()
    if slot >= used[b]:
        return
    v = touched[b, slot]
    slot_of[b, v] = -1
    counts[b, slot] = 0
    xy = v % (cells * cells)
    affected[b, xy] = wp.uint8(0)
    for k in range(sums.shape[2]):
        sums[b, slot, k] = wp.int64(0)
        out[b, xy, k] = 0.0
