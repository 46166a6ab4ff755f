"""Where a rival may want to go: free voxels that can be reached, poses drawn from them, and places that are done with."""

# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false, reportOperatorIssue=false, reportCallIssue=false, reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false, reportAssignmentType=false, reportReturnType=false

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import warp as wp
from torch import Tensor

from flaneur.env import Context
from flaneur.mapping import FREE, OCCUPIED
from flaneur.planners.rays import launch

wp.set_module_options({"enable_backward": False})  # nothing here is differentiated

ROUNDS = 4  # of sweeps: a place more than a dozen bends away counts as out of reach


@wp.kernel
def sweep(
    axis: int,
    occupancy: wp.array4d(dtype=wp.uint8),  # [B, Z, Hm, Wm]
    reached: wp.array4d(dtype=wp.uint8),  # [B, Z, Hm, Wm]
):
    """Carries `reached` along every line of one axis, there and back, until matter stops it."""
    b, i, j = wp.tid()
    n = occupancy.shape[1 + axis]
    for way in range(2):
        flow = wp.uint8(0)
        for k in range(n):
            m = k
            if way == 1:
                m = n - 1 - k
            z = m
            y = i
            x = j
            if axis == 1:
                z = i
                y = m
            if axis == 2:
                z = i
                y = j
                x = m
            if reached[b, z, y, x] != wp.uint8(0):
                flow = wp.uint8(1)
            elif occupancy[b, z, y, x] == wp.uint8(2):
                flow = wp.uint8(0)
            elif flow != wp.uint8(0):
                reached[b, z, y, x] = wp.uint8(1)


def reachable(occupancy: Tensor, start: Tensor, rounds: int = ROUNDS) -> Tensor:
    """[B, Z, Hm, Wm] bool: voxels joined to the voxel `start` [B, 3] = z, y, x by faces of voxels not known to be occupied."""
    occupancy = occupancy.contiguous()
    b, z, h, w = occupancy.shape
    reached = torch.zeros_like(occupancy)
    reached[torch.arange(b, device=start.device), start[:, 0], start[:, 1], start[:, 2]] = 1
    for _ in range(rounds):
        for axis, dim in ((0, (b, h, w)), (2, (b, z, h)), (1, (b, z, w))):
            launch(sweep, dim, occupancy.device, axis, occupancy, reached)
    return reached.bool()


def flight_bins(context: Context) -> tuple[int, int]:
    """First and last (exclusive) height bin whose middle an agent may fly at, over flat ground."""
    edges = context.grid.height_edges
    middle = [(edges[k] + edges[k + 1]) / 2 for k in range(context.grid.bins)]
    legal = [k for k, z in enumerate(middle) if context.flight[0] <= z <= context.flight[1]]
    return legal[0], legal[-1] + 1


def voxel_of(context: Context, points: Tensor) -> Tensor:
    """[B, ..., 3] i64 = z, y, x of points [B, ..., 3] metres, clamped into the grid."""
    grid = context.grid
    xy = (points[..., :2] / grid.cell).long().clamp(0, grid.cells - 1)
    b = torch.arange(len(points), device=points.device).view(-1, *[1] * (points.dim() - 2))
    above = points[..., 2] - context.ground[b, xy[..., 1], xy[..., 0]]
    inner = torch.tensor(grid.height_edges[1:-1], device=points.device)
    return torch.stack([torch.bucketize(above, inner, right=True), xy[..., 1], xy[..., 0]], -1)


def rows_of(voxel: Tensor) -> Tensor:
    """[B, 1]: the environment of each row of [B, N]."""
    return torch.arange(len(voxel), device=voxel.device)[:, None]


def centre_of(context: Context, row: Tensor, voxel: Tensor) -> Tensor:
    """[..., 3] metres: middles of voxels [...] (flat index) of environments `row` [...], their heights clamped to the flight levels."""
    n = context.grid.cells
    edges = torch.tensor(context.grid.height_edges, device=voxel.device)
    z, y, x = voxel // (n * n), voxel // n % n, voxel % n
    height = (edges[z] + edges[z + 1]) / 2 + context.ground[row, y, x]
    return torch.stack([(x + 0.5) * context.grid.cell, (y + 0.5) * context.grid.cell, height.clamp(*context.flight)], -1)


def dilate(mask: Tensor, times: int = 1) -> Tensor:
    """A bool mask [..., Hm, Wm] grown by its eight neighbours."""
    for _ in range(times):
        out = mask.clone()
        out[..., 1:, :] |= mask[..., :-1, :]
        out[..., :-1, :] |= mask[..., 1:, :]
        mask = out.clone()
        mask[..., 1:] |= out[..., :-1]
        mask[..., :-1] |= out[..., 1:]
    return mask


