"""Tables that do not come from episode rows: canonical correlations, training curves, the dataset."""

from __future__ import annotations

from typing import Any

import numpy as np

from flaneur.city.dataset.table import COLUMNS, volume
from flaneur.evaluation.experiment import Experiment
from flaneur.evaluation.paper import paper_table
from flaneur.evaluation.report.model import PAPER_MARK, Line, Table
from flaneur.evaluation.tables import Cell

NAN = float("nan")
CCA = ("max", "mean", "top10")
PAPER_CCA = {"max": "Max CCA", "mean": "Mean CCA", "top10": "Top-10 CCA"}


def cca_table(experiment: Experiment, measured: dict[str, dict[str, Any]]) -> Table:
    """Per network: observed, the null (mean and 95 % quantile), held out; then the change between the networks."""
    lines, observed = [], {}
    remarks = []
    for row in experiment.rows:
        name = "".join(str(v) for v in row.columns.values())
        runs = list(measured.get(row.id, {}).values())
        if runs:
            facts = runs[0]
            note = f"{len(runs)} {'run' if len(runs) == 1 else 'runs'}, {facts['episodes']} episodes, {facts['samples']} samples, rank {facts['rank']}"
            observed[row.id] = {c: float(np.mean([r[c] for r in runs])) for c in CCA}
            lines.append(Line((name, "observed"), {c: _cell([r[c] for r in runs]) for c in CCA}, note=note))
            lines.append(Line((name, "null, mean"), {c: _cell([r["null"][c]["mean"] for r in runs]) for c in CCA}, "reference", f"{facts['permutations']} permutations of whole episodes"))
            lines.append(Line((name, "null, 95 %"), {c: _cell([r["null"][c]["q95"] for r in runs]) for c in CCA}, "reference"))
            lines.append(Line((name, "held out"), {c: _cell([r["held_out"][c] for r in runs]) for c in CCA}, "reference", "fitted on half of the episodes"))
            worst = {c: max(r["null"][c]["p"] for r in runs) for c in CCA}
            remarks.append(f"{name}: p under the null " + ", ".join(f"{PAPER_CCA[c]} {worst[c]:.3f}" for c in CCA))
        column = row.paper.get("column")
        if experiment.paper and column:
            printed = {r["metric"]: r[column] for r in paper_table(experiment.paper)["rows"]}
            lines.append(Line((name, "observed"), {c: Cell(printed[PAPER_CCA[c]], NAN, NAN, NAN) for c in CCA}, "paper", PAPER_MARK))
    if len(observed) == 2:
        first, second = observed.values()
        lines.append(Line(("difference", "observed"), {c: Cell(second[c] - first[c], NAN, NAN, NAN) for c in CCA}, "reference", "second network minus first"))
    return Table(experiment.name, experiment.title, ("Network", ""), CCA, tuple(lines), tuple(remarks))


def curves_table(experiment: Experiment, curves: dict[str, dict[str, list[list[float]]]]) -> Table:
    """The last tenth of every training curve, and its best point."""
    lines = []
    for row in experiment.rows:
        ends, tops = [], []
        for points in curves.get(row.id, {}).values():
            values = [p[1] for p in points]
            if values:
                ends.append(float(np.mean(values[-max(1, len(values) // 10) :])))
                tops.append(max(values))
        if ends:
            note = f"{len(ends)} {'run' if len(ends) == 1 else 'runs'}; mean over the last tenth of the updates"
            lines.append(Line(tuple(str(v) for v in row.columns.values()), {"small_end": _cell(ends), "small_best": _cell(tops)}, note=note))
    return Table(experiment.name, experiment.title, tuple(dict.fromkeys(k for r in experiment.rows for k in r.columns)), ("small_end", "small_best"), tuple(lines))


def dataset_table(name: str, statistics: dict[str, Any]) -> Table:
    """The paper's Table 1, ours computed."""
    lines = []
    for row in paper_table("dataset")["rows"]:
        dataset = "The paper's" if row["dataset"] == "Ours" else row["dataset"]
        objects = f"{row['objects_per_scene']:.1f}" if "objects_per_scene" in row else "-"
        lead = (dataset, row["type"], row["platform"], str(row["scenes"]), row["scale"] or "-", row["volume_m3"], objects, "yes" if row["object_annotation"] else "no")
        lines.append(Line(lead, {}, "paper", "as printed in the paper"))
    span = f"{volume(statistics['smallest_m3'])} - {volume(statistics['largest_m3'])}"
    lines.append(Line((name, "Sem-Map", "Flaneur, Isaac Sim, Newton", str(statistics["scenes"]), "City", span, f"{statistics['mean_objects']:.1f}", "yes"), {}))
    groups = ", ".join(f"{v:,} {k}" for k, v in statistics["groups"].items())
    remarks = (f"{statistics['objects']:,} objects ({groups}) of {len(statistics['classes'])} classes and {len(statistics['fine_names'])} fine names",)
    return Table("dataset", "Dataset comparison", COLUMNS, (), tuple(lines), remarks)


def _cell(values: list[float]) -> Cell:
    return Cell(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else NAN, NAN, NAN)
