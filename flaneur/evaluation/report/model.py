"""A table as data: every output format prints the same lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from flaneur.evaluation.tables import TITLES, Cell

Kind = Literal["measured", "reference", "paper"]
LOWER_IS_BETTER = frozenset(("var", "background_wrong", "nll", "ece"))
PAPER_MARK = "paper, on the authors' data"
EXTRA_TITLES = {"ocr_share": "OCR, % of ceiling", "max": "Max CCA", "mean": "Mean CCA", "top10": "Top-10 CCA", "small_end": "CCR small at the end", "small_best": "best"}


def title(column: str) -> str:
    return TITLES.get(column) or EXTRA_TITLES.get(column) or column


def decimals(column: str) -> int:
    return 4 if column in ("max", "mean", "top10") else 3 if column == "nll" else 2 if column.endswith("_ms") else 1


def number(value: float, column: str) -> str:
    return "" if np.isnan(value) else f"{value:.{decimals(column)}f}"


@dataclass(frozen=True)
class Line:
    lead: tuple[str, ...]
    values: dict[str, Cell]
    kind: Kind = "measured"
    note: str = ""  # "3 runs x 12 scenes"
    best: frozenset[str] = frozenset()

    @property
    def measured(self) -> bool:
        return self.kind != "paper"

    def text(self, column: str) -> str:
        cell = self.values.get(column)
        return "" if cell is None else number(cell.mean, column)

    def interval(self, column: str) -> str:
        """`[low, high]`, empty where there is none."""
        cell = self.values.get(column)
        if cell is None or np.isnan(cell.low) or np.isnan(cell.high):
            return ""
        return f"[{number(cell.low, column)}, {number(cell.high, column)}]"

    def spread(self, column: str) -> str:
        """The standard deviation over runs."""
        cell = self.values.get(column)
        return "" if cell is None or np.isnan(cell.sd) else number(cell.sd, column)


def between(difference: dict[str, Any]) -> str:
    """`[low, high]` of a paired difference, empty where there is none."""
    return "" if np.isnan(difference["low"]) else f"[{difference['low']:+.1f}, {difference['high']:+.1f}]"


@dataclass(frozen=True)
class Table:
    name: str
    caption: str
    leads: tuple[str, ...]  # titles of the leading columns
    columns: tuple[str, ...]  # metrics
    rows: tuple[Line, ...]
    remarks: tuple[str, ...] = ()
    differences: tuple[dict[str, Any], ...] = ()  # ours minus another: method, difference, low, high, p, scenes

    @property
    def head(self) -> list[str]:
        return [*self.leads, *(title(c) for c in self.columns)]

    def plain(self) -> dict[str, Any]:
        """JSON: null for what is no number."""
        lines = []
        for row in self.rows:
            values = {c: {k: _json(v) for k, v in vars(row.values[c]).items()} for c in self.columns if c in row.values}
            lines.append({"lead": dict(zip(self.leads, row.lead, strict=True)), "kind": row.kind, "note": row.note, "values": values})
        differences = [{k: _json(v) if isinstance(v, float) else v for k, v in d.items()} for d in self.differences]
        return {"name": self.name, "caption": self.caption, "columns": list(self.columns), "rows": lines, "remarks": list(self.remarks), "differences": differences}


def with_best(rows: list[Line], columns: tuple[str, ...]) -> list[Line]:
    """Mark the best measured value of each column; references and printed numbers do not compete."""
    best: dict[int, set[str]] = {}
    for column in columns:
        sign = -1.0 if column in LOWER_IS_BETTER or column.endswith("_ms") else 1.0
        values = {i: sign * float(r.text(column)) for i, r in enumerate(rows) if r.kind == "measured" and r.text(column)}
        if len(set(values.values())) > 1:
            top = max(values.values())
            for i in (i for i, v in values.items() if v == top):
                best.setdefault(i, set()).add(column)
    return [Line(r.lead, r.values, r.kind, r.note, frozenset(best.get(i, ()))) for i, r in enumerate(rows)]


@dataclass
class Section:
    """One experiment of the report."""

    name: str
    title: str
    facts: list[str]
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    smoke: bool = False


def _json(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 6)
