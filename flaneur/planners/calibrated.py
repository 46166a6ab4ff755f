"""Planners whose motion is another's: beta a constant (the references `fixed` and `group`), or a third planner's."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from flaneur.env import Context
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
