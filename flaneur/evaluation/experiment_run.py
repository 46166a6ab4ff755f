"""Runs an experiment into a folder: results.jsonl (one row per episode), maps/, and experiment.json with all else.

Run again, it goes on where it stopped. What cannot be run (a method that this version lacks, an agent that was not
trained) is a line in the notes, never an invented row.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from flaneur import __version__
from flaneur.configuration import to_values
from flaneur.env.semantic import SemanticEnv
from flaneur.errors import UserError
from flaneur.evaluation.calibration_fit import SMOKE, Fitted, Search, fit_beta, with_values
from flaneur.evaluation.episodes import Watch
from flaneur.evaluation.experiment import Experiment, Row, agent_config
from flaneur.evaluation.experiment_agents import Runs, Trained, train_command
from flaneur.evaluation.experiment_cluster import RayPool, Unit, fly_on_ray
from flaneur.evaluation.experiment_measures import features_cca, map_watch, pictures_can_be_written, training_curves
from flaneur.evaluation.methods import known_methods, make_planner
from flaneur.evaluation.protocol import Study, Tick, evaluate
from flaneur.evaluation.results import ResultFile
from flaneur.evaluation.setup import World, with_evidence
from flaneur.evaluation.smoke_world import SMOKE_DATA
from flaneur.evaluation.stopwatch import Stopwatch
from flaneur.planners.agent import Agent
from flaneur.planners.base import Planner
from flaneur.planners.calibrated import BorrowedBeta, ConstantBeta
from flaneur.scoring import Merge

RESULTS, DESCRIPTION, MAPS = "results.jsonl", "experiment.json", "maps"


@dataclass
class Plan:
    """Rows that can be run, with the trained agents of each seed; and one line for each thing that is missing."""

    seeds: dict[str, list[int]]  # row id -> seeds
    agents: dict[tuple[str, str, int], Trained]  # (row id, "agent" or "beta", seed)
    notes: list[str]
    fitted: dict[tuple[str, int], Fitted] = field(default_factory=dict)  # (row id, seed)


def prepare(experiment: Experiment, runs: Runs, train_on: World | None = None, tick: Callable[[str], None] | None = None) -> Plan:
    """Find every row's agents, or train them on the tiny world given."""
    plan = Plan({}, {}, [])
    known = known_methods()
    for row in experiment.rows:
        label = " ".join(str(v) for v in row.columns.values()) if row.method or len(row.columns) == 1 else row.id
        if row.method is not None:
            if row.method in known:
                plan.seeds[row.id] = [0]
            else:
                plan.notes.append(f"{label}: no row, this version has no method '{row.method}'")
            continue
        missing = [a for a in (row.agent, row.beta_of) if a is not None and agent_config(a, {}) is None]
        if missing:
            plan.notes.append(f"{label}: no row, this version has no agent '{missing[0]}'")
            continue
        plan.seeds[row.id] = []
        for seed in experiment.seeds:
            _prepare_seed(row, label, seed, runs, train_on, plan, tick)
        if not plan.seeds[row.id]:
            del plan.seeds[row.id]
    return plan


def _prepare_seed(row: Row, label: str, seed: int, runs: Runs, train_on: World | None, plan: Plan, tick: Callable[[str], None] | None) -> None:
    wanted = [("agent", row.agent, row.set)] + ([("beta", row.beta_of, {})] if row.beta_of else [])
    found: dict[str, Trained] = {}
    for part, agent, changes in wanted:
        assert agent is not None
        trained = runs.find(agent, changes, seed)
        if trained is None and train_on is not None:
            if tick:
                tick(f"{agent}, seed {seed}")
            trained = runs.train(agent, changes, seed, train_on)
        if trained is None:
            plan.notes.append(f"{label}, seed {seed}: no row, no such run under {runs.folder or '--agents'}; {train_command(agent, changes, seed)}")
            return
        if train_on is None and trained.dataset.startswith(SMOKE_DATA):
            plan.notes.append(f"{label}, seed {seed}: no row, {trained.folder} was trained in a smoke run; {train_command(agent, changes, seed)}")
            return
        found[part] = trained
    plan.seeds[row.id].append(seed)
    plan.agents |= {(row.id, part, seed): trained for part, trained in found.items()}


