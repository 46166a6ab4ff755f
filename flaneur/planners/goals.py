"""What rule-based planners share: goals that are held until they are reached, blocked or used up."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from flaneur.env import Context


class HeldGoals:
    """The current goal [B, 5] of every environment and how long it has been held."""

    def __init__(self, patience: int = 60) -> None:
        self.patience = patience  # steps after which a goal is given up
        self.goal: Tensor | None = None  # [B, 5], NaN where none is held
        self.age: Tensor | None = None  # [B]

    def ready(self, context: Context) -> tuple[Tensor, Tensor]:
        if self.goal is None or self.age is None or len(self.goal) != len(context.poses):
            self.goal = torch.full((len(context.poses), 5), torch.nan, device=context.poses.device)
            self.age = torch.zeros(len(context.poses), dtype=torch.int32, device=context.poses.device)
        return self.goal, self.age

    def forget(self, env_ids: Sequence[int]) -> None:
        if self.goal is not None and self.age is not None:
            self.goal[list(env_ids)] = torch.nan
            self.age[list(env_ids)] = 0

    def open(self, context: Context) -> Tensor:
        """[B] bool: environments that need a new goal."""
        goal, age = self.ready(context)
        return torch.isnan(goal[:, 0]) | context.arrived | context.blocked | (age >= self.patience)

    def take(self, context: Context, fresh: Tensor, where: Tensor) -> Tensor:
        """Hold `fresh` [B, 5] in the environments `where` [B]; returns all goals."""
        goal, age = self.ready(context)
        self.goal = torch.where(where[:, None], fresh, goal)
        self.age = torch.where(where, 0, age + 1)
        return self.goal
