"""Where the policy may go: an egocentric goal space, what is known of its places beforehand, and pi^alpha over it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor, nn
from torch.nn import functional

from flaneur.agent.heads import FactorisedCategorical
from flaneur.agent.views import Views

EDGE_SHARE = 6  # of 255: a coarse cell with fewer frontier cells is a crack, not an edge of the known
OWN_SURROUNDINGS = 6.0  # metres: what is nearer is seen by turning; a place as near to a past pose has been visited
REACH = 8.0  # metres by which one frontier has to be farther than another to be e times less likely at the start
FARTHEST = 8.0  # such steps
PATIENCE, PROGRESS = 3, 3.0  # steps in which one has to come so many metres, or what one flies to cannot be reached
# What the untrained policy makes of a place's features: a frontier explorer, so that learning begins where rules end (decision 0081).
PRIOR = {"farther": -1.0, "stay": -5.0, "near": -4.0, "far": -3.0, "onward": 0.7, "visited": -1.5, "stuck": -3.0}
FACING = 1.5  # likewise, of the cosine between the heading and the way to the goal
BEST_ALTITUDE, BEST_PITCH = 8.0, -30.0  # metres, degrees


@dataclass(frozen=True)
class Places:
    """Where each agent of a batch may go. M = MotionSpace.moves."""

    xy: Tensor  # [B, M, 2] metres
    allowed: Tensor  # [B, M] bool
    features: Tensor  # [B, M, 7] in the order of PRIOR


@dataclass(frozen=True)
class MotionSpace:
    """A goal is a place, a heading to look from there, an altitude and a pitch.

    Places: here, on a compass rose, and the nearest edge of the known in every direction.
    """

    directions: int = 8  # of the rose and of the frontier's sectors, fixed to the world's axes
    distances: tuple[float, ...] = (8.0, 32.0)  # metres, of the rose
    altitudes: tuple[float, ...] = (2.0, 4.0, 8.0, 16.0, 40.0)  # metres (decision 0073)
    headings: int = 8
    pitches: tuple[float, ...] = (0.0, -30.0, -60.0)  # degrees
    ahead: float = 12.0  # metres from a goal to what stands for what is seen from it in one direction

    @property
    def moves(self) -> int:
        return 1 + self.directions * (len(self.distances) + 1)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Number of values of each factor: place and heading together, altitude, pitch."""
        return self.moves * self.headings, len(self.altitudes), len(self.pitches)

    def places(self, views: Views, window: float) -> Places:
        poses = views.poses
        here, kind = poses[:, -1, :2], poses.dtype
        rose = here[:, None] + _table(self.rose(), poses.device, kind)
        inside = ((rose > 0) & (rose < window)).all(-1)
        inside[:, 0] = True  # staying, to look elsewhere
        edge, distance = self._edges(views, window)
        xy, allowed = torch.cat([rose, edge], 1), torch.cat([inside, distance.isfinite()], 1)
        farther = ((distance - distance.amin(1, keepdim=True)) / REACH).nan_to_num(nan=0.0, posinf=FARTHEST).clamp(max=FARTHEST)
        kinds = _table(self._kinds(), poses.device, kind).expand(len(poses), -1, -1)  # [B, M, 3]
        way = functional.normalize(xy - here[:, None], dim=-1)
        before = torch.where(poses[:, -2, :2].isfinite(), poses[:, -2, :2], here) if poses.shape[1] > 1 else here
        onward = (way * functional.normalize(here - before, dim=-1)[:, None]).sum(-1)
        past = (xy[:, :, None] - poses[:, None, :, :2].nan_to_num(nan=-1e4)).norm(dim=-1).amin(-1)
        visited = (past < OWN_SURROUNDINGS).to(kind) * (1 - kinds[..., 0])
        # Who does not get on flies somewhere else than to the edges it has been flying to.
        then = poses[:, -1 - min(PATIENCE, poses.shape[1] - 1), :3]
        stuck = ((poses[:, -1, :3] - then).norm(dim=-1) < PROGRESS).to(kind)[:, None] * (1 - kinds.sum(-1))
        features = torch.stack([functional.pad(farther, (xy.shape[1] - farther.shape[1], 0)), *kinds.unbind(-1), onward, visited, stuck], -1)
        return Places(xy, allowed, features)

    def _edges(self, views: Views, window: float) -> tuple[Tensor, Tensor]:
        """Nearest coarse cell with a frontier in every sector: [B, directions, 2] metres, distance [B, directions], infinite where there is none."""
        frontier, pose = views.coarse[:, -2].flatten(1), views.poses[:, -1]
        side = views.coarse.shape[-1]
        at = torch.arange(side * side, device=pose.device)
        centre = (torch.stack([at % side, at // side], -1).to(pose.dtype) + 0.5) * (window / side)
        way = centre[None] - pose[:, None, :2]
        distance = torch.where((frontier >= EDGE_SHARE) & (way.norm(dim=-1) > OWN_SURROUNDINGS), way.norm(dim=-1), torch.inf)
        sector = (torch.atan2(way[..., 1], way[..., 0]) * (self.directions / (2 * math.pi))).round().long() % self.directions
        mine = sector[:, None] == torch.arange(self.directions, device=pose.device)[:, None]
        nearest = torch.where(mine, distance[:, None], torch.inf).min(-1)
        return centre[nearest.indices], nearest.values

    def goal(self, action: Tensor, places: Places) -> Tensor:
        """[B, 3] indices -> continuous goals [B, 5] = x, y, z (metres), yaw, pitch (radians)."""
        place, altitude, pitch = action.unbind(-1)
        xy = places.xy[torch.arange(len(action), device=action.device), place // self.headings]
        heights, yaws, pitches = (_table(t, xy.device, xy.dtype) for t in (self.altitudes, self._compass(self.headings), tuple(math.radians(p) for p in self.pitches)))
        return torch.cat([xy, torch.stack([heights[altitude], yaws[place % self.headings], pitches[pitch]], -1)], -1)

    def compass(self, device: torch.device, dtype: torch.dtype) -> Tensor:
        """[headings, 2] unit vectors."""
        return _table(tuple((math.cos(a), math.sin(a)) for a in self._compass(self.headings)), device, dtype)

    def rose(self) -> tuple[tuple[float, float], ...]:
        return ((0.0, 0.0), *((r * math.cos(a), r * math.sin(a)) for r in self.distances for a in self._compass(self.directions)))

    def _kinds(self) -> tuple[tuple[float, float, float], ...]:
        """[moves, 3]: here, within OWN_SURROUNDINGS * 2, farther on the rose."""
        rose = [(0.0, 1.0, 0.0) if r <= 2 * OWN_SURROUNDINGS else (0.0, 0.0, 1.0) for r in self.distances for _ in range(self.directions)]
        return ((1.0, 0.0, 0.0), *rose, *[(0.0, 0.0, 0.0)] * self.directions)

    @staticmethod
    def _compass(n: int) -> tuple[float, ...]:
        return tuple(2 * math.pi * k / n for k in range(n))


@cache
def _table(values: tuple, device: torch.device, dtype: torch.dtype) -> Tensor:
    """Constants on the device, sent there once: sending makes the device wait."""
    return torch.tensor(values, dtype=dtype, device=device)


class MotionHead(nn.Module):
    """pi^alpha(a | Z_alpha): where to go and look from there, how high, how steeply; moves that lead nowhere are masked.

    A place is worth what the map shows there: Z_alpha is decoded to a picture around the agent, joined by the encoder's
    own pictures, and read off at every goal and at what is seen from it. A single vector would have to learn the compass
    rose eight times over (decision 0081).
    """

    def __init__(self, size: int, space: MotionSpace, widths: Sequence[int] = (), metres: float = 400.0, hidden: int = 32) -> None:
        super().__init__()
        self.space, self.metres = space, metres
        self.split = [space.moves, space.headings, len(space.altitudes), len(space.pitches)]
        self.linear = nn.Linear(size, sum(self.split))
        nn.init.orthogonal_(self.linear.weight, 0.01)
        altitude = [1.5 - abs(math.log2(z / BEST_ALTITUDE)) for z in space.altitudes]
        pitch = [1.0 - abs(p - BEST_PITCH) / 43.0 for p in space.pitches]
        self.linear.bias = nn.Parameter(torch.tensor([0.0] * (space.moves + space.headings) + altitude + pitch))
        self.prior, self.facing = nn.Parameter(torch.tensor(list(PRIOR.values()))), nn.Parameter(torch.tensor(FACING))
        self.levels = nn.ModuleList(nn.Conv2d(w, hidden, 1) for w in widths)
        if widths:
            self.from_latent = nn.Linear(size, hidden)
            self.worth = nn.Sequential(nn.ReLU(), nn.Conv2d(hidden, hidden, 1), nn.ReLU(), nn.Conv2d(hidden, 2, 1))
            last = self.worth[-1]
            assert isinstance(last, nn.Conv2d) and last.bias is not None
            nn.init.orthogonal_(last.weight, 0.01)
            nn.init.zeros_(last.bias)

    def forward(self, z_alpha: Tensor, places: Places, pose: Tensor, levels: Sequence[Tensor] = ()) -> FactorisedCategorical:
        """z_alpha [B, 256], pose [B, 6]; levels [B, width, side, side], each of half the side before it."""
        move, heading, altitude, pitch = self.linear(z_alpha).split(self.split, -1)
        compass = self.space.compass(pose.device, pose.dtype)
        way = functional.normalize(places.xy - pose[:, None, :2], dim=-1)
        place = (move + places.features @ self.prior)[:, :, None] + heading[:, None] + self.facing * (way @ compass.T)  # [B, M, headings]
        if self.levels:
            going, seeing = self._worth(z_alpha, levels).unbind(1)
            seen = places.xy[:, :, None] + self.space.ahead * compass
            place = place + self._read(going, places.xy, pose)[:, :, None] + self._read(seeing, seen.flatten(1, 2), pose).view_as(place)
        place = place.masked_fill(~places.allowed[:, :, None], -torch.inf)
        return FactorisedCategorical([place.flatten(1), altitude, pitch])

    def _worth(self, z_alpha: Tensor, levels: Sequence[Tensor]) -> Tensor:
        """[B, 2, side, side]: of going there, of looking there."""
        x = self.from_latent(z_alpha)[:, :, None, None]
        for k, (net, level) in enumerate(zip(self.levels, levels, strict=True)):
            x = x + functional.interpolate(net(level.to(z_alpha.dtype)), scale_factor=2**k, mode="nearest")
        return self.worth(x)

    def _read(self, picture: Tensor, at: Tensor, pose: Tensor) -> Tensor:
        """Values of a picture [B, side, side] around the agent at places [B, n, 2]."""
        side = picture.shape[-1]
        cell = ((at - pose[:, None, :2]) * (side / self.metres) + side / 2).floor().long().clamp(0, side - 1)
        return picture.flatten(1).gather(1, cell[..., 1] * side + cell[..., 0])
