"""The golden fixture: 20 steps of a small map in float64, for every package's tests. `python tests/golden_fixture.py` writes it.

Two presets share frames and evidence: `default` (beta per group) and `paper` (beta per class).
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from flaneur.classes import ClassList, load_classes
from flaneur.geometry import Camera, Grid, camera_to_world
from flaneur.mapping import PAPER, MapConfig, calibration_index

PATH = Path(__file__).parent / "golden" / "fusion.npz"
STEPS = 20
GRID = Grid(size=12.5, cells=16, height_edges=(-0.5, 0.15, 0.5, 1.0, 2.0, 4.0, 8.0))
CAMERA = Camera.from_fov(32, 32, max_range=30.0)
PATCHES = 8
LOGIT_SCALE = 40.0
PRESETS = {"default": MapConfig(), "paper": PAPER}


def golden_classes() -> ClassList:
    names = ("person", "car", "building", "road", "terrain", "sky")
    return ClassList(tuple(replace(load_classes()[n], id=i) for i, n in enumerate(names)))


def reference_map(preset: str, class_mean: np.ndarray):
    from fusion_reference import ReferenceMap

    config, classes = PRESETS[preset], golden_classes()
    return ReferenceMap(
        len(classes), GRID.size, GRID.cells, GRID.height_edges, sky=classes.sky, channel=calibration_index(classes, config.calibrate),
        logit_scale=config.logit_scale or LOGIT_SCALE, centred=config.centred, projection=config.projection, bound=config.bound,
        class_mean=class_mean if config.centred else None,
    )  # fmt: skip


def reference_score(labels: np.ndarray, truth: np.ndarray, scored: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Strict IoU per scale group [3]; 0 where the group is absent."""
    member = np.append(groups.clip(max=3), [4] * (256 - len(groups)))
    true, mapped = member[truth][scored], member[labels][scored]
    union = [((true == g) | (mapped == g)).sum() for g in range(3)]
    return np.array([((true == g) & (mapped == g)).sum() / u if u and (true == g).any() else 0.0 for g, u in zip(range(3), union, strict=True)])


def make() -> dict[str, np.ndarray]:
    from fusion_reference import back_project, margin

    rng = np.random.default_rng(20)
    classes = golden_classes()
    n = GRID.cells
    poses = np.stack(
        [rng.uniform(2, 10.5, STEPS), rng.uniform(2, 10.5, STEPS), rng.uniform(1.5, 6, STEPS), np.zeros(STEPS), np.radians(rng.choice([0, -30, -60], STEPS)), rng.uniform(-math.pi, math.pi, STEPS)], 1
    ).astype(np.float32)
    matrix = camera_to_world(poses.astype(np.float64))
    # Smooth random depths, of which those that lie within 2 mm of a voxel boundary are taken out.
    coarse = rng.uniform(1.0, 9.0, (STEPS, 8, 8))
    depth = np.round(np.kron(coarse, np.ones((1, 4, 4))) + rng.uniform(0, 0.5, (STEPS, 32, 32)), 2).astype(np.float32)
    for t in range(STEPS):
        point = back_project(depth[t].astype(np.float64), matrix[t], (CAMERA.fx, CAMERA.fy), (CAMERA.cx, CAMERA.cy))
        depth[t][margin(point, GRID.size, n, GRID.height_edges) < 2e-3] = 0.0
    similarity = np.round(rng.normal(0.15, 0.05, (STEPS, len(classes), PATCHES, PATCHES)), 4).astype(np.float32)
    class_mean = np.round(rng.normal(0.15, 0.02, len(classes)), 4).astype(np.float32)
    truth = rng.integers(0, len(classes) - 1, (n, n)).astype(np.uint8)
    scored = rng.random((n, n)) < 0.8
    out = {"poses": poses, "depth": depth, "similarity": similarity, "class_mean": class_mean, "truth": truth, "scored": scored}
    for preset in PRESETS:
        reference = reference_map(preset, class_mean)
        beta = rng.choice(np.arange(1, 10) * 0.2, (STEPS, int(reference.channel.max()) + 1, 4, 4)).astype(np.float32)
        observations, maps, rewards, score = [], [], [], np.zeros(3)
        for t in range(STEPS):
            reference.accumulate(depth[t], similarity[t], matrix[t], (CAMERA.fx, CAMERA.fy), (CAMERA.cx, CAMERA.cy))
            observations.append(reference.observation_map())
            reference.fuse(beta[t])
            maps.append(reference.probabilities())
            labels = np.where(maps[-1].sum(0) > 0, maps[-1].argmax(0), 255).astype(np.uint8)
            now = reference_score(labels, truth, scored, classes.group_index)
            rewards.append(now - score)
            score = now
        # Computed in float64; kept in float32, which is four digits more than any comparison needs.
        out |= {f"{preset}/beta": beta, f"{preset}/observation_map": np.array(observations, np.float32), f"{preset}/map": np.array(maps, np.float32), f"{preset}/reward": np.array(rewards)}
    return out


def load() -> dict[str, np.ndarray]:
    with np.load(PATH) as archive:
        return {name: archive[name] for name in archive.files}


if __name__ == "__main__":
    PATH.parent.mkdir(exist_ok=True)
    np.savez_compressed(PATH, **make())
