"""The map encoders' layers. They compute in the dtype of what they are given (bfloat16 on CUDA), whatever their weights' is.

Autocast would lift every normalisation to float32 and copy the activations to and fro.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class Conv(nn.Conv2d):
    def forward(self, x: Tensor) -> Tensor:
        bias = None if self.bias is None else self.bias.to(x.dtype)
        return functional.conv2d(x, self.weight.to(x.dtype), bias, self.stride, self.padding)


class ByteConv(Conv):
    """Takes pictures whose 1 is written 255: the few weights are scaled, not the many pixels.

    Half-precision pictures get empty channels up to a multiple of 8, which is what tensor cores take.
    """

    def forward(self, x: Tensor) -> Tensor:
        assert self.bias is not None
        weight = (self.weight / 255).to(x.dtype)
        if x.dtype == torch.bfloat16 and (missing := -x.shape[1] % 8):
            x, weight = (functional.pad(t, (0, 0, 0, 0, 0, missing)) for t in (x, weight))
        return functional.conv2d(x, weight, self.bias.to(x.dtype), self.stride, self.padding)


class Norm(nn.GroupNorm):
    def forward(self, x: Tensor) -> Tensor:
        return functional.group_norm(x, self.num_groups, self.weight.to(x.dtype), self.bias.to(x.dtype), self.eps)


class Residual(nn.Module):
    """Halves the picture's side."""

    def __init__(self, channels_in: int, channels: int) -> None:
        super().__init__()
        self.first = nn.Sequential(Conv(channels_in, channels, 3, stride=2, padding=1), Norm(8, channels), nn.ReLU(), Conv(channels, channels, 3, padding=1), Norm(8, channels))
        self.skip = Conv(channels_in, channels, 1, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.first(x) + self.skip(x))


class Encoder(nn.Module):
    """The paper's three-layer ResNet behind a stem of stride 2: [B, channels, side, side] bytes -> [B, out]."""

    def __init__(self, channels: int, widths: tuple[int, ...], side: int, out: int) -> None:
        super().__init__()
        stages = [Residual(a, b) for a, b in zip((widths[0], *widths), widths, strict=False)]
        left = side // 2 ** (len(widths) + 1)
        self.stem, self.stages = nn.Sequential(ByteConv(channels, widths[0], 4, stride=2, padding=1), nn.ReLU()), nn.ModuleList(stages)
        self.last = nn.Sequential(Conv(widths[-1], 32, 1), nn.Flatten())
        self.out = nn.Sequential(nn.Linear(32 * left * left, out), nn.ReLU())

    def forward(self, picture: Tensor) -> tuple[Tensor, list[Tensor]]:
        """The picture's feature [B, out], and the pictures on the way to it: of half the side, a quarter, ..."""
        levels = [self.stem(picture)]
        for stage in self.stages:
            levels.append(stage(levels[-1]))
        return self.out(self.last(levels[-1]).to(self.out[0].weight.dtype)), levels
