"""Milliseconds of a planner: per step, and per step in which a new goal is chosen."""

from __future__ import annotations

import statistics
import time
from typing import Any

import torch

from flaneur.env.semantic import SemanticEnv

METHODS = ("random", "nearest_frontier", "uncertainty", "zhang", "rayfronts", "activesgm")


def plan_time(method: str, planner: Any, env: SemanticEnv, steps: int) -> dict[str, Any]:
    """Only `plan` is timed, on CUDA to the end of its kernels; the whole step stands beside it. `cpu` is the process's own time."""
    b = env.num_envs
    env.reset([k % len(env.scenes) for k in range(b)], [k % env.config.starts for k in range(b)])
    planner.reset(list(range(b)))
    wait = torch.cuda.synchronize if env.device.type == "cuda" else lambda: None
    plan, cpu, choice, whole = [], [], [], []
    last = None
    for k in range(steps + 1):
        context = env.context()
        wait()
        started, begun = time.perf_counter(), time.process_time()
        goal, beta = planner.plan(context)
        wait()
        planned, ended = time.perf_counter(), time.process_time()
        env.step(goal, beta)
        wait()
        if k > 0:  # the first step compiles kernels
            plan.append(1e3 * (planned - started))
            cpu.append(1e3 * (ended - begun))
            whole.append(1e3 * (time.perf_counter() - started))
            if last is None or not torch.equal(last, goal):
                choice.append((plan[-1], cpu[-1]))
        last = goal.clone()
    mean = lambda values: round(statistics.mean(values), 2) if values else None  # noqa: E731
    return {
        "method": method, "batch": b, "steps": steps, "choices": len(choice),
        "plan_ms_per_step": mean(plan), "plan_cpu_ms_per_step": mean(cpu), "plan_ms_per_choice": mean([c[0] for c in choice]), "plan_cpu_ms_per_choice": mean([c[1] for c in choice]),
        "plan_ms_worst": round(max(plan), 2), "plan_and_step_ms": mean(whole),
    }  # fmt: skip
