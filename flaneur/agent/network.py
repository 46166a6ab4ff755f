"""The shared encoder and the two branches (appendix: Network Input, Dependence Regularization).

h = Shared(z^-), Z_alpha = Norm(Proj_alpha(Adapter_alpha(h))), Z_beta = Norm(Proj_beta(Adapter_beta(h))).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from flaneur.agent.heads import CalibrationHead, CellValueHead, FactorisedCategorical, MotionHead, MotionSpace, ValueHead
from flaneur.agent.views import Views, crop_around

LOCAL_GEOMETRY = 6  # dx, dy, distance, height of the camera, cos and sin of the bearing


@dataclass(frozen=True)
class NetworkConfig:
    classes: int = 29
    layers: int = 3  # occupied, frontier, observed
    history: int = 30
    latent: int = 256  # size of h, Z_alpha and Z_beta
    widths: tuple[int, ...] = (32, 64, 128)  # of the three ResNet stages
    groups: int = 3  # value heads: 3 with MV, 1 without
    calibration: bool = True  # LC
    kinds: int = 4  # K: entries of beta per coarse cell (three groups and background, or all classes)
    cell_values: bool = False  # a value per coarse cell and group, so that calibration is credited where it acts
    kind: Literal["ours", "gleam"] = "ours"
    scaling: float = 1.0  # beta of every entry where there is no calibration
    grid: int = 16  # coarse calibration grid
    window: float = 200.0  # metres
    mixed: bool = True  # the map encoders in bfloat16 on CUDA, in collecting and in updating alike
    motion: MotionSpace = field(default_factory=MotionSpace)


@dataclass
class PolicyOutput:
    motion: FactorisedCategorical
    calibration: Tensor | None  # log-probabilities [B, K, g, g, 9]
    values: Tensor  # [B, G]
    z_alpha: Tensor  # [B, 256]
    z_beta: Tensor | None  # [B, 256]
    cell_values: Tensor | None = None  # [B, G, g, g]


class Residual(nn.Module):
    def __init__(self, channels_in: int, channels: int) -> None:
        super().__init__()
        self.first = nn.Sequential(
            nn.Conv2d(channels_in, channels, 3, stride=2, padding=1), nn.GroupNorm(8, channels), nn.ReLU(), nn.Conv2d(channels, channels, 3, padding=1), nn.GroupNorm(8, channels)
        )
        self.skip = nn.Conv2d(channels_in, channels, 1, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.first(x) + self.skip(x))


def _resnet(channels: int, widths: tuple[int, ...], side: int, out: int) -> nn.Sequential:
    stages = [Residual(a, b) for a, b in zip((widths[0], *widths), widths, strict=False)]
    left = side // 2 ** len(widths)
    # Few channels before the flat layer, which would otherwise hold most of the agent's 8 MB.
    return nn.Sequential(nn.Conv2d(channels, widths[0], 1), nn.ReLU(), *stages, nn.Conv2d(widths[-1], 16, 1), nn.Flatten(), nn.Linear(16 * left * left, out), nn.ReLU())


class Branch(nn.Module):
    """Adapter, projection and a LayerNorm without gain: the features that CLUB compares have unit scale."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.adapter = nn.Sequential(nn.Linear(size, size), nn.ReLU())
        self.projection = nn.Linear(size, size)
        self.norm = nn.LayerNorm(size, elementwise_affine=False)

    def forward(self, h: Tensor) -> Tensor:
        return self.norm(self.projection(self.adapter(h)))