class _ExperimentStudy(Study):
    def __init__(self, experiment: Experiment, plan: Plan, world: World, out: Path, budget: str) -> None:
        self.experiment, self.plan, self.world, self.out, self.budget = experiment, plan, world, out, budget
        self.stopwatch: Stopwatch | None = None

    def planner(self, method: str, env: SemanticEnv, seed: int, noise: int) -> Planner:
        row = self.experiment.row(method)
        self.stop()
        if self.experiment.alone:
            self.stopwatch = Stopwatch(env)
        motion = make_planner(row.method, env, noise) if row.method is not None else self._agent(row, "agent", env, seed, noise)
        if row.beta_of is not None:
            return BorrowedBeta(motion, self._agent(row, "beta", env, seed, noise), row.id)
        if row.fit is not None:
            return with_values(motion, self.plan.fitted[row.id, seed].values, env.map.channels, row.id)
        if row.beta:
            return ConstantBeta(motion, row.beta * (env.map.channels if len(row.beta) == 1 else 1), row.id)
        return motion

    def _agent(self, row: Row, part: str, env: SemanticEnv, seed: int, noise: int) -> Agent:
        return Agent.load(self.plan.agents[row.id, part, seed].path, env.classes, env.device, seed=noise)

    def watch(self, method: str, env: SemanticEnv, seed: int) -> Watch | None:
        if not self.experiment.maps or not pictures_can_be_written() or seed != self.plan.seeds[method][0]:
            return None
        return map_watch(self.out / MAPS, self.world.names[: self.experiment.maps], method)

    def finish(self, row: dict[str, Any]) -> dict[str, Any]:
        if self.stopwatch is not None:
            row["seconds"] = self.stopwatch.split(row["seconds"]["plan_ms"], row["seconds"]["step_ms"])
        return self._labels(row["method"], row["seed"]) | row

    def _labels(self, method: str, seed: int) -> dict[str, Any]:
        labels: dict[str, Any] = {"experiment": self.experiment.name, "budget": self.budget}
        agents = {part: t.facts() for (id, part, s), t in self.plan.agents.items() if id == method and s == seed}
        if (method, seed) in self.plan.fitted:
            labels["beta"] = list(self.plan.fitted[method, seed].values)
        if agents:
            labels["agents"] = {part: {k: f[k] for k in ("name", "seed", "digest", "steps")} for part, f in agents.items()}
        return labels

    def digest(self, row: Row, seed: int) -> str:
        """Of everything that a row's numbers come from, besides the scenes and the task that the row itself says."""
        made_by = {"row": to_values(row), "merge": self.experiment.merge, "scored": self.experiment.scored, "flaneur": __version__, **self._labels(row.id, seed)}
        return hashlib.sha256(json.dumps(made_by, sort_keys=True, default=list).encode()).hexdigest()[:12]

    def stop(self) -> None:
        if self.stopwatch is not None:
            self.stopwatch.stop()


def fit_references(experiment: Experiment, plan: Plan, validation: World | None, out: Path, budget: str, num_envs: int = 8, tick: Tick | None = None) -> None:
    """The rows whose beta is fitted; without validation scenes they become notes."""
    for row in experiment.rows:
        if row.fit is None or row.id not in plan.seeds:
            continue
        if validation is None:
            plan.notes.append(f"{' '.join(map(str, row.columns.values()))}: no row, its beta is fitted on validation scenes; give --validation, or a data set with that split")
            del plan.seeds[row.id]
            continue
        for seed in plan.seeds[row.id]:
            trained = plan.agents[row.id, "agent", seed]

            def motion(env: SemanticEnv, noise: int, path: Path = trained.path) -> Agent:
                return Agent.load(path, env.classes, env.device, seed=noise)

            file = Path(out) / "validation" / f"{row.agent}-{seed}-{trained.digest}.jsonl"
            plan.fitted[row.id, seed] = fit_beta(row.fit, validation, motion, file, SMOKE if budget == "smoke" else Search(), num_envs, tick)


def run_experiment(experiment: Experiment, plan: Plan, world: World, out: Path, budget: str, num_envs: int = 8, tick: Tick | None = None, pool: RayPool | None = None) -> list[str]:
    """Fill in OUT, on a cluster where one is given; returns the notes (what is missing, what failed)."""
    out = Path(out)
    if pool is not None:
        check_can_be_shared(experiment)
    out.mkdir(parents=True, exist_ok=True)
    _check(experiment, plan, world, out, budget)
    if experiment.scored:
        world = replace(world, merge=Merge(world.scenes[0].classes, experiment.merge, experiment.scored))
    notes, measured = list(plan.notes), {}
    if experiment.kind == "episodes":
        notes += _fly(experiment, plan, world, out, budget, num_envs, tick, pool)
        if experiment.maps and not pictures_can_be_written():
            notes.append("maps: no pictures, pillow is missing; pip install pillow")
        if experiment.maps:
            measured["maps"] = sorted(p.name for p in (out / MAPS).glob("*.png"))
        if plan.fitted:
            measured["fitted"] = {f"{id}-{seed}": f.plain() for (id, seed), f in sorted(plan.fitted.items())}
    elif experiment.kind == "cca":
        measured["cca"] = features_cca(plan.seeds, {k: v for k, v in plan.agents.items() if k[1] == "agent"}, world, num_envs, tick)
    elif experiment.kind == "curves":
        measured["curves"] = training_curves({k: v for k, v in plan.agents.items() if k[1] == "agent"})
    _write_description(experiment, plan, world, out, budget, notes, measured)
    return notes


