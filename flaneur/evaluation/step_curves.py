"""Curves over the steps of an episode: episode -> scene -> mean with a 95 % interval over scenes."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flaneur.errors import UserError

NAMES = ("global_accuracy", "affected_accuracy", "ocr")


@dataclass(frozen=True)
class Curve:
    steps: np.ndarray  # [T]
    mean: np.ndarray  # [T] %
    low: np.ndarray
    high: np.ndarray


def mean_curves(rows: Sequence[dict[str, Any]], methods: Sequence[str], samples: int = 2000) -> dict[str, dict[str, Curve]]:
    """method -> name -> curve, for the methods that have rows."""
    out: dict[str, dict[str, Curve]] = {}
    for method in methods:
        mine = [r for r in rows if r["method"] == method]
        found = {name: _curve(mine, name, samples) for name in NAMES if mine and all(_has(r, name) for r in mine)}
        if found:
            out[method] = found
    return out


def _has(row: dict[str, Any], name: str) -> bool:
    return ("ccr" if name == "ocr" else name) in row["curves"]


def _curve(rows: Sequence[dict[str, Any]], name: str, samples: int) -> Curve:
    by_scene: dict[str, list[np.ndarray]] = defaultdict(list)
    every = {r["curves"]["every"] for r in rows}
    lengths = {len(r["curves"]["ccr"]) for r in rows}
    if len(every) > 1 or len(lengths) > 1:
        raise UserError(f"rows of '{rows[0]['method']}' hold curves of different lengths; run the experiment again")
    for row in rows:
        by_scene[row["scene"]].append(_values(row, name))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a step at which no scene has a value stays NaN
        scenes = np.stack([np.nanmean(by_scene[s], axis=0) for s in sorted(by_scene)])  # [S, T]
        pick = np.random.default_rng(0).integers(0, len(scenes), (samples, len(scenes)))
        means = np.nanmean(scenes[pick], axis=1)
        low, high = np.nanquantile(means, [0.025, 0.975], axis=0)
        mean = np.nanmean(scenes, axis=0)
    step = every.pop()
    return Curve((np.arange(scenes.shape[1]) + 1) * step, mean, low, high)


def _values(row: dict[str, Any], name: str) -> np.ndarray:  # [T] %
    raw = np.array(row["curves"]["ccr" if name == "ocr" else name], dtype=float)
    return 100 * (np.nanmean(raw, axis=1) if name == "ocr" else raw)
