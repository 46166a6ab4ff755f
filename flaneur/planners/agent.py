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
from flaneur.sim.recorded import Recorded

_READ = ("planar", "poses", "probabilities", "observation_map", "history")  # what the network sees of a context, besides the time


class Agent:
    """Motion by sampling at `temperature` (0: the most probable), beta by its expectation."""

    def __init__(self, network: PolicyNetwork, name: str = "ours", temperature: float = 1.0, choice: BetaChoice = "expected", seed: int = 0) -> None:
        self.network, self.name, self.temperature = network.eval(), name, temperature
        self.choice: BetaChoice = choice
        self.device = next(network.parameters()).device
        self._generator = torch.Generator(self.device).manual_seed(seed)
        self._context: Context | None = None
        self._time = torch.zeros(0)
        self._seen: tuple[int, ...] = ()
        self._decide = Recorded(self._decide_now, self.device, generators=[self._generator])

    @classmethod
    def load(cls, path: Path, classes: ClassList, device: torch.device | str = "cpu", **options: Any) -> Agent:
        network, about = load_agent(path, classes.names, device)
        named: dict[str, Any] = {"name": about.get("training", {}).get("name", "ours")}
        return cls(network, **(named | options))

    def reset(self, env_ids: Sequence[int]) -> None:
        """Nothing is remembered between steps: the maps and the pose history are the context."""

    def views(self, context: Context, time: Tensor | None = None) -> Views:
        time = context.time if time is None else time
        layers, window = planar_layers(context.planar, context.poses, context.grid), self.network.config.window
        return make_views(context.probabilities, context.observation_map, layers, context.history, time, window, self.network.coarse, self.network.near)

    @torch.no_grad()
    def plan(self, context: Context) -> tuple[Tensor, Tensor | None]:
        # An environment's tensors stay where they are; those of another one are recorded anew.
        seen = tuple(getattr(context, k).data_ptr() for k in _READ)
        self._context = context
        if seen != self._seen:
            self._seen, self._decide = seen, Recorded(self._decide_now, self.device, generators=[self._generator])
            self._time = context.time.clone()
        self._time.copy_(context.time)
        return self._decide()

    def _decide_now(self) -> tuple[Tensor, Tensor | None]:
        assert self._context is not None
        decision = decide(self.network, self.views(self._context, self._time), self._generator, self.temperature, self.choice)
        return decision.goal, decision.beta