def check_can_be_shared(experiment: Experiment) -> None:
    if experiment.alone:
        raise UserError(f"--ray: experiment '{experiment.name}' measures the time of one machine; leave --ray out")
    if experiment.kind != "episodes":
        raise UserError(f"--ray: experiment '{experiment.name}' flies no rows that could be shared out; leave --ray out")


def _fly(experiment: Experiment, plan: Plan, world: World, out: Path, budget: str, num_envs: int, tick: Tick | None, pool: RayPool | None) -> list[str]:
    """All rows into their files; one note for each that failed."""
    notes: list[str] = []
    if pool is not None:  # a worker on another machine has another current folder
        out = out.absolute()
        plan = replace(plan, agents={k: replace(t, path=t.path.absolute()) for k, t in plan.agents.items()})
    study = _ExperimentStudy(experiment, plan, world, out, budget)
    worlds: dict[str | None, World] = {None: world} | {e: with_evidence(world, e) for e in sorted({r.evidence for r in experiment.rows if r.evidence})}
    rows = [(row, out / (f"results-{row.evidence.replace(':', '-')}.jsonl" if row.evidence else RESULTS)) for row in experiment.rows if row.id in plan.seeds]
    if pool is not None:
        units = [Unit(row.id, seed, row.evidence, file, study.digest(row, seed)) for row, file in rows for seed in plan.seeds[row.id]]
        return fly_on_ray(pool, units, worlds, study, num_envs, experiment.step_metrics, tick)
    try:
        for row, file in rows:
            _, failures = evaluate(worlds[row.evidence], [row.id], file, plan.seeds[row.id], 1 if experiment.alone else num_envs, experiment.step_metrics, tick, study)
            notes += [f"{row.id}: no row, it failed: {line}" for line in failures]
    finally:
        study.stop()
    return notes


def run_dataset(experiment: Experiment, statistics: dict[str, Any], out: Path, budget: str, name: str) -> list[str]:
    """The dataset's experiment flies nothing."""
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    description = {"experiment": to_values(experiment), "budget": budget, "flaneur": __version__, "notes": [], "agents": {}, "measured": {"statistics": statistics, "name": name}, "world": {}}
    _write(out / DESCRIPTION, description)
    return []


def _check(experiment: Experiment, plan: Plan, world: World, out: Path, budget: str) -> None:
    """Another experiment's folder, another budget's, or rows of agents that were trained again since: refused."""
    if (out / DESCRIPTION).exists():
        before = json.loads((out / DESCRIPTION).read_text("utf-8"))
        for field, now in (("experiment", experiment.name), ("budget", budget)):
            then = before[field]["name"] if field == "experiment" else before[field]
            if then != now:
                raise UserError(f"{out}: holds results of {field} '{then}', this is '{now}'; give another --out")
    if not (out / RESULTS).exists():
        return
    digests = {(id, seed, part): t.digest for (id, part, seed), t in plan.agents.items()}
    for number, row in enumerate(ResultFile(out / RESULTS).rows, 1):
        for part, facts in row.get("agents", {}).items():
            now = digests.get((row["method"], row["seed"], part))
            if now is not None and now != facts["digest"]:
                raise UserError(f"{out / RESULTS}: row {number} is of another training run of '{row['method']}' (seed {row['seed']}); give another --out")


def _write_description(experiment: Experiment, plan: Plan, world: World, out: Path, budget: str, notes: list[str], measured: dict[str, Any]) -> None:
    agents: dict[str, dict[str, Any]] = {}
    for (id, part, seed), trained in sorted(plan.agents.items()):
        agents.setdefault(id, {})[f"{part}-{seed}"] = trained.facts()
    facts = {
        "scenes": world.names, "dataset": world.dataset, "task": to_values(world.task), "source": world.source.name, "device": world.device,
        "light": sorted({s.light for s in world.scenes}),
    }  # fmt: skip
    description = {"experiment": to_values(experiment), "budget": budget, "flaneur": __version__, "notes": notes, "agents": agents, "measured": measured, "world": facts}
    _write(out / DESCRIPTION, description)


def _write(path: Path, description: dict[str, Any]) -> None:
    part = path.with_suffix(".part")
    part.write_text(json.dumps(description, indent=1) + "\n", "utf-8")  # unsorted: the order of columns is the table's
    os.replace(part, path)
