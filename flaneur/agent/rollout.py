"""Collects transitions of many environments and turns them into one flat batch."""

from __future__ import annotations

import torch
from torch import Tensor

from flaneur.agent.gae import generalised_advantages
from flaneur.agent.network import PolicyNetwork
from flaneur.agent.policy import active_entries, decide, observe
from flaneur.agent.ppo import Batch, PpoConfig
from flaneur.agent.views import Views
from flaneur.env.semantic import SemanticEnv


class Collector:
    """Steps the environments with the current policy. Views are kept as bytes, so a step costs 0.3 MB."""

    def __init__(
        self, env: SemanticEnv, network: PolicyNetwork, config: PpoConfig, reward_scale: float, generator: torch.Generator, reward_weights: tuple[float, float, float] = (1.0, 1.0, 1.0)
    ) -> None:
        self.env, self.network, self.config, self.generator = env, network, config, generator
        self.reward_scale = reward_scale * torch.tensor(reward_weights, device=env.device)  # [3]
        self.finished: list[Tensor] = []  # final CCRs [3] of episodes that ended since the last look

    @torch.no_grad()
    def collect(self, steps: int) -> Batch:
        network, env = self.network, self.env
        rows: list[dict[str, Tensor | None]] = []
        views_of: list[Views] = []
        rewards, done, values = [], [], []
        views = observe(env.observation(), network)
        for _ in range(steps):
            decision = decide(network, views, self.generator)
            active = None
            if decision.entries is not None:
                active = active_entries(env.map.affected, network.config.kinds, network.config.grid)
            _, reward, terminated, _, info = env.step(decision.goal, decision.beta)
            views_of.append(views)
            rows.append({"action": decision.action, "motion": decision.motion_log_prob, "entries": decision.entries, "old": decision.entry_log_prob, "active": active})
            values.append(decision.values)
            rewards.append(self.group_reward(reward))
            done.append(terminated)
            if "final_scores" in info:
                self.finished += list(info["final_scores"]["ccr"])
            views = observe(env.observation(), network)
        values.append(network(views).values)
        all_values = torch.stack(values)  # [T + 1, N, G]
        advantages, targets = generalised_advantages(torch.stack(rewards), all_values, torch.stack(done), self.config.gamma, self.config.lam)

        def flat(name: str) -> Tensor | None:
            parts = [row[name] for row in rows]
            return None if parts[0] is None else torch.cat(parts)  # type: ignore[arg-type]

        action, motion = flat("action"), flat("motion")
        assert action is not None and motion is not None
        return Batch(
            Views.stack(views_of), action, motion, flat("entries"), flat("old"), flat("active"),
            advantages.flatten(0, 1), targets.flatten(0, 1), all_values[:-1].flatten(0, 1),
        )  # fmt: skip

    def group_reward(self, reward: Tensor) -> Tensor:
        """[N, 3] gains -> [N, G]: each group's own with MV, their mean without."""
        scaled = reward * self.reward_scale
        return scaled if self.config.mv else scaled.mean(1, keepdim=True)
