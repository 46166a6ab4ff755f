"""How well a twin matches its model: confusion by distance and apparent size, and how alike their errors repeat."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from flaneur.perception.twin_parameters import DISTANCE_EDGES, FILL_EDGES
from flaneur.perception.twin_samples import Samples

FEW = 50  # samples below which a figure says nothing


def match_report(real: Samples, twin: Samples, neutral: Tensor, minimum: int = 1000) -> dict[str, Any]:
    """Total-variation distance between confusion rows (true class x bin of distance, and of apparent size), and how alike errors repeat."""
    taken = [answers(s, neutral) for s in (real, twin)]
    out: dict[str, Any] = {}
    for axis, feature, edges in (("distance", "distance", DISTANCE_EDGES), ("apparent_size", "fill", FILL_EDGES)):
        rows = row_distances(real, twin, taken[0], taken[1], [s.bin_of(feature, edges) for s in (real, twin)], len(edges) + 1, minimum)
        values = [r["total_variation"] for r in rows]
        ending = "" if axis == "distance" else f"_{axis}"
        out[f"rows{ending}"] = len(rows)
        out[f"total_variation_macro{ending}"] = float(np.mean(values)) if values else math.nan
        out[f"total_variation_worst_decile{ending}"] = float(np.quantile(values, 0.9)) if values else math.nan
    correlation = [error_correlations(s, neutral) for s in (real, twin)]
    for k, name in (("view", "repeated_error_correlation"), ("surface", "surface_error_correlation"), ("patch", "neighbour_error_correlation")):
        out[name], out[f"{name}_twin"] = correlation[0][k], correlation[1][k]
    out["accuracy"], out["accuracy_twin"] = (float((t == s.largest).float().mean()) for s, t in zip((real, twin), taken, strict=True))
    return {k: round(v, 4) if isinstance(v, float) else v for k, v in out.items()}


def row_distances(real: Samples, twin: Samples, taken: Tensor, taken_twin: Tensor, bins: Sequence[Tensor], bin_count: int, minimum: int) -> list[dict[str, Any]]:
    """Total variation of every (class, bin) with enough patches."""
    c = real.similarity.shape[1]
    tables = []
    for s, t, b in zip((real, twin), (taken, taken_twin), bins, strict=True):
        key = (s.largest.long() * bin_count + b) * c + t
        tables.append(torch.bincount(key, minlength=c * bin_count * c).view(c, bin_count, c).double().cpu())
    out = []
    for k in range(c):
        for d in range(bin_count):
            a, b = tables[0][k, d], tables[1][k, d]
            if min(float(a.sum()), float(b.sum())) >= minimum:
                out.append({"class": k, "bin": d, "patches": int(a.sum()), "total_variation": float((a / a.sum() - b / b.sum()).abs().sum() / 2)})
    return out


def wrong(samples: Samples, neutral: Tensor) -> Tensor:
    """[M] f64: 1 where a patch was taken for another class than what fills most of it."""
    return (answers(samples, neutral) != samples.largest).double()


def answers(samples: Samples, neutral: Tensor) -> Tensor:
    """[M] class each patch is taken for, after the class's mean."""
    return (samples.similarity.float() - neutral.to(samples.similarity.device)).argmax(1)


def error_correlations(samples: Samples, neutral: Tensor) -> dict[str, float]:
    """How errors repeat: of a surface cell (its share of wrong patches in a frame) between the two views of a pair and
    between views from different places, and of neighbouring patches of different surfaces."""
    error = wrong(samples, neutral)
    frame = samples.pair.long() * 2 + samples.late
    keys, inverse = torch.unique(torch.stack([samples.surface, frame], 1), dim=0, return_inverse=True)
    total = torch.zeros(len(keys), dtype=torch.float64, device=error.device).index_add_(0, inverse, error)
    cell = total / torch.bincount(inverse, minlength=len(keys))
    cell = cell - cell.mean()
    by_pair = _products(torch.stack([keys[:, 0], keys[:, 1] // 2], 1), cell)
    by_surface = _products(keys[:, :1], cell)
    across = (by_surface[0] - by_pair[0], by_surface[1] - by_pair[1])
    h, w = samples.grid
    errors, surface = (error - error.mean()).view(-1, h, w), samples.surface.view(-1, h, w)
    apart = surface[:, :, 1:] != surface[:, :, :-1]
    beside = (float((errors[:, :, 1:] * errors[:, :, :-1])[apart].sum()), float(apart.sum()))
    share = lambda p, x: p[0] / p[1] / float((x**2).mean()) if p[1] >= FEW and float((x**2).mean()) > 0 else 0.0  # noqa: E731
    return {"view": share(by_pair, cell), "surface": share(across, cell), "patch": share(beside, errors)}


def _products(keys: Tensor, value: Tensor) -> tuple[float, float]:
    """Sum of products, and their number, over all pairs of rows with one key."""
    unique, inverse = torch.unique(keys, dim=0, return_inverse=True)
    zero = torch.zeros(len(unique), dtype=torch.float64, device=value.device)
    s, s2, n = (zero.clone().index_add_(0, inverse, v) for v in (value, value**2, torch.ones_like(value)))
    return float((s**2 - s2).sum() / 2), float((n**2 - n).sum() / 2)
