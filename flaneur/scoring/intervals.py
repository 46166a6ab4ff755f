"""Bootstrap intervals over scenes and paired differences between methods."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flaneur.errors import UserError


@dataclass(frozen=True)
class Interval:
    mean: float
    low: float
    high: float


def bootstrap(values: np.ndarray, rng: np.random.Generator, level: float = 0.95, samples: int = 10_000) -> Interval:
    """Percentile interval of the mean of one value per scene [S]; NaN scenes (an absent group) are left out.

    One scene has no interval: resampled it is always itself, and [7.9, 7.9] would say that nothing is uncertain.
    """
    values = np.asarray(values, np.float64)
    values = values[~np.isnan(values)]
    if len(values) < 2:
        return Interval(float(values[0]) if len(values) else np.nan, np.nan, np.nan)
    means = values[rng.integers(0, len(values), (samples, len(values)))].mean(1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(values.mean()), float(low), float(high))


@dataclass(frozen=True)
class Paired:
    difference: Interval  # first minus second
    p: float  # two-sided sign-flip permutation test of "no difference"


def paired(first: np.ndarray, second: np.ndarray, rng: np.random.Generator, level: float = 0.95, samples: int = 10_000) -> Paired:
    """Difference of two methods on the same scenes [S], in the same order."""
    first, second = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if first.shape != second.shape:
        raise UserError(f"paired comparison: {len(first)} scenes against {len(second)}; both methods need the same scenes")
    delta = first - second
    delta = delta[~np.isnan(delta)]
    interval = bootstrap(delta, rng, level, samples)
    if not len(delta):
        return Paired(interval, np.nan)
    signs = rng.integers(0, 2, (samples, len(delta))) * 2 - 1
    flipped = np.abs((signs * delta).mean(1))
    p = (np.count_nonzero(flipped >= abs(delta.mean()) - 1e-12) + 1) / (samples + 1)
    return Paired(interval, float(p))
