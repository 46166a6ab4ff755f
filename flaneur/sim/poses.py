"""Poses to begin at, to sample and to sweep: all of them free."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from flaneur.errors import UserError

if TYPE_CHECKING:
    from flaneur.sim.simulator import Simulator

ROUNDS = 64
STREET, OPEN = ("road", "pavement"), ("terrain",)
START_HEIGHT = (1.5, 2.5)  # metres above the surface
START_STREAM = 0x51A7  # keeps starts apart from whatever else is drawn from a scene's seed


def _draw(generator: np.random.Generator | torch.Generator, rows: int, columns: int) -> np.ndarray:
    """Uniform [rows, columns] f32 in [0, 1)."""
    if isinstance(generator, torch.Generator):
        return torch.rand((rows, columns), generator=generator, device=generator.device).cpu().numpy()
    return generator.random((rows, columns), np.float32)


def sample_free(sim: Simulator, generator: np.random.Generator | torch.Generator, n: int, scene: int, z: tuple[float, float], clearance: float, street: bool = False) -> Tensor:
    """Free poses [n, 6], uniform over the window and height (above the surface where `street`), yaw uniform, level.

    Real places may come without streets (UrbanBIS calls them terrain): there the terrain is the street.
    """
    size, found, count = sim.scenes[scene].size, [], 0
    classes = sim.scenes[scene].classes
    present = set(np.unique(sim.scenes[scene].class_id).tolist())
    names = STREET if present & {classes.index[c] for c in STREET} else OPEN
    street_ids = torch.tensor([classes.index[c] for c in names], device=sim.device, dtype=torch.uint8)
    for _ in range(ROUNDS):
        u = torch.from_numpy(_draw(generator, max(4 * n, 64), 4)).to(sim.device)
        poses = torch.zeros((len(u), 6), device=sim.device)
        poses[:, :2] = u[:, :2] * size
        poses[:, 2] = z[0] + u[:, 2] * (z[1] - z[0])
        poses[:, 5] = u[:, 3] * 2 * math.pi
        index = torch.full((len(u),), scene, dtype=torch.int32, device=sim.device)
        keep = torch.ones(len(u), dtype=torch.bool, device=sim.device)
        if street:
            above = torch.cat([poses[:, :2], torch.full_like(poses[:, :1], sim.high)], 1)
            depth, label = sim.cast(above, torch.tensor([0.0, 0.0, -1.0], device=sim.device).expand(len(u), 3), index)
            poses[:, 2] += sim.high - depth
            keep &= torch.isin(label, street_ids)
        keep &= sim.clear(poses[:, :3], clearance, index)
        found.append(poses[keep])
        count += int(keep.sum())
        if count >= n:
            return torch.cat(found)[:n]
    where = f"over {' and '.join(names)}" if street else f"between z = {z[0]} and {z[1]} m"
    raise UserError(f"scene '{sim.scenes[scene].name}': found {count} of {n} free poses {where} with clearance {clearance} m; lower the clearance")


def start_poses(sim: Simulator, scene: int, n: int, clearance: float) -> Tensor:
    """The n start poses [n, 6] of a scene, a function of its seed: at eye level over a road or pavement."""
    generator = np.random.default_rng([sim.scenes[scene].seed, START_STREAM])
    return sample_free(sim, generator, n, scene, START_HEIGHT, clearance, street=True)


def pose_lattice(
    sim: Simulator,
    scene: int,
    spacing: float,  # metres between positions
    altitudes: tuple[float, ...],  # metres
    headings: int,  # evenly spaced from east
    pitches: tuple[float, ...],  # degrees
    clearance: float,
    batch: int = 64,  # poses at a time
) -> Iterator[Tensor]:
    """Every legal pose of a regular lattice, in batches [<= batch, 6] f32."""
    size = sim.scenes[scene].size
    count = max(int(size / spacing), 1)
    line = (torch.arange(count, device=sim.device, dtype=torch.float32) + 0.5) * (size / count)
    turns = torch.arange(headings, device=sim.device) * (2 * math.pi / headings)
    tilts = torch.tensor([math.radians(p) for p in pitches], device=sim.device)
    waiting = torch.zeros((0, 6), device=sim.device)
    for z in altitudes:
        y, x = torch.meshgrid(line, line, indexing="ij")
        points = torch.stack([x.reshape(-1), y.reshape(-1), torch.full((count * count,), float(z), device=sim.device)], -1)
        index = torch.full((len(points),), scene, dtype=torch.int32, device=sim.device)
        points = points[sim.clear(points, clearance, index)]
        views = torch.cartesian_prod(tilts, turns).reshape(-1, 2)
        poses = torch.zeros((len(points), len(views), 6), device=sim.device)
        poses[..., :3] = points[:, None]
        poses[..., 4:] = views[None]
        waiting = torch.cat([waiting, poses.reshape(-1, 6)])
        while len(waiting) >= batch:
            yield waiting[:batch]
            waiting = waiting[batch:]
    if len(waiting):
        yield waiting
