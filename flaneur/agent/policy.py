"""Acting with a network: observations to views, views to goals and beta, sampled or deterministic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from flaneur.agent.heads import entry_log_prob
from flaneur.agent.network import PolicyNetwork
from flaneur.agent.views import Views, make_views

BetaChoice = Literal["expected", "sampled", "most_probable"]


@dataclass
class Decision:
    goal: Tensor  # [B, 5]
    beta: Tensor | None  # [B, K, g, g]
    action: Tensor  # [B, factors] i64
    motion_log_prob: Tensor  # [B]
    entries: Tensor | None  # [B, K, g, g] i64
    entry_log_prob: Tensor | None  # [B, E]
    values: Tensor  # [B, G]
    cell_values: Tensor | None = None  # [B, G, g, g]


def observe(observation: dict[str, Tensor], network: PolicyNetwork) -> Views:
    """The environment's observation as the network's two views."""
    o, window = observation, network.config.window
    return make_views(o["map"], o["observation_map"], o["layers"], o["poses"], o["time"], window, network.coarse, network.near)


def decide(network: PolicyNetwork, views: Views, generator: torch.Generator | None = None, temperature: float = 1.0, choice: BetaChoice = "sampled") -> Decision:
    """Motion at a temperature (0: the most probable), beta sampled in training and expected at test time."""
    output = network(views)
    action = output.motion.sample(generator, temperature)
    goal = network.config.motion.goal(action, output.places)
    beta = entries = log_p = None
    if output.calibration is not None:
        head = network.calibration
        if choice == "sampled":
            entries = head.sample(output.calibration, generator)
            beta, log_p = head.value(entries), entry_log_prob(output.calibration, entries)
        else:
            beta = head.expectation(output.calibration) if choice == "expected" else head.most_probable(output.calibration)
    elif network.config.scaling != 1.0:
        beta = goal.new_full((len(goal), network.config.kinds, 1, 1), network.config.scaling)
    return Decision(goal, beta, action, output.motion.log_prob(action), entries, log_p, output.values, output.cell_values)


def active_entries(affected: Tensor, kinds: int, grid: int) -> Tensor:
    """[B, Hm, Wm] u8 cells of the pending observation -> [B, K g g] bool: entries whose coarse cell it touches."""
    touched = functional.adaptive_max_pool2d(affected[:, None].float(), grid) > 0
    return touched.expand(-1, kinds, -1, -1).flatten(1)
