"""A hook of mkdocs: a folder in the navigation stands for its pages, and a page that is named nowhere comes last."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    docs = Path(config["docs_dir"])
    nav = [_expanded(docs, entry) for entry in config["nav"]]
    named = set(_pages(nav))
    rest = [p.relative_to(docs).as_posix() for p in sorted(docs.rglob("*.md")) if p.relative_to(docs).as_posix() not in named]
    config["nav"] = nav + ([{"More": rest}] if rest else [])
    return config


def _expanded(docs: Path, entry: Any) -> Any:
    if isinstance(entry, dict):
        return {title: _expanded(docs, value) for title, value in entry.items()}
    if isinstance(entry, list):
        return [_expanded(docs, e) for e in entry]
    if entry.endswith("/"):
        # index.md first, then by name
        pages = sorted((docs / entry).glob("*.md"), key=lambda p: (p.name != "index.md", p.name))
        return [p.relative_to(docs).as_posix() for p in pages]
    return entry


def _pages(nav: Any) -> list[str]:
    if isinstance(nav, dict):
        return [p for value in nav.values() for p in _pages(value)]
    if isinstance(nav, list):
        return [p for entry in nav for p in _pages(entry)]
    return [nav]
