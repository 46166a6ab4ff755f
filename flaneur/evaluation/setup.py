"""From a data set on disk to environments: scenes of a split, their truths, the evidence source, the task."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from flaneur.city.scene import Scene
from flaneur.configuration import to_values
from flaneur.env.config import EnvConfig
from flaneur.env.semantic import SemanticEnv
from flaneur.errors import UserError
from flaneur.geometry import Camera
from flaneur.perception import EvidenceSource
from flaneur.perception.sources import make_source
from flaneur.scoring import CPU_LATTICE, Lattice, Merge, load_truth
from flaneur.scoring.truth import Truth

# Dense takes a minute and more a scene on the fastest card, medium a few seconds; the coarsest is for invented scenes in tests.
MEDIUM_LATTICE = Lattice(spacing=10.0, altitudes=(1.6, 4.0, 8.0, 16.0, 30.0, 50.0, 80.0), headings=4, pitches=(0.0, -60.0), coarsen=2)
LATTICES = {"dense": Lattice(), "medium": MEDIUM_LATTICE, "cpu": CPU_LATTICE, "smoke": Lattice(spacing=30.0, altitudes=(2.0, 12.0, 40.0), headings=4, pitches=(0.0, -60.0))}


@dataclass(frozen=True)
class TaskConfig:
    """What has to be equal for two results to be comparable."""

    image: int = 256  # pixels a side; the demo uses 128
    episode_length: int = 384
    cells: int = 256
    lattice: Literal["dense", "medium", "cpu", "smoke"] = "dense"  # poses that decide which cells are scored
    reward: Literal["iou", "ccr", "balanced"] = "balanced"
    map: Literal["default", "paper"] = "default"
    evidence: str = "twin"  # see flaneur.perception.sources
    starts: int = 3
    max_range: float = 150.0

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(json.dumps(to_values(self), sort_keys=True).encode()).hexdigest()[:16]


@dataclass
class World:
    """Scenes with their truths, in the order of their names."""

    names: list[str]
    scenes: list[Scene]
    truths: list[Truth]
    dataset: str  # checksum over the scenes' checksums
    task: TaskConfig
    device: str = "cpu"
    merge: Merge | None = None  # scores for data with coarser classes
    _source: EvidenceSource | None = field(default=None, repr=False)
    _kept: SemanticEnv | None = field(default=None, repr=False)  # of `evaluation_env`

    def __getstate__(self) -> dict[str, Any]:
        """For other processes, without what lies on a device: they make their own source and environment."""
        return self.__dict__ | {"_source": None, "_kept": None}

    @property
    def source(self) -> EvidenceSource:
        if self._source is None:
            self._source = make_source(self.task.evidence, self.scenes[0].classes, self.device)
        return self._source

    def env(self, num_envs: int, seed: int = 0, step_metrics: bool = False, cell_credit: int = 0, final_scores: bool = True) -> SemanticEnv:
        config = replace(env_config(self.task, num_envs, step_metrics, cell_credit), final_scores=final_scores)
        return SemanticEnv(self.scenes, self.truths, self.source, config, self.device, seed, self.merge)

    def evaluation_env(self, num_envs: int, seed: int = 0, step_metrics: bool = False) -> SemanticEnv:
        """One environment for method after method: what fills a device is its cities, and its step need be recorded only once."""
        if self._kept is None or self._kept.num_envs != num_envs or self._kept.config.step_metrics != step_metrics or self._kept.merge is not self.merge:
            self._kept = None  # gone before the next is made
            self._kept = self.env(num_envs, seed, step_metrics)
        self._kept.seed(seed)
        return self._kept


def with_evidence(world: World, evidence: str) -> World:
    """The same scenes and truths, seen through another source."""
    return replace(world, task=replace(world.task, evidence=evidence), _source=None, _kept=None)


def env_config(task: TaskConfig, num_envs: int, step_metrics: bool = False, cell_credit: int = 0) -> EnvConfig:
    from flaneur.geometry import Grid
    from flaneur.mapping.config import PAPER, MapConfig

    return EnvConfig(
        num_envs=num_envs, episode_length=task.episode_length, camera=camera_of(task), grid=Grid(cells=task.cells), map=PAPER if task.map == "paper" else MapConfig(),
        reward=task.reward, starts=task.starts, step_metrics=step_metrics, cell_credit=cell_credit, final_observation=False,
    )  # fmt: skip


def camera_of(task: TaskConfig) -> Camera:
    return Camera.from_fov(task.image, task.image, 90.0, task.max_range)


def load_world(folder: Path, task: TaskConfig, split: str | None = None, limit: int | None = None, device: str = "cpu", tick: Callable[[int, int, str], None] | None = None) -> World:
    """Scenes of a data set (or one scene folder, or a folder of scenes) with their truths, computed where absent."""
    folders = scene_folders(Path(folder), split)[:limit]
    lattice = LATTICES[task.lattice]
    config = env_config(task, 1)
    scenes, truths, checksums = [], [], []
    for i, path in enumerate(folders):
        if tick:
            tick(i, len(folders), path.name)
        scene = Scene.load(path)
        checksums.append(json.loads((path / "scene.json").read_text("utf-8"))["checksum"])
        scenes.append(scene)
        truths.append(load_truth(path, scene, config.camera, config.grid, lattice, device))
    digest = hashlib.sha256("".join(checksums).encode()).hexdigest()[:16]
    return World([p.name for p in folders], scenes, truths, digest, task, device)


def scene_folders(folder: Path, split: str | None = None) -> list[Path]:
    """Scene folders below `folder`; with a dataset index only those of the split."""
    if (folder / "scene.json").is_file():
        return [folder]
    index = folder / "dataset.json"
    if index.is_file():
        from flaneur.city.dataset.index import load_index

        records = [r for r in load_index(folder).scenes if split is None or r.split == split]
        found = [folder / r.path for r in records]
    else:
        found = sorted(p.parent for p in folder.glob("*/scene.json"))
    if not found:
        wanted = f" of split '{split}'" if split else ""
        raise UserError(f"{folder}: no scenes{wanted} here; build some with flaneur city build or flaneur dataset build")
    return found
