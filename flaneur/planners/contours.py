"""Frontier contours: connected frontier cells of the planar map, their length and the point that stands for each."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Contours:
    point: Tensor  # [B, N] flat cell nearest the contour's mean among the cells allowed as goals
    length: Tensor  # [B, N] cells
    valid: Tensor  # [B, N] bool: long enough, and has such a cell


def components(mask: Tensor, rounds: int = 64) -> Tensor:
    """[B, Hm * Wm] i64: the smallest flat index of each cell's component (eight neighbours) in a mask [B, Hm, Wm]; cells outside keep their own.

    Roots hook onto smaller neighbours and paths are halved, so a few rounds do for any contour.
    """
    b, h, w = mask.shape
    own = torch.arange(h * w, device=mask.device).expand(b, -1).contiguous()
    inside = mask.flatten(1)
    label = own.clone()
    for _ in range(rounds):
        before = label
        around = torch.where(inside, label, h * w).view(b, h, w)
        for axis in (1, 2):
            near = around.clone()
            low, high = torch.narrow(around, axis, 0, around.shape[axis] - 1), torch.narrow(around, axis, 1, around.shape[axis] - 1)
            torch.narrow(near, axis, 1, low.shape[axis]).clamp_(max=low)
            torch.narrow(near, axis, 0, high.shape[axis]).clamp_(max=high)
            around = near
        least = torch.where(inside, around.flatten(1), own)
        label = label.scatter_reduce(1, before, least, "amin")  # the root takes the smallest of its cells' neighbours
        for _ in range(4):
            label = label.gather(1, label)
        if torch.equal(label, before):
            break
    return label


def contours(edge: Tensor, allowed: Tensor, count: int, shortest: int) -> Contours:
    """The `count` longest contours of frontier cells `edge` [B, Hm, Wm] with at least `shortest` cells."""
    b, h, w = edge.shape
    inside = edge.flatten(1)
    label = components(edge)
    cells = torch.arange(h * w, device=edge.device)
    x, y = (cells % w).float().expand(b, -1), (cells // w).float().expand(b, -1)
    total = lambda values: torch.zeros(b, h * w, device=edge.device).scatter_add(1, label, torch.where(inside, values, 0.0))  # noqa: E731
    length = total(torch.ones_like(x))
    mean_x, mean_y = total(x) / length.clamp(min=1), total(y) / length.clamp(min=1)
    usable = inside & allowed.flatten(1)
    far = torch.where(usable, (x - mean_x.gather(1, label)) ** 2 + (y - mean_y.gather(1, label)) ** 2, torch.inf)
    nearest = torch.full((b, h * w), torch.inf, device=edge.device).scatter_reduce(1, label, far, "amin")
    first = torch.where(usable & (far == nearest.gather(1, label)), cells, h * w)
    point = torch.full((b, h * w), h * w, device=edge.device).scatter_reduce(1, label, first, "amin")
    best, root = length.topk(min(count, h * w), 1)
    point = point.gather(1, root)
    return Contours(point.clamp(max=h * w - 1), best, (best >= shortest) & (point < h * w))
