"""The map in plain float64 NumPy, written from the paper's equations and METHOD's choices; the oracle of the kernels.

One environment. Slow on purpose: one voxel, one formula.
"""

from __future__ import annotations

import numpy as np


def back_project(depth, matrix, focal, centre):
    """Points [H, W, 3] of planar depth: x_c = d K^-1 p, x_w = T x_c; the camera looks along -z, y up."""
    rows, columns = np.mgrid[: depth.shape[0], : depth.shape[1]]
    x = (columns + 0.5 - centre[0]) / focal[0] * depth
    y = -(rows + 0.5 - centre[1]) / focal[1] * depth
    local = np.stack([x, y, -depth, np.ones_like(depth)], -1)
    return (local @ matrix.T)[..., :3]


def margin(point, size, cells, edges):
    """Distance [...] of points to the nearest voxel boundary: nearer than rounding, two correct programs may disagree."""
    cell = size / cells
    planar = np.abs(point[..., :2] / cell - np.rint(point[..., :2] / cell)).min(-1) * cell
    height = np.abs(point[..., 2:] - np.asarray(edges)).min(-1)
    return np.minimum(planar, height)


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


class ReferenceMap:
    def __init__(self, class_count, size, cells, edges, *, sky, channel, logit_scale, centred, projection, bound=13.8, class_mean=None):
        self.c, self.size, self.cells, self.edges = class_count, size, cells, np.asarray(edges, np.float64)
        self.sky, self.channel, self.scale, self.centred, self.projection, self.bound = sky, np.asarray(channel), logit_scale, centred, projection, bound
        self.mean = np.zeros(class_count) if class_mean is None else np.asarray(class_mean, np.float64)
        self.log_odds = np.zeros((len(edges) - 1, cells, cells, class_count))
        self.observed = np.zeros((len(edges) - 1, cells, cells), bool)
        self.pending = {}

    def accumulate(self, depth, similarity, matrix, focal, centre):
        """l = mean of the patches' similarities (nearest) over the pixels in each voxel."""
        point = back_project(np.nan_to_num(depth.astype(np.float64)), matrix.astype(np.float64), focal, centre)
        height, width = depth.shape
        sums = {}
        for r in range(height):
            for c in range(width):
                if not depth[r, c] > 0:
                    continue
                x, y = (int(np.floor(point[r, c, i] / (self.size / self.cells))) for i in (0, 1))
                z = int(np.searchsorted(self.edges, point[r, c, 2], "right")) - 1
                if not (0 <= x < self.cells and 0 <= y < self.cells and 0 <= z < len(self.edges) - 1):
                    continue
                s = similarity[:, r * similarity.shape[1] // height, c * similarity.shape[2] // width].astype(np.float64)
                total, n = sums.get((z, y, x), (0.0, 0))
                sums[z, y, x] = (total + s, n + 1)
        self.pending = {v: (total / n - self.mean) * self.scale for v, (total, n) in sums.items()}

    def observation_map(self):
        """m_obs [C, cells, cells] of the pending observation."""
        raw = np.zeros_like(self.log_odds)
        seen = np.zeros_like(self.observed)
        for v, logits in self.pending.items():
            raw[v], seen[v] = logits, True
        return self.project(raw, seen)

    def fuse(self, beta):
        """P = softmax(beta l) (Eq. 1), L += log(P / (1 - P)) (Eq. 2); beta [K, h, w] is nearest over the map."""
        for (z, y, x), logits in self.pending.items():
            if self.centred:
                logits = logits - logits.mean()
            b = beta[self.channel, y * beta.shape[1] // self.cells, x * beta.shape[2] // self.cells].astype(np.float64)
            a = b * logits
            for c in range(self.c):
                others = np.delete(a, c)
                top = others.max()
                update = a[c] - top - np.log(np.exp(others - top).sum())
                self.log_odds[z, y, x, c] += np.clip(update, -self.bound, self.bound)
            self.observed[z, y, x] = True

    def probabilities(self):
        return self.project(self.log_odds, self.observed)

    def project(self, values, observed):
        """Planar map [C, cells, cells]; zero where nothing was observed, and for the sky everywhere."""
        keep = [c for c in range(self.c) if c != self.sky]
        out = np.zeros((self.c, self.cells, self.cells))
        for y in range(self.cells):
            for x in range(self.cells):
                bins = np.flatnonzero(observed[:, y, x])
                if not len(bins):
                    continue
                if self.projection == "log_odds":
                    out[keep, y, x] = softmax(values[bins, y, x].mean(0)[keep])
                else:
                    if bins[-1] > 0:
                        bins = bins[bins > 0]
                    weight = 1 + 2.0 ** (bins - len(values)) / 64
                    out[keep, y, x] = (weight[:, None] * softmax(values[bins, y, x][:, keep])).sum(0) / weight.sum()
        return out
