"""An experiment's episodes over a Ray cluster: one unit for every row and seed, merged into the file of a local run.

Every attempt at a unit writes a part file of its own, `parts/<file>-<row>-<seed>-<digest>/<machine>-<process>.jsonl`, and
begins with the rows that earlier attempts finished. So a killed worker costs the batch it was flying, and two attempts at once (a node
that was only cut off) write to different files. The command alone appends to the results, in the order of a local run.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from flaneur.cluster import map_on_ray
from flaneur.errors import UserError
from flaneur.evaluation.protocol import Study, Tick, evaluate, wanted_keys
from flaneur.evaluation.results import ResultFile
from flaneur.evaluation.setup import World

PARTS = "parts"


@dataclass(frozen=True)
class RayPool:
    address: str = "local"
    workers: int | None = None  # of a pool on this machine; None: its cores


@dataclass(frozen=True)
class Unit:
    """Episodes of one row and seed, flown in one process."""

    row: str
    seed: int
    evidence: str | None  # of the row, where it differs from the experiment's
    file: Path  # the results it belongs to
    made_by: str  # digest of the agents and all else that the rows come from: parts of another agent are not gone on with


@dataclass(frozen=True)
class Flown:
    rows: list[dict[str, Any]]
    failures: list[str]


def fly_on_ray(pool: RayPool, units: Sequence[Unit], worlds: dict[str | None, World], study: Study, num_envs: int, step_metrics: bool, tick: Tick | None = None) -> list[str]:
    """Fill in the missing rows of every unit's file; returns one line for every row that failed, in the units' order."""
    there = {file: ResultFile(file).keys for file in {u.file for u in units}}
    todo = [u for u in units if not there[u.file].issuperset(wanted_keys(worlds[u.evidence], u.row, u.seed))]
    if not todo:
        return []
    fly = partial(fly_unit, worlds=worlds, study=study, num_envs=num_envs, step_metrics=step_metrics, threads=_threads())
    gpus = 1.0 if any(w.device.startswith("cuda") for w in worlds.values()) else 0.0
    outcomes: dict[Unit, Flown | UserError] = {}
    failures: list[str] = []
    written = 0
    for unit, outcome in map_on_ray(fly, todo, pool.address, pool.workers, gpus):
        outcomes[unit] = outcome
        if tick:
            tick(f"{unit.row}, seed {unit.seed}", len(outcomes), len(todo))
        while written < len(todo) and todo[written] in outcomes:  # in order: rows come as they would from a local run
            failures += _merge(todo[written], outcomes[todo[written]])
            written += 1
    for parts in {u.file.parent / PARTS for u in todo}:
        shutil.rmtree(parts, ignore_errors=True)
    return failures


def _merge(unit: Unit, outcome: Flown | UserError) -> list[str]:
    if isinstance(outcome, UserError):
        return [f"{unit.row}: no row, it failed: {outcome}"]
    file = ResultFile(unit.file)
    for row in outcome.rows:
        file.append(row)  # leaves out what is there
    return [f"{unit.row}: no row, it failed: {line}" for line in outcome.failures]


def fly_unit(unit: Unit, worlds: dict[str | None, World], study: Study, num_envs: int, step_metrics: bool, threads: int) -> Flown:
    """On a worker. The number of threads is the command's: sums in another order differ in their last bits."""
    import torch

    torch.set_num_threads(threads)
    row_name = re.sub(r"[^\w.-]", "_", unit.row)
    folder = unit.file.parent / PARTS / f"{unit.file.stem}-{row_name}-{unit.seed}-{unit.made_by}"
    own = ResultFile(folder / f"{socket.gethostname()}-{os.getpid()}.jsonl")
    for row in _earlier(unit, folder):
        own.append(row)
    file, failures = evaluate(worlds[unit.evidence], [unit.row], own.path, [unit.seed], num_envs, step_metrics, study=study)
    return Flown(file.rows, failures)


def _earlier(unit: Unit, folder: Path) -> Iterator[dict[str, Any]]:
    """Rows that are in the results, or that other attempts wrote."""
    yield from (r for r in ResultFile(unit.file).rows if r["method"] == unit.row and r["seed"] == unit.seed)
    for path in sorted(folder.glob("*.jsonl")):
        yield from ResultFile(path, repair=False).rows


def _threads() -> int:
    import torch

    return torch.get_num_threads()
