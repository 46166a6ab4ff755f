"""Statistics of a data set, of loose scenes, or of the smoke scenes, in the form of the dataset's own card."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from flaneur.city.dataset.card import dataset_statistics
from flaneur.city.dataset.index import load_index
from flaneur.city.dataset.statistics import scene_statistics, summary
from flaneur.city.scene import Scene
from flaneur.evaluation.box_city import box_city
from flaneur.evaluation.setup import scene_folders


def folder_statistics(folder: Path) -> tuple[str, dict[str, Any]]:
    """Name and statistics."""
    folder = Path(folder)
    if (folder / "dataset.json").is_file():
        return load_index(folder).name, dataset_statistics(folder)
    return folder.name, _loose((p.name, Scene.load(p)) for p in scene_folders(folder))


def smoke_statistics() -> dict[str, Any]:
    return _loose((f"boxes-{s}", box_city(s)) for s in (0, 1))


def _loose(scenes: Iterable[tuple[str, Scene]]) -> dict[str, Any]:
    return summary({"statistics": scene_statistics(s), "place_type": s.place_type, "split": "none", "light": s.light, "place": name} for name, s in scenes)
