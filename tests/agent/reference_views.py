"""Plain torch readings of the view kernels."""

import torch
from torch import Tensor
from torch.nn import functional


def crop_around(maps: Tensor, at: Tensor, size: int) -> Tensor:
    """[B, F, H, W] -> [B, F, size, size] with the cell that holds `at` [B, 2] (x, y in cells) in the middle; 0 outside."""
    offset = torch.arange(size) - size // 2
    rows, columns = at[:, 1].floor().long()[:, None] + offset, at[:, 0].floor().long()[:, None] + offset
    inside = ((rows >= 0) & (rows < maps.shape[-2]))[:, None, :, None] & ((columns >= 0) & (columns < maps.shape[-1]))[:, None, None, :]
    batch, channel = torch.arange(len(maps))[:, None, None, None], torch.arange(maps.shape[1])[None, :, None, None]
    rows, columns = rows.clamp(0, maps.shape[-2] - 1), columns.clamp(0, maps.shape[-1] - 1)
    return maps[batch, channel, rows[:, None, :, None], columns[:, None, None, :]] * inside.to(maps.dtype)


def views(maps: Tensor, poses: Tensor, window: float, coarse: int, near: int) -> tuple[Tensor, Tensor]:
    at = poses[:, -1, :2] / window * maps.shape[-1]
    bytes_of = lambda x: (x * 255).round().clamp(0, 255).to(torch.uint8)  # noqa: E731
    return bytes_of(functional.adaptive_avg_pool2d(maps, coarse)), bytes_of(crop_around(maps, at, near))


def centred(picture: Tensor, at: Tensor) -> Tensor:
    side = picture.shape[-1]
    return crop_around(torch.cat([picture, torch.full_like(picture[:, :1], 255)], 1), at * side, 2 * side)
