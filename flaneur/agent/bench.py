"""How fast the agent learns and decides."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from flaneur.agent.network import PolicyNetwork
from flaneur.agent.policy import decide, observe
from flaneur.agent.training import TrainConfig, Trainer
from flaneur.configuration import to_values
from flaneur.env.bench import peak_gb
from flaneur.env.semantic import SemanticEnv
from flaneur.geometry import camera_to_world
from flaneur.sim.bench import timed
from flaneur.sim.recorded import Recorded


def bench_training(env: SemanticEnv, config: TrainConfig, updates: int) -> dict[str, Any]:
    """Whole updates after two that are not counted; the split says what rollout and optimisation take."""
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(config, env, None, Path(folder), {})
        env.reset(stagger=True)
        for _ in range(2):
            trainer.update()
        per_update = config.rollout * config.num_envs
        rollout = timed(lambda: trainer.collector.collect(config.rollout), env.device, updates)
        whole = timed(trainer.update, env.device, updates)
    return {
        "steps_per_second": round(per_update / whole, 1), "rollout_s": round(rollout, 4), "update_s": round(whole - rollout, 4), "steps_per_update": per_update,
        "parameters": sum(p.numel() for p in trainer.network.parameters()), "peak_gb": peak_gb(env.device), "config": to_values(config),
    }  # fmt: skip


def bench_inference(env: SemanticEnv, config: TrainConfig, repeats: int = 200) -> dict[str, Any]:
    """Map update and policy of one environment, without rendering and without evidence."""
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(replace(config, num_envs=1, rollout=1, cell_credit=False), env, None, Path(folder), {})
    env.reset()
    network, depth, similarity = trainer.network.eval(), env.frame.depth, env._look()
    assert depth is not None
    matrix, choose = camera_to_world(env.poses), Recorded(lambda: _act(network, env, trainer.sampling), env.device, generators=[trainer.sampling])

    def take() -> None:
        env._fuse_now()
        env.map.accumulate(depth, similarity, matrix, env.config.camera)

    update = Recorded(take, env.device)

    def step() -> None:
        env._take(*choose())
        update()

    timed(step, env.device, 10)
    return {"map_and_policy_ms": round(1e3 * timed(step, env.device, repeats), 3)}


@torch.no_grad()
def _act(network: PolicyNetwork, env: SemanticEnv, generator: torch.Generator) -> tuple[Tensor, Tensor | None]:
    decision = decide(network, observe(env.observation(), network), generator, 1.0, "expected")
    return decision.goal, decision.beta
