"""Alama et al., "RayFronts: Open-Set Semantic Ray Frontiers for Online Scene Understanding and Exploration", 2025.

Frontiers of the voxel map, grouped; one of the cheapest groups is flown to. Semantics are fused on the way (by the
fusion all methods share) and play no part in the choice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from flaneur.env import Context
from flaneur.mapping import FREE, UNKNOWN
from flaneur.planners.candidates import ClosedPlaces, centre_of, free_places, rows_of, turn_on_the_spot
from flaneur.planners.goals import HeldGoals


@dataclass(frozen=True)
class RayFrontsConfig:
    unobserved: int = 9  # of a frontier voxel's 26 neighbours at least so many are unknown
    empty: int = 4  # and so many free
    radius: float = 4.0  # metres: half the edge of the cubes that frontier voxels are grouped in
    least: int = 5  # frontier voxels of a group
    turning: float = 2.0  # metres that flying backwards costs, halved
    choices: int = 5  # the goal is drawn among so many of the cheapest
    reached: float = 5.0  # metres from the goal
    pitch: float = -30.0  # degrees
    patience: int = 40


def count_around(mask: Tensor) -> Tensor:
    """[B, Z, Hm, Wm] u8: how many of the 26 neighbours are set; outside the grid nothing is."""
    total = mask.to(torch.uint8)
    for axis in (1, 2, 3):
        n = total.shape[axis]
        out = total.clone()
        out.narrow(axis, 1, n - 1).add_(total.narrow(axis, 0, n - 1))
        out.narrow(axis, 0, n - 1).add_(total.narrow(axis, 1, n - 1))
        total = out
    return total - mask.to(torch.uint8)


def frontier_voxels(occupancy: Tensor, unobserved: int = 9, empty: int = 4) -> Tensor:
    """[B, Z, Hm, Wm] bool: free voxels among enough unknown and enough free neighbours."""
    return (occupancy == FREE) & (count_around(occupancy == UNKNOWN) >= unobserved) & (count_around(occupancy == FREE) >= empty)


def cube_of(place: Tensor, radius: float) -> Tensor:
    """[..., 3] i64: the cube that a place [..., 3] metres is grouped in."""
    return (place / (2 * radius)).long()


def group_voxels(frontier: Tensor, place: Tensor, size: float, ceiling: float, radius: float, least: int) -> tuple[Tensor, Tensor]:
    """Voxels [B, N] (flat) that stand for groups, one per cube of the window, and whether there is a group [B, N].

    frontier [B, V] bool, place [n, 3] metres of its n set voxels in order. A group's voxel is the one nearest its mean.
    """
    across, up = math.ceil(size / (2 * radius)), math.ceil(ceiling / (2 * radius)) + 1
    n, batch = across * across * up, len(frontier)
    b, v = frontier.nonzero(as_tuple=True)
    box = cube_of(place, radius)
    key = b * n + (box[:, 2].clamp(0, up - 1) * across + box[:, 1].clamp(max=across - 1)) * across + box[:, 0].clamp(max=across - 1)
    count = torch.zeros(batch * n, device=v.device).index_add_(0, key, torch.ones_like(place[:, 0]))
    mean = torch.zeros(batch * n, 3, device=v.device).index_add_(0, key, place) / count.clamp(min=1)[:, None]
    far = (place - mean[key]).norm(dim=1)
    nearest = torch.full((batch * n,), torch.inf, device=v.device).scatter_reduce(0, key, far, "amin")
    last = frontier.shape[1]
    stands = torch.full((batch * n,), last, device=v.device).scatter_reduce(0, key, torch.where(far == nearest[key], v, last), "amin")
    return stands.clamp(max=last - 1).view(batch, n), (count >= least).view(batch, n)


class RayFronts:
    """A frontier group drawn among the cheapest by way and turn; kept until it is near or its group is used up."""

    name = "rayfronts"

    def __init__(self, config: RayFrontsConfig | None = None, seed: int = 0) -> None:
        self.config = config or RayFrontsConfig()
        self._generator = torch.Generator().manual_seed(seed)
        self._held = HeldGoals(self.config.patience)
        self._closed = ClosedPlaces(remembered=64)

    def reset(self, env_ids: Sequence[int]) -> None:
        self._held.forget(env_ids)
        self._closed.forget(env_ids)

    def still_frontier(self, context: Context, goal: Tensor) -> Tensor:
        """[B] bool: whether the groups of goals [B, 5] still have enough frontier voxels; looks at their surroundings alone.

        A single voxel ceases to be a frontier at the first glance, so a goal stands and falls with its group.
        """
        c, grid, device = self.config, context.grid, goal.device
        at = goal[:, :3].nan_to_num()
        reach = math.ceil(2 * c.radius / grid.cell) + 1
        offset = torch.arange(-reach, reach + 1, device=device)
        x, y = ((at[:, i, None] / grid.cell).long() + offset for i in (0, 1))  # [B, n]
        inside = ((y >= 0) & (y < grid.cells))[:, :, None] & ((x >= 0) & (x < grid.cells))[:, None, :]
        row, x, y = torch.arange(len(goal), device=device)[:, None, None], x.clamp(0, grid.cells - 1), y.clamp(0, grid.cells - 1)
        patch = context.occupancy[row, :, y[:, :, None], x[:, None, :]].movedim(-1, 1)  # [B, Z, n, n]
        frontier = frontier_voxels(torch.where(inside[:, None], patch, 255), c.unobserved, c.empty)
        bin_ = torch.arange(grid.bins, device=device)[None, :, None, None]
        place = centre_of(context, row[..., None], (bin_ * grid.cells + y[:, None, :, None]) * grid.cells + x[:, None, None, :])
        same = (cube_of(place, c.radius) == cube_of(at, c.radius)[:, None, None, None]).all(-1)
        return (frontier & same).flatten(1).sum(1) >= c.least

    def plan(self, context: Context) -> tuple[Tensor, Tensor | None]:
        goal, _ = self._held.ready(context)
        near = (goal[:, :3] - context.poses[:, :3]).norm(dim=1) < self.config.reached
        # What a visit left is not resolved by another; without this two such groups are flown to in turn for ever.
        self._closed.note(goal, context.blocked | near)
        open_ = self._held.open(context) | near | ~self.still_frontier(context, goal)
        fresh = self.choose(context, open_) if open_.any() else goal
        return self._held.take(context, fresh, open_), None

    def choose(self, context: Context, active: Tensor) -> Tensor:
        """New goals [B, 5] for the environments `active` [B]."""
        c, poses = self.config, context.poses
        frontier = (frontier_voxels(context.occupancy, c.unobserved, c.empty) & free_places(context)).flatten(1)
        frontier &= active[:, None]
        place = centre_of(context, *frontier.nonzero(as_tuple=True))
        voxel, some = group_voxels(frontier, place, context.grid.size, context.flight[1], c.radius, c.least)
        place = centre_of(context, rows_of(voxel), voxel)
        way = place - poses[:, None, :3]
        distance = way.norm(dim=-1)
        yaw = torch.atan2(way[..., 1], way[..., 0])
        cost = distance + c.turning * (1 - torch.cos(yaw - poses[:, None, 5]))
        # What is nearer than a reached goal would be dropped at once.
        cost = torch.where(some & (distance >= c.reached) & ~self._closed.near(place), cost, torch.inf)
        lowest, index = cost.topk(min(c.choices, cost.shape[1]), largest=False)
        choices = torch.isfinite(lowest).sum(1)
        draw = (torch.rand(len(poses), generator=self._generator).to(poses.device) * choices).long()
        picked = index.gather(1, draw[:, None])
        pitch = torch.full_like(poses[:, :1], math.radians(c.pitch))
        fresh = torch.cat([place.gather(1, picked[..., None].expand(-1, -1, 3))[:, 0], yaw.gather(1, picked), pitch], 1)
        return torch.where((choices > 0)[:, None], fresh, turn_on_the_spot(context, c.pitch))
