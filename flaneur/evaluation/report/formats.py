"""Tables as Markdown and LaTeX."""

from __future__ import annotations

from flaneur.evaluation.report.model import PAPER_MARK, Line, Table, between, title

LATEX_MARKS = {"%": r"\%", "&": r"\&", "_": r"\_", "#": r"\#", "\N{CHECK MARK}": r"\checkmark", "-": "-"}


def markdown(table: Table) -> str:
    """One table; below it what was compared, and every remark."""
    head = [*table.head, "over"]
    lines = [f"### {table.caption}", "", "| " + " | ".join(head) + " |", "|" + " --- |" * len(table.leads) + " ---: |" * len(table.columns) + " --- |"]
    for row in table.rows:
        cells = [_markdown_cell(row, c) for c in table.columns]
        lead = [f"*{v}*" if v and not row.measured else v for v in row.lead]
        lines.append("| " + " | ".join([*lead, *cells, row.note]) + " |")
    lines += _differences(table)
    if table.remarks:
        lines += ["", *(f"- {r}" for r in table.remarks)]
    return "\n".join(lines) + "\n"


def _markdown_cell(row: Line, column: str) -> str:
    text, spread, interval = row.text(column), row.spread(column), row.interval(column)
    if not text:
        return ""
    text = f"**{text}**" if column in row.best else f"*{text}*" if not row.measured else text
    return text + (f" ± {spread}" if spread else "") + (f" {interval}" if interval else "")


def _differences(table: Table) -> list[str]:
    if not table.differences:
        return []
    lines = ["", "| minus | evidence | metric | difference | 95 % interval | p | pairs |", "| --- | --- | --- | ---: | --- | ---: | ---: |"]
    for d in table.differences:
        lines.append(f"| {d['ours']} - {d['other']} | {d['evidence']} | {title(d['metric'])} | {d['difference']:+.1f} | {between(d)} | {d['p']:.4f} | {d['pairs']} {d['unit']} |")
    return lines


def latex(table: Table) -> str:
    """booktabs, as in the paper; the interval as a small subscript, printed numbers in italics."""
    columns = "l" * len(table.leads) + "r" * len(table.columns)
    lines = [r"% needs \usepackage{booktabs,amssymb}", r"\begin{table}[t]", r"\centering", rf"\caption{{{_escape(table.caption)}}}", rf"\label{{tab:{table.name}}}"]
    lines += [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", " & ".join(rf"\textbf{{{_escape(h)}}}" for h in table.head) + r" \\", r"\midrule"]
    printed = False
    for row in table.rows:
        lead = [_escape(v) if row.measured else rf"\textit{{{_escape(v)}}}" if v else "" for v in row.lead]
        printed |= not row.measured
        lines.append(" & ".join([*lead, *(_latex_cell(row, c) for c in table.columns)]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    if printed:
        lines.append(rf"\par\smallskip{{\footnotesize\textit{{Italic: {_escape(PAPER_MARK)}.}}}}")
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def _latex_cell(row: Line, column: str) -> str:
    text, spread, interval = row.text(column), row.spread(column), row.interval(column)
    if not text:
        return ""
    text = rf"\textbf{{{text}}}" if column in row.best else rf"\textit{{{text}}}" if not row.measured else text
    return text + (rf"$\pm${spread}" if spread else "") + (rf"{{\tiny\,{interval}}}" if interval else "")


def _escape(text: str) -> str:
    return "".join(LATEX_MARKS.get(c, c) for c in text)
