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
    """Nothing is cut: a terminal that is too narrow gets one line per value, a pipe gets lines as long as they must be."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    cells = [[f"{v:,}" if isinstance(v, int) else f"{v:.2f}" if isinstance(v, float) else str(v) for v in row] for row in rows]
    heads = list(columns) if _width(columns, cells) <= console.width else [c.replace(" ", "\n") for c in columns]
    needed = _width(heads, cells, at_least=True)
    if needed > console.width and console.is_terminal:
        if title:
            console.print(title, style="bold", markup=False, highlight=False)
        for row in cells:
            for column, cell in zip(columns, row, strict=True):
                console.print(f"{column}: {cell}" if column else cell, markup=False, highlight=False)
            console.print()
        return
    console.width = max(console.width, needed)
    table = Table(title=escape(title) or None, title_justify="left", header_style="bold")
    for i, head in enumerate(heads):
        numeric = all(isinstance(row[i], (int, float)) for row in rows)
        words = any(" " in row[i] for row in cells)
        table.add_column(escape(head), justify="right" if numeric else "left", no_wrap=not words, min_width=_longest([head, *(row[i] for row in cells)], words))
    for row in cells:
        table.add_row(*map(escape, row))
    console.print(table)


def _width(heads: Sequence[str], cells: Sequence[Sequence[str]], at_least: bool = False) -> int:
    """Of a table, borders included; at least: where cells of several words are broken between them."""
    return 1 + sum(3 + _longest([head, *(row[i] for row in cells)], at_least) for i, head in enumerate(heads))


def _longest(texts: Sequence[str], words: bool) -> int:
    from rich.cells import cell_len

    return max((cell_len(part) for text in texts for part in (text.split() if words else text.split("\n"))), default=0)


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
