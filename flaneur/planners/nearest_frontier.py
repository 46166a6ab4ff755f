"""Classic frontier exploration: fly to the nearest cell where the known ends."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from flaneur.env import Context, frontier
from flaneur.planners.goals import HeldGoals


class NearestFrontier:
    """Goals lie above the nearest frontier cell, looking onward the way one came. Goals that turn out blocked are dropped until no other is left."""

    name = "nearest-frontier"

    def __init__(self, altitude: float = 8.0, pitch: float = -30.0, drop_radius: float = 4.0) -> None:
        self.altitude, self.pitch, self.drop_radius = altitude, pitch, drop_radius
        self._held = HeldGoals(patience=40)
        self._dropped: Tensor | None = None  # [B, Hm, Wm] bool

    def reset(self, env_ids: Sequence[int]) -> None:
        self._held.forget(env_ids)
        if self._dropped is not None:
            self._dropped[list(env_ids)] = False

    def plan(self, context: Context) -> tuple[Tensor, Tensor | None]:
        poses, cell = context.poses, context.grid.cell
        goal, _ = self._held.ready(context)
        if self._dropped is None:
            self._dropped = torch.zeros_like(context.planar, dtype=torch.bool)
        at = (torch.arange(context.grid.cells, device=poses.device) + 0.5) * cell
        far = lambda p: torch.hypot(at[None, None, :] - p[:, 0, None, None], at[None, :, None] - p[:, 1, None, None])  # [B, Hm, Wm]  # noqa: E731
        done = self._held.open(context)
        self._dropped |= done[:, None, None] & (far(goal.nan_to_num(nan=-1e6)) < self.drop_radius)
        edge = frontier(context.planar) & ~self._dropped
        # A held goal whose frontier is gone is no longer useful.
        near_goal = far(goal.nan_to_num(nan=-1e6)) < self.drop_radius
        done = done | ~(edge & near_goal).flatten(1).any(1)
        # One's own surroundings are seen by turning, not by going there.
        distance = torch.where(edge, far(poses), torch.inf)
        distance = torch.where(distance < self.drop_radius, distance + context.grid.size, distance).flatten(1)
        best = distance.argmin(1)
        none = torch.isinf(distance.gather(1, best[:, None])[:, 0])
        self._dropped &= ~none[:, None, None]  # nothing else is left: perhaps there is a way by now
        x, y = (best % context.grid.cells + 0.5) * cell, (best // context.grid.cells + 0.5) * cell
        yaw = torch.atan2(y - poses[:, 1], x - poses[:, 0])
        ground = context.ground.flatten(1).gather(1, best[:, None])[:, 0]
        fresh = torch.stack([x, y, ground + self.altitude, yaw, torch.full_like(yaw, math.radians(self.pitch))], 1)
        # With no frontier left, turn on the spot.
        stay = torch.cat([poses[:, :3], poses[:, 5:] + math.pi / 4, poses[:, 4:5]], 1)
        return self._held.take(context, torch.where(none[:, None], stay, fresh), done), None
