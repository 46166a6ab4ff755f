"""One executor for all methods: a path over the map to the goal, at most `max_step` of it, clamped on the true triangles.

The path is the shortest of a fixed family that crosses no voxel known to be occupied: straight; up or down to a flight
level, across, and to the goal; sideways around and to the goal. Unknown space is traversable. Every candidate is
checked by its own thread, so the cost does not depend on the city.
"""

# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false, reportOperatorIssue=false, reportCallIssue=false, reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false, reportAssignmentType=false, reportReturnType=false

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
import warp as wp
from torch import Tensor

from flaneur.env.config import ExecutorConfig
from flaneur.mapping import SemanticMap
from flaneur.mapping.kernels import OCCUPIED, height_bin
from flaneur.sim import Simulator

wp.set_module_options({"enable_backward": False})

BLOCKED_COST = 1.0e4  # metres: dearer than any clear path; among blocked ones the one that gets farthest wins


@wp.func
def clear_length(
    start: wp.vec3, end: wp.vec3, exempt: wp.vec3, b: int, occupancy: wp.array2d(dtype=wp.uint8), ground: wp.array3d(dtype=float), s: int,
    edges: wp.array(dtype=float), cell: float, cells: int,
):  # fmt: skip
    """Metres along a segment before the first occupied voxel; the voxel that holds `exempt` does not count."""
    ex = int(wp.floor(exempt[0] / cell))
    ey = int(wp.floor(exempt[1] / cell))
    ez = int(-1)
    if ex >= 0 and ey >= 0 and ex < cells and ey < cells:
        ez = height_bin(edges, edges.shape[0] - 1, exempt[2] - ground[s, ey, ex])
    length = wp.length(end - start)
    n = int(wp.ceil(length / (0.5 * cell)))
    for k in range(n + 1):
        p = start + (end - start) * (float(k) / float(wp.max(n, 1)))
        x = int(wp.floor(p[0] / cell))
        y = int(wp.floor(p[1] / cell))
        if x >= 0 and y >= 0 and x < cells and y < cells:
            z = height_bin(edges, edges.shape[0] - 1, p[2] - ground[s, y, x])
            if z >= 0 and not (x == ex and y == ey and z == ez):  # noqa: SIM102  a kernel may read the array on both sides of an `and`
                if occupancy[b, (z * cells + y) * cells + x] == OCCUPIED:
                    return length * float(k) / float(wp.max(n, 1))
    return length


@wp.kernel
def check_paths(
    poses: wp.array2d(dtype=float),  # [B, 6]
    goals: wp.array2d(dtype=float),  # [B, 3]
    altitudes: wp.array(dtype=float),
    directions: int,
    radii: wp.array(dtype=float),
    low: float,
    high: float,
    occupancy: wp.array2d(dtype=wp.uint8),
    ground: wp.array3d(dtype=float),
    scene: wp.array(dtype=int),
    edges: wp.array(dtype=float),
    cell: float,
    cells: int,
    cost: wp.array2d(dtype=float),  # out [B, N]
    first: wp.array3d(dtype=float),  # out [B, N, 3]
):
    b, n = wp.tid()
    a = wp.vec3(poses[b, 0], poses[b, 1], poses[b, 2])
    g = wp.vec3(goals[b, 0], goals[b, 1], goals[b, 2])
    u = a
    w = g
    levels = altitudes.shape[0]
    size = cell * float(cells)
    if n >= 1 and n <= levels:
        h = wp.clamp(altitudes[n - 1], low, high)
        u = wp.vec3(a[0], a[1], h)
        w = wp.vec3(g[0], g[1], h)
    elif n > levels:
        k = n - levels - 1
        r = radii[k / directions]
        angle = 2.0 * 3.14159265 * float(k % directions) / float(directions)
        w = wp.vec3(wp.clamp(a[0] + r * wp.cos(angle), 0.0, size), wp.clamp(a[1] + r * wp.sin(angle), 0.0, size), a[2])
    s = scene[b]
    total = wp.length(u - a) + wp.length(w - u) + wp.length(g - w)
    clear = clear_length(a, u, a, b, occupancy, ground, s, edges, cell, cells)
    if clear >= wp.length(u - a):
        clear += clear_length(u, w, a, b, occupancy, ground, s, edges, cell, cells)
        if clear >= wp.length(u - a) + wp.length(w - u) - 1.0e-3:
            clear += clear_length(w, g, a, b, occupancy, ground, s, edges, cell, cells)
    cost[b, n] = total
    if clear < total - 1.0e-2:
        cost[b, n] = BLOCKED_COST + total - clear
    # The next corner of the path that is not yet reached.
    target = g
    if wp.length(w - a) > 0.5:
        target = w
    if wp.length(u - a) > 0.5:
        target = u
    for i in range(3):
        first[b, n, i] = target[i]


