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
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from flaneur.agent.policy import decide, observe
from flaneur.agent.training import TrainConfig, Trainer
from flaneur.configuration import load_config, to_values
from flaneur.env.semantic import SemanticEnv
from flaneur.evaluation.setup import TaskConfig, World, load_world
from flaneur.geometry import camera_to_world
from flaneur.planners import RandomGoals
from flaneur.sim.bench import machine


def timed(work: Callable[[], object], device: torch.device, repeats: int) -> float:
    """Seconds of one call, the mean over repeats."""
    wait = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    wait()
    start = time.perf_counter()
    for _ in range(repeats):
        work()
    wait()
    return (time.perf_counter() - start) / repeats


def train(world: World, config: TrainConfig, updates: int, folder: Path) -> dict[str, Any]:
    env = world.env(config.num_envs, config.seed, cell_credit=config.credit_grid)
    trainer = Trainer(config, env, None, folder, {})
    env.reset(stagger=True)
    for _ in range(2):
        trainer.update()
    per_update = config.rollout * config.num_envs
    rollout = timed(lambda: trainer.collector.collect(config.rollout), env.device, updates)
    whole = timed(trainer.update, env.device, updates)
    return {
        "steps_per_second": round(per_update / whole, 1), "rollout_s": round(rollout, 4), "update_s": round(whole - rollout, 4), "steps_per_update": per_update,
        "parameters": sum(p.numel() for p in trainer.network.parameters()), "peak_gb": round(torch.cuda.max_memory_allocated() / 1e9, 2) if env.device.type == "cuda" else None,
        "config": to_values(config),
    }  # fmt: skip


def infer(world: World, config: TrainConfig, folder: Path) -> dict[str, Any]:
    env = world.env(1, 0)
    trainer = Trainer(replace(config, num_envs=1, rollout=1, cell_credit=False), env, None, folder, {})
    network = trainer.network.eval()
    env.reset()
    frame, similarity = env.frame, env._look()
    matrix = camera_to_world(env.poses)

    @torch.no_grad()
    def step() -> None:
        decision = decide(network, observe(env.observation(), network), trainer.sampling, 1.0, "expected")
        env.map.fuse(decision.beta)
        env.map.accumulate(frame.depth, similarity, matrix, env.config.camera)

    timed(step, env.device, 10)
    return {"map_and_policy_ms": round(1e3 * timed(step, env.device, 200), 3)}


def step_rate(env: SemanticEnv, seconds: float) -> dict[str, Any]:
    planner = RandomGoals()
    env.reset()
    planner.reset(range(env.num_envs))

    def step() -> None:
        env.step(planner.plan(env.context())[0])

    once = timed(step, env.device, 10)
    repeats = max(10, int(seconds / once))
    return {"envs": env.num_envs, "steps_per_second": round(env.num_envs / timed(step, env.device, repeats), 1)}


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
    parser.add_argument("--folder", type=Path, default=Path("out/bench-agent"))
    parser.add_argument("--out", type=Path, default=None, help="JSON lines, appended")
    a = parser.parse_args()
    config = load_config(TrainConfig, a.config)
    config = replace(config, num_envs=a.envs or config.num_envs, rollout=a.rollout or config.rollout)
    world = load_world(a.scenes, TaskConfig(image=a.image, lattice=a.lattice, evidence=a.evidence), a.split, a.limit, a.device)
    row: dict[str, Any] = {"what": a.what, "image": a.image, "evidence": world.source.name, "scenes": len(world.scenes), "machine": machine(torch.device(a.device))}
    if a.what == "train":
        row |= train(world, config, a.updates, a.folder)
    elif a.what == "infer":
        row |= infer(world, config, a.folder)
    else:
        row |= step_rate(world.env(config.num_envs, 0), a.seconds)
    print(json.dumps(row), flush=True)
    if a.out:
        a.out.parent.mkdir(parents=True, exist_ok=True)
        with open(a.out, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
