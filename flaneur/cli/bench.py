"""`flaneur bench`: how fast this machine is, one JSON line, with the machine and the peers measured beside."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from flaneur.cli.console import Command, progress
from flaneur.cli.evaluate import choose_device
from flaneur.errors import UserError

if TYPE_CHECKING:
    from flaneur.city.scene import Scene
    from flaneur.env.semantic import SemanticEnv

PLACES = ("cbd", "town", "suburb", "rural")


@dataclass
class Bench(Command):
    """Measure one part; prints one JSON line.

    render: frames and rays. step: sensors alone, then the whole environment. fusion: map updates. train: updates of the
    agent. plan: every rule-based planner. build: one invented city of each kind (needs no scenes).

    Examples:
      flaneur bench render --scenes out/town
      flaneur bench train --scenes out/town --config configs/laptop.toml --views 4 --size 128
      flaneur bench step --scenes data/scenes/* --views 64 --device cuda
    """

    what: tyro.conf.Positional[Literal["render", "step", "fusion", "train", "plan", "build"]]
    """The part."""
    scenes: list[Path] = field(default_factory=list)
    """Folders of built cities."""
    views: int = 8
    """Views or environments in a batch."""
    size: int = 256
    """Pixels a side."""
    seconds: float = 3.0
    """Per figure."""
    evidence: str = "twin:easy"
    """Of step, train and plan; as in flaneur evaluate."""
    config: Path | None = None
    """Of train: TOML file; see configs/."""
    updates: int = 3
    """Of train: how many are timed."""
    steps: int = 40
    """Of plan: how many are timed."""
    methods: Annotated[list[str], tyro.conf.arg(help_behavior_hint="(default: the rule-based ones)")] = field(default_factory=list)
    """Of plan."""
    places: list[str] = field(default_factory=lambda: list(PLACES))
    """Of build: cbd, town, suburb, rural."""
    seed: int = 0
    """Of build."""
    device: str = "auto"
    """auto, cpu or cuda."""

    def run(self) -> None:
        self._check()
        print(json.dumps(getattr(self, f"_{self.what}")(), default=str))

    def _check(self) -> None:
        if self.what != "build" and not self.scenes:
            raise UserError("bench: name at least one built city with --scenes")
        for name in ("views", "updates", "steps"):
            if getattr(self, name) < 1:
                raise UserError(f"--{name} {getattr(self, name)}: at least 1 is needed")
        if odd := [p for p in self.places if p not in PLACES]:
            raise UserError(f"--places {odd[0]}: give one or more of {', '.join(PLACES)}")

    def _cities(self) -> list[Scene]:
        from flaneur.city.scene import Scene

        return [Scene.load(p) for p in self.scenes]

    def _render(self) -> dict[str, Any]:
        from flaneur.sim.bench import bench_render

        return bench_render(self._cities(), choose_device(self.device), self.views, self.size, self.seconds)

    def _step(self) -> dict[str, Any]:
        from flaneur.env.bench import step_rate
        from flaneur.planners import RandomGoals
        from flaneur.sim.bench import bench_step

        env = self._environment()
        report = bench_step(env.scenes, choose_device(self.device), self.views, self.size, self.seconds)
        return report | {"environment": {"evidence": env.source.name, **step_rate(env, RandomGoals(), self.seconds)}}

    def _fusion(self) -> dict[str, Any]:
        import torch

        from flaneur.geometry import Camera, Grid
        from flaneur.mapping.bench import bench_fusion
        from flaneur.scoring import ground_heights
        from flaneur.sim import Simulator

        sim = Simulator(self._cities(), Camera.from_fov(self.size, self.size), choose_device(self.device))
        ground = torch.stack([ground_heights(s, Grid()) for s in sim.scenes])
        return self._named(sim.device, bench_fusion(sim, ground, self.views, self.seconds))

    def _train(self) -> dict[str, Any]:
        from flaneur.agent.bench import bench_training
        from flaneur.agent.training import TrainConfig
        from flaneur.configuration import load_config

        config = load_config(TrainConfig, self.config, {"num_envs": self.views}) if self.config else TrainConfig(num_envs=self.views)
        env = self._environment(cell_credit=config.credit_grid)
        return self._named(env.device, {"size": self.size, "evidence": env.source.name, "scenes": len(env.scenes), **bench_training(env, config, self.updates)})

    def _plan(self) -> dict[str, Any]:
        from flaneur.evaluation.methods import make_planner
        from flaneur.planners.bench import METHODS, plan_time

        env, rows = self._environment(episode_length=self.steps + 2), []
        planners = {name: make_planner(name, env) for name in self.methods or METHODS}
        with progress("planners", len(planners)) as advance:
            for name, planner in planners.items():
                advance(len(rows), name)
                rows.append(plan_time(name, planner, env, self.steps))
        return self._named(env.device, {"size": self.size, "evidence": env.source.name, "scenes": len(env.scenes), "rows": rows})

    def _build(self) -> dict[str, Any]:
        import torch

        from flaneur.city.bench import bench_build

        with progress("cities", len(self.places)) as advance:
            return self._named(torch.device("cpu"), bench_build(self.places, self.seed, lambda done: advance(done)))

    def _environment(self, **config: Any) -> SemanticEnv:
        from flaneur.env import EnvConfig
        from flaneur.env.bench import bench_environment
        from flaneur.geometry import Camera
        from flaneur.perception.sources import make_source

        scenes, device = self._cities(), choose_device(self.device)
        source = make_source(self.evidence, scenes[0].classes, device)
        return bench_environment(scenes, source, EnvConfig(num_envs=self.views, camera=Camera.from_fov(self.size, self.size), final_observation=False, **config), device)

    def _named(self, device: Any, report: dict[str, Any]) -> dict[str, Any]:
        from flaneur.sim.bench import machine

        return {"bench": self.what, "device": str(device), "machine": machine(device), **report}
