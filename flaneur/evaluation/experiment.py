"""What an experiment is: one TOML file per table or figure of the paper, read strictly."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from flaneur.configuration import from_values, load_config
from flaneur.errors import UserError

FOLDER = Path(__file__).parent / "experiments"
AGENTS = FOLDER.parents[1] / "data" / "agents.toml"

Figure = Literal["groups", "steps", "curves", "pareto", "maps", "time", "cca", "statistics"]


@dataclass(frozen=True)
class Row:
    """One line of a table: a rule-based method, or an agent (with a constant beta, or another agent's beta)."""

    id: str  # names the method in the result rows
    columns: dict[str, Any]  # the leading cells, as in the paper's table: {"Method": "Ours"}, {"LC": true, ...}
    method: str | None = None  # rule-based: a name that `flaneur evaluate` knows
    agent: str | None = None  # learned: a name in data/agents.toml
    set: dict[str, Any] = field(default_factory=dict)  # over the agent's configuration: {"ppo.k": 0.05}
    beta_of: str | None = None  # take beta from this agent instead
    beta: tuple[float, ...] = ()  # constant, instead of the agent's
    fit: Literal["fixed", "group", "table"] | None = None  # beta fitted on validation scenes, instead of the agent's
    paper: dict[str, Any] = field(default_factory=dict)  # which printed rows stand beside: {"method": "Ours"}
    evidence: str | None = None  # another source than the experiment's: the ceiling sees perfectly
    reference: bool = False  # no method of the paper: a bound, or a simple one to beat

    def __post_init__(self) -> None:
        if (self.method is None) == (self.agent is None):
            raise UserError(f"row '{self.id}': give either 'method' or 'agent'")
        if sum(map(bool, (self.beta, self.beta_of, self.fit))) > 1:
            raise UserError(f"row '{self.id}': 'beta', 'beta_of' and 'fit' exclude each other")


@dataclass(frozen=True)
class Experiment:
    name: str
    title: str
    kind: Literal["episodes", "cca", "curves", "dataset"]
    rows: tuple[Row, ...] = ()
    ours: str | None = None  # id of the row that the others are compared with
    ceiling: str | None = None  # id of the row whose OCR the others are also given as a share of
    seeds: tuple[int, ...] = (0,)  # of learned methods: one training run each
    tables: tuple[tuple[str, ...], ...] = ()  # metrics of each table
    captions: tuple[str, ...] = ()
    paper: str | None = None  # table of data/paper_tables.toml
    figures: tuple[Figure, ...] = ()
    step_metrics: bool = False  # global-map and affected-grid accuracy at every step
    alone: bool = False  # one environment at a time, and the parts of a step timed
    maps: int = 0  # scenes whose final maps are kept as pictures
    merge: dict[str, str] = field(default_factory=dict)  # for data with coarser classes: {truck = "car"}, scored as one
    scored: tuple[str, ...] = ()  # classes whose coverage counts, one per scale group, instead of the groups
    note: str = ""

    def __post_init__(self) -> None:
        ids = [r.id for r in self.rows]
        double = sorted({i for i in ids if ids.count(i) > 1})
        if double:
            raise UserError(f"experiment '{self.name}', field 'rows': id '{double[0]}' is used twice")
        for field_name, id in (("ours", self.ours), ("ceiling", self.ceiling)):
            if id is not None and id not in ids:
                raise UserError(f"experiment '{self.name}', field '{field_name}': '{id}' is none of the rows {', '.join(ids)}")
        if self.merge and not self.scored:
            raise UserError(f"experiment '{self.name}', field 'merge': goes with 'scored', the classes that count")
        if len(self.captions) != len(self.tables):
            raise UserError(f"experiment '{self.name}', field 'captions': {len(self.captions)} for {len(self.tables)} tables")

    def row(self, id: str) -> Row:
        return next(r for r in self.rows if r.id == id)


def names() -> list[str]:
    return sorted(p.stem for p in FOLDER.glob("*.toml"))


def load_experiment(name: str) -> Experiment:
    """One that ships, by its name, or a TOML file of the user's own."""
    own = name.endswith(".toml")
    if not own and name not in names():
        raise UserError(f"unknown experiment '{name}'; known are {', '.join(names())}, or give a .toml file")
    return load_config(Experiment, Path(name) if own else FOLDER / f"{name}.toml")


def with_plugins(experiment: Experiment, methods: Iterable[str]) -> Experiment:
    """Planners of other packages as further rows of every table that compares methods."""
    first = next(iter(experiment.rows[0].columns), None) if experiment.rows else None
    if experiment.kind != "episodes" or first != "Method":
        return experiment
    known = {r.id for r in experiment.rows} | {r.method for r in experiment.rows}
    return replace(experiment, rows=(*experiment.rows, *(Row(m, {"Method": m}, method=m) for m in sorted(methods) if m not in known)))


def experiment_from(values: dict[str, Any], where: str) -> Experiment:
    """Back from the JSON kept beside results."""
    return from_values(Experiment, values, where)


@lru_cache
def agent_values() -> dict[str, dict[str, Any]]:
    """Named training configurations, as `configs/*.toml`."""
    import tomllib

    return tomllib.loads(AGENTS.read_text("utf-8"))


def agent_config(row_agent: str, changes: dict[str, Any]) -> dict[str, Any] | None:
    """What the configuration of a row's agent says; None when this version knows no agent of that name."""
    known = agent_values().get(row_agent)
    if known is None:
        return None
    values = json.loads(json.dumps(known)) | {"name": row_agent}
    for name, value in changes.items():
        *tables, last = name.split(".")
        at = values
        for table in tables:
            at = at.setdefault(table, {})
        at[last] = value
    return values
