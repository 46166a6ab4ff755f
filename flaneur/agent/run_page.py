"""The curves of a training run as one page, from what `Trainer` writes: curve.jsonl, config.json, about.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from flaneur.errors import UserError
from flaneur.page import fill

GROUPS = ("small", "medium", "large")
# Title, and the columns of the curve drawn together; a chart without any of its columns is left out.
CHARTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("coverage (CCR) of episodes in training, %", tuple(f"train_ccr_{g}" for g in GROUPS)),
    ("coverage (CCR) in validation, %", (*(f"validation_ccr_{g}" for g in GROUPS), "validation_ocr")),
    ("strict mIoU in validation, %", ("validation_strict_miou",)),
    ("reward in validation, per step", ("validation_reward",)),
    ("KL of an update", ("motion_kl", "calibration_kl")),
    ("clipped share", ("motion_clip", "calibration_clip")),
    ("entropy", ("motion_entropy", "calibration_entropy")),
    ("mutual information (CLUB)", ("club",)),
    ("log weights of the categories (Nash)", tuple(f"log_alpha_{c}" for c in range(3))),
)
COUNTERS = ("update", "steps", "seconds")  # what the others are drawn against


def run_html(folder: Path) -> str:
    rows, about = _rows(folder / "curve.jsonl"), _object(folder / "about.json")
    config = about.get("training") or _object(folder / "config.json")
    columns = {k: [row.get(k) for row in rows] for k in dict.fromkeys(k for row in rows for k in row)}
    named = [{"title": title, "columns": [k for k in keys if k in columns]} for title, keys in CHARTS]
    drawn = {k for chart in named for k in chart["columns"]} | set(COUNTERS)
    rest = [{"title": k.replace("_", " "), "columns": [k]} for k, values in columns.items() if k not in drawn and any(isinstance(v, (int, float)) for v in values)]
    facts = {k: v for k, v in about.items() if not isinstance(v, (dict, list)) and v not in (None, "")}
    data = {"name": folder.resolve().name, "facts": facts, "config": _flat(config), "columns": columns, "charts": [c for c in named if c["columns"]], "more": rest}
    return fill("run.html", data)


def _rows(path: Path) -> list[dict[str, Any]]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except FileNotFoundError:
        raise UserError(f"{path}: not written yet; look again after the first checkpoint of the run") from None
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict) or not isinstance(row.get("steps"), (int, float)):
            raise UserError(f"{path}, line {number}: field 'steps' is missing; give the folder of a run of flaneur train")
        rows.append(row)
    if not rows:
        raise UserError(f"{path}: holds no update yet; look again after the first checkpoint of the run")
    return rows


def _object(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        data = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise UserError(f"{path}: not readable as JSON ({error}); restore it, or remove it to see the curves alone") from None
    return data if isinstance(data, dict) else {}


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """ppo: {k: 0.1} -> ppo.k: 0.1, as --set takes it."""
    out: dict[str, Any] = {}
    for k, v in values.items():
        out |= _flat(v, f"{prefix}{k}.") if isinstance(v, dict) else {prefix + k: v}
    return out
