"""`flaneur evaluate`: methods on scenes, one JSON line per episode, and the table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from flaneur.cli.console import Command, print_json, print_table, progress
from flaneur.errors import UserError


@dataclass
class Evaluate(Command):
    """Run methods on scenes and print the table. Run again to go on where it stopped.

    Methods: uncertainty, zhang, rayfronts, activesgm, random, lawnmower, nearest_frontier, ceiling, the path of an agent,
    a planner of your own (docs/guides/planner.md); any of them with a constant calibration (@BETA: one number, or four
    for small, medium, large and background).

    Examples:
      flaneur evaluate lawnmower random --scenes out/town --out out/results.jsonl --image 128 --lattice cpu
      flaneur evaluate runs/full/best.safetensors lawnmower@0.6 --scenes data --split test --out test.jsonl
    """

    methods: tyro.conf.Positional[list[str]]
    """What to run."""
    scenes: Path
    """A data set, a folder of scenes, or one scene."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """Result file (JSON lines)."""
    split: str | None = None
    """Of a data set: train, validation or test."""
    limit: int | None = None
    """At most so many scenes."""
    evidence: str = "twin"
    """twin (fitted to Lens), twin:easy, twin:hard, twin:FILE, oracle; lens, clip:FOLDER and dinotxt:FILE, slower."""
    seeds: tuple[int, ...] = (0,)
    """Every method runs once with each."""
    num_envs: int = 8
    """Environments in one batch."""
    starts: int = 3
    """Start poses of each scene: the first ones of those derived from its seed."""
    image: int = 256
    """Pixels a side."""
    steps: int = 384
    """Observations per episode."""
    lattice: Literal["dense", "medium", "cpu"] = "dense"
    """Poses that decide which cells are scored: 4 m apart, or coarse enough for a laptop."""
    device: str = "auto"
    """auto, cpu, cuda."""

    def run(self) -> int:
        from flaneur.evaluation.protocol import evaluate
        from flaneur.evaluation.setup import TaskConfig, load_world
        from flaneur.evaluation.tables import ADDITIONAL, MAIN, TITLES, lint, tables

        if not self.methods:
            raise UserError("evaluate: name at least one method")
        task = TaskConfig(image=self.image, episode_length=self.steps, lattice=self.lattice, evidence=self.evidence, starts=self.starts)
        with progress("scenes and what can be seen in them", 1) as advance:
            world = load_world(self.scenes, task, self.split, self.limit, choose_device(self.device), lambda i, n, name: advance(i / n, name))
        with progress("episodes", 1) as advance:
            file, failures = evaluate(world, self.methods, self.out, self.seeds, self.num_envs, step_metrics=True, tick=lambda m, i, n: advance(i / n, m))
        found = [t for t in tables(file.rows) if t.method in self.methods]
        if self.json:
            print_json({"tables": [t.plain() | {"runs": t.runs, "scenes": t.scenes, "episodes": t.episodes} for t in found], "failures": failures, "lint": lint(found), "out": str(self.out)})
        else:
            for columns, title in ((MAIN, f"{world.source.name}, {len(world.scenes)} scene{'s'[: len(world.scenes) > 1]}, CCR in %"), ((*ADDITIONAL, "strict_miou", "background_wrong"), "more, in %")):
                print_table(("method", *(TITLES[c].removeprefix("CCR ") for c in columns)), [(t.method, *(t.cells[c].mean for c in columns)) for t in found], title)
            print(f"rows: {self.out}")
            for line in failures:
                print(f"failed: {line}")
        return 1 if failures else 0


def choose_device(name: str) -> str:
    import torch

    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise UserError(f"--device {name}: no CUDA device is visible here; give --device cpu")
    return name
