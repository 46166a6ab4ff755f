"""Collects transitions of many environments and turns them into one flat batch."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import torch
from torch import Tensor

from flaneur.agent.gae import generalised_advantages
from flaneur.agent.network import PolicyNetwork
from flaneur.agent.policy import Decision, active_entries, decide, observe
from flaneur.agent.ppo import Batch, PpoConfig
from flaneur.agent.views import Views
from flaneur.env.semantic import SemanticEnv
from flaneur.sim.recorded import Recorded


class Collector:
    """Steps the environments with the current policy. Views are kept as bytes, so a step costs 0.3 MB."""

    def __init__(
        self, env: SemanticEnv, network: PolicyNetwork, config: PpoConfig, reward_scale: float, generator: torch.Generator, reward_weights: tuple[float, float, float] = (1.0, 1.0, 1.0)
    ) -> None:
        self.env, self.network, self.config, self.generator = env, network, config, generator
        self.reward_scale = reward_scale * torch.tensor(reward_weights, device=env.device)  # [3]
        self.finished: list[Tensor] = []  # final CCRs [3] of episodes that ended since the last look
        self._decide = Recorded(self._decide_now, env.device, env.config.record, [generator])

    def _decide_now(self) -> tuple[Views, Decision, Tensor | None]:
        """What the network sees, what it does, and which calibration entries the pending observation touches."""
        network = self.network
        views = observe(self.env.observation(), network)
        decision = decide(network, views, self.generator)
        active = None if decision.entries is None else active_entries(self.env.map.affected, network.config.kinds, network.config.grid)
        return views, decision, active

    @torch.no_grad()
    def collect(self, steps: int) -> Batch:
        network, env = self.network, self.env
        rows: list[dict[str, Tensor | None]] = []
        views_of: list[Views] = []
        rewards, done, values, cell_values, cell_rewards = [], [], [], [], []
        for _ in range(steps):
            # The next decision is written where this one is: what is kept is copied.
            views, decision, active = _kept(self._decide())
            _, reward, terminated, _, info = env.step(decision.goal, decision.beta)
            views_of.append(views)
            rows.append({"action": decision.action, "motion": decision.motion_log_prob, "entries": decision.entries, "old": decision.entry_log_prob, "active": active})
            values.append(decision.values)
            if decision.cell_values is not None:
                cell_values.append(decision.cell_values)
                cell_rewards.append(self.cell_reward(info["cell_gain"]))
            rewards.append(self.group_reward(reward))
            done.append(terminated)
            if "final_scores" in info:
                self.finished += list(info["final_scores"]["ccr"])
        last = network(observe(env.observation(), network))
        values.append(last.values)
        all_values, ended = torch.stack(values), torch.stack(done)  # [T + 1, N, G], [T, N]
        advantages, targets = generalised_advantages(torch.stack(rewards), all_values, ended, self.config.gamma, self.config.lam)
        entry_advantages = cell_targets = None
        if cell_values:
            # The same estimator with every coarse cell a category of its own.
            cells = torch.stack([*cell_values, last.cell_values])  # [T + 1, N, G, g, g]
            per_cell, to_learn = generalised_advantages(torch.stack(cell_rewards).flatten(2), cells.flatten(2), ended, self.config.gamma, self.config.lam)
            cell_targets = to_learn.unflatten(2, cells.shape[2:]).flatten(0, 1)
            credit = per_cell.unflatten(2, cells.shape[2:]).flatten(0, 1).movedim(1, -1)  # [N, g, g, G]
            entry_advantages = credit[:, None].expand(-1, network.config.kinds, -1, -1, -1).flatten(1, 3)

        def flat(name: str) -> Tensor | None:
            parts = [row[name] for row in rows]
            return None if parts[0] is None else torch.cat(parts)  # type: ignore[arg-type]

        action, motion = flat("action"), flat("motion")
        assert action is not None and motion is not None
        return Batch(
            Views.stack(views_of), action, motion, flat("entries"), flat("old"), flat("active"),
            advantages.flatten(0, 1), targets.flatten(0, 1), all_values[:-1].flatten(0, 1), entry_advantages, cell_targets,
        )  # fmt: skip

    def group_reward(self, reward: Tensor) -> Tensor:
        """[N, 3] gains -> [N, G]: each group's own with MV, their mean without."""
        scaled = reward * self.reward_scale
        return scaled if self.config.mv else scaled.mean(1, keepdim=True)

    def cell_reward(self, gain: Tensor) -> Tensor:
        """[N, 3, g, g] gains by coarse cell -> [N, G, g, g]."""
        scaled = gain * self.reward_scale[:, None, None]
        return scaled if self.config.mv else scaled.mean(1, keepdim=True)


def _kept(decided: tuple[Views, Decision, Tensor | None]) -> tuple[Views, Decision, Tensor | None]:
    views, decision, active = decided
    return _copy(views), _copy(decision), None if active is None else active.clone()


def _copy(record: Any) -> Any:
    """A dataclass of tensors, and of None."""
    return replace(record, **{f.name: v.clone() for f in fields(record) if (v := getattr(record, f.name)) is not None})
