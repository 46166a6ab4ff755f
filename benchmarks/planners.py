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
from pathlib import Path

import torch

from flaneur.city.scene import Scene
from flaneur.env import EnvConfig
from flaneur.env.bench import bench_environment
from flaneur.evaluation.methods import make_planner
from flaneur.geometry import Camera
from flaneur.perception import Twin
from flaneur.planners.bench import METHODS, plan_time


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
    rows = []
    for batch in arguments.batches:
        config = EnvConfig(num_envs=batch, camera=camera, episode_length=arguments.steps + 2)
        env = bench_environment([scene], Twin.named("easy", scene.classes), config, arguments.device)
        for method in arguments.methods:
            rows.append(plan_time(method, make_planner(method, env), env, arguments.steps))
            print(json.dumps(rows[-1]), flush=True)
    out = {"benchmark": "planners", "machine": arguments.machine, "device": arguments.device, "threads": torch.get_num_threads(), "scene": scene.name, "image": arguments.image, "rows": rows}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
