"""Zhang et al., "Active Semantic Mapping and Pose Graph Spectral Analysis for Robot Exploration", 2024: frontiers scored by information.

Every frontier contour offers one goal. Its view is scored by SSMI's mutual information between the multi-class voxel
map and the view's rays, over the length of the way. The pose-graph term of the paper is left out: poses are known.
"""

# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false, reportOperatorIssue=false, reportCallIssue=false, reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false, reportAssignmentType=false, reportReturnType=false

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
import warp as wp
from torch import Tensor

from flaneur.env import Context
from flaneur.mapping import FREE, OCCUPIED
from flaneur.planners.candidates import dilate, goals_of, open_places, turn_on_the_spot
from flaneur.planners.contours import Contours, contours
from flaneur.planners.goals import HeldGoals
from flaneur.planners.information import RaySensor
from flaneur.planners.rays import Volume, camera_rays, launch, march, next_voxel, ray_direction, start_walk

wp.set_module_options({"enable_backward": False})  # nothing here is differentiated

SPENT = wp.constant(float(1.0e-4))  # probability of getting so far below which the rest of a ray is left out


@dataclass(frozen=True)
class ZhangConfig:
    altitude: float = 8.0  # metres above the ground
    contours: int = 32  # longest ones that are scored
    shortest: int = 20  # cells of a contour
    columns: int = 32  # rays across a view
    rows: int = 24
    free: float = 0.02  # P(occupied) of voxels known free, unknown and known occupied
    unknown: float = 0.5
    occupied: float = 0.97
    sensor: RaySensor = field(default_factory=RaySensor)
    useful: float = 4.0  # metres around a held goal in which some frontier must be left; what a visit left there is dropped
    patience: int = 40


@wp.func
def pass_gain(free: float, miss: float):
    """f of a pass: every class but free space gets the same log-odds."""
    norm = free + (1.0 - free) * wp.exp(miss)
    return -wp.log(norm) + miss * wp.exp(miss) * (1.0 - free) / norm


@wp.kernel
def hit_gain(
    occupancy: wp.array2d(dtype=wp.uint8),  # [B, V]
    log_odds: wp.array3d(dtype=float),  # [B, V, C]
    active: wp.array(dtype=wp.bool),
    sky: int,
    occupied: float,
    hit: float,
    other: float,
    out: wp.array2d(dtype=float),  # [B, V] sum over classes of P(class) f(class)
):
    """What a ray that ends in an occupied voxel is expected to tell, over the map's class probabilities."""
    b, v = wp.tid()
    if not active[b] or occupancy[b, v] != wp.uint8(2):
        return
    high = float(-1.0e30)
    for k in range(log_odds.shape[2]):
        if k != sky:
            high = wp.max(high, log_odds[b, v, k])
    total = float(0.0)
    for k in range(log_odds.shape[2]):
        if k != sky:
            total += wp.exp(log_odds[b, v, k] - high)
    gain = float(0.0)
    for k in range(log_odds.shape[2]):
        if k != sky:
            p = occupied * wp.exp(log_odds[b, v, k] - high) / total
            same = wp.exp(hit) * p
            rest = wp.exp(other) * (occupied - p)
            norm = 1.0 - occupied + same + rest
            gain += p * (-wp.log(norm) + (hit * same + other * rest) / norm)
    out[b, v] = gain


@wp.func
def segment_information(width: float, free: float, hit: float, miss: float, arrive: float, gathered: float):
    """A run of `width` equal cells: `hit` is the sum of P(class) f(class), `miss` f of a pass."""
    through = wp.pow(free, width)
    hits = (1.0 - through) / (1.0 - free)
    steps = (free - width * through + (width - 1.0) * through * free) / ((1.0 - free) * (1.0 - free))
    return arrive * ((gathered * (1.0 - free) + hit) * hits + miss * (1.0 - free) * steps)


@wp.kernel
def ray_score(
    position: wp.array3d(dtype=float),
    rotation: wp.array4d(dtype=float),
    rays: wp.array(dtype=wp.vec3),
    active: wp.array(dtype=wp.bool),
    volume: Volume,
    occupancy: wp.array2d(dtype=wp.uint8),
    hits: wp.array2d(dtype=float),  # [B, V] of `hit_gain`
    occupied_by: wp.vec3,  # P(occupied) of unknown, free and occupied voxels
    known: wp.vec2,  # the sum of P(class) f(class) of unknown and free voxels, whose classes are equally likely
    miss: float,
    out: wp.array3d(dtype=float),  # [B, N, R] nats
):
    """Mutual information of a ray, run by run."""
    b, n, r = wp.tid()
    if not active[b]:
        return
    w = start_walk(wp.vec3(position[b, n, 0], position[b, n, 1], position[b, n, 2]), ray_direction(rotation, b, n, rays[r]), b, volume)
    arrive = float(1.0)
    gathered = float(0.0)
    total = float(0.0)
    while w.z >= 0 and arrive > SPENT:
        v = (w.z * volume.cells + w.y) * volume.cells + w.x
        state = int(occupancy[b, v])
        hit = float(0.0)
        if state == 2:
            hit = hits[b, v]
        else:
            hit = known[state]
        width = float(1.0)
        w = next_voxel(w, b, volume)
        # Occupied voxels differ in their classes, so only the others run on.
        alike = bool(state != 2)
        while alike and w.z >= 0:
            alike = int(occupancy[b, (w.z * volume.cells + w.y) * volume.cells + w.x]) == state
            if alike:
                width += 1.0
                w = next_voxel(w, b, volume)
        free = 1.0 - occupied_by[state]
        passed = pass_gain(free, miss)
        total += segment_information(width, free, hit, passed, arrive, gathered)
        arrive = arrive * wp.pow(free, width)
        gathered = gathered + width * passed
    out[b, n, r] = total