@wp.kernel
def bump(
    poses: wp.array2d(dtype=float),
    targets: wp.array2d(dtype=float),
    blocked: wp.array(dtype=wp.bool),
    ground: wp.array3d(dtype=float),
    scene: wp.array(dtype=int),
    edges: wp.array(dtype=float),
    cell: float,
    cells: int,
    occupancy: wp.array2d(dtype=wp.uint8),
):
    """What stopped a move is matter, seen or not: the next voxel ahead becomes occupied, so that the next path goes around."""
    b = wp.tid()
    if not blocked[b]:
        return
    p = wp.vec3(poses[b, 0], poses[b, 1], poses[b, 2])
    direction = wp.normalize(wp.vec3(targets[b, 0], targets[b, 1], targets[b, 2]) - p)
    own = int(-1)
    # From the camera outward in quarter cells; a bin at street level is at most a metre or two high.
    for k in range(24):
        q = p + direction * (0.25 * cell * float(k))
        x = int(wp.floor(q[0] / cell))
        y = int(wp.floor(q[1] / cell))
        if x < 0 or y < 0 or x >= cells or y >= cells:
            return
        z = height_bin(edges, edges.shape[0] - 1, q[2] - ground[scene[b], y, x])
        if z < 0:
            return
        v = (z * cells + y) * cells + x
        if k == 0:
            own = v
        elif v != own:
            occupancy[b, v] = OCCUPIED
            return


@dataclass(frozen=True)
class Moved:
    poses: Tensor  # [B, 6]
    travelled: Tensor  # [B] metres
    arrived: Tensor  # [B] bool: at the goal, to half a metre
    blocked: Tensor  # [B] bool: no known way leads to the goal, or matter stopped the move before it had gone 0.25 m


class Executor:
    def __init__(self, sim: Simulator, config: ExecutorConfig, pitches: tuple[float, ...]) -> None:
        self.sim, self.config, self.device = sim, config, sim.device
        self._pitches = torch.tensor([math.radians(p) for p in pitches], device=self.device)
        self._altitudes = wp.array(config.altitudes, dtype=float, device=sim.wp_device)
        self._radii = wp.array(config.radii, dtype=float, device=sim.wp_device)
        self._candidates = 1 + len(config.altitudes) + config.directions * len(config.radii)

    def legal(self, goal: Tensor) -> Tensor:
        """Goals [B, 5] = x, y, z, yaw, pitch as poses [B, 6], with the nearest legal pitch and no roll."""
        pitch = self._pitches[(goal[:, 4:5] - self._pitches).abs().argmin(1)]
        return torch.stack([goal[:, 0], goal[:, 1], goal[:, 2], torch.zeros_like(pitch), pitch, goal[:, 3]], 1)

    def move(self, poses: Tensor, goal: Tensor, maps: SemanticMap) -> Moved:
        """One step toward goals [B, 5] over the map."""
        target = self.legal(goal.to(self.device, torch.float32))
        # Not a number is no goal: stay, look ahead.
        target = torch.where(torch.isfinite(target).all(1, keepdim=True), target, poses)
        size = maps.grid.size
        low, high = self.sim.low, self.sim.high
        aim = torch.stack([target[:, 0].clamp(0, size), target[:, 1].clamp(0, size), target[:, 2].clamp(low, high)], 1)
        cost = torch.empty(len(poses), self._candidates, device=self.device)
        first = torch.empty(len(poses), self._candidates, 3, device=self.device)
        views = maps.views
        place: list[Any] = [views["ground"], views["scene"], views["edges"], maps.grid.cell, maps.grid.cells]
        maps.launch(
            check_paths, (len(poses), self._candidates), poses.contiguous(), aim.contiguous(), self._altitudes, self.config.directions, self._radii,
            low, high, "occupancy", *place, cost, first, block=64,
        )  # fmt: skip
        best = cost.argmin(1)
        rows = torch.arange(len(poses), device=self.device)
        waypoint = torch.cat([first[rows, best], target[:, 3:]], 1)
        motion = self.sim.move(poses, waypoint, self.config.max_step, self.config.clearance, maps.scene_index, check=False)
        maps.launch(bump, (len(poses),), motion.poses.contiguous(), waypoint.contiguous(), motion.blocked, *place, "occupancy")
        arrived = (motion.poses[:, :3] - aim).norm(dim=1) < 0.5
        stuck = (cost[rows, best] >= BLOCKED_COST) | (motion.blocked & (motion.travelled < 0.25))
        return Moved(motion.poses, motion.travelled, arrived, stuck & ~arrived)
