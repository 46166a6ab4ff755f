"""The paper's dataset comparison (its Table 1): the rows as printed there, ours computed."""

from __future__ import annotations

from typing import Any

COLUMNS = ("Dataset", "Type", "Platform", "Scenes", "Scale", "Object volume (m3)", "Avg. objects/scene", "Obj.-level ann.")
PRINTED = (
    ("OpenFly", "VLN", "UE4", "21", "-", "10 - 100k", "-", "no"),
    ("EmbodiedCity", "VLN", "UE5", "1", "City", "2 - 100k", "-", "no"),
    ("UrbanScene 3D", "Map", "UE4", "16", "City", "10 - 100k", "865.0", "no"),
    ("GLEAM", "Map", "Habitat", "1152", "House", "0.2 - 5.0", "-", "no"),
    ("MP3D", "Sem-Map", "Habitat", "90", "House", "0.2 - 5.0", "564.6", "yes"),
    ("EmbodiedScan", "Sem-Map", "Habitat", "5185", "House", "0.2 - 5.0", "30.9", "yes"),
    ("The paper's", "Sem-Map", "Isaac Sim", "80", "City", "0.01 - 208.47k", "9323.6", "yes"),
)


def volume(m3: float | None) -> str:
    """0.0123 -> 0.01, 208470 -> 208.47k, 2540205 -> 2.54M."""
    if m3 is None:
        return "-"
    if m3 >= 1e6:
        return f"{m3 / 1e6:.2f}M"
    return f"{m3 / 1e3:.2f}k" if m3 >= 1e3 else f"{m3:.2f}"


def comparison(name: str, summary: dict[str, Any]) -> str:
    """A Markdown table with our dataset in the last row, computed from `statistics.summary`."""
    span = f"{volume(summary['smallest_m3'])} - {volume(summary['largest_m3'])}"
    ours = (f"**{name}** (computed)", "Sem-Map", "Flaneur, Isaac Sim, Newton", str(summary["scenes"]), "City", span, f"{summary['mean_objects']:.1f}", "yes")
    return markdown(COLUMNS, [*PRINTED, ours])


def markdown(columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"
