"""The paper's statistics figure: a word cloud of fine names and the histogram of classes, as PNG and SVG."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from flaneur.city.export.files import replacing
from flaneur.classes import SCALE_GROUPS, load_classes

WORDS = 120
INK = {"small": "#c0392b", "medium": "#1f6f8b", "large": "#3d3d3d"}
DPI = 150
GROWTH = 0.85 ** np.arange(16) * 4.0  # scales of the words, tried from the largest


def write_figure(summary: dict[str, Any], path: Path) -> list[Path]:
    """Write `path` as .png and .svg from `statistics.summary`; returns both paths."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    path = Path(path)
    # The salt makes the ids inside the SVG the same on every run.
    with plt.rc_context({"svg.hashsalt": "flaneur", "svg.fonttype": "path", "font.family": "DejaVu Sans"}):
        figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5.2), gridspec_kw={"width_ratios": (1.15, 1)})
        _cloud(left, summary)
        _histogram(right, summary)
        figure.tight_layout()
        written = []
        for suffix, extra in ((".png", {"Software": "flaneur"}), (".svg", {"Date": None})):
            with replacing(path.with_suffix(suffix)) as target:
                figure.savefig(target, dpi=DPI, metadata=extra)
            written.append(path.with_suffix(suffix))
        plt.close(figure)
    return written


def place_words(sizes: np.ndarray, width: float, height: float, seed: int = 0) -> np.ndarray:
    """Centres [n, 2] of word boxes [n, 2] inside width x height, largest first along a spiral; NaN from the first that finds no room."""
    rng = np.random.default_rng(seed)
    # An elliptic spiral with steps of equal length: near places first, and the cloud takes the frame's shape.
    turns = np.sqrt(np.arange(3000)) * 0.5
    spiral = np.stack([np.cos(turns * 4) * width, np.sin(turns * 4) * height], 1) * (turns / turns[-1])[:, None] * 0.55
    out = np.full((len(sizes), 2), np.nan)
    taken = np.zeros((0, 4))
    for k, size in enumerate(sizes):
        half = size / 2
        at = spiral + rng.normal(0, 0.01, 2) * (width, height) + (width / 2, height / 2)
        fits = ((at - half >= 0) & (at + half <= (width, height))).all(1)
        if len(taken):
            apart = (np.abs(at[:, None, 0] - taken[None, :, 0]) >= half[0] + taken[None, :, 2]) | (np.abs(at[:, None, 1] - taken[None, :, 1]) >= half[1] + taken[None, :, 3])
            fits &= apart.all(1)
        if not fits.any():
            break
        out[k] = at[np.argmax(fits)]
        taken = np.concatenate([taken, [[*out[k], *half]]])
    return out


def _cloud(axes: Any, summary: dict[str, Any]) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.textpath import TextPath
    from matplotlib.transforms import Affine2D

    words = list(summary["fine_names"].items())[:WORDS]
    axes.set_axis_off()
    axes.set_aspect("equal")
    axes.set_title(f"{len(summary['fine_names'])} fine names of {summary['objects']:,} objects", fontsize=11)
    if not words:
        return
    width, height = 150.0, 105.0
    most = words[0][1]
    # Sizes follow the root of the counts, as areas then follow the counts; all grow until the frame is full.
    drawn = [TextPath((0, 0), word.replace("_", " "), size=2.2 + 8.0 * math.sqrt(count / most)) for word, count in words]
    paths: list[Any] = []
    places = np.zeros((0, 2))
    for scale in GROWTH:
        paths = [(p, p.get_extents()) for p in (path.transformed(Affine2D().scale(scale)) for path in drawn)]
        places = place_words(np.array([(box.width + 1.0, box.height + 1.2) for _, box in paths]), width, height)
        if np.isfinite(places).all():
            break
    for (path, box), at, color in zip(paths, places, _inks(len(words)), strict=True):
        if np.isfinite(at).all():
            move = Affine2D().translate(at[0] - (box.x0 + box.x1) / 2, at[1] - (box.y0 + box.y1) / 2)
            axes.add_patch(PathPatch(path.transformed(move), color=color, lw=0))
    axes.set_xlim(0, width)
    axes.set_ylim(0, height)


def _inks(n: int) -> list[tuple[float, ...]]:
    """Colours from dark to light that stay readable on white, scattered so that neighbours differ."""
    import matplotlib

    shades = matplotlib.colormaps["viridis"](np.linspace(0.0, 0.75, 7))
    return [tuple(shades[(k * 3) % 7]) for k in range(n)]


def _histogram(axes: Any, summary: dict[str, Any]) -> None:
    classes = load_classes()
    counts = summary["classes"]
    names = sorted(counts, key=lambda n: (SCALE_GROUPS.index(classes[n].group), -counts[n]))
    y = np.arange(len(names))[::-1]
    axes.barh(y, [counts[n] for n in names], color=[INK[classes[n].group] for n in names], height=0.75)
    axes.set_yticks(y, [n.replace("_", " ") for n in names], fontsize=8)
    axes.set_xscale("log")
    axes.set_xlim(0.7, max(counts.values(), default=1) * 6)
    for at, n in zip(y, names, strict=True):
        axes.text(counts[n] * 1.12, at, f"{counts[n]:,} ({100 * counts[n] / summary['objects']:.2g} %)", va="center", fontsize=7)
    axes.set_xlabel("objects (log scale)")
    axes.set_title("objects by class", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    from matplotlib.patches import Patch

    key = [Patch(color=INK[g], label=f"{g} ({summary['groups'].get(g, 0):,})") for g in SCALE_GROUPS]
    axes.legend(handles=key, fontsize=8, loc="upper center", bbox_to_anchor=(0.45, -0.1), ncols=3, frameon=False)
