"""The figures of the report, each as SVG and PNG bytes; the same results give the same bytes."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from flaneur.classes import SCALE_GROUPS
from flaneur.evaluation.experiment_measures import TRUTH
from flaneur.evaluation.report.build import label
from flaneur.evaluation.report.load import Result
from flaneur.evaluation.report.model import Table
from flaneur.evaluation.step_curves import mean_curves

HUES = ("#0b6fcb", "#d9541e", "#2b8a3e", "#8e44ad", "#b8860b", "#c2255c", "#0c8599", "#5c6570", "#74510c", "#4263eb", "#6b8e23")
GROUP_HUES = {"small": "#d9541e", "medium": "#0b6fcb", "large": "#2b8a3e"}
DPI = 140
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "flaneur", "svg.fonttype": "path", "font.family": "DejaVu Sans", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False,
    "axes.grid": True, "grid.color": "#e4e7eb", "grid.linewidth": 0.7, "axes.axisbelow": True, "legend.frameon": False, "figure.facecolor": "white",
}  # fmt: skip

Drawing = tuple[bytes, bytes]  # SVG, PNG


def draw(kind: str, result: Result, tables: list[Table]) -> Drawing | None:
    """One figure of an experiment; None when its rows are missing, which the report then says."""
    makers: dict[str, Callable[[Result, list[Table]], Drawing | None]] = {
        "groups": _groups, "steps": _steps, "curves": _curves, "pareto": _pareto, "maps": _maps, "time": _time, "cca": _cca, "statistics": _statistics,
    }  # fmt: skip
    return makers[kind](result, tables)


@contextmanager
def _canvas():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    with plt.rc_context(STYLE):
        yield plt
        plt.close("all")


def _saved(figure: Any, **options: Any) -> Drawing:
    svg, png = io.BytesIO(), io.BytesIO()
    figure.savefig(svg, format="svg", metadata={"Date": None}, **options)
    figure.savefig(png, format="png", dpi=DPI, metadata={"Software": "flaneur"}, **options)
    return svg.getvalue(), png.getvalue()


def _groups(result: Result, tables: list[Table]) -> Drawing | None:
    """Coverage per scale group with its 95 % interval; hollow marks are the paper's printed numbers."""
    lines = [r for r in tables[0].rows if r.kind != "paper"]
    if not lines:
        return None
    names = _names(tables[0], lines)
    with _canvas() as plt:
        figure, axes = plt.subplots(figsize=(8.6, 0.5 + 0.46 * len(lines)))
        y = -np.arange(len(lines), dtype=float)
        for k, group in enumerate(SCALE_GROUPS):
            at = y + (1 - k) * 0.22
            cells = [r.values.get(group) for r in lines]
            mean = np.array([c.mean if c else np.nan for c in cells])
            low, high = (np.array([getattr(c, side) if c else np.nan for c in cells]) for side in ("low", "high"))
            axes.barh(at, mean, 0.2, color=GROUP_HUES[group], label=group)
            error = np.nan_to_num(np.stack([mean - low, high - mean]).clip(min=0))
            axes.errorbar(mean, at, xerr=error, fmt="none", ecolor="#20262d", elinewidth=0.8, capsize=1.5)
            printed = [(at[i], r.values[group].mean) for i, line in enumerate(lines) for r in tables[0].rows if r.kind == "paper" and r.lead[:-1] == line.lead[:-1] and group in r.values]
            if printed:
                axes.plot([v for _, v in printed], [a for a, _ in printed], "D", ms=3.6, mfc="white", mec=GROUP_HUES[group], mew=0.9, label="paper, its own data" if k == 2 else None)
        axes.set_yticks(y, names)
        axes.set_xlim(0, 100)
        axes.set_xlabel("coverage of the scored cells, % (bars: 95 % interval)")
        axes.grid(axis="y", visible=False)
        axes.legend(ncols=4, loc="lower left", bbox_to_anchor=(0, 1.0), borderaxespad=0.2)
        figure.tight_layout()
        return _saved(figure)


def _names(table: Table, lines: list[Any]) -> list[str]:
    """A row's leading cells as one name; the evidence only where several are compared."""
    several = len({r.lead[-1] for r in lines}) > 1
    names = []
    for r in lines:
        lead = r.lead if several else r.lead[:-1]
        if all(v in ("\N{CHECK MARK}", "-") for v in r.lead[:-1]):
            marked = "+".join(t for t, v in zip(table.leads, r.lead, strict=False) if v == "\N{CHECK MARK}") or "none"
            lead = (marked, *([r.lead[-1]] if several else []))
        elif table.leads[0] == "k":
            lead = (f"k = {r.lead[0]}", *lead[1:])
        names.append(" ".join(v for v in lead if v))
    return names


