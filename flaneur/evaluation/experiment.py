"""What an experiment is: one TOML file per table or figure of the paper, read strictly."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
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
    paper: dict[str, Any] = field(default_factory=dict)  # which printed rows stand beside: {"method": "Ours"}
    reference: bool = False  # no method of the paper: a bound, or a simple one to beat

    def __post_init__(self) -> None:
        if (self.method is None) == (self.agent is None):
            raise UserError(f"row '{self.id}': give either 'method' or 'agent'")
        if self.beta and self.beta_of:
            raise UserError(f"row '{self.id}': 'beta' and 'beta_of' exclude each other")


@dataclass(frozen=True)
class Experiment:
    name: str
    title: str
    kind: Literal["episodes", "cca", "curves", "dataset"]
    rows: tuple[Row, ...] = ()
    ours: str | None = None  # id of the row that the others are compared with
    seeds: tuple[int, ...] = (0,)  # of learned methods: one training run each
    tables: tuple[tuple[str, ...], ...] = ()  # metrics of each table
    captions: tuple[str, ...] = ()
    paper: str | None = None  # table of data/paper_tables.toml
    figures: tuple[Figure, ...] = ()
    step_metrics: bool = False  # global-map and affected-grid accuracy at every step
    alone: bool = False  # one environment at a time, and the parts of a step timed
    maps: int = 0  # scenes whose final maps are kept as pictures
    note: str = ""

    def __post_init__(self) -> None:
        ids = [r.id for r in self.rows]
        double = sorted({i for i in ids if ids.count(i) > 1})
        if double:
            raise UserError(f"experiment '{self.name}', field 'rows': id '{double[0]}' is used twice")
        if self.ours is not None and self.ours not in ids:
            raise UserError(f"experiment '{self.name}', field 'ours': '{self.ours}' is none of the rows {', '.join(ids)}")
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
