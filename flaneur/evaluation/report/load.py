"""Results from disk: folders of `flaneur experiment`, or loose result files of `flaneur evaluate`."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flaneur.errors import UserError
from flaneur.evaluation.experiment import Experiment, Row, experiment_from
from flaneur.evaluation.experiment_run import DESCRIPTION, MAPS, RESULTS
from flaneur.evaluation.results import read_results
from flaneur.evaluation.tables import ADDITIONAL, MAIN


@dataclass(frozen=True)
class Result:
    experiment: Experiment
    budget: str
    rows: list[dict[str, Any]]  # of results.jsonl
    notes: list[str]
    measured: dict[str, Any]
    agents: dict[str, Any]
    world: dict[str, Any]
    maps: dict[str, bytes] = field(default_factory=dict)  # file name -> PNG

    @property
    def evidence(self) -> str:
        return self.world.get("task", {}).get("evidence", "")


def load_result(path: Path) -> Result:
    path = Path(path)
    return _folder(path) if path.is_dir() else _loose([path])


def load_results(paths: list[Path]) -> list[Result]:
    """Folders one by one; result files as one table together."""
    files = [Path(p) for p in paths if not Path(p).is_dir()]
    return [_folder(Path(p)) for p in paths if Path(p).is_dir()] + ([_loose(files)] if files else [])


def _folder(path: Path) -> Result:
    file = path / DESCRIPTION
    try:
        data = json.loads(file.read_text("utf-8"))
        experiment = experiment_from(data["experiment"], str(file))
        parts = [data[name] for name in ("budget", "notes", "measured", "agents", "world")]
    except FileNotFoundError:
        raise UserError(f"{path}: no results of an experiment here ({DESCRIPTION} is missing); flaneur experiment NAME --out {path}") from None
    except (OSError, json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise UserError(f"{file}: not an experiment's description ({error}); run the experiment again") from None
    # One file per evidence: rows of a row with evidence of its own (the ceiling's) are never mixed with the others.
    rows = [r for file in (path / RESULTS, *sorted(path.glob("results-*.jsonl"))) if file.exists() for r in read_results([file])]
    unknown = {r["method"] for r in rows} - {r.id for r in experiment.rows}
    if unknown:
        raise UserError(f"{path / RESULTS}: rows of '{sorted(unknown)[0]}', which is no row of experiment '{experiment.name}'")
    maps = {name: (path / MAPS / name).read_bytes() for name in parts[2].get("maps", ())}
    return Result(experiment, parts[0], rows, parts[1], parts[2], parts[3], parts[4], maps)


def _loose(paths: list[Path]) -> Result:
    rows = read_results(paths)
    methods = list(dict.fromkeys(r["method"] for r in rows))
    learned = [m for m in methods if m.partition("@")[0].endswith(".safetensors")]
    lines = tuple(Row(m, {"Method": m}, method=m) for m in methods)
    captions = ("Coverage", "Additional metrics")
    tables = ((*MAIN, "strict_miou", "background_wrong"), (*ADDITIONAL, "nll", "ece"))
    experiment = Experiment("results", "Results", "episodes", lines, learned[0] if learned else methods[0], tables=tables, captions=captions, figures=("groups",))
    first = rows[0]
    world = {"dataset": first["dataset"], "task": {"evidence": first["evidence"]}, "source": first["source"], "device": first["device"], "scenes": sorted({r["scene"] for r in rows})}
    return Result(experiment, first.get("budget", "full"), rows, [], {}, {}, world)
