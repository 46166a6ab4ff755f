"""Training throughput and inference time of the agent, each as one JSON line.

    python benchmarks/agent.py train --scenes DATA --config configs/full.toml --image 128 --device cuda
    python benchmarks/agent.py infer --scenes DATA --device cuda
    python benchmarks/agent.py env --scenes DATA --envs 64 --image 128 --device cuda

train: whole updates (rollout and optimisation) after two that are not counted; the split says what each half takes.
infer: map update and policy of one environment, without rendering and without evidence.
env: the semantic environment alone, with random goals.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from flaneur.agent.bench import bench_inference, bench_training
from flaneur.agent.training import TrainConfig
from flaneur.configuration import load_config
from flaneur.env.bench import step_rate
from flaneur.evaluation.setup import TaskConfig, load_world
from flaneur.planners import RandomGoals
from flaneur.sim.bench import machine


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("train", "infer", "env"))
    parser.add_argument("--scenes", type=Path, required=True)
    parser.add_argument("--split", default=None)
    parser.add_argument("--limit", type=int, default=8)
    parser.add_argument("--config", type=Path, default=Path("configs/full.toml"))
    parser.add_argument("--envs", type=int, default=None)
    parser.add_argument("--rollout", type=int, default=None)
    parser.add_argument("--image", type=int, default=128)
    parser.add_argument("--evidence", default="twin")
    parser.add_argument("--lattice", default="cpu")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--updates", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--out", type=Path, default=None, help="JSON lines, appended")
    a = parser.parse_args()
    config = load_config(TrainConfig, a.config)
    config = replace(config, num_envs=a.envs or config.num_envs, rollout=a.rollout or config.rollout)
    world = load_world(a.scenes, TaskConfig(image=a.image, lattice=a.lattice, evidence=a.evidence), a.split, a.limit, a.device)
    row: dict[str, Any] = {"what": a.what, "image": a.image, "evidence": world.source.name, "scenes": len(world.scenes), "machine": machine(torch.device(a.device))}
    if a.what == "train":
        row |= bench_training(world.env(config.num_envs, config.seed, cell_credit=config.credit_grid), config, a.updates)
    elif a.what == "infer":
        row |= bench_inference(world.env(1, 0), config)
    else:
        row |= step_rate(world.env(config.num_envs, 0), RandomGoals(), a.seconds)
    print(json.dumps(row), flush=True)
    if a.out:
        a.out.parent.mkdir(parents=True, exist_ok=True)
        with open(a.out, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
