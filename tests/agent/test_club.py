"""CLUB against the linear-Gaussian case, whose conditional, bound and mutual information are known."""

import pytest
import torch
from torch import nn

from flaneur.agent.club import ClubEstimator, beta_moments, club_bound, negative_log_likelihood

N, D = 20_000, 4


def correlated(rho: float, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    g = torch.Generator().manual_seed(seed)
    a = torch.randn(N, D, generator=g, dtype=torch.float64)
    return a, rho * a + (1 - rho**2) ** 0.5 * torch.randn(N, D, generator=g, dtype=torch.float64)


class Exact(nn.Module):
    def __init__(self, rho: float) -> None:
        super().__init__()
        self.rho = rho

    def forward(self, a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.rho * a, torch.full_like(a, 1 - self.rho**2).log()


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.6, 0.8])
def test_exact_conditional_gives_the_known_bound(rho: float) -> None:
    bound = club_bound(Exact(rho), *correlated(rho)).item()
    information = -0.5 * D * torch.log(torch.tensor(1 - rho**2)).item()
    assert bound == pytest.approx(D * rho**2 / (1 - rho**2), abs=0.15)
    assert bound >= information - 0.05


def test_closed_form_equals_the_loop_over_all_other_samples() -> None:
    torch.manual_seed(0)
    estimator = ClubEstimator(D, D, 16).double()
    a, b = (x[:50] for x in correlated(0.5))
    mean, log_variance = estimator(a)

    def log_density(i: int, j: int) -> torch.Tensor:
        return -0.5 * ((b[j] - mean[i]).square() * (-log_variance[i]).exp() + log_variance[i]).sum()

    terms = [log_density(i, i) - torch.stack([log_density(i, j) for j in range(50) if j != i]).mean() for i in range(50)]
    torch.testing.assert_close(club_bound(estimator, a, b), torch.stack(terms).mean())


def test_given_moments_leave_the_factor_out() -> None:
    torch.manual_seed(0)
    estimator = ClubEstimator(D, D, 16).double()
    a, b = (x[:64] for x in correlated(0.5))
    torch.testing.assert_close(club_bound(estimator, a, b, beta_moments(b)) * 64 / 63, club_bound(estimator, a, b))


def test_fitted_estimator_tells_dependent_from_independent() -> None:
    bounds = {}
    for rho in (0.0, 0.7):
        torch.manual_seed(0)
        estimator = ClubEstimator(D, D, 64).double()
        optimiser = torch.optim.Adam(estimator.parameters(), lr=3e-3)
        a, b = correlated(rho)
        for step in range(300):
            rows = slice(step * 64 % 19_000, step * 64 % 19_000 + 256)
            loss = negative_log_likelihood(estimator, a[rows], b[rows])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        held_out = correlated(rho, seed=9)
        bounds[rho] = club_bound(estimator, held_out[0][:4000], held_out[1][:4000]).item()
    assert abs(bounds[0.0]) < 0.15
    assert bounds[0.7] > 2.0


def test_the_penalty_reaches_both_features_and_log_variance_is_bounded() -> None:
    torch.manual_seed(0)
    estimator = ClubEstimator(D, D, 16)
    a, b = (x[:32].float().requires_grad_() for x in correlated(0.5))
    club_bound(estimator, a, b).backward()
    assert a.grad is not None and b.grad is not None and a.grad.abs().sum() > 0 and b.grad.abs().sum() > 0
    assert estimator(torch.randn(100, D) * 1e4)[1].abs().max() <= 1
