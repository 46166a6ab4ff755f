"""Chen et al., "GLEAM: Learning Generalizable Exploration Policy for Active Mapping in Complex 3D Indoor Scenes", 2025.

The network of the learned rival, behind the same `forward` as ours: an egocentric map and the pose history become
tokens, a small transformer joins them, and a factored goal is drawn from it. It has no calibration branch. Beside the
four geometric states of its map it sees the semantic channels that ours sees.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from flaneur.agent.heads import ValueHead
from flaneur.agent.motion import MotionHead
from flaneur.agent.network import NetworkConfig, PolicyNetwork, PolicyOutput
from flaneur.agent.views import Views, centred
from flaneur.errors import UserError

TOKENS = 12  # x 12 = 144, after three convolutions of stride 2
WIDTH = 64
FEED_FORWARD = 256
TRANSFORMER_LAYERS = 2


class GleamNetwork(PolicyNetwork):
    """Shares the helpers of `PolicyNetwork` (pose features, moves that lead nowhere) and replaces its encoder and branches.

    `config.calibration` must be off; `z_alpha` of the output is the feature the goal is drawn from.
    """

    def __init__(self, config: NetworkConfig, coarse: int = 4 * TOKENS, near: int = 1) -> None:
        nn.Module.__init__(self)
        if config.calibration or coarse != 4 * TOKENS:
            raise UserError(f"GLEAM's network: 'calibration' must be false (is {config.calibration}) and 'coarse' {4 * TOKENS} (is {coarse})")
        self.config, self.coarse, self.near = config, coarse, near
        channels = 2 * config.classes + 4
        self.embedding = nn.Conv2d(channels, WIDTH, 1)
        self.convolutions = nn.Sequential(*[nn.Sequential(nn.Conv2d(WIDTH, WIDTH, 3, stride=2, padding=1), nn.GroupNorm(8, WIDTH), nn.ReLU()) for _ in range(3)])
        self.place = nn.Parameter(torch.zeros(TOKENS * TOKENS, WIDTH))
        self.pose_net = nn.Sequential(nn.Linear(config.history * 8 + 1, 128), nn.ReLU(), nn.Linear(128, WIDTH))
        layer = nn.TransformerEncoderLayer(WIDTH, nhead=1, dim_feedforward=FEED_FORWARD, dropout=0.0, batch_first=True)
        self.transformer = nn.TransformerEncoder(layer, TRANSFORMER_LAYERS, enable_nested_tensor=False)
        self.shared = nn.Sequential(nn.Linear(WIDTH, config.latent), nn.ReLU())
        self.motion = MotionHead(config.latent, config.motion)
        self.value = ValueHead(config.latent, config.groups)

    def forward(self, views: Views) -> PolicyOutput:
        tokens = self.map_tokens(views.coarse, views.poses)
        steps = torch.cat([self.pose_features(views.poses).flatten(1), views.time[:, None]], -1)
        pose_token = self.pose_net(steps)[:, None]
        h = self.shared(self.transformer(torch.cat([pose_token, tokens], 1))[:, 0])
        places = self.config.motion.places(views, self.config.window)
        return PolicyOutput(self.motion(h, places, views.poses[:, -1]), places, None, self.value(h), h, None)

    def map_tokens(self, coarse: Tensor, poses: Tensor) -> Tensor:
        """[B, 144, 64]: patches of the map with the agent in the middle."""
        picture = self.embedding(self.egocentric(coarse, poses).to(poses.dtype) / 255)
        return self.convolutions(picture).flatten(2).transpose(1, 2) + self.place

    def egocentric(self, coarse: Tensor, poses: Tensor) -> Tensor:
        """[B, 2C + 4, 96, 96] u8: semantic channels, then free, unknown, occupied and the share of frontier cells; zero outside the window.

        Twice the window holds all of it wherever the agent is. Its axes stay the world's, as the goals' do.
        """
        semantic, layers = coarse[:, : 2 * self.config.classes], coarse[:, 2 * self.config.classes :]
        # The layer is the mean of 0 unknown, 0.5 free, 1 occupied over the coarse cell: the nearest state stands for it.
        occupancy, frontier = layers[:, 0], layers[:, 1]
        state = torch.stack([(occupancy > 63) & (occupancy < 192), occupancy <= 63, occupancy >= 192], 1)
        whole = torch.cat([semantic, 255 * state.to(coarse.dtype), frontier[:, None]], 1)
        return centred(whole, poses[:, -1, :2] / self.config.window)[:, :-1]


def build_network(config: NetworkConfig, coarse: int | None = None, near: int | None = None) -> PolicyNetwork:
    """Ours or GLEAM's, with its own sizes of view unless others are given."""
    make = GleamNetwork if config.kind == "gleam" else PolicyNetwork
    return make(config) if coarse is None or near is None else make(config, coarse, near)
