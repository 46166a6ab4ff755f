"""Planners whose motion is another's: beta a constant or a table (the references `fixed`, `group`, `table`), or a third planner's."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from flaneur.env import Context
from flaneur.errors import UserError
from flaneur.planners.base import Planner


class ConstantBeta:
    """beta [K]: one value for all channels (`fixed`), or one per scale group and background (`group`)."""

    def __init__(self, motion: Planner, beta: Sequence[float], name: str) -> None:
        self.motion, self.beta, self.name = motion, tuple(beta), name

    def reset(self, env_ids: Sequence[int]) -> None:
        self.motion.reset(env_ids)

    def plan(self, context: Context) -> tuple[Tensor, Tensor | None]:
        goal, _ = self.motion.plan(context)
        beta = torch.tensor(self.beta, device=goal.device)
        return goal, beta[None, :, None, None].expand(len(goal), -1, 1, 1)


class BorrowedBeta:
    """Module swap X/Y: two whole planners see the same context; the goals are the first's, beta is the second's."""

    def __init__(self, motion: Planner, calibration: Planner, name: str) -> None:
        self.motion, self.calibration, self.name = motion, calibration, name

    def reset(self, env_ids: Sequence[int]) -> None:
        self.motion.reset(env_ids)
        self.calibration.reset(env_ids)

    def plan(self, context: Context) -> tuple[Tensor, Tensor | None]:
        goal, _ = self.motion.plan(context)
        _, beta = self.calibration.plan(context)
        return goal, beta


class DistanceBeta:
    """beta by scale group and by how far the cell lies from the camera: the reference `table`."""

    def __init__(self, motion: Planner, table: Sequence[Sequence[float]], edges: Sequence[float], name: str, grid: int = 32) -> None:
        self.motion, self.name, self.grid = motion, name, grid
        self.table, self.edges = torch.tensor(table), torch.tensor(edges)  # [K, D], [D - 1] metres
        if self.table.shape[1] != len(edges) + 1:
            raise UserError(f"beta table of '{name}': {self.table.shape[1]} distances, {len(edges)} edges between them")

    def reset(self, env_ids: Sequence[int]) -> None:
        self.motion.reset(env_ids)

    def plan(self, context: Context) -> tuple[Tensor, Tensor | None]:
        goal, _ = self.motion.plan(context)
        pose = context.poses
        centre = (torch.arange(self.grid, device=pose.device) + 0.5) * (context.grid.size / self.grid)
        dx, dy = centre[None, None, :] - pose[:, 0, None, None], centre[None, :, None] - pose[:, 1, None, None]
        distance = (dx.square() + dy.square() + pose[:, 2, None, None].square()).sqrt()  # [B, g, g]
        beta = self.table.to(pose.device)[:, torch.bucketize(distance, self.edges.to(pose.device))]
        return goal, beta.movedim(0, 1).contiguous()
