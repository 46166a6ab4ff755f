"""The bargaining solution by torch.linalg, what the kernel is held against."""

import torch
from torch import Tensor

RIDGE, TINY = 1e-6, 1e-12


def reference_weights(gram: Tensor, active: Tensor | None = None, iterations: int = 50, tolerance: float = 1e-10) -> Tensor:
    """alpha [G] >= 0 from the Gram matrix [G, G] of the group gradients; 0 for groups that are left out.

    The problem is solved on the unit-diagonal matrix, so that lengths that differ by orders of magnitude do no harm,
    and alpha_i = solution_i / |g_i| afterwards. `active` [G] bool leaves groups out whose own loss has no gradient.
    """
    gram = gram.detach().to("cpu", torch.float64)
    length = gram.diagonal().clamp_min(0).sqrt()
    keep = length > TINY
    if active is not None:
        keep &= active.detach().cpu()
    alpha = torch.zeros(len(gram), dtype=torch.float64)
    rows = keep.nonzero()[:, 0]
    if len(rows) == 0:
        return alpha
    unit = gram[rows][:, rows] / (length[rows][:, None] * length[rows][None])
    alpha[rows] = _solve(unit, iterations, tolerance) / length[rows]
    return alpha


def _solve(unit: Tensor, iterations: int, tolerance: float) -> Tensor:
    n = len(unit)
    m = (unit + unit.T) / 2 + RIDGE * torch.eye(n, dtype=unit.dtype)

    def objective(a: Tensor) -> Tensor:
        return a @ m @ a / 2 - a.log().sum()

    a = torch.ones(n, dtype=unit.dtype) / m.sum().clamp_min(RIDGE).div(n).sqrt()
    for _ in range(iterations):
        gradient = m @ a - 1 / a
        if (gradient * a).abs().max() < tolerance:
            break
        step = torch.linalg.solve(m + torch.diag(1 / a**2), -gradient)
        # Stay inside a > 0, then halve until the convex objective really falls (Armijo).
        shrink = (-step / a).max()
        size = min(1.0, 0.99 / float(shrink)) if shrink > 0 else 1.0
        slope, start = gradient @ step, objective(a)
        while size > 1e-12 and objective(a + size * step) > start + 1e-4 * size * slope + 1e-15 * start.abs():
            size /= 2
        a = a + size * step
    return a
