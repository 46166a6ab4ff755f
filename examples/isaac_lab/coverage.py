"""Which places of a city a camera has seen objects at. Torch alone, so that it is tested without Isaac Sim."""

import torch
from torch import Tensor


def axes(yaw: Tensor, pitch: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Forward, right and up [N, 3] of cameras that do not roll; yaw 0 looks east, pitch is positive upwards."""
    zero = torch.zeros_like(yaw)
    forward = torch.stack([yaw.cos() * pitch.cos(), yaw.sin() * pitch.cos(), pitch.sin()], 1)
    right = torch.stack([yaw.sin(), -yaw.cos(), zero], 1)
    return forward, right, torch.linalg.cross(right, forward)


def unproject(depth: Tensor, position: Tensor, yaw: Tensor, pitch: Tensor, half_width: float) -> Tensor:
    """World points [N, H, W, 3] of planar depth [N, H, W]; `half_width`: tangent of half the horizontal field of view."""
    _, height, width = depth.shape
    forward, right, up = axes(yaw, pitch)
    x = ((torch.arange(width, device=depth.device) + 0.5) / width * 2 - 1) * half_width
    y = (1 - (torch.arange(height, device=depth.device) + 0.5) / height * 2) * half_width * height / width
    ray = forward[:, None, None] + x[None, None, :, None] * right[:, None, None] + y[None, :, None, None] * up[:, None, None]
    return position[:, None, None] + depth[..., None] * ray


class Coverage:
    """A grid of ground cells for every environment: has an object above it been seen?"""

    def __init__(self, num_envs: int, size: float, cell: float, device: str) -> None:
        self.cells, self.cell = int(size // cell) + 1, cell
        self.seen = torch.zeros(num_envs, self.cells * self.cells, dtype=torch.bool, device=device)

    def reset(self, env_ids: Tensor) -> None:
        self.seen[env_ids] = False

    def add(self, points: Tensor, objects: Tensor) -> Tensor:
        """Marks the cells of pixels [N, H, W] that show objects; returns how many are new [N]."""
        index = (points[..., :2] / self.cell).floor()
        inside = objects & torch.isfinite(index).all(-1) & ((index >= 0) & (index < self.cells)).all(-1)
        flat = torch.where(inside, index.nan_to_num(0, 0, 0)[..., 1] * self.cells + index.nan_to_num(0, 0, 0)[..., 0], 0.0).long().flatten(1)
        now = torch.zeros(self.seen.shape, dtype=torch.int32, device=self.seen.device).scatter_add_(1, flat, inside.flatten(1).int()) > 0
        new = now & ~self.seen
        self.seen |= now
        return new.sum(1)
