"""A small task on the made-up city: scene, truth and configuration, made once per test session."""

from __future__ import annotations

from functools import lru_cache

from scenes import tiny_scene

from flaneur.env import EnvConfig, SemanticEnv
from flaneur.geometry import Camera
from flaneur.perception import Oracle
from flaneur.scoring import Lattice, compute_truth

CAMERA = Camera.from_fov(64, 64)
LATTICE = Lattice(spacing=40.0, altitudes=(2.0, 20.0, 60.0), headings=4, pitches=(0.0, -60.0), coarsen=1)


@lru_cache(maxsize=4)
def scene_and_truth(seed: int = 0, device: str = "cpu"):
    scene = tiny_scene(seed)
    return scene, compute_truth(scene, CAMERA, lattice=LATTICE, device=device)


def small_env(num_envs: int = 1, seeds: tuple[int, ...] = (0,), source=None, seed: int = 0, device: str = "cpu", **config) -> SemanticEnv:
    pairs = [scene_and_truth(s, device) for s in seeds]
    scenes, truths = [p[0] for p in pairs], [p[1] for p in pairs]
    return SemanticEnv(scenes, truths, source or Oracle(scenes[0].classes), EnvConfig(num_envs=num_envs, camera=CAMERA, **config), device, seed)
