"""What every command shares: `--json`, progress that is quiet when nobody watches, and plain tables."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass
class Command:
    json: bool = field(default=False, kw_only=True)
    """Print one JSON document on standard output instead of text."""


class Advance(Protocol):
    def __call__(self, done: float, note: str = "") -> None: ...


def print_json(document: Any) -> None:
    json.dump(document, sys.stdout, indent=1, ensure_ascii=False, default=str)
    print()


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str = "") -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=title or None, title_justify="left", header_style="bold")
    for i, column in enumerate(columns):
        numeric = all(isinstance(row[i], (int, float)) for row in rows)
        table.add_column(column, justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*(f"{v:,}" if isinstance(v, int) else f"{v:.2f}" if isinstance(v, float) else escape(str(v)) for v in row))
    Console().print(table)


@contextmanager
def progress(title: str, total: float, shown: bool = True) -> Iterator[Advance]:
    """A bar on standard error with an estimate of the time left; nothing at all when that is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(), TextColumn("{task.fields[note]}"))
    with Progress(*columns, console=console, disable=not (shown and console.is_terminal)) as bar:
        task = bar.add_task(title, total=total, note="")

        def advance(done: float, note: str = "") -> None:
            bar.update(task, completed=done, note=note)

        yield advance