def open_places(context: Context) -> Tensor:
    """[B, Z, Hm, Wm] bool: free or unknown, at a flight level, reachable, and not beside known matter (the executor keeps its distance)."""
    low, high = flight_bins(context)
    at = voxel_of(context, context.poses[:, :3])
    legal = context.occupancy[:, low:high]
    start = at - torch.tensor([low, 0, 0], device=at.device)
    start[:, 0] = start[:, 0].clamp(0, high - low - 1)
    out = torch.zeros_like(context.occupancy, dtype=torch.bool)
    out[:, low:high] = reachable(legal, start) & ~dilate(legal == OCCUPIED)
    return out


def free_places(context: Context) -> Tensor:
    """[B, Z, Hm, Wm] bool: open places that are known to be free."""
    return open_places(context) & (context.occupancy == FREE)


def draw_voxels(mask: Tensor, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """`count` set voxels of masks [B, V], with replacement -> flat indices [B, count] and whether the mask has any [B]."""
    total = mask.cumsum(1, dtype=torch.int32)
    draw = torch.rand(len(mask), count, generator=generator, dtype=torch.float64).to(mask.device)
    rank = (draw * total[:, -1:]).int() + 1
    index = torch.searchsorted(total, rank).clamp(max=mask.shape[1] - 1)
    return index, total[:, -1] > 0


def draw_views(context: Context, count: int, generator: torch.Generator, headings: int = 8) -> tuple[Tensor, Tensor]:
    """Poses [B, count, 6]: free places x headings x legal pitches, drawn at random; and whether there are any [B]."""
    voxel, some = draw_voxels(free_places(context).flatten(1), count, generator)
    turn = torch.randint(headings, voxel.shape, generator=generator).to(voxel.device) * (2 * math.pi / headings)
    legal = torch.tensor([math.radians(p) for p in context.pitches], device=voxel.device)
    pitch = legal[torch.randint(len(legal), voxel.shape, generator=generator).to(voxel.device)]
    angles = torch.stack([torch.zeros_like(turn), pitch, turn], -1)
    return torch.cat([centre_of(context, rows_of(voxel), voxel), angles], -1), some


def goals_of(views: Tensor) -> Tensor:
    """Goals [..., 5] = x, y, z, yaw, pitch of poses [..., 6]."""
    return torch.cat([views[..., :3], views[..., 5:6], views[..., 4:5]], -1)


def views_of(goals: Tensor) -> Tensor:
    """Poses [..., 6] of goals [..., 5]."""
    return torch.cat([goals[..., :3], torch.zeros_like(goals[..., :1]), goals[..., 4:5], goals[..., 3:4]], -1)


def turn_on_the_spot(context: Context, pitch: float = -30.0) -> Tensor:
    """[B, 5]: stay and look an eighth further around, for when there is nowhere to go."""
    poses = context.poses
    return torch.cat([poses[:, :3], poses[:, 5:] + math.pi / 4, torch.full_like(poses[:, :1], math.radians(pitch))], 1)


class ClosedPlaces:
    """The last places of each environment that are done with, because the way was blocked: nothing near them is chosen again."""

    def __init__(self, radius: float = 4.0, remembered: int = 16) -> None:
        self.radius, self.remembered = radius, remembered
        self.places: Tensor | None = None  # [B, remembered, 3] metres, far away where empty

    def forget(self, env_ids: Sequence[int]) -> None:
        if self.places is not None:
            self.places[list(env_ids)] = -1e6

    def note(self, goal: Tensor, where: Tensor) -> None:
        """Remember the goals [B, 5] of the environments `where` [B]."""
        if self.places is None or len(self.places) != len(goal):
            self.places = torch.full((len(goal), self.remembered, 3), -1e6, device=goal.device)
        new = torch.cat([self.places[:, 1:], goal[:, None, :3].nan_to_num(nan=-1e6)], 1)
        self.places = torch.where(where[:, None, None], new, self.places)

    def near(self, points: Tensor) -> Tensor:
        """[B, N] bool of points [B, N, 3]."""
        if self.places is None:
            return torch.zeros(points.shape[:2], dtype=torch.bool, device=points.device)
        return (torch.cdist(points, self.places, compute_mode="donot_use_mm_for_euclid_dist") < self.radius).any(-1)
