"""The floor: goals drawn uniformly from the flight volume."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from flaneur.env import Context
from flaneur.planners.goals import HeldGoals


class RandomGoals:
    """Uniform over the window, heading and pitch; altitudes uniform in their logarithm, as most of a city is low."""

    name = "random"

    def __init__(self, seed: int = 0, device: str | torch.device = "cpu") -> None:
        self._generator = torch.Generator(device).manual_seed(seed)
        self._held = HeldGoals()

    def reset(self, env_ids: Sequence[int]) -> None:
        self._held.forget(env_ids)

    def plan(self, context: Context) -> tuple[Tensor, Tensor | None]:
        b, device = len(context.poses), context.poses.device
        draw = torch.rand(b, 5, generator=self._generator, device=self._generator.device).to(device)
        low, high = (math.log(z) for z in context.flight)
        pitches = torch.tensor([math.radians(p) for p in context.pitches], device=device)
        fresh = torch.stack([
            draw[:, 0] * context.grid.size, draw[:, 1] * context.grid.size, torch.exp(low + draw[:, 2] * (high - low)),
            draw[:, 3] * 2 * math.pi, pitches[(draw[:, 4] * len(pitches)).long()],
        ], 1)  # fmt: skip
        return self._held.take(context, fresh, self._held.open(context)), None
