"""Pictures of the model card: what a source answers to near and far, large and small, as SVG and PNG bytes."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from flaneur.classes import SCALE_GROUPS

HUES = {"small": "#d9541e", "medium": "#0b6fcb", "large": "#2b8a3e"}
MEASURES = {"right": "right", "confidence": "confidence", "sure_and_wrong": "confidently wrong"}
CONDITIONS = {"distance": "distance, m", "size": "apparent size, pixels", "height": "camera height, m", "down": "pitch below horizon, degrees", "light": "light"}
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "flaneur", "svg.fonttype": "path", "font.family": "DejaVu Sans", "font.size": 8, "axes.spines.top": False, "axes.spines.right": False,
    "axes.grid": True, "grid.color": "#e4e7eb", "grid.linewidth": 0.7, "axes.axisbelow": True, "legend.frameon": False, "figure.facecolor": "white",
}  # fmt: skip
DPI = 140

Drawing = tuple[bytes, bytes]  # SVG, PNG


def pictures(figures: dict[str, Any]) -> dict[str, Drawing]:
    """reliability, grid (where the run measured it) and confusion; the same figures give the same bytes."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    with plt.rc_context(STYLE):
        out = {"reliability": _saved(_reliability(plt, figures["shares"], figures["source"])), "confusion": _saved(_confusion(plt, figures))}
        if "by_distance_and_size" in figures:
            out["grid"] = _saved(_grid(plt, figures))
        plt.close("all")
    return out


def _reliability(plt: Any, shares: dict[str, Any], title: str) -> Any:
    """Rows: share right, confidence, share confidently wrong; columns: what makes evidence fail; a line per group."""
    columns = [k for k in CONDITIONS if k in shares]
    figure, axes = plt.subplots(len(MEASURES), len(columns), figsize=(2.5 * len(columns) + 0.6, 6.4), sharey="row", sharex="col", squeeze=False, layout="constrained")
    for j, axis in enumerate(columns):
        names = [_short(n) for n in shares[axis]["bins"]]
        for i, (measure, label) in enumerate(MEASURES.items()):
            at = axes[i, j]
            for group in SCALE_GROUPS:
                values = np.array([np.nan if v is None else 100 * v for v in shares[axis][group][measure]], float)
                at.plot(np.arange(len(names)), values, "o-", ms=3, lw=1.4, color=HUES[group], label=group)
            at.set_ylim(0, 100)
            if j == 0:
                at.set_ylabel(f"{label}, %")
        axes[-1, j].set_xticks(range(len(names)), names, rotation=60, ha="right", rotation_mode="anchor")
        axes[-1, j].set_xlabel(CONDITIONS[axis])
    figure.suptitle(title, fontsize=10)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper right", ncols=len(SCALE_GROUPS))
    return figure


def _grid(plt: Any, figures: dict[str, Any]) -> Any:
    """Rows: the three measures; columns: groups; distance across, apparent size up."""
    table = figures["by_distance_and_size"]
    near, across = [_short(n) for n in figures["distance_bins"]], [_short(n) for n in figures["size_bins"]]
    figure, axes = plt.subplots(len(MEASURES), len(SCALE_GROUPS), figsize=(8.6, 8.0), sharex=True, sharey=True, layout="constrained")
    for i, (measure, label) in enumerate(MEASURES.items()):
        drawn = None
        for j, group in enumerate(SCALE_GROUPS):
            values = np.array([[np.nan if v is None else 100 * v for v in row] for row in table[group][measure]], float).T  # [size, distance]
            at = axes[i, j]
            at.grid(False)
            drawn = at.imshow(values, origin="lower", aspect="auto", vmin=0, vmax=100, cmap="magma_r" if measure == "sure_and_wrong" else "viridis")
            for y, x in np.argwhere(np.isfinite(values)):
                # What is dark wants light figures: low values of viridis, high ones of the reversed magma.
                dark = values[y, x] > 50 if measure == "sure_and_wrong" else values[y, x] < 50
                at.text(x, y, f"{values[y, x]:.0f}", ha="center", va="center", fontsize=6.5, color="white" if dark else "black")
            if i == 0:
                at.set_title(group)
            if j == 0:
                at.set_ylabel("apparent size, pixels")
                at.set_yticks(range(len(across)), across)
            if i == len(MEASURES) - 1:
                at.set_xlabel("distance, m")
                at.set_xticks(range(len(near)), near, rotation=60, ha="right", rotation_mode="anchor")
        figure.colorbar(drawn, ax=axes[i], label=f"{label}, %")
    figure.suptitle(figures["source"], fontsize=10)
    return figure


def _confusion(plt: Any, figures: dict[str, Any]) -> Any:
    """Rows: true classes with enough objects, in % of them; columns: what they were taken for."""
    counts = np.array(figures["confusion"], float)
    rows = np.flatnonzero(counts.sum(1) >= figures["enough"])
    columns = np.flatnonzero(counts.sum(0) > 0)
    names = [n.replace("_", " ") for n in figures["classes"]]
    share = 100 * counts[rows][:, columns] / np.maximum(counts[rows].sum(1, keepdims=True), 1)
    figure, at = plt.subplots(figsize=(0.25 * max(len(columns), 4) + 2.2, 0.26 * max(len(rows), 3) + 1.8), layout="constrained")
    at.grid(False)
    if share.size:
        figure.colorbar(at.imshow(share, vmin=0, vmax=100, cmap="Blues", aspect="auto"), ax=at, label="% of the class", fraction=0.04, pad=0.01)
    at.set_xticks(range(len(columns)), [names[k] for k in columns], rotation=60, ha="right", rotation_mode="anchor", fontsize=7)
    at.set_yticks(range(len(rows)), [names[k] for k in rows], fontsize=7)
    at.set_xlabel("taken for")
    at.set_title(f"{figures['source']}: {int(counts.sum()):,} objects", fontsize=9)
    return figure


def _short(name: str) -> str:
    """10 to 20 m -> 10-20, over 90 m -> >90: the unit stands on the axis."""
    parts = name.split()
    if parts[0] == "over":
        return f">{parts[1]}"
    return f"{parts[0]}-{parts[2]}" if len(parts) > 2 and parts[1] == "to" else name


def _saved(figure: Any) -> Drawing:
    svg, png = io.BytesIO(), io.BytesIO()
    figure.savefig(svg, format="svg", metadata={"Date": None})
    figure.savefig(png, format="png", dpi=DPI, metadata={"Software": "flaneur"})
    return svg.getvalue(), png.getvalue()
