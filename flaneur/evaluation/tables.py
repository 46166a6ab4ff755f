"""From episode rows to the tables: episode -> scene -> run -> method, with intervals over scenes.

A single real place has no other scene to be compared with; its intervals are over its episodes (starts and seeds), which
says how much the method varies there and nothing about other places.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flaneur.classes import SCALE_GROUPS
from flaneur.errors import UserError
from flaneur.scoring import bootstrap, lint_row, paired

MAIN = ("small", "medium", "large", "ocr", "var")
ADDITIONAL = ("mauc", "miou", "f1")
STRICT = ("strict_miou", "background_wrong", "nll", "ece")
TITLES = {
    "small": "CCR small", "medium": "CCR medium", "large": "CCR large", "ocr": "OCR", "var": "Var", "mauc": "mAUC", "miou": "mIoU", "f1": "F1",
    "car": "CCR car", "building": "CCR building",
    "strict_miou": "strict mIoU", "background_wrong": "background wrong", "nll": "NLL", "ece": "ECE", "path_m": "path m", "collisions": "collisions", "plan_ms": "plan ms", "step_ms": "step ms",
    "plan_map_ms": "plan + map ms", "map_ms": "map ms", "evidence_ms": "evidence ms", "render_ms": "render ms", "other_ms": "other ms", "total_ms": "total ms",
    "global_area": "global-map accuracy", "affected_area": "affected-grid accuracy", "ocr_area": "OCR, mean over steps",
}  # fmt: skip
PERCENT = frozenset((*MAIN, "car", "building", *ADDITIONAL, "strict_miou", "background_wrong", "ece", "global_area", "affected_area", "ocr_area")) - {"var"}


@dataclass(frozen=True)
class Cell:
    mean: float
    sd: float  # over runs (seeds); NaN with one
    low: float  # 95 % bootstrap interval over scenes, over episodes where there is one scene
    high: float


@dataclass(frozen=True)
class MethodTable:
    method: str
    evidence: str
    runs: int
    scenes: int
    episodes: int
    cells: dict[str, Cell]

    def plain(self) -> dict[str, Any]:
        return {"method": self.method, "evidence": self.evidence, **{k: c.mean for k, c in self.cells.items()}}


def episode_values(row: dict[str, Any]) -> dict[str, float]:
    """One episode's numbers as the tables print them: percentages, milliseconds."""
    scores = row["scores"]
    number = lambda v: np.nan if v is None else float(v)  # noqa: E731
    out = {g: 100 * number(v) for g, v in row["ccr"].items()}  # the groups, and classes that are scored by themselves
    for name in (*ADDITIONAL, "strict_miou", "background_wrong", "ece"):
        out[name] = 100 * number(scores[name])
    out["nll"] = number(scores["nll"])
    out |= {"path_m": number(row["path_m"]), "collisions": number(row["collisions"])}
    if "curve_area" in row:
        out["ocr_area"] = 100 * _nanmean([number(v) for v in row["curve_area"]])
    for name in ("global", "affected"):
        if f"{name}_accuracy" in row.get("curves", {}):
            out[f"{name}_area"] = 100 * _nanmean([number(v) for v in row["curves"][f"{name}_accuracy"]])
    return out | {k: number(v) for k, v in row["seconds"].items()}


