"""Milliseconds of the rule-based planners: per step, and per step in which a new goal is chosen.

    flaneur city build --synthetic town --seed 101 --out out/town
    python benchmarks/planners.py --scene out/town --out benchmarks/results/planners_cpu.json
    python benchmarks/planners.py --scene out/town --device cuda --batches 1 64 --steps 384 --out benchmarks/results/planners_cuda.json

Only `plan` is timed (on CUDA to the end of its kernels); the whole step, with rendering and the map's update, is given
beside it. `cpu` figures are the process's own time, which other work on the machine does not lengthen. Every method flies its own episode over the full 256-cell grid.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from pathlib import Path

import torch

from flaneur.city.scene import Scene
from flaneur.env import EnvConfig, SemanticEnv
from flaneur.evaluation.methods import make_planner
from flaneur.geometry import Camera
from flaneur.perception import Twin
from flaneur.scoring import Lattice, compute_truth

METHODS = ("random", "nearest_frontier", "uncertainty", "zhang", "rayfronts", "activesgm")


def measure(method: str, env: SemanticEnv, steps: int) -> dict:
    b = env.num_envs
    env.reset([0] * b, [k % env.config.starts for k in range(b)])
    planner = make_planner(method, env)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scene", type=Path, help="folder of a built city", required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--machine", default=platform.processor() or platform.machine())
    parser.add_argument("--batches", type=int, nargs="+", default=[1])
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--image", type=int, default=64)
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    scene, camera = Scene.load(arguments.scene), Camera.from_fov(arguments.image, arguments.image)
    # Scores play no part here, so what is scored may come from very few poses.
    truth = compute_truth(scene, camera, lattice=Lattice(spacing=50.0, altitudes=(20.0,), headings=4, pitches=(-60.0,), coarsen=1))
    rows = []
    for batch in arguments.batches:
        env = SemanticEnv([scene], [truth], Twin.named("easy", scene.classes), EnvConfig(num_envs=batch, camera=camera, episode_length=arguments.steps + 2), arguments.device)
        for method in arguments.methods:
            rows.append(measure(method, env, arguments.steps))
            print(json.dumps(rows[-1]), flush=True)
    out = {"benchmark": "planners", "machine": arguments.machine, "device": arguments.device, "threads": torch.get_num_threads(), "scene": scene.name, "image": arguments.image, "rows": rows}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
