"""SSMI: Shannon mutual information between a multi-class map and one range-category ray, in closed form.

Asgharivaskasi and Atanasov, "Semantic OcTree Mapping and Shannon Mutual Information Computation for Robot
Exploration", 2023. A ray is a row of run-length segments of equal cells; class 0 is free space. The event that the ray
hits nothing is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class RaySensor:
    """Log-odds that one reading adds to a cell; METHOD's fusion has no such numbers, these are an OctoMap's usual ones."""

    hit: float = 0.85  # to the class that was read where the ray ended
    other: float = 0.2  # to every other class there
    miss: float = -0.4  # to every class where the ray passed


def gains(chi: Tensor, reading: Tensor) -> Tensor:
    """f(l, chi): expected log-ratio of posterior to prior of a cell. chi [..., K + 1], reading [..., K + 1], free first and 0."""
    posterior = torch.softmax(chi + reading, -1)
    return torch.log(chi.exp().sum(-1) * posterior[..., 0]) + (posterior * reading).sum(-1)


def ray_information(width: Tensor, chi: Tensor, readings: Tensor) -> Tensor:
    """Mutual information [...] in nats of rays of Q segments.

    width [..., Q] cells, chi [..., Q, K + 1] log(P_k / P_free) with chi_0 = 0, readings [K + 1, K + 1]: row k is the
    log-odds that reading class k adds, row 0 that of a pass; column 0 is 0.
    """
    prior = torch.softmax(chi, -1)
    free = prior[..., 0]
    f = gains(chi[..., None, :], readings)  # [..., Q, K + 1]
    passed = torch.cumsum(width * free.log(), -1)
    arrive = torch.exp(passed - width * free.log())  # probability that the ray reaches the segment
    gathered = torch.cumsum(width * f[..., 0], -1) - width * f[..., 0]  # by passing all segments before
    through = free**width
    hits = (1 - through) / (1 - free)
    steps = (free - width * through + (width - 1) * through * free) / (1 - free) ** 2
    rho = arrive[..., None] * prior[..., 1:]
    beta = gathered[..., None] + f[..., 1:]
    return (rho * (beta * hits[..., None] + (f[..., 0] * steps)[..., None])).sum((-1, -2))
