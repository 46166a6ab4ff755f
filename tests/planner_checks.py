"""What every rule-based rival must pass, and reference walks through the grid in NumPy."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import torch
from worlds import make_env

from flaneur.geometry import rotation_from_angles


def explored_env(steps: int = 6, num_envs: int = 1, **changes):
    """The tiny task after a few steps of turning on the spot, so that there is something on the map."""
    env = make_env(num_envs, episode=200, reward="ccr", **changes)
    env.reset([0] * num_envs, [k % 3 for k in range(num_envs)])
    for _ in range(steps):
        goal = torch.cat([env.poses[:, :3], env.poses[:, 5:] + 1.0, env.poses[:, 4:5]], 1)
        goal[:, 2] = 12.0
        env.step(goal)
    return env


def fly(env, planner, steps: int) -> np.ndarray:
    """Goals [steps, B, 5] of an episode; each is finite and inside the flight volume."""
    planner.reset(list(range(env.num_envs)))
    goals = []
    for _ in range(steps):
        context = env.context()
        goal, beta = planner.plan(context)
        assert beta is None and goal.shape == (env.num_envs, 5) and torch.isfinite(goal).all()
        assert (goal[:, :2] >= 0).all() and (goal[:, :2] <= context.grid.size).all()
        assert (goal[:, 2] >= context.flight[0]).all() and (goal[:, 2] <= context.flight[1]).all()
        goals.append(goal.clone())
        env.step(goal)
    return torch.stack(goals).numpy()


def assert_reads_no_truth(make) -> None:
    """Garbage in the environment's ground truth, its scenes and its simulator changes no goal."""
    runs = []
    for poison in (False, True):
        env = explored_env(num_envs=2)
        planner = make()
        goals = []
        for _ in range(6):
            context = env.context()
            kept = env.target, env.scenes, env.sim, env._labels, env._scored
            if poison:
                env.target = dataclasses.replace(env.target, labels=torch.full_like(env.target.labels, 7), scored=~env.target.scored)
                env._labels, env._scored = torch.full_like(env._labels, 3), ~env._scored
                env.scenes, env.sim = None, None
            goal, _ = planner.plan(context)
            env.target, env.scenes, env.sim, env._labels, env._scored = kept
            goals.append(goal.clone())
            env.step(goal)
        runs.append(torch.stack(goals))
    assert torch.equal(*runs)


def assert_held(goals: np.ndarray) -> None:
    """Goals change now and then, not at every step."""
    changes = (np.abs(np.diff(goals, axis=0)).max(-1) > 1e-6).mean()
    assert 0 < changes < 0.9


def crossed_voxels(context, view: np.ndarray, ray: np.ndarray) -> list[tuple[int, int, int]]:
    """Voxels (z, y, x) along a ray over flat ground, in order: by the middles between all crossings of grid planes, in float64."""
    grid, end = context.grid, context.camera.max_range
    direction = np.asarray(rotation_from_angles(view[3:].astype(np.float64))) @ ray.astype(np.float64)
    origin = view[:3].astype(np.float64)
    planes = [np.arange(grid.cells + 1) * grid.cell] * 2 + [np.array(grid.height_edges)]
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.concatenate([(p - o) / d for p, o, d in zip(planes, origin, direction, strict=True)])
    t = np.unique(np.concatenate([[0.0, end], t[np.isfinite(t) & (t > 0) & (t < end)]]))
    out = []
    for a, b in itertools.pairwise(t):
        p = origin + direction * (a + b) / 2
        x, y = np.floor(p[:2] / grid.cell).astype(int)
        z = int(np.searchsorted(grid.height_edges, p[2], side="right")) - 1
        if not (0 <= x < grid.cells and 0 <= y < grid.cells and 0 <= z < grid.bins):
            break
        out.append((z, int(y), int(x)))
    return out


def random_views(count: int, seed: int, size: float = 200.0) -> torch.Tensor:
    """[1, count, 6] poses at odd places, so that no ray runs along an edge of the grid."""
    rng = np.random.default_rng(seed)
    place = np.stack([rng.uniform(5, size - 5, count), rng.uniform(5, size - 5, count), rng.uniform(2, 60, count)], -1)
    angles = np.stack([np.zeros(count), rng.uniform(-1.0, 0.3, count), rng.uniform(0, 6.28, count)], -1)
    return torch.from_numpy(np.concatenate([place, angles], -1)[None]).float()