def uniform_hit(occupied: float, classes: int, sensor: RaySensor) -> float:
    """The sum of P(class) f(class) of a voxel whose classes are equally likely."""
    p = occupied / classes
    same, rest = math.exp(sensor.hit) * p, math.exp(sensor.other) * (occupied - p)
    norm = 1 - occupied + same + rest
    return occupied * (-math.log(norm) + (sensor.hit * same + sensor.other * rest) / norm)


def frontier_of(planar: Tensor) -> Tensor:
    """[B, Hm, Wm] bool: where the known free area, dilated and eroded twice, borders on the unknown (eight neighbours).

    The closing fills the gaps between carved rays, which are no frontiers.
    """
    matter = planar == OCCUPIED
    closed = ~dilate(~dilate(planar == FREE, 2), 2) & ~matter
    return closed & dilate(~closed & (planar == 0))


class Zhang:
    """The frontier contour whose view tells the most per metre of way, at a fixed altitude, looking away from the agent."""

    name = "zhang"

    def __init__(self, config: ZhangConfig | None = None) -> None:
        self.config = config or ZhangConfig()
        self._held = HeldGoals(self.config.patience)
        self._dropped: Tensor | None = None  # [B, Hm, Wm] bool: frontiers around goals that are done with

    def reset(self, env_ids: Sequence[int]) -> None:
        self._held.forget(env_ids)
        if self._dropped is not None:
            self._dropped[list(env_ids)] = False

    def information(self, context: Context, views: Tensor, active: Tensor) -> Tensor:
        """[B, N] nats: the sum of ray scores of views [B, N, 6]."""
        c, device = self.config, views.device
        occupancy = context.occupancy.flatten(1)
        hits = torch.zeros(occupancy.shape, device=device)
        sky, classes = context.classes.sky, len(context.classes) - 1
        launch(hit_gain, tuple(occupancy.shape), device, occupancy, context.log_odds.flatten(1, 3), active, sky, c.occupied, c.sensor.hit, c.sensor.other, hits)
        known = wp.vec2(*(uniform_hit(p, classes, c.sensor) for p in (c.unknown, c.free)))
        rays = camera_rays(context.camera, c.columns, c.rows, device)
        return march(ray_score, context, views, rays, active, occupancy, hits, wp.vec3(c.unknown, c.free, c.occupied), known, c.sensor.miss).sum(2)

    def plan(self, context: Context) -> tuple[Tensor, Tensor | None]:
        goal, _ = self._held.ready(context)
        if self._dropped is None or self._dropped.shape != context.planar.shape:
            self._dropped = torch.zeros_like(context.planar, dtype=torch.bool)
        at = (torch.arange(context.grid.cells, device=goal.device) + 0.5) * context.grid.cell
        near = torch.hypot(at[None, None, :] - goal[:, 0, None, None], at[None, :, None] - goal[:, 1, None, None]) < self.config.useful
        open_ = self._held.open(context)
        # Street level has shadows that no view resolves; without this the nearest of them would be chosen for ever.
        self._dropped |= open_[:, None, None] & near
        edge = frontier_of(context.planar) & ~self._dropped
        open_ = open_ | ~(edge & near).flatten(1).any(1)
        fresh = self.choose(context, edge, open_) if open_.any() else goal
        return self._held.take(context, fresh, open_), None

    def choose(self, context: Context, edge: Tensor, active: Tensor) -> Tensor:
        """New goals [B, 5] for the environments `active` [B]."""
        c, cell, n = self.config, context.grid.cell, context.grid.cells
        level = next(k for k, top in enumerate(context.grid.height_edges[1:]) if c.altitude < top)
        found: Contours = contours(edge, open_places(context)[:, level], c.contours, c.shortest)
        x, y = (found.point % n + 0.5) * cell, (found.point // n + 0.5) * cell
        z = context.ground.flatten(1).gather(1, found.point) + c.altitude
        here = context.poses[:, None]
        yaw = torch.atan2(y - here[..., 1], x - here[..., 0])
        legal = torch.tensor([math.radians(p) for p in context.pitches], device=x.device)
        place = torch.stack([x, y, z], -1)
        length = (place - here[..., :3]).norm(dim=-1)
        # One view per legal pitch: the rival picks it by its own utility.
        views = torch.cat([place, torch.zeros_like(place)], -1)[:, :, None].repeat(1, 1, len(legal), 1)
        views[..., 4], views[..., 5] = legal, yaw[..., None]
        score = self.information(context, views.flatten(1, 2), active).unflatten(1, (-1, len(legal))) / (0.1 + length)[..., None]
        best, index = torch.where(found.valid[..., None], score, -1.0).flatten(1).max(1)
        fresh = goals_of(views.flatten(1, 2)[torch.arange(len(x), device=x.device), index])
        return torch.where((best > 0)[:, None], fresh, turn_on_the_spot(context))