def _steps(result: Result, tables: list[Table]) -> Drawing | None:
    """Global-map and affected-grid accuracy per step, mean and 95 % interval over scenes."""
    curves = mean_curves(result.rows, [r.id for r in result.experiment.rows])
    if not curves:
        return None
    with _canvas() as plt:
        figure, all_axes = plt.subplots(1, 3, figsize=(11.5, 3.4))
        for axes, (name, title) in zip(all_axes, (("global_accuracy", "global-map accuracy"), ("affected_accuracy", "affected-grid accuracy"), ("ocr", "OCR")), strict=True):
            for k, (id, found) in enumerate(curves.items()):
                if name in found:
                    curve = found[name]
                    axes.plot(curve.steps, curve.mean, color=HUES[k % len(HUES)], lw=1.5, label=label(result.experiment, id))
                    axes.fill_between(curve.steps, curve.low, curve.high, color=HUES[k % len(HUES)], alpha=0.15, lw=0)
            axes.set_title(f"{title}, %", fontsize=10)
            axes.set_xlabel("step")
            axes.set_ylim(bottom=0)
        handles, labels = all_axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, ncols=min(4, len(labels)), loc="lower center", bbox_to_anchor=(0.5, -0.06))
        figure.tight_layout()
        return _saved(figure, bbox_inches="tight")


def _curves(result: Result, tables: list[Table]) -> Drawing | None:
    """CCR of small objects over the training episodes, one thin line per run, their mean in bold."""
    curves = {r.id: list(result.measured.get("curves", {}).get(r.id, {}).values()) for r in result.experiment.rows}
    curves = {k: [np.array(p, float) for p in v if p] for k, v in curves.items()}
    if not any(curves.values()):
        return None
    with _canvas() as plt:
        figure, axes = plt.subplots(figsize=(6.6, 3.6))
        for k, (id, runs) in enumerate(curves.items()):
            if not runs:
                continue
            for run in runs:
                axes.plot(run[:, 0], run[:, 1], color=HUES[k], lw=0.7, alpha=0.4 if len(runs) > 1 else 0.0)
            grid = np.unique(np.concatenate([r[:, 0] for r in runs]))
            mean = np.mean([_smooth(np.interp(grid, r[:, 0], r[:, 1])) for r in runs], axis=0)
            axes.plot(grid, mean, color=HUES[k], lw=1.8, marker="o" if len(grid) < 4 else None, ms=4, label=f"{label(result.experiment, id)} ({len(runs)} {'run' if len(runs) == 1 else 'runs'})")
        axes.set_xlabel("environment steps")
        axes.set_ylabel("training CCR of small objects, %")
        axes.legend()
        figure.tight_layout()
        return _saved(figure)


