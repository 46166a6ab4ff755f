"""Rays of imagined views through the occupancy grid: one walk that every rival's kernel shares, CPU and CUDA.

A ray's parameter is planar depth, as in the images, so a walk ends at the camera's range. Every voxel it crosses
counts once, however short the crossing.
"""

# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false, reportOperatorIssue=false, reportCallIssue=false, reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false, reportAssignmentType=false, reportReturnType=false

from __future__ import annotations

from typing import Any

import torch
import warp as wp
from torch import Tensor

from flaneur.env import Context
from flaneur.geometry import Camera, rotation_from_angles
from flaneur.mapping.kernels import height_bin
from flaneur.sim.start import launch as on_stream

FAR = wp.constant(float(1.0e30))


@wp.struct
class Volume:
    """Where the voxels are; [B, V] arrays are indexed (z * cells + y) * cells + x."""

    ground: wp.array3d(dtype=float)  # [B, Hm, Wm] metres
    edges: wp.array(dtype=float)  # [Z + 1] metres above the ground
    cell: float
    cells: int
    end: float  # metres of planar depth


@wp.struct
class Walk:
    """The voxel a ray is in; z is -1 once it has left the grid or reached its end."""

    x: int
    y: int
    z: int
    t: float  # where it enters the voxel
    leave: float  # where it leaves it
    next_x: float
    next_y: float
    next_z: float
    origin: wp.vec3
    direction: wp.vec3


@wp.func
def bound_walk(w: Walk, b: int, volume: Volume):
    """Sets where the walk leaves its voxel."""
    w.next_z = FAR
    if w.direction[2] > 0.0:
        w.next_z = (volume.edges[w.z + 1] + volume.ground[b, w.y, w.x] - w.origin[2]) / w.direction[2]
    elif w.direction[2] < 0.0:
        w.next_z = (volume.edges[w.z] + volume.ground[b, w.y, w.x] - w.origin[2]) / w.direction[2]
    w.leave = wp.min(wp.min(w.next_x, w.next_y), wp.min(w.next_z, volume.end))
    return w


@wp.func
def start_walk(origin: wp.vec3, direction: wp.vec3, b: int, volume: Volume):
    w = Walk()
    w.origin = origin
    w.direction = direction
    w.x = int(wp.floor(origin[0] / volume.cell))
    w.y = int(wp.floor(origin[1] / volume.cell))
    w.z = int(-1)
    if w.x < 0 or w.y < 0 or w.x >= volume.cells or w.y >= volume.cells:
        return w
    w.z = height_bin(volume.edges, volume.edges.shape[0] - 1, origin[2] - volume.ground[b, w.y, w.x])
    if w.z < 0:
        return w
    w.next_x = FAR
    if direction[0] > 0.0:
        w.next_x = (float(w.x + 1) * volume.cell - origin[0]) / direction[0]
    elif direction[0] < 0.0:
        w.next_x = (float(w.x) * volume.cell - origin[0]) / direction[0]
    w.next_y = FAR
    if direction[1] > 0.0:
        w.next_y = (float(w.y + 1) * volume.cell - origin[1]) / direction[1]
    elif direction[1] < 0.0:
        w.next_y = (float(w.y) * volume.cell - origin[1]) / direction[1]
    return bound_walk(w, b, volume)


@wp.func
def next_voxel(w: Walk, b: int, volume: Volume):
    if w.leave >= volume.end:
        w.z = int(-1)
        return w
    w.t = w.leave
    bins = volume.edges.shape[0] - 1
    if w.next_z <= w.next_x and w.next_z <= w.next_y:
        if w.direction[2] > 0.0:
            w.z = w.z + 1
        else:
            w.z = w.z - 1
        if w.z >= bins:
            w.z = int(-1)
    else:
        base = volume.ground[b, w.y, w.x]
        if w.next_x < w.next_y:
            w.x = w.x + int(wp.sign(w.direction[0]))
            w.next_x = w.next_x + wp.abs(volume.cell / w.direction[0])
        else:
            w.y = w.y + int(wp.sign(w.direction[1]))
            w.next_y = w.next_y + wp.abs(volume.cell / w.direction[1])
        if w.x < 0 or w.y < 0 or w.x >= volume.cells or w.y >= volume.cells:
            w.z = int(-1)
        elif volume.ground[b, w.y, w.x] != base:
            # The bins stand on the local ground: the same height is another bin in the next column.
            w.z = height_bin(volume.edges, bins, w.origin[2] + w.direction[2] * w.t - volume.ground[b, w.y, w.x])
    if w.z < 0:
        return w
    return bound_walk(w, b, volume)


@wp.func
def ray_direction(rotation: wp.array4d(dtype=float), b: int, n: int, ray: wp.vec3):
    """The camera's ray in the world."""
    out = wp.vec3()
    for i in range(3):
        out[i] = rotation[b, n, i, 0] * ray[0] + rotation[b, n, i, 1] * ray[1] + rotation[b, n, i, 2] * ray[2]
    return out


def camera_rays(camera: Camera, columns: int = 32, rows: int = 24, device: torch.device | str = "cpu") -> Tensor:
    """[columns * rows, 3] directions in the camera's frame, evenly spread over the image, of planar depth 1."""
    u = (torch.arange(columns, dtype=torch.float32) + 0.5) * camera.width / columns
    v = (torch.arange(rows, dtype=torch.float32) + 0.5) * camera.height / rows
    x, y = (u - camera.cx) / camera.fx, -(v - camera.cy) / camera.fy
    grid = torch.stack([x[None].expand(rows, -1), y[:, None].expand(-1, columns), torch.full((rows, columns), -1.0)], -1)
    return grid.reshape(-1, 3).to(device)


def launch(kernel: Any, dim: tuple[int, ...], device: torch.device, *inputs: Any) -> None:
    """A Warp kernel on torch tensors, on torch's stream."""
    on_stream(kernel, dim, [i.contiguous() if isinstance(i, Tensor) else i for i in inputs], device)


def volume_of(context: Context) -> Volume:
    volume = Volume()
    volume.ground = wp.from_torch(context.ground.contiguous())
    volume.edges = wp.from_torch(torch.tensor(context.grid.height_edges, device=context.poses.device))
    volume.cell, volume.cells, volume.end = context.grid.cell, context.grid.cells, context.camera.max_range
    return volume


def march(kernel: Any, context: Context, views: Tensor, rays: Tensor, active: Tensor, *inputs: Any) -> Tensor:
    """What `kernel` finds along every ray of every view.

    views [B, N, 6] poses, rays [R, 3] in the camera's frame, active [B] bool -> [B, N, R] f32, 0 where not active.
    The kernel takes (position [B, N, 3], rotation [B, N, 3, 3], rays, active, volume, *inputs, out).
    """
    out = torch.zeros(*views.shape[:2], len(rays), device=views.device)
    directions = wp.from_torch(rays.contiguous(), dtype=wp.vec3)
    launch(kernel, tuple(out.shape), views.device, views[..., :3], rotation_from_angles(views[..., 3:]), directions, active, volume_of(context), *inputs, out)
    return out
