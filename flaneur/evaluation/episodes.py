"""Runs a method on scenes x starts x seeds and writes one JSON line per episode."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from flaneur.env.semantic import SemanticEnv
from flaneur.planners.base import Planner
from flaneur.scoring.metrics import curve_area

CURVE_POINTS = 64  # of every step curve that is kept


@dataclass(frozen=True)
class Episode:
    scene: int  # index into the environment's scenes
    start: int
    seed: int


class PlannerFailure(RuntimeError):
    """A planner raised or returned goals that are no numbers: its rows fail, the others go on."""


# After observation t was fused; labels [B, Hm, Wm] of the maps it gave. At the last t the environment is in the next episode.
Watch = Callable[[SemanticEnv, int, Tensor], None]


def run_episodes(env: SemanticEnv, planner: Planner, episodes: Sequence[Episode], tick: Callable[[int, int], None] | None = None, watch: Watch | None = None) -> Iterator[dict[str, Any]]:
    """Batches of `env.num_envs` episodes; yields what each came to, without the labels that say what it was."""
    for first in range(0, len(episodes), env.num_envs):
        batch = list(episodes[first : first + env.num_envs])
        # A last batch that is not full repeats its first episode; the surplus rows are dropped.
        full = batch + [batch[0]] * (env.num_envs - len(batch))
        results = _run_batch(env, planner, full, tick, watch)
        for episode, result in zip(batch, results, strict=False):
            yield {"scene_index": episode.scene, "start": episode.start, "seed": episode.seed, **result}


def _run_batch(env: SemanticEnv, planner: Planner, episodes: Sequence[Episode], tick: Callable[[int, int], None] | None, watch: Watch | None) -> list[dict[str, Any]]:
    length = env.config.episode_length
    env.reset([e.scene for e in episodes], [e.start for e in episodes], [e.seed for e in episodes])
    planner.reset(range(env.num_envs))
    curves: dict[str, list[Tensor]] = {"ccr": [], "global_accuracy": [], "affected_accuracy": []}
    path = torch.zeros(env.num_envs, device=env.device)
    collisions = torch.zeros(env.num_envs, dtype=torch.int64, device=env.device)
    seconds = {"plan": 0.0, "step": 0.0}
    poses = []
    final: dict[str, Tensor] = {}
    for t in range(length):
        poses.append(env.poses.clone())
        start = now(env.device)
        goal, beta = _plan(planner, env)
        planned = now(env.device)
        _, _, _, _, info = env.step(goal, beta)
        seconds["step"] += now(env.device) - planned
        seconds["plan"] += planned - start
        final = info.get("final_scores", final)
        if t < length - 1:  # the last step already shows the next episode
            curves["ccr"].append(env.coverage())
            path += info["travelled"]
            collisions += (~env.sim.clear(env.poses[:, :3], 0.01, env.map.scene_index)).long()
        if watch:
            watch(env, t, env.map.labels if t < length - 1 else info["final_labels"])
        for name in ("global_accuracy", "affected_accuracy"):
            if name in info:
                curves[name].append(info[name])
        if tick:
            tick(t + 1, length)
    curves["ccr"].append(final["ccr"])
    stacked = {name: torch.stack(values, 1).cpu() for name, values in curves.items() if values}  # [B, T, ...]
    track = torch.stack(poses, 1).cpu()
    per_step = {f"{k}_ms": 1000 * v / length / env.num_envs for k, v in seconds.items()}
    return [_result(env, i, final, stacked, float(path[i]), int(collisions[i]), track[i], per_step) for i in range(env.num_envs)]


def _plan(planner: Planner, env: SemanticEnv) -> tuple[Tensor, Tensor | None]:
    try:
        goal, beta = planner.plan(env.context())
    except Exception as error:
        raise PlannerFailure(f"{planner.name}: {type(error).__name__}: {error}") from error
    if not torch.isfinite(goal).all() or (beta is not None and not torch.isfinite(beta).all()):
        raise PlannerFailure(f"{planner.name}: goals or beta that are no numbers")
    return goal, beta


def _result(env: SemanticEnv, i: int, final: dict[str, Tensor], curves: dict[str, Tensor], path: float, collisions: int, track: Tensor, seconds: dict[str, float]) -> dict[str, Any]:
    scores = {k: _plain(v[i]) for k, v in final.items()}
    every = max(1, env.config.episode_length // CURVE_POINTS)
    out: dict[str, Any] = {"scores": scores, "curve_area": _plain(curve_area(curves["ccr"][i].T))}
    out["curves"] = {name: _plain(c[i][every - 1 :: every]) for name, c in curves.items()} | {"every": every}
    out |= {"path_m": round(path, 2), "collisions": collisions, "track": [[round(float(x), 2) for x in p] for p in track[:: max(1, every)]]}
    return out | {"seconds": {k: round(v, 4) for k, v in seconds.items()}}


def _plain(x: Tensor) -> Any:
    """Six digits and null for NaN: JSON that other programs read."""

    def one(v: Any) -> Any:
        if isinstance(v, list):
            return [one(w) for w in v]
        return None if isinstance(v, float) and v != v else round(v, 6) if isinstance(v, float) else v

    return one(x.double().tolist())


def now(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()
