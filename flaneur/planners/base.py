"""One interface for every method: where to go next, and how far to trust what was seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from torch import Tensor

from flaneur.env import Context


class Planner(Protocol):
    """`plan` is called once per step for all environments and reads nothing but the context."""

    name: str

    def reset(self, env_ids: Sequence[int]) -> None:
        """Forget the named environments: a new episode begins there."""
        ...

    def plan(self, context: Context) -> tuple[Tensor, Tensor | None]:
        """Goals [B, 5] = x, y, z metres, yaw, pitch radians; beta [B, K, h, w], or None for ones."""
        ...
