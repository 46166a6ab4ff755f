"""Pixels to points and voxels in plain torch, for ground truth and tools; the kernels do the same per thread."""

from __future__ import annotations

import torch
from torch import Tensor

from flaneur.geometry import Camera, Grid


def pixel_rays(camera: Camera, device: torch.device | str = "cpu") -> Tensor:
    """[H, W, 3] in the camera's frame, component -1 along its z: times planar depth it is the point."""
    u = (torch.arange(camera.width, device=device) + 0.5 - camera.cx) / camera.fx
    v = -(torch.arange(camera.height, device=device) + 0.5 - camera.cy) / camera.fy
    y, x = torch.meshgrid(v, u, indexing="ij")
    return torch.stack([x, y, -torch.ones_like(x)], -1)


def points(depth: Tensor, camera_to_world: Tensor, camera: Camera) -> Tensor:
    """World points [B, H, W, 3] of planar depth [B, H, W]."""
    local = pixel_rays(camera, depth.device) * depth[..., None]
    return torch.einsum("bij,bhwj->bhwi", camera_to_world[:, :3, :3], local) + camera_to_world[:, None, None, :3, 3]


def voxels(point: Tensor, grid: Grid, ground: Tensor) -> tuple[Tensor, Tensor]:
    """Voxel index [...] (z, y, x flattened) of points [..., 3], and whether it lies in the grid; ground is [Hm, Wm]."""
    xy = torch.floor(point[..., :2] / grid.cell).long()
    inside = ((xy >= 0) & (xy < grid.cells)).all(-1)
    xy = xy.clamp(0, grid.cells - 1)
    flat = xy[..., 1] * grid.cells + xy[..., 0]
    height = point[..., 2] - ground.flatten()[flat]
    edges = torch.tensor(grid.height_edges, device=point.device)
    z = torch.bucketize(height, edges, right=True) - 1
    inside &= (z >= 0) & (z < grid.bins)
    return z.clamp(0, grid.bins - 1) * grid.cells**2 + flat, inside
