"""The trained agents of an experiment: found among runs by what they were trained with, or, for a smoke run, made in seconds."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flaneur.agent.checkpoint import load_tensors
from flaneur.agent.training import TrainConfig, Trainer
from flaneur.configuration import from_values, to_values
from flaneur.errors import UserError
from flaneur.evaluation.experiment import agent_config
from flaneur.evaluation.setup import World

SMOKE = {"steps": 32, "num_envs": 2, "rollout": 8, "latent": 32, "widths": (8, 8, 16), "grid": 8, "validate_every": 0, "checkpoint_every": 1e9}


@dataclass(frozen=True)
class Trained:
    path: Path  # best.safetensors
    digest: str
    config: TrainConfig
    evidence: str  # what it was trained on
    dataset: str

    @property
    def folder(self) -> Path:
        return self.path.parent

    def facts(self) -> dict[str, Any]:
        """The budget and the switches, as they go beside every result."""
        c = self.config
        return {"name": c.name, "seed": c.seed, "digest": self.digest, "steps": c.steps, "updates": c.updates, "evidence": self.evidence, "dataset": self.dataset, "training": to_values(c)}


class Runs:
    """Every `*/best.safetensors` below a folder, read once."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        paths = sorted(folder.glob("**/best.safetensors")) if folder else []
        self.found = [t for t in map(_read, paths) if t is not None]

    def find(self, agent: str, changes: dict[str, Any], seed: int) -> Trained | None:
        """The run with this name, seed, switches and changes; two that fit are an error, as nobody could say which was meant."""
        values = agent_config(agent, changes)
        if values is None:
            return None
        wanted = from_values(TrainConfig, values | {"seed": seed}, f"agent '{agent}'")
        fits = [t for t in self.found if _identity(t.config) == _identity(wanted)]
        if len({t.digest for t in fits}) > 1:
            raise UserError(f"{self.folder}: {fits[0].folder.name} and {fits[1].folder.name} are both '{agent}' with seed {seed}; remove one")
        return fits[0] if fits else None

    def train(self, agent: str, changes: dict[str, Any], seed: int, world: World) -> Trained | None:
        """A few updates on a tiny world: enough to run every line of code, no agent to judge."""
        values = agent_config(agent, changes)
        if values is None:
            return None
        assert self.folder is not None
        config = from_values(TrainConfig, _plain(values | SMOKE | {"seed": seed}), f"agent '{agent}'")
        name = "-".join([agent, *(f"{k}={v}".replace("/", "_").replace(" ", "") for k, v in changes.items()), str(seed)])
        trainer = Trainer(config, world.env(config.num_envs, seed, cell_credit=config.credit_grid), None, self.folder / name, {"evidence": world.source.name, "dataset": world.dataset})
        trained = _read(trainer.run())
        assert trained is not None
        self.found.append(trained)
        return trained


def train_command(agent: str, changes: dict[str, Any], seed: int) -> str:
    """What makes the run that is missing."""
    options = "".join(f" --set {k}={str(v).replace(' ', '')}" for k, v in {**changes, "seed": seed}.items())
    return f"flaneur train configs/{agent}.toml{options}"


# Budgets, rates and sizes are the user's; every other field distinguishes the agents of the paper's tables.
FREE = ("steps", "num_envs", "rollout", "reward_scale", "decay", "motion", "latent", "widths", "grid", "cell_credit", "validate_every", "checkpoint_every", "deterministic", "ppo")


def _identity(config: TrainConfig) -> dict[str, Any]:
    ppo = config.ppo
    fields = {k: v for k, v in to_values(config).items() if k not in FREE}
    return fields | {"mv": ppo.mv, "po": ppo.po, "mi": ppo.mi, "k": ppo.k if ppo.mi else None}


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}


def _read(path: Path) -> Trained | None:
    """None for agents that this version's trainer did not write."""
    _, about = load_tensors(path)
    if "training" not in about:
        return None
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return Trained(path, digest, from_values(TrainConfig, about["training"], str(path)), about.get("evidence", ""), about.get("dataset", ""))
