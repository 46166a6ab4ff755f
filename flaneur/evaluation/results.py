"""Result files: JSON lines, one per episode; resumable, never doubled, never mixed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from flaneur.errors import UserError

SETTING = ("dataset", "evidence", "task")  # what rows must share to be compared
KEY = ("method", "scene", "start", "seed", "evidence")  # what makes a row the same row


class ResultFile:
    """Appends rows and knows which are there. A line cut off by a kill is dropped when the file is opened.

    `repair` False only reads: somebody else may be writing the line.
    """

    def __init__(self, path: Path, repair: bool = True) -> None:
        self.path = Path(path)
        self.rows: list[dict[str, Any]] = []
        if self.path.exists():
            self.rows, whole = _read_lines(self.path)
            if repair and whole < self.path.stat().st_size:
                with self.path.open("r+b") as file:
                    file.truncate(whole)
        self.keys = {row_key(r) for r in self.rows}

    def missing(self, keys: Iterable[tuple]) -> list[tuple]:
        return [k for k in keys if k not in self.keys]

    def append(self, row: dict[str, Any]) -> None:
        for name in SETTING:
            theirs = self.rows[0][name] if self.rows else row[name]
            if theirs != row[name]:
                raise UserError(f"{self.path}: holds rows of {name} '{theirs}'; these are of '{row[name]}': give another file")
        if row_key(row) in self.keys:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, sort_keys=True) + "\n")
        self.rows.append(row)
        self.keys.add(row_key(row))


def row_key(row: dict[str, Any]) -> tuple:
    return tuple(row[name] for name in KEY)


def read_results(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """Rows of all files; refuses to mix data sets, evidence of one name or tasks, and says which rows."""
    rows: list[dict[str, Any]] = []
    seen: dict[tuple, Path] = {}
    for path in paths:
        found, _ = _read_lines(Path(path))
        for number, row in enumerate(found, 1):
            for name in ("dataset", "task"):
                if rows and row[name] != rows[0][name]:
                    raise UserError(f"{path}: row {number} was made with {name} '{row[name]}', others with '{rows[0][name]}'; report them apart")
            if row_key(row) not in seen:
                seen[row_key(row)] = Path(path)
                rows.append(row)
    if not rows:
        raise UserError("no result rows in the files named")
    return rows


def _read_lines(path: Path) -> tuple[list[dict[str, Any]], int]:
    """Rows, and how many bytes of the file hold whole ones."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot read ({error.strerror})") from None
    rows, at = [], 0
    for number, line in enumerate(data.split(b"\n"), 1):
        complete = at + len(line) < len(data)  # a line that does not end was cut off
        if not complete:
            break
        if line.strip():
            try:
                row = json.loads(line)
                row_key(row)
            except (json.JSONDecodeError, KeyError, TypeError, UnicodeDecodeError):
                raise UserError(f"{path}: row {number} is no result row; remove it or give another file") from None
            rows.append(row)
        at += len(line) + 1
    return rows, at