def _smooth(values: np.ndarray) -> np.ndarray:
    """Running mean over a twentieth of the curve."""
    width = max(1, len(values) // 20)
    padded = np.concatenate([np.full(width // 2, values[0]), values, np.full(width - 1 - width // 2, values[-1])])
    return np.convolve(padded, np.ones(width) / width, "valid")


def _pareto(result: Result, tables: list[Table]) -> Drawing | None:
    """CCR of small against large objects: LC under five reward allocations, and ours."""
    table = tables[0]
    lines = [r for r in table.rows if r.kind == "measured"]
    points = [(r, r.values["large"], r.values["small"]) for r in lines if "large" in r.values and "small" in r.values]
    if not points:
        return None
    front = nondominated(np.array([[a.mean, b.mean] for _, a, b in points]))
    with _canvas() as plt:
        figure, axes = plt.subplots(figsize=(5.6, 4.4))
        swept = [(a, b) for r, a, b in points if r.lead[0] == points[0][0].lead[0]]
        axes.plot([a.mean for a, _ in swept], [b.mean for _, b in swept], color=HUES[0], lw=0.9, ls=":", zorder=1)
        edge = sorted((points[i][1].mean, points[i][2].mean) for i in np.flatnonzero(front))
        axes.step([p[0] for p in edge], [p[1] for p in edge], where="post", color="#9aa3ad", lw=1.2, zorder=1, label="front")
        seen = set()
        for r, a, b in points:
            swept_row = r.lead[0] == points[0][0].lead[0]
            hue = HUES[0] if swept_row else HUES[1]
            error = [np.nan_to_num([[max(0.0, c.mean - c.low)], [max(0.0, c.high - c.mean)]]) for c in (a, b)]
            name = f"{r.lead[0]}, small : large" if swept_row else r.lead[0]
            axes.errorbar(a.mean, b.mean, xerr=error[0], yerr=error[1], fmt="o" if swept_row else "*", ms=5 if swept_row else 13, color=hue, elinewidth=0.6, label=None if name in seen else name)
            seen.add(name)
            if swept_row:
                axes.annotate(r.lead[1], (a.mean, b.mean), xytext=(5, 4), textcoords="offset points", fontsize=8, color=hue)
        axes.set_xlabel("CCR large, %")
        axes.set_ylabel("CCR small, %")
        axes.legend(loc="upper left", bbox_to_anchor=(0, -0.14), ncols=3)
        figure.tight_layout()
        return _saved(figure)


def nondominated(points: np.ndarray) -> np.ndarray:  # [N, 2], more is better -> [N] bool
    better = np.all(points[None] >= points[:, None], axis=-1) & np.any(points[None] > points[:, None], axis=-1)
    return ~np.any(better, axis=1)


def _maps(result: Result, tables: list[Table]) -> Drawing | None:
    """Classes in colour, white unexplored, grey wrong, black background; a row per scene."""
    from matplotlib.patches import Rectangle
    from PIL import Image

    scenes = list(dict.fromkeys(name.split("--")[0] for name in result.maps))
    columns = [TRUTH, *(r.id for r in result.experiment.rows if any(n.endswith(f"--{r.id}.png") for n in result.maps))]
    if not scenes:
        return None
    with _canvas() as plt:
        figure, grid = plt.subplots(len(scenes), len(columns), figsize=(1.75 * len(columns), 1.95 * len(scenes)), squeeze=False)
        for row, scene in zip(grid, scenes, strict=True):
            for axes, id in zip(row, columns, strict=True):
                axes.set_axis_off()
                name = f"{scene}--{id}.png"
                if name in result.maps:
                    axes.imshow(np.array(Image.open(io.BytesIO(result.maps[name]))), interpolation="nearest")
                    axes.add_patch(Rectangle((0, 0), 1, 1, transform=axes.transAxes, fill=False, ec="#9aa3ad", lw=0.8))
                if axes in grid[0]:
                    axes.set_title("Ground truth" if id == TRUTH else label(result.experiment, id), fontsize=9)
            row[0].text(-0.06, 0.5, scene, rotation=90, va="center", ha="right", transform=row[0].transAxes, fontsize=8)
        figure.subplots_adjust(0.03, 0.01, 0.99, 0.94, 0.05, 0.05)
        return _saved(figure, bbox_inches="tight")


def _time(result: Result, tables: list[Table]) -> Drawing | None:
    """Milliseconds per step by part."""
    lines = [r for r in tables[0].rows if r.kind != "paper"]
    if not lines:
        return None
    with _canvas() as plt:
        figure, axes = plt.subplots(figsize=(8.2, 0.9 + 0.36 * len(lines)))
        y, left = -np.arange(len(lines), dtype=float), np.zeros(len(lines))
        for k, part in enumerate(("plan", "map", "evidence", "render", "other")):
            width = np.array([r.values[f"{part}_ms"].mean for r in lines])
            axes.barh(y, width, 0.6, left=left, color=HUES[k], label=part)
            left += width
        for at, total in zip(y, left, strict=True):
            axes.text(total * 1.005, at, f" {total:.1f}", va="center", fontsize=8)
        axes.set_yticks(y, _names(tables[0], lines))
        axes.set_xlim(0, left.max() * 1.1)
        axes.set_xlabel(f"ms per step, one environment on {result.world.get('device', '')}")
        axes.grid(axis="y", visible=False)
        axes.legend(ncols=5, loc="lower left", bbox_to_anchor=(0, 1.0), borderaxespad=0.2)
        figure.tight_layout()
        return _saved(figure)


def _cca(result: Result, tables: list[Table]) -> Drawing | None:
    """Observed correlations beside what chance gives and what holds on unseen episodes."""
    measured = result.measured.get("cca", {})
    rows = [r for r in result.experiment.rows if r.id in measured]
    if not rows:
        return None
    with _canvas() as plt:
        figure, all_axes = plt.subplots(1, 3, figsize=(8.4, 3.0))
        for axes, (name, title) in zip(all_axes, (("max", "Max CCA"), ("mean", "Mean CCA"), ("top10", "Top-10 CCA")), strict=True):
            for i, row in enumerate(rows):
                runs = list(measured[row.id].values())
                for k, (kind, values) in enumerate((("observed", [r[name] for r in runs]), ("null, 95 %", [r["null"][name]["q95"] for r in runs]), ("held out", [r["held_out"][name] for r in runs]))):
                    axes.bar(i + (k - 1) * 0.26, np.mean(values), 0.24, color=(HUES[0], "#b7bec6", HUES[2])[k], label=kind if i == 0 else None)
            axes.set_xticks(range(len(rows)), [label(result.experiment, r.id) for r in rows])
            axes.set_title(title, fontsize=10)
            axes.grid(axis="x", visible=False)
        handles, labels = all_axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, ncols=3, loc="lower center", bbox_to_anchor=(0.5, -0.07))
        figure.tight_layout()
        return _saved(figure, bbox_inches="tight")


def _statistics(result: Result, tables: list[Table]) -> Drawing | None:
    from flaneur.city.dataset.figure import write_figure

    with tempfile.TemporaryDirectory() as folder:
        paths = write_figure(result.measured["statistics"], Path(folder) / "statistics")
        found = {p.suffix: p.read_bytes() for p in paths}
    return found[".svg"], found[".png"]