def scene_values(rows: Sequence[dict[str, Any]]) -> dict[int, dict[str, dict[str, float]]]:
    """seed -> scene -> mean over its episodes; OCR is the mean of the scene's CCRs."""
    grouped: dict[int, dict[str, list[dict[str, float]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        grouped[row["seed"]][row["scene"]].append(episode_values(row))
    out: dict[int, dict[str, dict[str, float]]] = {}
    for seed, scenes in grouped.items():
        out[seed] = {}
        for scene, episodes in scenes.items():
            means = {k: _nanmean([e[k] for e in episodes]) for k in episodes[0]}
            means["ocr"] = _nanmean([means[g] for g in SCALE_GROUPS])
            out[seed][scene] = means
    return out


def run_values(scenes: dict[str, dict[str, float]]) -> dict[str, float]:
    """One run: means over scenes; OCR and Var from the run's three CCRs."""
    first = next(iter(scenes.values()))
    out = {k: _nanmean([s[k] for s in scenes.values()]) for k in first}
    ccr = np.array([out[g] for g in SCALE_GROUPS])
    out["ocr"], out["var"] = _nanmean(list(ccr)), float(np.nanvar(ccr))
    return out


def method_table(rows: Sequence[dict[str, Any]], seed: int = 0) -> MethodTable:
    """Rows of one method under one evidence."""
    by_seed = scene_values(rows)
    runs = [run_values(scenes) for scenes in by_seed.values()]
    scenes = sorted({s for run in by_seed.values() for s in run})
    rng = np.random.default_rng(seed)
    cells = {}
    for name in runs[0]:
        values = np.array([r[name] for r in runs])
        if len(scenes) > 1:
            each = np.array([_nanmean([run[s].get(name, np.nan) for run in by_seed.values() if s in run]) for s in scenes])
        else:
            each = np.array([_episode(row).get(name, np.nan) for row in rows])
        interval = bootstrap(each, rng)
        cells[name] = Cell(_nanmean(list(values)), float(values.std(ddof=1)) if len(values) > 1 else np.nan, interval.low, interval.high)
    cells["var"] = Cell(cells["var"].mean, cells["var"].sd, np.nan, np.nan)
    return MethodTable(rows[0]["method"], rows[0]["evidence"], len(runs), len(scenes), len(rows), cells)


def _episode(row: dict[str, Any]) -> dict[str, float]:
    values = episode_values(row)
    return values | {"ocr": _nanmean([values[g] for g in SCALE_GROUPS])}


def tables(rows: Sequence[dict[str, Any]]) -> list[MethodTable]:
    grouped: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        grouped[row["evidence"], row["method"]].append(row)
    return [method_table(part) for part in grouped.values()]


def differences(rows: Sequence[dict[str, Any]], ours: str, metric: str = "ocr") -> dict[str, dict[str, Any]]:
    """Ours minus every other method on the scenes both have (on one scene: on the starts and seeds): mean, 95 % paired interval, p."""
    by_method: dict[str, dict[Any, list[float]]] = defaultdict(lambda: defaultdict(list))
    if len({r["scene"] for r in rows}) == 1:
        for row in rows:
            by_method[row["method"]][row["start"], row["seed"]].append(_episode(row)[metric])
        return _paired_with(by_method, ours, "episodes")
    for method in {r["method"] for r in rows}:
        for scenes in scene_values([r for r in rows if r["method"] == method]).values():
            for scene, values in scenes.items():
                by_method[method][scene].append(values[metric])
    return _paired_with(by_method, ours, "scenes")


def _paired_with(by_method: dict[str, dict[Any, list[float]]], ours: str, unit: str) -> dict[str, dict[str, Any]]:
    if ours not in by_method:
        raise UserError(f"no rows of method '{ours}'; there are {', '.join(sorted(by_method))}")
    out = {}
    for method in sorted(set(by_method) - {ours}):
        shared = sorted(set(by_method[ours]) & set(by_method[method]))
        a, b = (np.array([_nanmean(by_method[m][s]) for s in shared]) for m in (ours, method))
        result = paired(a, b, np.random.default_rng(0))
        out[method] = {"difference": result.difference.mean, "low": result.difference.low, "high": result.difference.high, "p": result.p, "pairs": len(shared), "unit": unit}
    return out


def lint(table: Sequence[MethodTable]) -> list[str]:
    """What the table linter has to say, one line each."""
    return [f"{t.method} ({t.evidence}): {problem}" for t in table for problem in lint_row(t.plain(), digits=6, aggregated=t.runs > 1)]


def _nanmean(values: list[float]) -> float:
    kept = [v for v in values if not np.isnan(v)]
    return float(np.mean(kept)) if kept else float("nan")
