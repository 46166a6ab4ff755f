"""How fast the whole environment steps: motion, rendering, evidence, map and scores together."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from flaneur.env.config import EnvConfig
from flaneur.env.semantic import SemanticEnv
from flaneur.scoring import Lattice, compute_truth
from flaneur.sim.bench import timed

if TYPE_CHECKING:
    from flaneur.city.scene import Scene
    from flaneur.perception import EvidenceSource

# Scores take the same time whatever is scored, so the truth may come from very few poses.
FEW_POSES = Lattice(spacing=50.0, altitudes=(20.0,), headings=4, pitches=(-60.0,), coarsen=1)


def bench_environment(scenes: Sequence[Scene], source: EvidenceSource, config: EnvConfig, device: str = "cpu") -> SemanticEnv:
    """An environment to be timed; nothing is written into the scenes' folders."""
    truths = [compute_truth(s, config.camera, config.grid, FEW_POSES, device) for s in scenes]
    return SemanticEnv(scenes, truths, source, config, device)


def step_rate(env: SemanticEnv, planner: Any, seconds: float = 3.0, steps: int = 0) -> dict[str, Any]:
    """Environment steps per second of wall clock, and per second of processor time, which other jobs do not lengthen.

    planner: has `reset` and `plan`, and is part of the step; steps: how many, or as many as fill `seconds`.
    """
    env.reset()
    planner.reset(range(env.num_envs))

    def step() -> None:
        env.step(planner.plan(env.context())[0])

    repeats = steps or max(10, int(seconds / timed(step, env.device, 10)))
    if steps:
        timed(step, env.device, 16)  # the first steps compile kernels
    before = time.process_time()
    once = timed(step, env.device, repeats)
    used = time.process_time() - before
    return {"num_envs": env.num_envs, "steps_per_second": round(env.num_envs / once, 1), "steps_per_cpu_second": round(env.num_envs * repeats / max(used, 1e-9), 1)}


def peak_gb(device: torch.device) -> float | None:
    return round(torch.cuda.max_memory_allocated(device) / 1e9, 2) if device.type == "cuda" else None
