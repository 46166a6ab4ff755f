"""Canonical correlations of Z_alpha and Z_beta (the paper's MI analysis), with what the number would be by chance.

At N samples of d + d independent features the largest correlations are far from zero, so every value comes with a
null (whole episodes permuted, which keeps what all episodes share in time) and a held-out value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from flaneur.errors import UserError

TOP = 10
TOLERANCE = 1e-6  # singular values below this share of the largest are no direction


@dataclass(frozen=True)
class Whitening:
    mean: np.ndarray  # [d]
    basis: np.ndarray  # [d, r]: centred rows times this have unit covariance (times N)

    @property
    def rank(self) -> int:
        return self.basis.shape[1]

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return (x - self.mean) @ self.basis


def whitening(x: np.ndarray) -> Whitening:
    """Pseudo-inverse square root of the scatter matrix of x [N, d]: directions without variance are left out."""
    x = np.asarray(x, np.float64)
    mean = x.mean(0)
    values, vectors = np.linalg.eigh((x - mean).T @ (x - mean))
    keep = values > TOLERANCE**2 * max(values[-1], 0.0)
    keep &= values > 0
    return Whitening(mean, vectors[:, keep] / np.sqrt(values[keep]))


def correlations(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """rho_1 >= ... >= rho_r of x [N, p] and y [N, q]; r is the smaller rank."""
    if len(x) != len(y) or len(x) < 3:
        raise UserError(f"cca: {len(x)} and {len(y)} samples; both need the same number, at least 3")
    a, b = whitening(x), whitening(y)
    if not a.rank or not b.rank:
        return np.zeros(0)
    return np.linalg.svd(a(x).T @ b(y), compute_uv=False).clip(0.0, 1.0)


def statistics(rho: np.ndarray) -> dict[str, float]:
    """The paper's three: max, mean over the rank, mean of the ten largest."""
    if not len(rho):
        return {"max": 0.0, "mean": 0.0, "top10": 0.0}
    return {"max": float(rho[0]), "mean": float(rho.mean()), "top10": float(rho[:TOP].mean())}


def held_out(x: np.ndarray, y: np.ndarray, fit: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Directions from the rows `fit`, their correlations on the rows `test`, in the order of the fit."""
    a, b = whitening(x[fit]), whitening(y[fit])
    u, _, v = np.linalg.svd(a(x[fit]).T @ b(y[fit]), full_matrices=False)
    left, right = a(x[test]) @ u, b(y[test]) @ v.T
    left, right = left - left.mean(0), right - right.mean(0)
    spread = np.sqrt((left**2).sum(0) * (right**2).sum(0))
    return (left * right).sum(0) / np.where(spread > 0, spread, np.inf)


def analyse(z_alpha: np.ndarray, z_beta: np.ndarray, permutations: int = 200, seed: int = 0) -> dict[str, Any]:
    """z_alpha, z_beta [E, T, d] of E whole episodes: the statistics, their null and the held-out values."""
    episodes, steps, _ = z_alpha.shape
    if episodes < 2:
        raise UserError(f"cca: {episodes} episode; the permutation null needs at least two")
    x, y = (np.asarray(z, np.float64).reshape(episodes * steps, -1) for z in (z_alpha, z_beta))
    a, b = whitening(x), whitening(y)
    whole_a, white_b = a(x), b(y).reshape(episodes, steps, -1)
    found = statistics(np.linalg.svd(whole_a.T @ white_b.reshape(len(x), -1), compute_uv=False).clip(0, 1))
    rng = np.random.default_rng(seed)
    null: dict[str, list[float]] = {name: [] for name in found}
    for _ in range(permutations):
        shuffled = white_b[_moved(episodes, rng)].reshape(len(x), -1)
        for name, value in statistics(np.linalg.svd(whole_a.T @ shuffled, compute_uv=False).clip(0, 1)).items():
            null[name].append(value)
    order = rng.permutation(episodes)
    half = np.isin(np.repeat(np.arange(episodes), steps), order[: episodes // 2])
    apart = held_out(x, y, np.flatnonzero(half), np.flatnonzero(~half))
    summary = {name: {"mean": float(np.mean(v)), "q95": float(np.quantile(v, 0.95)), "p": (sum(n >= found[name] - 1e-12 for n in v) + 1) / (len(v) + 1)} for name, v in null.items()}
    ranks = {"rank_alpha": a.rank, "rank_beta": b.rank, "rank": min(a.rank, b.rank)}
    return {**found, **ranks, "samples": len(x), "episodes": episodes, "permutations": permutations, "null": summary, "held_out": statistics(apart)}


def _moved(n: int, rng: np.random.Generator) -> np.ndarray:
    """A permutation of the episodes that is not the identity."""
    while True:
        order = rng.permutation(n)
        if (order != np.arange(n)).any():
            return order
