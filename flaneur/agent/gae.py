"""Generalised advantage estimation per category (appendix, Category-Wise PPO Objective)."""

from __future__ import annotations

import torch
from torch import Tensor


def generalised_advantages(
    rewards: Tensor,  # [T, N, G] R_{c,t}
    values: Tensor,  # [T + 1, N, G] V_c(h_t) of the policy that collected; the last row bootstraps
    done: Tensor,  # [T, N] bool: the transition ends its episode, so nothing after it counts
    gamma: float = 0.99,
    lam: float = 0.95,
) -> tuple[Tensor, Tensor]:
    """Advantages and value targets [T, N, G].

    delta_{c,t} = R_{c,t} + gamma (1 - d_t) V_c(h_{t+1}) - V_c(h_t),  A_{t,c} = sum_l (gamma lambda)^l delta_{c,t+l},
    V^targ = A + V.
    """
    alive = (~done).to(values.dtype)[..., None]
    delta = rewards + gamma * alive * values[1:] - values[:-1]
    advantages = torch.empty_like(delta)
    running = torch.zeros_like(delta[0])
    for t in range(len(rewards) - 1, -1, -1):
        running = delta[t] + gamma * lam * alive[t] * running
        advantages[t] = running
    return advantages, advantages + values[:-1]


def normalise(advantages: Tensor, mean: Tensor, std: Tensor, floor: float = 1e-3) -> Tensor:
    """Per group [..., G]. The floor keeps a group whose reward never moves from turning noise into advantage."""
    return (advantages - mean) / std.clamp_min(floor)
