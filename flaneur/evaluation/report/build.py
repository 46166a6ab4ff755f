"""From results to sections of tables: ours, what the paper printed, paired differences, the linter's remarks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flaneur.errors import UserError
from flaneur.evaluation.experiment import Experiment, Row
from flaneur.evaluation.paper import lint_paper, paper_rows
from flaneur.evaluation.report.load import Result
from flaneur.evaluation.report.model import PAPER_MARK, Line, Section, Table, with_best
from flaneur.evaluation.report.special import cca_table, curves_table, dataset_table
from flaneur.evaluation.tables import Cell, MethodTable, differences, lint, method_table

PAPER_NAMES = {"plan_map_ms": "milliseconds"}  # what our column is called in the file of printed numbers


def build(*results: Result) -> Section:
    """Results of one experiment; several only when nothing but the evidence differs."""
    first = results[0]
    _check(results)
    experiment = first.experiment
    section = Section(experiment.name, experiment.title, _facts(results), smoke=any(r.budget == "smoke" for r in results))
    section.notes = ([experiment.note] if experiment.note else []) + [n for r in results for n in r.notes]
    if experiment.kind == "cca":
        section.tables = [cca_table(experiment, r.measured["cca"]) for r in results]
    elif experiment.kind == "curves":
        section.tables = [curves_table(experiment, r.measured["curves"]) for r in results]
    elif experiment.kind == "dataset":
        section.tables = [dataset_table(first.measured["name"], first.measured["statistics"])]
    else:
        section.tables = _episode_tables(experiment, results)
    return section


def _check(results: Sequence[Result]) -> None:
    first = results[0]
    for other in results[1:]:
        name = first.experiment.name
        if other.evidence == first.evidence:
            raise UserError(f"experiment '{name}' is given twice with evidence '{first.evidence}'; give one of them")
        for what, a, b in (("dataset", first.world.get("dataset"), other.world.get("dataset")), ("task", _task(first), _task(other)), ("budget", first.budget, other.budget)):
            if a != b:
                raise UserError(f"experiment '{name}': rows of evidence '{other.evidence}' were made with {what} {b}, those of '{first.evidence}' with {a}; report them apart")


def _task(result: Result) -> dict[str, Any]:
    return {k: v for k, v in result.world.get("task", {}).items() if k != "evidence"}


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _facts(results: Sequence[Result]) -> list[str]:
    facts = []
    for r in results:
        if not r.world:
            continue
        task = r.world["task"]
        parts = [f"evidence {r.world['source']}", f"{_count(len(r.world['scenes']), 'scene')} (data set {r.world['dataset']})"]
        if "episode_length" in task:
            parts.append(f"{task['starts']} starts x {task['episode_length']} observations of {task['image']} px")
        parts.append(f"on {r.world['device']}")
        if r.world.get("light"):
            parts.append("light: " + ", ".join(r.world["light"]))
        facts.append("; ".join(parts))
    budgets = sorted({(f["name"], f["steps"], f["updates"]) for r in results for parts in r.agents.values() for f in parts.values()})
    if budgets:
        trained_on = sorted({f"{f['evidence']} (data set {f['dataset']})" for r in results for parts in r.agents.values() for f in parts.values()})
        facts.append("trained on: " + ", ".join(trained_on))
        facts.append("trained for: " + ", ".join(f"{name} {steps:,} steps in {updates:,} updates" for name, steps, updates in budgets))
    return facts


def _episode_tables(experiment: Experiment, results: Sequence[Result]) -> list[Table]:
    measured: dict[tuple[str, str], MethodTable] = {}
    for result in results:
        for row in experiment.rows:
            rows = [r for r in result.rows if r["method"] == row.id]
            if rows:
                measured[row.id, result.evidence] = method_table(rows)
    _add_shares(experiment, measured)
    remarks = [f"linter: {problem}" for problem in lint(list(measured.values()))]
    tables = []
    for i, (columns, caption) in enumerate(zip(experiment.tables, experiment.captions, strict=True)):
        name = experiment.name if i == 0 else f"{experiment.name}-{i + 1}"
        evidences = [r.evidence for r in results]
        lines = with_best([line for row in experiment.rows for line in _lines(experiment, row, measured, evidences, columns)], columns)
        apart = _differences(experiment, results, columns[:1] if "ocr" not in columns else ("ocr",)) if i == 0 else []
        printed = [f"linter, the paper's own numbers: {p}" for p in lint_paper(experiment.paper)] if i == 0 and experiment.paper else []
        tables.append(Table(name, caption, (*_leads(experiment), "evidence"), columns, tuple(lines), tuple((remarks if i == 0 else []) + printed), tuple(apart)))
    return tables


def _add_shares(experiment: Experiment, measured: dict[tuple[str, str], MethodTable]) -> None:
    """OCR as a share of the ceiling's, in percent."""
    for (_, evidence), table in measured.items():
        ceiling = measured.get((experiment.ceiling or "", evidence))
        if ceiling is not None and ceiling.cells["ocr"].mean > 0:
            table.cells["ocr_share"] = Cell(100 * table.cells["ocr"].mean / ceiling.cells["ocr"].mean, np.nan, np.nan, np.nan)


