"""The paper's printed numbers, as data (`flaneur/data/paper_tables.toml`)."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

from flaneur.errors import UserError
from flaneur.scoring import lint_row

FILE = Path(__file__).parents[1] / "data" / "paper_tables.toml"


@lru_cache
def paper_tables() -> dict[str, dict[str, Any]]:
    return tomllib.loads(FILE.read_text("utf-8"))


def paper_table(name: str) -> dict[str, Any]:
    if name not in paper_tables():
        raise UserError(f"{FILE.name}: no table '{name}'; known are {', '.join(paper_tables())}")
    return paper_tables()[name]


def paper_rows(name: str, match: dict[str, Any]) -> list[dict[str, Any]]:
    """The printed rows that hold all of `match`; none is an error, since a row was named."""
    rows = [r for r in paper_table(name)["rows"] if all(k in r and r[k] == v for k, v in match.items())]
    if not rows:
        raise UserError(f"{FILE.name}: table '{name}' has no row with {match}")
    return rows


def lint_paper(name: str) -> list[str]:
    """What is impossible in a printed table, one line each."""
    table = paper_table(name)
    problems = []
    for row in table["rows"]:
        if "ocr" not in row:
            continue
        columns = [c for c in row if c in ("small", "medium", "large", "car", "building")]
        switches = [k.upper() for k in ("lc", "mv", "po", "mi") if row.get(k) is True]
        label = row.get("method") or row.get("configuration") or (f"k = {row['k']}" if "k" in row else "+".join(switches) or "none")
        problems += [f"{label}: {p}" for p in lint_row(row, columns=columns, aggregated=table.get("aggregated", False))]
    return problems
