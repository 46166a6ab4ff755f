"""What real depth sensors do to depth: noise that grows with range, holes, holes along edges, steps."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

EDGE_RATIO = 0.05  # a jump by this share of the depth between neighbours is an edge


@dataclass(frozen=True)
class DepthNoise:
    """Seeded model of a depth sensor; all zero leaves depth as it is."""

    sigma: float = 0.0  # metres of Gaussian noise at any range
    sigma_quadratic: float = 0.0  # metres more per square metre of depth, as stereo has
    dropout: float = 0.0  # share of pixels lost anywhere
    edge_dropout: float = 0.0  # share of pixels lost beside depth edges
    step: float = 0.0  # metres; depth is rounded to multiples

    def __call__(self, depth: Tensor, generator: torch.Generator) -> Tensor:
        """Noisy copy of depth [B, H, W] metres, 0 where lost. The generator lives on the depth's device."""
        shape, device = depth.shape, depth.device
        spread = self.sigma + self.sigma_quadratic * depth * depth
        noisy = depth + spread * torch.randn(shape, generator=generator, device=device)
        if self.step > 0:
            noisy = torch.round(noisy / self.step) * self.step
        chance = torch.full(shape, self.dropout, device=device)
        if self.edge_dropout > 0:
            edge = torch.zeros(shape, dtype=torch.bool, device=device)
            down = (depth[:, 1:] - depth[:, :-1]).abs() > EDGE_RATIO * torch.minimum(depth[:, 1:], depth[:, :-1])
            across = (depth[:, :, 1:] - depth[:, :, :-1]).abs() > EDGE_RATIO * torch.minimum(depth[:, :, 1:], depth[:, :, :-1])
            edge[:, 1:] |= down
            edge[:, :-1] |= down
            edge[:, :, 1:] |= across
            edge[:, :, :-1] |= across
            chance = torch.where(edge, torch.clamp(chance + self.edge_dropout, max=1.0), chance)
        lost = torch.rand(shape, generator=generator, device=device) < chance
        return torch.where(lost | (depth <= 0), torch.zeros_like(depth), noisy.clamp(min=1e-3))
