"""A training run: collect, update, log, validate, checkpoint; resumable at any moment with the same result."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from flaneur.agent import distributed
from flaneur.agent.checkpoint import load_tensors, save_agent, save_tensors
from flaneur.agent.gleam import build_network
from flaneur.agent.motion import MotionSpace
from flaneur.agent.network import NetworkConfig
from flaneur.agent.policy import decide, observe
from flaneur.agent.ppo import PpoConfig, Updater, set_rate
from flaneur.agent.rollout import Collector
from flaneur.configuration import from_values, to_values
from flaneur.env.semantic import SemanticEnv
from flaneur.env.state import restore_env, save_env
from flaneur.errors import UserError


@dataclass(frozen=True)
class TrainConfig:
    name: str = "full"
    seed: int = 0
    lc: bool = True  # likelihood calibration
    ppo: PpoConfig = field(default_factory=PpoConfig)  # with the switches mv, po, mi
    motion: MotionSpace = field(default_factory=MotionSpace)
    steps: int = 384_000  # environment steps in all: the paper's 10^3 episodes
    num_envs: int = 128
    rollout: int = 32  # steps per environment and update
    reward_scale: float = 10.0
    reward_weights: tuple[float, float, float] = (1.0, 1.0, 1.0)  # of the groups' gains: small, medium, large
    decay: bool = True  # learning rate and entropy weight fall linearly to zero
    latent: int = 256
    widths: tuple[int, ...] = (32, 64, 128)
    grid: int = 16  # calibration grid
    cell_credit: bool = True  # calibration entries are credited with the gain of their own coarse cell, not with the whole map's
    network: Literal["ours", "gleam"] = "ours"  # gleam: the learned rival, without calibration
    scaling: float = 1.0  # without lc: the constant beta of every update, in training and after (GLEAM-x)
    validate_every: int = 50  # updates; 0: only at the end
    checkpoint_every: float = 60.0  # seconds; 0: after every update
    deterministic: bool = False

    def __post_init__(self) -> None:
        if self.ppo.mi and not self.lc:
            raise UserError("config: field 'ppo.mi' is true without 'lc': without calibration there is only one branch")
        if self.network == "gleam" and (self.lc or self.ppo.mv):
            raise UserError("config: field 'network' is gleam: it has neither calibration nor category values; set lc, ppo.mv, ppo.po and ppo.mi to false")
        if self.lc and self.scaling != 1.0:
            raise UserError(f"config: field 'scaling' is {self.scaling} with 'lc': beta is learned or constant, not both")
        if self.rollout < 1 or self.num_envs < 1 or self.steps < self.num_envs * self.rollout:
            raise UserError(f"config: field 'steps' is {self.steps}; one update needs num_envs x rollout = {self.num_envs * self.rollout}")

    @property
    def credit_grid(self) -> int:
        """What the environment's `cell_credit` has to be."""
        return self.grid if self.lc and self.cell_credit else 0

    @property
    def updates(self) -> int:
        return self.steps // (self.num_envs * self.rollout * distributed.world_size())


Report = Callable[[int, int, dict[str, float]], None]


