"""`flaneur report`: everything is built in memory first, so bad input leaves the folder as it was."""

from __future__ import annotations

import json
import os
from pathlib import Path

from flaneur import __version__
from flaneur.errors import UserError
from flaneur.evaluation.figures import draw
from flaneur.evaluation.report.build import build
from flaneur.evaluation.report.formats import latex, markdown
from flaneur.evaluation.report.html import page
from flaneur.evaluation.report.load import Result, load_results
from flaneur.evaluation.report.model import Section


def write_report(paths: list[Path], out: Path) -> list[Path]:
    """index.html, report.md, tables/*.{md,tex,json}, figures/*.{svg,png}; returns what was written."""
    groups: dict[str, list[Result]] = {}
    for result in load_results([Path(p) for p in paths]):
        groups.setdefault(result.experiment.name, []).append(result)
    sections = [_section(results) for results in groups.values()]
    files: dict[str, bytes] = {}
    for section, figures in sections:
        for table in section.tables:
            files[f"tables/{table.name}.md"] = markdown(table).encode()
            files[f"tables/{table.name}.tex"] = latex(table).encode()
            files[f"tables/{table.name}.json"] = (json.dumps(table.plain(), indent=1, ensure_ascii=False) + "\n").encode()
        for name, (svg, png) in figures.items():
            files[f"figures/{name}.svg"], files[f"figures/{name}.png"] = svg, png
    files["report.md"] = "\n".join(_markdown(s, f) for s, f in sections).encode()
    files["index.html"] = page(sections, __version__).encode()
    return [_write(Path(out) / name, data) for name, data in files.items()]


def _section(results: list[Result]) -> tuple[Section, dict[str, tuple[bytes, bytes]]]:
    section = build(*results)
    figures = {}
    for kind in results[0].experiment.figures:
        for result in results:
            drawing = draw(kind, result, section.tables)
            name = f"{section.name}-{kind}" + (f"-{result.evidence.replace(':', '-').replace('/', '-')}" if len(results) > 1 else "")
            if drawing is None:
                section.notes.append(f"figure '{kind}' not drawn: none of its rows is there")
            else:
                figures[name] = drawing
            if kind == "groups":
                break  # the table holds all evidences already
    return section, figures


def _markdown(section: Section, figures: dict[str, tuple[bytes, bytes]]) -> str:
    lines = [f"## {section.title}", ""]
    if section.smoke:
        lines += ["**Smoke run: invented cities, agents trained for seconds. The numbers mean nothing.**", ""]
    lines += [f"- {line}" for line in (*section.facts, *section.notes)]
    lines += ["", *(markdown(t) for t in section.tables)]
    lines += [f"![{name}](figures/{name}.svg)" for name in figures]
    return "\n".join(lines) + "\n"


def _write(path: Path, data: bytes) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        part.write_bytes(data)
        os.replace(part, path)
    except OSError as error:
        raise UserError(f"{path}: cannot write ({error.strerror})") from None
    return path
