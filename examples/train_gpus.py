"""Training on several GPUs: every process flies its own environments, and all take the same step.

torchrun --nproc-per-node 4 examples/train_gpus.py configs/full.toml --scenes data/train --out runs/full

`torchrun --nproc-per-node 4 -m flaneur train ...` is the same with validation and progress. On CPUs the processes talk
through gloo, so that two cores are enough to try it:

torchrun --nproc-per-node 2 examples/train_gpus.py configs/laptop.toml --scenes out/town --out runs/two --lattice cpu
"""

from pathlib import Path
from typing import Any, Literal

import torch
import tyro

from flaneur.agent import distributed
from flaneur.agent.training import TrainConfig, Trainer
from flaneur.configuration import load_config
from flaneur.evaluation.setup import TaskConfig, load_world


def main(
    config: tyro.conf.Positional[Path],
    scenes: Path,
    out: Path,
    image: int = 128,
    lattice: Literal["dense", "cpu", "smoke"] = "dense",
    evidence: str = "twin:easy",
    steps: int | None = None,
    num_envs: int | None = None,
) -> None:
    changes: dict[str, Any] = {k: v for k, v in {"steps": steps, "num_envs": num_envs}.items() if v is not None}
    training = load_config(TrainConfig, config, changes)
    device = distributed.start("cuda" if torch.cuda.is_available() else "cpu")
    rank, processes = distributed.rank(), distributed.world_size()

    world = load_world(scenes, TaskConfig(image=image, lattice=lattice, evidence=evidence), device=device)
    env = world.env(training.num_envs, seed=training.seed * 1000 + rank, cell_credit=training.credit_grid)
    trainer = Trainer(training, env, None, out, {"evidence": world.source.name, "processes": processes})
    # num_envs x rollout steps of every process make one update; `steps` counts those of all.
    best = trainer.run(lambda done, total, row: rank or print(f"update {done} of {total}: {row['steps']:.0f} steps of {processes} processes"))
    if rank == 0:
        print(best)
    distributed.stop()


if __name__ == "__main__":
    tyro.cli(main)
