"""The report as one page that needs no network: tables, remarks, figures inline."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from importlib import resources

from flaneur.evaluation.report.model import PAPER_MARK, Line, Section, Table, between, title


def page(sections: Sequence[tuple[Section, dict[str, tuple[bytes, bytes]]]], version: str) -> str:
    """Each section with its figures by name: (SVG, PNG)."""
    template = resources.files("flaneur").joinpath("data/report.html").read_text("utf-8")
    links = "".join(f'<a href="#{escape(s.name)}">{escape(s.title)}</a>' for s, _ in sections)
    body = "\n".join(_section(s, figures) for s, figures in sections)
    return template.replace("<!--NAV-->", links).replace("<!--BODY-->", body).replace("<!--FOOT-->", f"Flaneur {escape(version)}")


def _section(section: Section, figures: dict[str, tuple[bytes, bytes]]) -> str:
    parts = [f'<section id="{escape(section.name)}"><h2>{escape(section.title)}</h2>']
    if section.smoke:
        parts.append('<p class="smoke">Smoke run: invented cities, agents trained for seconds. It shows that the experiment runs; the numbers mean nothing.</p>')
    parts += [f'<p class="facts">{escape(fact)}</p>' for fact in section.facts]
    if section.notes:
        parts.append('<ul class="notes">' + "".join(f"<li>{escape(n)}</li>" for n in section.notes) + "</ul>")
    parts += [table_html(t) for t in section.tables]
    for name, (svg, png) in figures.items():
        # Pictures made of pixels are smaller as PNG, drawings stay sharp as SVG.
        data, kind = (png, "png") if name.endswith("maps") else (svg, "svg+xml")
        parts.append(f'<figure><img alt="{escape(section.title)}: {escape(name)}" src="data:image/{kind};base64,{base64.b64encode(data).decode()}"></figure>')
    return "\n".join([*parts, "</section>"])


def table_html(table: Table) -> str:
    head = "".join(f"<th{' class=lead' if i < len(table.leads) else ''}>{escape(h)}</th>" for i, h in enumerate(table.head))
    rows = "".join(_row(r, table) for r in table.rows)
    out = [f'<h3>{escape(table.caption)}</h3><div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>']
    if any(not r.measured for r in table.rows):
        out.append(
            f'<p class="key">Rows in italics: {escape(PAPER_MARK)}. Ours: mean, ± standard deviation over runs, 95 % bootstrap interval below, over scenes, or over the episodes of a single one.</p>'
        )
    if table.differences:
        out.append(_differences(table))
    if table.remarks:
        out.append('<ul class="notes">' + "".join(f"<li>{escape(r)}</li>" for r in table.remarks) + "</ul>")
    return "\n".join(out)


def _row(row: Line, table: Table) -> str:
    lead = "".join(f'<td class="lead">{escape(v)}</td>' for v in row.lead)
    return f'<tr class="{row.kind}" title="{escape(row.note)}">{lead}{"".join(_cell(row, c) for c in table.columns)}</tr>'


def _cell(row: Line, column: str) -> str:
    text, spread, interval = row.text(column), row.spread(column), row.interval(column)
    body = f"<b>{text}</b>" if column in row.best else text
    body += f' <span class="sd">± {spread}</span>' if spread and text else ""
    body += f'<span class="ci">{interval}</span>' if interval else ""
    return f"<td>{body}</td>"


def _differences(table: Table) -> str:
    rows = "".join(
        f'<tr><td class="lead">{escape(d["ours"])} &minus; {escape(d["other"])}</td><td class="lead">{escape(d["evidence"])}</td><td>{d["difference"]:+.1f}</td>'
        f"<td>{between(d)}</td><td>{d['p']:.4f}</td><td>{d['pairs']} {d['unit']}</td></tr>"
        for d in table.differences
    )
    metric = escape(title(table.differences[0]["metric"]))
    head = f'<tr><th class="lead">paired</th><th class="lead">evidence</th><th>{metric}, difference</th><th>95 % interval</th><th>p</th><th>pairs</th></tr>'
    return f'<details><summary>Paired differences in {metric}</summary><div class="wide"><table><thead>{head}</thead><tbody>{rows}</tbody></table></div></details>'
