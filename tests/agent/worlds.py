"""A tiny task on the made-up city, small enough to train on in seconds."""

from functools import lru_cache

from scenes import tiny_scene

from flaneur.agent.training import TrainConfig
from flaneur.env.config import EnvConfig
from flaneur.env.semantic import SemanticEnv
from flaneur.geometry import Camera, Grid
from flaneur.perception import Twin
from flaneur.scoring import Lattice, compute_truth

CAMERA = Camera.from_fov(32, 32)
GRID = Grid(cells=64)
LATTICE = Lattice(spacing=25.0, altitudes=(2.0, 12.0, 40.0), headings=4, clearance=0.3)


@lru_cache
def world(seeds: tuple[int, ...] = (0,)):
    scenes = [tiny_scene(s) for s in seeds]
    return scenes, [compute_truth(s, CAMERA, GRID, LATTICE) for s in scenes]


def make_env(num_envs: int = 2, episode: int = 12, seed: int = 0, seeds: tuple[int, ...] = (0,), **changes) -> SemanticEnv:
    scenes, truths = world(seeds)
    config = EnvConfig(num_envs=num_envs, episode_length=episode, camera=CAMERA, grid=GRID, history=6, final_observation=False, **({"cell_credit": 8} | changes))
    return SemanticEnv(scenes, truths, Twin.named("easy", scenes[0].classes), config, seed=seed)


def tiny_training(**changes) -> TrainConfig:
    values = {"steps": 64, "num_envs": 2, "rollout": 8, "latent": 32, "widths": (8, 8, 16), "grid": 8, "validate_every": 2, "checkpoint_every": 0.0, "deterministic": True}
    return TrainConfig(**(values | changes))