class Trainer:
    """Everything a run holds. `folder` explains itself: config.json, about.json, curve.jsonl, state and agents."""

    def __init__(self, config: TrainConfig, env: SemanticEnv, validation: SemanticEnv | None, folder: Path, about: dict[str, Any]) -> None:
        self.config, self.env, self.validation, self.folder = config, env, validation, Path(folder)
        self.about = about | {"classes": list(env.classes.names), "training": to_values(config), "processes": distributed.world_size()}
        if config.deterministic:
            torch.use_deterministic_algorithms(True)
        elif env.device.type == "cuda":
            torch.backends.cudnn.benchmark = True  # the same shapes all along
        torch.manual_seed(config.seed)
        network = NetworkConfig(
            classes=len(env.classes), history=env.config.history, latent=config.latent, widths=config.widths, groups=3 if config.ppo.mv else 1,
            calibration=config.lc, kinds=env.map.channels, grid=config.grid, cell_values=config.credit_grid > 0, kind=config.network,
            scaling=config.scaling, window=env.config.grid.size, motion=config.motion,
        )  # fmt: skip
        if config.credit_grid and env.config.cell_credit != config.credit_grid:
            raise UserError(f"training: the environment's 'cell_credit' is {env.config.cell_credit}, the configuration asks for {config.credit_grid}; make them equal")
        self.network = build_network(network).to(env.device)
        self.updater = Updater(self.network, config.ppo)
        rank_seed = config.seed * 1000 + distributed.rank()
        self.sampling = torch.Generator(env.device).manual_seed(rank_seed)
        self.shuffling = torch.Generator().manual_seed(rank_seed + 1)
        self.collector = Collector(env, self.network, config.ppo, config.reward_scale, self.sampling, config.reward_weights)
        self.done_updates, self.best, self.seconds = 0, -np.inf, 0.0
        self.curve: list[dict[str, float]] = []

    # Running ----------------------------------------------------------------------------------------------------
    def run(self, report: Report | None = None) -> Path:
        """Train to the end; returns the path of the best agent by validation reward."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self.resume():
            self.env.reset(stagger=True)
            if self.writes:
                (self.folder / "config.json").write_text(json.dumps(to_values(self.config), indent=1) + "\n")
                (self.folder / "about.json").write_text(json.dumps(self.about, indent=1) + "\n")
        board = _board(self.folder) if self.writes else None
        last = start = time.monotonic()
        before = self.seconds
        while self.done_updates < self.config.updates:
            row = self.update()
            self.seconds = before + time.monotonic() - start
            row |= {"seconds": round(self.seconds, 3)}
            finished = self.done_updates == self.config.updates
            if finished or (self.config.validate_every and self.done_updates % self.config.validate_every == 0):
                row |= self.validate()
            self.curve.append(row)
            if board:
                for name, value in row.items():
                    board.add_scalar(name, value, row["steps"])
            if report:
                report(self.done_updates, self.config.updates, row)
            # The mean over ranks, so that all of them save after the same update.
            since = float(distributed.mean(torch.tensor(time.monotonic() - last, device=self.env.device)))
            if finished or since >= self.config.checkpoint_every:
                self.save()
                last = time.monotonic()
        if board:
            board.close()
        return self.folder / "best.safetensors"

    def update(self) -> dict[str, float]:
        config = self.config
        if config.decay:
            share = 1.0 - self.done_updates / config.updates
            set_rate(self.updater.optimiser, config.ppo.learning_rate * share)
            self.updater.entropy_weight.fill_(config.ppo.k2 * share)  # toward a policy that knows what it wants
        batch = self.collector.collect(config.rollout)
        try:
            log = self.updater.update(batch, self.shuffling)
        except FloatingPointError:
            save_tensors(self.folder / "nan_batch.safetensors", {"advantages": batch.advantages, "targets": batch.targets, "old": batch.motion_log_prob}, {"update": self.done_updates})
            raise UserError(f"{self.folder}: the loss became NaN in update {self.done_updates + 1}; its batch is kept in nan_batch.safetensors, lower ppo.learning_rate or ppo.k") from None
        self.done_updates += 1
        row = {"update": float(self.done_updates), "steps": float(self.done_updates * len(batch) * distributed.world_size())} | log
        if self.collector.finished:
            ccr = torch.stack(self.collector.finished).nanmean(0).cpu()
            row |= {f"train_ccr_{name}": 100 * float(v) for name, v in zip(("small", "medium", "large"), ccr, strict=True)}
            self.collector.finished.clear()
        return row

    @torch.no_grad()
    def validate(self, temperature: float = 1.0) -> dict[str, float]:
        """One episode in every validation environment; the best agent by reward is kept."""
        if self.validation is None:
            if self.writes:
                save_agent(self.folder / "best.safetensors", self.network, self.about | {"update": self.done_updates})
            return {}
        env, length = self.validation, self.validation.config.episode_length
        generator = torch.Generator(env.device).manual_seed(self.config.seed)
        scenes = [e % len(env.scenes) for e in range(env.num_envs)]
        starts = [e // len(env.scenes) % env.config.starts for e in range(env.num_envs)]
        env.reset(scenes, starts, seeds=range(env.num_envs))  # the same evidence noise in every validation
        total = torch.zeros(env.num_envs, 3, device=env.device)
        final: dict[str, Tensor] = {}
        for _ in range(length):
            decision = decide(self.network, observe(env.observation(), self.network), generator, temperature, "expected")
            _, reward, _, _, info = env.step(decision.goal, decision.beta)
            total += reward
            final = info.get("final_scores", final)
        reward = float(total.mean())
        ccr = 100 * final["ccr"].nanmean(0)
        row = {"validation_reward": reward, "validation_ocr": float(ccr.mean()), "validation_strict_miou": 100 * float(final["strict_miou"].mean())}
        row |= {f"validation_ccr_{name}": float(v) for name, v in zip(("small", "medium", "large"), ccr, strict=True)}
        if reward > self.best:
            self.best = reward
            if self.writes:
                save_agent(self.folder / "best.safetensors", self.network, self.about | {"update": self.done_updates, **row})
        return row

    # Checkpoints ------------------------------------------------------------------------------------------------
    def save(self) -> None:
        tensors = {f"network.{k}": v for k, v in self.network.state_dict().items()}
        values: dict[str, Any] = {"update": self.done_updates, "best": self.best, "seconds": self.seconds, "training": to_values(self.config)}
        for name, optimiser in self._optimisers().items():
            state = optimiser.state_dict()
            values[f"{name}.rate"] = float(optimiser.param_groups[0]["lr"])
            for i, parts in state["state"].items():
                tensors |= {f"{name}.{i}.{k}": torch.as_tensor(v) for k, v in parts.items()}
        if self.updater.estimator is not None:
            tensors |= {f"estimator.{k}": v for k, v in self.updater.estimator.state_dict().items()}
        tensors |= {"bargain.alpha": self.updater._alpha, "bargain.cosine": self.updater._cosine}
        values["bargain.steps"] = self.updater._steps
        tensors |= {"rng.sampling": self.sampling.get_state(), "rng.shuffling": self.shuffling.get_state()}
        env_tensors, values["env"] = save_env(self.env)
        tensors |= {f"world.{k}": v for k, v in env_tensors.items()}
        values["curve"] = self.curve
        values["finished"] = [x.tolist() for x in self.collector.finished]
        if distributed.world_size() > 1 and self._state_path().exists():
            # A process may be killed when others have saved and it has not: all of them then go back to the state before.
            os.replace(self._state_path(), self._state_path(before=True))
        save_tensors(self._state_path(), tensors, values)
        if not self.writes:
            return
        part = self.folder / "curve.jsonl.part"
        part.write_text("".join(json.dumps(row) + "\n" for row in self.curve))
        part.replace(self.folder / "curve.jsonl")

    def resume(self) -> bool:
        """Go on from the last state that every process has; False where there is none, and the run begins.

        The processes exchange gradients in every update, so one of them is at most one state ahead of another.
        """
        now, about = distributed.world_size(), self.folder / "about.json"
        begun = json.loads(about.read_text()).get("processes", now) if about.exists() and any(self.folder.glob("state*.safetensors")) else now
        if begun != now:  # steps would count otherwise
            raise UserError(f"{self.folder}: was begun by {begun} processes, these are {now}; start {begun}, or give another --out")
        current, before = self._state_path(), self._state_path(before=True)
        states = {int(s[1]["update"]): (path, s) for path in (before, current) if path.exists() for s in [load_tensors(path)]}
        common = distributed.least(max(states, default=0), self.env.device)
        if common == 0:
            return False
        if common not in states:
            raise UserError(f"{self.folder}: its processes were stopped after different updates; give another --out")
        path, state = states[common]
        self.restore(*state)
        if path == before:  # the newer one is made again, and must not push this one out before all have it
            os.replace(before, current)
        return True

    def restore(self, tensors: dict[str, Tensor], values: dict[str, Any]) -> None:
        # Read back through the dataclass: a field that came later has its default in an older state.
        begun = to_values(from_values(TrainConfig, values["training"], str(self.folder)))
        if begun != to_values(self.config):
            changed = [k for k, v in to_values(self.config).items() if begun[k] != v]
            raise UserError(f"{self.folder}: was begun with another configuration (field '{changed[0]}'); give another --out or the same configuration")

        def group(prefix: str) -> dict[str, Tensor]:
            return {k[len(prefix) + 1 :]: v for k, v in tensors.items() if k.startswith(f"{prefix}.")}

        self.network.load_state_dict(group("network"))
        if self.updater.estimator is not None:
            self.updater.estimator.load_state_dict(group("estimator"))
        for name, optimiser in self._optimisers().items():
            state: dict[int, dict[str, Tensor]] = {}
            for key, tensor in group(name).items():
                index, _, field_name = key.partition(".")
                state.setdefault(int(index), {})[field_name] = tensor
            optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
            set_rate(optimiser, values[f"{name}.rate"])
        self.updater._alpha.copy_(tensors["bargain.alpha"])
        self.updater._cosine.copy_(tensors["bargain.cosine"])
        self.updater._steps = values["bargain.steps"]
        self.sampling.set_state(tensors["rng.sampling"])
        self.shuffling.set_state(tensors["rng.shuffling"])
        restore_env(self.env, group("world"), values["env"])
        self.collector.finished = [torch.tensor(x, dtype=torch.float64, device=self.env.device) for x in values["finished"]]
        self.done_updates, self.best, self.seconds, self.curve = values["update"], values["best"], values["seconds"], values["curve"]

    def _optimisers(self) -> dict[str, torch.optim.Optimizer]:
        out: dict[str, torch.optim.Optimizer] = {"policy": self.updater.optimiser}
        if self.updater.estimator is not None:
            out["club"] = self.updater.estimator_optimiser
        return out

    @property
    def writes(self) -> bool:
        """Whether this process writes what all ranks share: the agent, the curve, the description."""
        return distributed.rank() == 0

    def _state_path(self, before: bool = False) -> Path:
        name = "state" if distributed.world_size() == 1 else f"state_{distributed.rank()}"
        return self.folder / f"{name}{'.before' if before else ''}.safetensors"


def _board(folder: Path) -> Any:
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder / "tensorboard"))
