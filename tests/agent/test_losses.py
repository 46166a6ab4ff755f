"""The PPO losses and advantages against loops written from the paper's formulas."""

import numpy as np
import pytest
import torch

from flaneur.agent.gae import generalised_advantages, normalise
from flaneur.agent.losses import clipped_surrogate, group_losses, policy_loss, value_loss

N, E, G = 7, 5, 3


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_advantages_equal_the_sum_over_td_residuals() -> None:
    steps, envs, gamma, lam = 9, 2, 0.99, 0.95
    rewards, values = draw(steps, envs, G), draw(steps + 1, envs, G, seed=1)
    done = torch.zeros(steps, envs, dtype=torch.bool)
    done[4, 0] = done[8, 1] = True
    advantages, targets = generalised_advantages(rewards, values, done, gamma, lam)
    for n in range(envs):
        for t in range(steps):
            total, factor = torch.zeros(G, dtype=torch.float64), 1.0
            for s in range(t, steps):
                alive = 0.0 if done[s, n] else 1.0
                total += factor * (rewards[s, n] + gamma * alive * values[s + 1, n] - values[s, n])
                factor *= gamma * lam * alive
            torch.testing.assert_close(advantages[t, n], total)
    torch.testing.assert_close(targets, advantages + values[:-1])


def test_undiscounted_advantage_with_lambda_one_is_return_minus_value() -> None:
    rewards, values = draw(6, 1, G), draw(7, 1, G, seed=2)
    done = torch.zeros(6, 1, dtype=torch.bool)
    done[-1] = True
    advantages, _ = generalised_advantages(rewards, values, done, 1.0, 1.0)
    torch.testing.assert_close(advantages[0], rewards.sum(0) - values[0])


def test_normalisation_has_a_floor() -> None:
    flat = torch.full((4, G), 1e-9)
    assert normalise(flat, flat.mean(0), flat.std(0)).abs().max() < 1e-3


@pytest.mark.parametrize("mode", ["per_entry", "geo_mean", "joint"])
def test_policy_loss_equals_the_loop(mode: str) -> None:
    motion, entries, advantages = draw(N) * 0.3, draw(N, E, seed=1) * 0.3, draw(N, G, seed=2)
    active = draw(N, E, seed=3) > 0
    active[0] = False
    expected = np.zeros(G)
    for n in range(N):
        used = [float(entries[n, e]) for e in range(E) if active[n, e]]
        for c in range(G):
            a = float(advantages[n, c])

            def surrogate(log_ratio: float, a: float = a) -> float:
                r = np.exp(log_ratio)
                return min(r * a, np.clip(r, 0.8, 1.2) * a)

            if mode == "joint":
                s = surrogate(float(motion[n]) + sum(used))
            elif mode == "geo_mean":
                s = surrogate(float(motion[n])) + 0.5 * surrogate(sum(used) / max(len(used), 1))
            else:
                s = surrogate(float(motion[n])) + 0.5 * sum(map(surrogate, used)) / max(len(used), 1)
            expected[c] -= s / N
    result = policy_loss(motion, entries, active, advantages, mode, calibration_weight=0.5)
    np.testing.assert_allclose(result.per_group.numpy(), expected, rtol=1e-12)


def test_inactive_entries_have_no_gradient() -> None:
    entries = (draw(N, E) * 0.01).requires_grad_()
    active = draw(N, E, seed=3) > 0
    policy_loss(draw(N) * 0.01, entries, active, draw(N, G, seed=2)).per_group.sum().backward()
    assert entries.grad is not None
    assert (entries.grad[~active] == 0).all() and (entries.grad[active] != 0).all()


def test_no_gradient_beyond_the_trust_region() -> None:
    log_ratio = torch.tensor([0.5, -0.5], dtype=torch.float64, requires_grad=True)
    clipped_surrogate(log_ratio, torch.tensor([[1.0], [-1.0]], dtype=torch.float64), 0.2).sum().backward()
    assert (log_ratio.grad == 0).all()


def test_value_loss_takes_the_worse_of_clipped_and_unclipped() -> None:
    values, old, targets = draw(N, G), draw(N, G, seed=1), draw(N, G, seed=2)
    expected = np.zeros(G)
    for n in range(N):
        for c in range(G):
            v, o, t = (float(x[n, c]) for x in (values, old, targets))
            expected[c] += max((v - t) ** 2, (o + np.clip(v - o, -0.2, 0.2) - t) ** 2) / N
    np.testing.assert_allclose(value_loss(values, old, targets).numpy(), expected, rtol=1e-12)


def test_shared_terms_enter_once_in_the_sum_over_groups() -> None:
    policy, entropy, mi = draw(G), torch.tensor(2.0, dtype=torch.float64), torch.tensor(3.0, dtype=torch.float64)
    losses = group_losses(policy, entropy, mi, k2=0.005, k=0.1)
    torch.testing.assert_close(losses.sum(), policy.sum() - 0.005 * entropy + 0.1 * mi)
    torch.testing.assert_close(group_losses(policy, entropy, -mi, 0.005, 0.1), group_losses(policy, entropy, None, 0.005, 0.1))


def test_extreme_joint_ratios_stay_finite() -> None:
    entries = torch.full((2, 4000), 1.0)
    loss = policy_loss(torch.zeros(2), entries, torch.ones(2, 4000, dtype=torch.bool), torch.ones(2, 1), "joint")
    assert torch.isfinite(loss.per_group).all()