class PolicyNetwork(nn.Module):
    def __init__(self, config: NetworkConfig, coarse: int = 32, near: int = 64) -> None:
        super().__init__()
        self.config, self.coarse, self.near = config, coarse, near  # side of the two views in cells
        channels = 2 * config.classes + config.layers
        # The coarse view is shifted so that the agent is in its middle; twice the window then always holds all of it.
        self.wide_net = _resnet(channels + 1, config.widths, 2 * coarse, config.latent)
        self.near_net = _resnet(channels, config.widths, near, config.latent)
        self.pose_net = nn.Sequential(nn.Linear(config.history * 8 + 1, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU())
        self.shared = nn.Sequential(nn.Linear(2 * config.latent + 128, config.latent), nn.ReLU())
        self.alpha = Branch(config.latent)
        self.motion = MotionHead(config.latent, config.motion)
        self.value = ValueHead(config.latent, config.groups)
        if config.calibration:
            self.beta = Branch(config.latent)
            self.calibration = CalibrationHead(config.latent, channels + LOCAL_GEOMETRY, config.kinds, config.grid)
        if config.cell_values:
            self.cell_value = CellValueHead(config.latent, channels + LOCAL_GEOMETRY, config.groups)

    def forward(self, views: Views) -> PolicyOutput:
        pose = views.poses[:, -1]
        kind = views.poses.dtype
        coarse, near = views.coarse.to(kind) / 255, views.near.to(kind) / 255
        h = self.encode(coarse, near, views.poses, views.time)
        z_alpha = self.alpha(h)
        motion = self.motion(z_alpha, self.move_mask(pose))
        if not self.config.calibration:
            return PolicyOutput(motion, None, self.value(h), z_alpha, None)
        z_beta = self.beta(h)
        local = torch.cat([functional.adaptive_avg_pool2d(coarse, self.config.grid), self.cell_geometry(pose)], 1)
        cell_values = self.cell_value(h.detach(), local) if self.config.cell_values else None
        return PolicyOutput(motion, self.calibration(z_beta, local), self.value(h), z_alpha, z_beta, cell_values)

    def encode(self, coarse: Tensor, near: Tensor, poses: Tensor, time: Tensor) -> Tensor:
        """h_t [B, 256] of the pre-update context z_t^-."""
        side = coarse.shape[-1]
        at = poses[:, -1, :2] / self.config.window * side
        inside = torch.ones_like(coarse[:, :1])
        wide = crop_around(torch.cat([coarse, inside], 1), at, 2 * side)
        steps = torch.cat([self.pose_features(poses).flatten(1), time[:, None]], -1)
        with torch.autocast(wide.device.type, torch.bfloat16, enabled=self.config.mixed and wide.is_cuda):
            if wide.is_cuda:  # what tensor cores read without rearranging
                wide, near = (x.contiguous(memory_format=torch.channels_last) for x in (wide, near))
            seen = [self.wide_net(wide), self.near_net(near)]
        return self.shared(torch.cat([*(x.to(steps.dtype) for x in seen), self.pose_net(steps)], -1))

    def pose_features(self, poses: Tensor) -> Tensor:
        """[B, L, 6] -> [B, L, 8]: places relative to now, angles as cosine and sine; absent steps are zero."""
        known = poses[..., :1].isfinite()
        filled = torch.where(known, poses, poses[:, -1:])
        relative = (filled[..., :2] - filled[:, -1:, :2]) / (self.config.window / 2)
        absolute = torch.cat([filled[..., :3] / self.config.window, filled[..., 4:5]], -1)
        yaw = filled[..., 5:6]
        return torch.cat([relative, absolute, yaw.cos(), yaw.sin()], -1) * known

    def move_mask(self, pose: Tensor) -> Tensor:
        """[B, moves] bool: moves whose goal lies inside the window. Staying is always allowed (to look elsewhere)."""
        space = self.config.motion
        moves = torch.arange(space.sizes[0], device=pose.device)
        action = torch.zeros(len(pose), len(moves), 4, dtype=torch.long, device=pose.device)
        action[..., 0] = moves
        goals = space.goal(action.flatten(0, 1), pose.repeat_interleave(len(moves), 0))
        inside = ((goals[:, :2] > 0) & (goals[:, :2] < self.config.window)).all(-1).view(len(pose), -1)
        return inside | (moves == 0)

    def cell_geometry(self, pose: Tensor) -> Tensor:
        """[B, 6, g, g]: where every coarse cell lies as seen from the camera, for range-dependent calibration."""
        grid, window = self.config.grid, self.config.window
        centre = (torch.arange(grid, device=pose.device) + 0.5) * (window / grid)
        dx = (centre[None, None, :] - pose[:, 0, None, None]).expand(-1, grid, -1)
        dy = (centre[None, :, None] - pose[:, 1, None, None]).expand(-1, -1, grid)
        distance = (dx.square() + dy.square() + pose[:, 2, None, None].square()).sqrt()
        bearing = torch.atan2(dy, dx) - pose[:, 5, None, None]
        height = pose[:, 2, None, None].expand_as(dx)
        return torch.stack([dx / 100, dy / 100, (distance + 1).log() / math.log(100), height / 80, bearing.cos(), bearing.sin()], 1)

    def value_parameters(self) -> list[nn.Parameter]:
        cells = self.cell_value.parameters() if self.config.cell_values else ()
        return [*self.value.parameters(), *cells]

    def shared_parameters(self) -> list[nn.Parameter]:
        """What Nash balances: everything but the value heads, which keep their own gradient."""
        values = set(self.value_parameters())
        return [p for p in self.parameters() if p not in values]
