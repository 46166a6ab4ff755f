"""CLUB: a contrastive log-ratio upper bound of the dependence between the two policies' features.

Scale Calibration and Dependence Regularization in the paper; Cheng et al. 2020. A conditional Gaussian
q(Z_beta | Z_alpha) is fitted by maximum likelihood; the penalty is how much better it explains the pairs that
belong together than all other pairs of the batch.
"""

from __future__ import annotations

from torch import Tensor, nn


class ClubEstimator(nn.Module):
    """q(z_beta | z_alpha) = N(mu(z_alpha), diag sigma^2(z_alpha)) with separate nets for mean and log-variance."""

    def __init__(self, alpha_size: int = 256, beta_size: int = 256, hidden: int = 128) -> None:
        super().__init__()
        self.mean = nn.Sequential(nn.Linear(alpha_size, hidden), nn.ReLU(), nn.Linear(hidden, beta_size))
        # tanh keeps the log-variance in [-1, 1]: without a bound the penalty reaches 1e6 on a few samples.
        self.log_variance = nn.Sequential(nn.Linear(alpha_size, hidden), nn.ReLU(), nn.Linear(hidden, beta_size), nn.Tanh())

    def forward(self, z_alpha: Tensor) -> tuple[Tensor, Tensor]:  # [N, A] -> mean [N, B], log-variance [N, B]
        return self.mean(z_alpha), self.log_variance(z_alpha)


def negative_log_likelihood(estimator: nn.Module, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
    """L_estimator, without the constant: mean over the batch of -log q(z_beta_i | z_alpha_i)."""
    mean, log_variance = estimator(z_alpha)
    return 0.5 * ((z_beta - mean).square() * (-log_variance).exp() + log_variance).sum(-1).mean()


def beta_moments(z_beta: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and second central moment [B] of the batch: all that the negatives need (summed over ranks under torchrun)."""
    mean = z_beta.mean(0)
    return mean, (z_beta - mean).square().mean(0)


def club_bound(estimator: nn.Module, z_alpha: Tensor, z_beta: Tensor, moments: tuple[Tensor, Tensor] | None = None) -> Tensor:
    """U_{alpha->beta} [scalar]: E log q(z_beta | z_alpha) over pairs minus the same over all pairings of the batch.

    The mean over all negatives has a closed form, E_j (z_j - mu_i)^2 = var + (mean - mu_i)^2, so N^2 pairs cost N.
    The pairs of a sample with itself are in that mean; leaving them out is a factor N / (N - 1).
    """
    n = len(z_beta)
    mean, log_variance = estimator(z_alpha)
    centre, variance = beta_moments(z_beta) if moments is None else moments
    positive = (z_beta - mean).square()
    negative = variance + (centre - mean).square()
    bound = 0.5 * ((negative - positive) * (-log_variance).exp()).sum(-1).mean()
    return bound * n / (n - 1) if moments is None and n > 1 else bound
