"""The reference calibrations, fitted on validation scenes: `fixed`, `group` and `table` beta over one agent's motion.

A learned calibration earns its name only above these. Search: the best of the nine values everywhere; from there one
coordinate at a time (a scale group, or a group at a distance), kept only where the validation score rises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from flaneur.agent.heads import BETA_SUPPORT
from flaneur.classes import SCALE_GROUPS
from flaneur.env.semantic import SemanticEnv
from flaneur.evaluation.protocol import Study, Tick, evaluate
from flaneur.evaluation.setup import World, env_config
from flaneur.mapping.config import calibration_index
from flaneur.planners.base import Planner
from flaneur.planners.calibrated import ConstantBeta, DistanceBeta

Kind = Literal["fixed", "group", "table"]
EDGES = (10.0, 25.0, 60.0)  # metres between the table's distances
Values = tuple[float, ...]


@dataclass(frozen=True)
class Search:
    candidates: Values = BETA_SUPPORT
    rounds: int = 2
    coordinates: int | None = None  # at most so many; all by default


SMOKE = Search((0.6,), 1, 1)


@dataclass(frozen=True)
class Fitted:
    values: Values  # one, K, or K x distances
    score: float
    tried: int

    def plain(self) -> dict[str, Any]:
        return {"values": list(self.values), "validation_score": round(self.score, 6), "tried": self.tried}


def channels(world: World) -> int:
    """K of the world's map."""
    return int(calibration_index(world.scenes[0].classes, env_config(world.task, 1).map.calibrate).max()) + 1


def with_values(motion: Planner, values: Values, kinds: int, name: str) -> Planner:
    if len(values) <= kinds:
        return ConstantBeta(motion, values * (kinds if len(values) == 1 else 1), name)
    return DistanceBeta(motion, np.array(values).reshape(kinds, -1).tolist(), EDGES, name)


def fit_beta(kind: Kind, world: World, motion: Callable[[SemanticEnv, int], Planner], file: Path, search: Search, num_envs: int = 8, tick: Tick | None = None) -> Fitted:
    """`file` keeps every episode flown: kinds share it, and a stopped search goes on."""
    kinds = channels(world)
    scores: dict[Values, float] = {}

    def score(values: Values) -> float:
        if values not in scores:
            scores[values] = _score(world, motion, values, kinds, file, num_envs, tick)
        return scores[values]

    # Ties go to the value nearest to 1, where nothing is changed.
    best: Values = max([(1.0,), *((c,) for c in search.candidates)], key=lambda v: (score(v), -abs(v[0] - 1)))
    if kind != "fixed":
        size = kinds if kind == "group" else kinds * (len(EDGES) + 1)
        best = _ascend(best * size, score, search)
    return Fitted(best, score(best), len(scores))


def _ascend(values: Values, score: Callable[[Values], float], search: Search) -> Values:
    for _ in range(search.rounds):
        before = values
        for i in range(len(values))[: search.coordinates]:
            for candidate in search.candidates:
                other = (*values[:i], candidate, *values[i + 1 :])
                if score(other) > score(values):
                    values = other
        if values == before:
            break
    return values


class _Candidate(Study):
    def __init__(self, motion: Callable[[SemanticEnv, int], Planner], values: Values, kinds: int) -> None:
        self.motion, self.values, self.kinds = motion, values, kinds

    def planner(self, method: str, env: SemanticEnv, seed: int, noise: int) -> Planner:
        return with_values(self.motion(env, noise), self.values, self.kinds, method)


def _score(world: World, motion: Callable[[SemanticEnv, int], Planner], values: Values, kinds: int, file: Path, num_envs: int, tick: Tick | None) -> float:
    """What the agents are trained for, at the end of the episodes."""
    name = ",".join(f"{v:g}" for v in values)
    results, failures = evaluate(world, [name], file, num_envs=num_envs, tick=tick, study=_Candidate(motion, values, kinds))
    if failures:
        raise RuntimeError(failures[0])
    found = [earned(r["scores"], world.task.reward) for r in results.rows if r["method"] == name]
    return float(np.nanmean([np.nan if v is None else v for v in found]))


def earned(scores: dict[str, Any], reward: str) -> float | None:
    """The sum of an episode's rewards, as the mean over the groups, from its final scores."""
    ocr, iou, wrong = (scores[k] for k in ("ocr", "strict_miou", "background_wrong"))
    if reward == "balanced":
        return None if ocr is None or iou is None else (ocr + iou) / 2 - (wrong or 0.0) / len(SCALE_GROUPS)
    return ocr if reward == "ccr" else iou
