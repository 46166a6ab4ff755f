"""The learned agent as a planner: the same interface as every rival."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from flaneur.agent.checkpoint import load_agent
from flaneur.agent.network import PolicyNetwork
from flaneur.agent.policy import BetaChoice, decide
from flaneur.agent.views import Views, make_views
from flaneur.classes import ClassList
from flaneur.env import Context
from flaneur.env.layers import planar_layers


class Agent:
    """Motion by sampling at `temperature` (0: the most probable), beta by its expectation."""

    def __init__(self, network: PolicyNetwork, name: str = "ours", temperature: float = 1.0, choice: BetaChoice = "expected", seed: int = 0) -> None:
        self.network, self.name, self.temperature = network.eval(), name, temperature
        self.choice: BetaChoice = choice
        self._generator = torch.Generator(next(network.parameters()).device).manual_seed(seed)

    @classmethod
    def load(cls, path: Path, classes: ClassList, device: torch.device | str = "cpu", **options: Any) -> Agent:
        network, about = load_agent(path, classes.names, device)
        named: dict[str, Any] = {"name": about.get("training", {}).get("name", "ours")}
        return cls(network, **(named | options))

    def reset(self, env_ids: Sequence[int]) -> None:
        """Nothing is remembered between steps: the maps and the pose history are the context."""

    def views(self, context: Context) -> Views:
        layers, window = planar_layers(context.planar, context.poses, context.grid), self.network.config.window
        return make_views(context.probabilities, context.observation_map, layers, context.history, context.time, window, self.network.coarse, self.network.near)

    @torch.no_grad()
    def plan(self, context: Context) -> tuple[Tensor, Tensor | None]:
        decision = decide(self.network, self.views(context), self._generator, self.temperature, self.choice)
        return decision.goal, decision.beta
