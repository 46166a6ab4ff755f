"""Cities that an evidence source is trained, fitted or judged on, ready to be rendered."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from flaneur.cli.evaluate import choose_device
from flaneur.errors import UserError

if TYPE_CHECKING:
    from flaneur.sim import Simulator


def open_cities(folder: Path, split: str | None, usual: str, limit: int | None, image: int, device: str, light: str | None = None) -> Simulator:
    """Scenes of a data set's split (`usual` when none is named), of a folder of scenes, or one scene."""
    from flaneur.city.scene import Scene
    from flaneur.evaluation.setup import scene_folders
    from flaneur.geometry import Camera
    from flaneur.sim import Simulator

    dataset = is_dataset(folder)
    if split and not dataset:
        raise UserError(f"--split {split}: {folder} has no splits (dataset.json is missing); leave --split out, or build a data set")
    if image < 8 or (limit is not None and limit < 1):
        raise UserError(f"--image {image}, --limit {limit}: at least 8 pixels and 1 scene are needed")
    found = scene_folders(folder, split or (usual if dataset else None))[:limit]
    return Simulator([Scene.load(p) for p in found], Camera.from_fov(image, image), choose_device(device), light=light)


def is_dataset(folder: Path) -> bool:
    return (folder / "dataset.json").is_file()


def names_of(sim: Simulator) -> list[str]:
    return [scene.name for scene in sim.scenes]


def check_target(path: Path) -> None:
    """Refuse a file that cannot be written before hours are spent on what goes into it."""
    if path.is_dir():
        raise UserError(f"--out {path}: is a folder; give a file")
    path.parent.mkdir(parents=True, exist_ok=True)
    if not os.access(path.parent, os.W_OK):
        raise UserError(f"--out {path}: its folder may not be written; give another")
