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

from flaneur.agent.heads import CalibrationHead, CellValueHead, FactorisedCategorical, ValueHead
from flaneur.agent.layers import Encoder
from flaneur.agent.motion import MotionHead, MotionSpace, Places
from flaneur.agent.views import Views, centred

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
    places: Places
    calibration: Tensor | None  # log-probabilities [B, K, g, g, 9]
    values: Tensor  # [B, G]
    z_alpha: Tensor  # [B, 256]
    z_beta: Tensor | None  # [B, 256]
    cell_values: Tensor | None = None  # [B, G, g, g]


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
        self.wide_net = Encoder(channels + 1, config.widths, 2 * coarse, config.latent)
        self.near_net = Encoder(channels, config.widths, near, config.latent)
        self.pose_net = nn.Sequential(nn.Linear(config.history * 8 + 1, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU())
        self.shared = nn.Sequential(nn.Linear(2 * config.latent + 128, config.latent), nn.ReLU())
        self.alpha = Branch(config.latent)
        # Three pictures of twice the window around the agent: 12.5, 25 and 50 m a cell.
        self.motion = MotionHead(config.latent, config.motion, (config.widths[0], *config.widths[:2]), 2 * config.window)
        self.value = ValueHead(config.latent, config.groups)
        if config.calibration:
            self.beta = Branch(config.latent)
            self.calibration = CalibrationHead(config.latent, channels + LOCAL_GEOMETRY, config.kinds, config.grid)
        if config.cell_values:
            self.cell_value = CellValueHead(config.latent, channels + LOCAL_GEOMETRY, config.groups)

    def forward(self, views: Views) -> PolicyOutput:
        pose, kind = views.poses[:, -1], views.poses.dtype
        h, levels = self.encode(views)
        z_alpha = self.alpha(h)
        places = self.config.motion.places(views, self.config.window)
        motion = self.motion(z_alpha, places, pose, levels[:3])
        if not self.config.calibration:
            return PolicyOutput(motion, places, None, self.value(h), z_alpha, None)
        z_beta = self.beta(h)
        local = torch.cat([functional.adaptive_avg_pool2d(views.coarse.to(kind), self.config.grid) / 255, self.cell_geometry(pose)], 1)
        cell_values = self.cell_value(h.detach(), local) if self.config.cell_values else None
        return PolicyOutput(motion, places, self.calibration(z_beta, local), self.value(h), z_alpha, z_beta, cell_values)

    def encode(self, views: Views) -> tuple[Tensor, list[Tensor]]:
        """h_t [B, 256] of the pre-update context z_t^-, and the pictures that the wide view became on the way."""
        poses, kind = views.poses, views.poses.dtype
        pictures = [(self.wide_net, centred(views.coarse, poses[:, -1, :2] / self.config.window)), (self.near_net, views.near)]
        half = self.config.mixed and poses.is_cuda
        # Channels last, as tensor cores read them: the first convolution is most of the work.
        form = torch.channels_last if half else torch.contiguous_format
        (wide, levels), (near, _) = [net(picture.to(torch.bfloat16 if half else kind, memory_format=form)) for net, picture in pictures]
        steps = torch.cat([self.pose_features(poses).flatten(1), views.time[:, None]], -1)
        return self.shared(torch.cat([wide, near, self.pose_net(steps)], -1)), levels

    def pose_features(self, poses: Tensor) -> Tensor:
        """[B, L, 6] -> [B, L, 8]: places relative to now, angles as cosine and sine; absent steps are zero."""
        known = poses[..., :1].isfinite()
        filled = torch.where(known, poses, poses[:, -1:])
        relative = (filled[..., :2] - filled[:, -1:, :2]) / (self.config.window / 2)
        absolute = torch.cat([filled[..., :3] / self.config.window, filled[..., 4:5]], -1)
        yaw = filled[..., 5:6]
        return torch.cat([relative, absolute, yaw.cos(), yaw.sin()], -1) * known

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