def _leads(experiment: Experiment) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for row in experiment.rows for name in row.columns))


def _lines(experiment: Experiment, row: Row, measured: dict[tuple[str, str], MethodTable], evidences: Sequence[str], columns: tuple[str, ...]) -> list[Line]:
    lead = tuple(_mark(row.columns.get(name, "")) for name in _leads(experiment))
    lines = []
    for evidence in evidences:
        table = measured.get((row.id, evidence))
        if table is not None:
            if any(line.lead == (*lead, table.evidence) for line in lines):
                continue  # a row with evidence of its own is the same in every result
            note = ", ".join((_count(table.runs, "run"), _count(table.scenes, "scene"), _count(table.episodes, "episode")))
            values = {c: table.cells[c] for c in columns if c in table.cells}
            lines.append(Line((*lead, table.evidence), values, "reference" if row.reference else "measured", note))
    for printed in paper_rows(experiment.paper, row.paper) if experiment.paper and row.paper else []:
        values = {c: _printed(printed, PAPER_NAMES.get(c, c)) for c in columns if PAPER_NAMES.get(c, c) in printed}
        if values:
            lines.append(Line((*lead, printed.get("evidence", "")), values, "paper", PAPER_MARK))
    return lines


def _printed(row: dict[str, Any], name: str) -> Cell:
    return Cell(float(row[name]), float(row.get(f"{name}_sd", np.nan)), np.nan, np.nan)


def _mark(value: Any) -> str:
    return {True: "\N{CHECK MARK}", False: "-"}[value] if isinstance(value, bool) else str(value)


def _differences(experiment: Experiment, results: Sequence[Result], metrics: Sequence[str]) -> list[dict[str, Any]]:
    """Ours minus every other row on the scenes both have."""
    out, ours = [], experiment.ours
    for result in results:
        rows = [r for r in result.rows if r["evidence"] == result.evidence]
        present = {r["method"] for r in rows}
        if ours is None or ours not in present or len(present) < 2:
            continue
        for metric in metrics:
            found = differences(rows, ours, metric)
            for row in experiment.rows:
                if row.id in found:
                    values = {k: round(v, 6) if isinstance(v, float) else v for k, v in found[row.id].items()}
                    out.append({"ours": label(experiment, ours), "other": label(experiment, row.id), "evidence": result.evidence, "metric": metric, **values})
    return out


def label(experiment: Experiment, id: str) -> str:
    """What a row is called in a sentence or a figure."""
    columns = experiment.row(id).columns
    if all(isinstance(v, bool) for v in columns.values()):
        return "+".join(k for k, v in columns.items() if v) or "none"
    return " ".join(f"{k} = {v}" if k == "k" else str(v) for k, v in columns.items())
