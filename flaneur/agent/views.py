"""What the network sees of the maps, small enough to store: the whole window coarsely, the surroundings finely.

A full input of 2C + 3 channels at 256 x 256 is 16 MB a step in float32. Both views are kept as bytes: 0.3 MB a step.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor
from torch.nn import functional


@dataclass
class Views:
    """One batch of network inputs."""

    coarse: Tensor  # [B, F, g, g] u8: map channels averaged over the window, 255 = 1
    near: Tensor  # [B, F, n, n] u8: the map's own resolution around the agent; 0 outside the window
    poses: Tensor  # [B, L, 6] f32: history, the current pose last; NaN where there was none yet
    time: Tensor  # [B] f32: t / T

    def __getitem__(self, rows: Tensor | slice) -> Views:
        return Views(*(getattr(self, f.name)[rows] for f in fields(self)))

    @classmethod
    def stack(cls, parts: list[Views]) -> Views:
        return cls(*(torch.cat([getattr(p, f.name) for p in parts]) for f in fields(cls)))


def make_views(maps: Tensor, poses: Tensor, time: Tensor, window: float, coarse: int = 32, near: int = 64) -> Views:
    """maps [B, F, H, W] in [0, 1]: previous global map, raw observation map, occupancy layers; `window` in metres."""
    cells = maps.shape[-1]
    pooled = functional.adaptive_avg_pool2d(maps.float(), coarse)
    at = poses[:, -1, :2] / window * cells
    return Views(_to_bytes(pooled), _to_bytes(crop_around(maps, at, near)), poses.float(), time.float())


def crop_around(maps: Tensor, at: Tensor, size: int) -> Tensor:
    """[B, F, H, W] -> [B, F, size, size] with the cell that holds `at` [B, 2] (x, y in cells) in the middle; 0 outside."""
    offset = torch.arange(size, device=maps.device) - size // 2
    rows = at[:, 1].floor().long()[:, None] + offset
    columns = at[:, 0].floor().long()[:, None] + offset
    inside = ((rows >= 0) & (rows < maps.shape[-2]))[:, None, :, None] & ((columns >= 0) & (columns < maps.shape[-1]))[:, None, None, :]
    batch = torch.arange(len(maps), device=maps.device)[:, None, None, None]
    channel = torch.arange(maps.shape[1], device=maps.device)[None, :, None, None]
    rows, columns = rows.clamp(0, maps.shape[-2] - 1), columns.clamp(0, maps.shape[-1] - 1)
    return maps[batch, channel, rows[:, None, :, None], columns[:, None, None, :]] * inside.to(maps.dtype)


def _to_bytes(x: Tensor) -> Tensor:
    return (x.float() * 255).round().clamp(0, 255).to(torch.uint8)
