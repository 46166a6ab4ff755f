"""`flaneur train`: an agent from a configuration file."""

from __future__ import annotations

import json
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from flaneur import __version__
from flaneur.cli.console import Command, print_json, progress
from flaneur.cli.evaluate import choose_device
from flaneur.errors import UserError


@dataclass
class Train(Command):
    """Train an agent. A run folder that exists is continued, with the same result as if it had never stopped.

    Examples:
      flaneur train configs/full.toml --scenes data --out runs/full
      flaneur train configs/laptop.toml --scenes out/cities --out runs/laptop --image 128 --lattice cpu
      flaneur train configs/full.toml --scenes data --out runs/k --set ppo.k=0.05 --set seed=1
      torchrun --nproc-per-node 4 -m flaneur train configs/full.toml --scenes data --out runs/four
    """

    config: tyro.conf.Positional[Path]
    """TOML file; see configs/."""
    scenes: Path
    """A data set, a folder of scenes, or one scene."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """Run folder."""
    split: str | None = None
    """Of a data set: where to train (default: train)."""
    validation: Path | None = None
    """Scenes to validate on; for a data set its split validation."""
    set: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """field=value, over the file's."""
    evidence: str = "twin"
    """twin (fitted to Lens), twin:easy, twin:hard, twin:FILE, oracle; lens, clip:FOLDER and dinotxt:FILE, slower."""
    image: int = 256
    """Pixels a side."""
    steps: int = 384
    """Observations per episode."""
    lattice: Literal["dense", "medium", "cpu"] = "dense"
    """Poses that decide which cells are scored: 4 m apart, or coarse enough for a laptop."""
    reward: Literal["iou", "ccr", "balanced"] = "balanced"
    """What a step's gain is measured in: strict IoU, coverage (the paper's), or their mean less
    what of the background is taken for an object."""
    validation_envs: int = 4
    """Environments in a batch of validation."""
    device: str = "auto"
    """auto, cpu or cuda."""

    def run(self) -> None:
        from flaneur.agent import distributed
        from flaneur.agent.training import TrainConfig, Trainer
        from flaneur.configuration import load_config, to_values
        from flaneur.evaluation.setup import TaskConfig, load_world

        config = load_config(TrainConfig, self.config, dict(_assignment(s) for s in self.set))
        device = distributed.start(choose_device(self.device))
        rank, processes = distributed.rank(), distributed.world_size()
        task = TaskConfig(image=self.image, episode_length=self.steps, lattice=self.lattice, evidence=self.evidence, reward=self.reward)
        dataset = (self.scenes / "dataset.json").is_file()
        with progress("scenes and what can be seen in them", 1) as advance:
            tick = lambda i, n, name: advance(i / n, name)  # noqa: E731
            world = load_world(self.scenes, task, self.split or ("train" if dataset else None), device=device, tick=tick)
            held_out = None
            if self.validation or dataset:
                held_out = load_world(self.validation or self.scenes, task, "validation" if not self.validation else None, device=device, tick=tick)
        about = {
            "flaneur": __version__,
            "git": _git_state(),
            "machine": f"{platform.system()} {platform.machine()}",
            "device": device,
            "processes": processes,
            "evidence": world.source.name,
            "dataset": world.dataset,
            "task": to_values(task),
        }
        trainer = Trainer(
            config, world.env(config.num_envs, config.seed + 1000 * rank, cell_credit=config.credit_grid, final_scores=False), held_out.env(self.validation_envs) if held_out else None, self.out, about
        )
        with progress(config.name, config.updates, shown=rank == 0) as advance:
            best = trainer.run(lambda done, total, row: advance(done, _summary(row)))
        report = {"agent": str(best), "updates": trainer.done_updates, "seconds": round(trainer.seconds, 1), "last": trainer.curve[-1] if trainer.curve else {}}
        distributed.stop()
        if rank:
            return
        if self.json:
            print_json(report)
        else:
            print(f"{best}: {report['updates']} updates in {report['seconds']} s; {_summary(trainer.curve[-1])}")
            steps = f" --steps {self.steps}" if self.steps != type(self).steps else ""
            print(f"try it: flaneur evaluate {best} --scenes {self.scenes} --out {self.out}/results.jsonl --image {self.image} --lattice {self.lattice} --evidence {self.evidence}{steps}")


def _assignment(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UserError(f"--set {text}: give field=value")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def _summary(row: dict[str, float]) -> str:
    parts = []
    if "seconds" in row and row["seconds"] > 0:
        parts.append(f"{row['steps'] / row['seconds']:.0f} steps/s")
    for kind in ("validation", "train"):
        if f"{kind}_ccr_small" in row:
            parts.append(f"{kind} CCR " + "/".join(f"{row[f'{kind}_ccr_{g}']:.1f}" for g in ("small", "medium", "large")))
            break
    if "log_alpha_2" in row:
        parts.append("log alpha " + "/".join(f"{row[f'log_alpha_{c}']:.1f}" for c in range(3)))
    parts.append(f"KL {row.get('motion_kl', 0):.3f}/{row.get('calibration_kl', 0):.3f}")
    if "club" in row:
        parts.append(f"CLUB {row['club']:.2f}")
    return ", ".join(parts)


def _git_state() -> str:
    try:
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True, cwd=Path(__file__).parent).stdout.strip()
        changed = subprocess.run(["git", "status", "--porcelain"], capture_output=True, text=True, check=True, cwd=Path(__file__).parent).stdout.strip()
        return commit + (" with changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "no git repository"
