"""The protocol: methods x scenes x starts x seeds on one task, into a result file that can be continued."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from flaneur import __version__
from flaneur.classes import SCALE_GROUPS
from flaneur.env.semantic import SemanticEnv
from flaneur.evaluation.episodes import Episode, PlannerFailure, Watch, run_episodes
from flaneur.evaluation.methods import make_planner
from flaneur.evaluation.results import ResultFile
from flaneur.evaluation.setup import World
from flaneur.planners.base import Planner

Tick = Callable[[str, int, int], None]  # method, steps done, steps in all


class Study:
    """What an experiment may change about an evaluation: how methods are made, who watches, what a row says besides."""

    def planner(self, method: str, env: SemanticEnv, seed: int, noise: int) -> Planner:
        """A fresh planner for one batch; `noise` seeds its draws, so that a batch comes out the same when it is run alone."""
        return make_planner(method, env, noise)

    def watch(self, method: str, env: SemanticEnv, seed: int) -> Watch | None:
        return None

    def finish(self, row: dict[str, Any]) -> dict[str, Any]:
        return row


def evaluate(
    world: World,
    methods: Sequence[str],
    out: Path,
    seeds: Sequence[int] = (0,),
    num_envs: int = 8,
    step_metrics: bool = False,
    tick: Tick | None = None,
    study: Study | None = None,
) -> tuple[ResultFile, list[str]]:
    """Fill in the rows that are missing. Returns the file and one line for every method that failed."""
    file, study = ResultFile(out), study or Study()
    failures: list[str] = []
    for method in methods:
        for seed in seeds:
            wanted = _episodes(world, seed)
            size = min(num_envs, len(wanted))
            batches = [(n, wanted[i : i + size]) for n, i in enumerate(range(0, len(wanted), size))]
            # A batch with a missing row is flown whole: what a planner draws depends on its batch.
            todo = [(n, b) for n, b in batches if any(_key(world, method, e) not in file.keys for e in b)]
            if not todo:
                continue
            env = world.evaluation_env(size, seed, step_metrics)
            total = len(todo) * world.task.episode_length
            steps = 0

            def count(_done: int, _length: int, method: str = method, total: int = total) -> None:
                nonlocal steps
                steps += 1
                if tick:
                    tick(method, steps, total)

            try:
                for n, batch in todo:
                    planner, watch = study.planner(method, env, seed, seed + 1000 * n), study.watch(method, env, seed)
                    for row in run_episodes(env, planner, batch, count, watch):
                        file.append(study.finish(label_row(world, method, row)))
            except PlannerFailure as failure:
                failures.append(str(failure))
    return file, failures


def wanted_keys(world: World, method: str, seed: int) -> list[tuple]:
    """Of the rows that `evaluate` fills in for this method and seed."""
    return [_key(world, method, e) for e in _episodes(world, seed)]


def _episodes(world: World, seed: int) -> list[Episode]:
    return [Episode(s, k, seed) for s in range(len(world.scenes)) for k in range(world.task.starts)]


def _key(world: World, method: str, e: Episode) -> tuple:
    return (method, world.names[e.scene], e.start, e.seed, world.task.evidence)


def label_row(world: World, method: str, row: dict[str, Any]) -> dict[str, Any]:
    scene = world.scenes[row["scene_index"]]
    labels = {
        "method": method, "scene": world.names[row.pop("scene_index")], "place_type": scene.place_type, "light": scene.light, "evidence": world.task.evidence,
        "source": world.source.name, "dataset": world.dataset, "task": world.task.fingerprint, "device": str(world.device), "flaneur": __version__,
    }  # fmt: skip
    ccr: dict[str, Any] = dict(zip(SCALE_GROUPS, row["scores"]["ccr"], strict=True))
    if world.merge is not None:
        ccr |= {name: ccr[group] for group, name in world.merge.groups.items()}
    return labels | {"ccr": ccr} | row
