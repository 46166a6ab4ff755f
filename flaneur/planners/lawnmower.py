"""Back and forth over the whole window at one altitude after the other, looking along the lane and down."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from flaneur.env import Context


class Lawnmower:
    """Lanes in both directions of the window: first high and wide, then low and narrow; pitch is the middle one of the task's."""

    name = "lawnmower"

    def __init__(self, altitudes: tuple[float, ...] = (45.0, 12.0), spacings: tuple[float, ...] = (40.0, 22.0), pitch: float = -30.0):
        self.altitudes, self.spacings, self.pitch = altitudes, spacings, pitch
        self._next: Tensor | None = None  # [B] waypoint each environment flies to

    def waypoints(self, size: float) -> Tensor:
        """[N, 3] corners of the path."""
        out = []
        for altitude, spacing in zip(self.altitudes, self.spacings, strict=True):
            lanes = max(1, round(size / spacing))
            for i in range(lanes):
                y = (i + 0.5) * size / lanes
                ends = (spacing / 2, size - spacing / 2)
                out += [(x, y, altitude) for x in (ends if i % 2 == 0 else ends[::-1])]
        return torch.tensor(out)

    def reset(self, env_ids: Sequence[int]) -> None:
        if self._next is not None:
            self._next[list(env_ids)] = 0

    def plan(self, context: Context) -> tuple[Tensor, Tensor | None]:
        path = self.waypoints(context.grid.size).to(context.poses.device)
        if self._next is None:
            self._next = torch.zeros(len(context.poses), dtype=torch.long, device=context.poses.device)
        here = context.poses[:, :3]
        reached = (here - path[self._next]).norm(dim=1) < 1.0
        self._next = (self._next + (reached | context.blocked).long()) % len(path)
        goal = path[self._next]
        delta = goal[:, :2] - here[:, :2]
        # On a lane look along it; between lanes keep looking where one looked.
        yaw = torch.where(delta.norm(dim=1) > 1.0, torch.atan2(delta[:, 1], delta[:, 0]), context.poses[:, 5])
        return torch.cat([goal, yaw[:, None], torch.full_like(yaw, math.radians(self.pitch))[:, None]], 1), None
