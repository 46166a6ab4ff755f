"""The worlds of `--budget smoke`: invented box cities, 32 px images, ten steps. They test the code, not the methods."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from flaneur.evaluation.box_city import box_city
from flaneur.evaluation.setup import LATTICES, TaskConfig, World, env_config
from flaneur.scoring import compute_truth

TASK = TaskConfig(image=32, episode_length=10, cells=64, lattice="smoke", evidence="twin:easy", starts=2)
SMOKE_DATA = "smoke-"  # how the checksum of an invented data set begins
TEST_SEEDS, TRAIN_SEEDS = (0, 1), (2,)


@lru_cache
def smoke_world(seeds: tuple[int, ...] = TEST_SEEDS) -> World:
    scenes = [box_city(s) for s in seeds]
    config = env_config(TASK, 1)
    truths = [compute_truth(s, config.camera, config.grid, LATTICES[TASK.lattice]) for s in scenes]
    return World([s.name for s in scenes], scenes, truths, SMOKE_DATA + "-".join(map(str, seeds)), TASK)


def training_world() -> World:
    """Another city, and one start."""
    world = smoke_world(TRAIN_SEEDS)
    return replace(world, task=replace(TASK, starts=1))
