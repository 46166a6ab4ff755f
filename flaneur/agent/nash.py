"""Nash-MTL weights of the group gradients (Pareto Frontier Exploration; Navon et al. 2022).

The bargaining solution alpha of G'G alpha = 1 / alpha is the stationary point of
f(a) = a'Ma / 2 - sum log a_i with M = G'G, which is convex on a > 0: damped Newton finds it in a few steps.
One thread of the device does it, in float64: a look at the matrix on the host would stall every minibatch.
"""

# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false, reportOperatorIssue=false, reportCallIssue=false, reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false, reportAssignmentType=false, reportReturnType=false

from __future__ import annotations

import torch
import warp as wp
from torch import Tensor

from flaneur.sim.start import launch, start_warp

start_warp()
wp.set_module_options({"enable_backward": False})

RIDGE = wp.constant(wp.float64(1e-6))  # relative to the unit diagonal; keeps opposed gradients solvable
TINY = wp.constant(wp.float64(1e-12))  # a gradient shorter than this says nothing
TOLERANCE = wp.constant(wp.float64(1e-10))
ITERATIONS = wp.constant(50)
ZERO = wp.constant(wp.float64(0.0))
ONE = wp.constant(wp.float64(1.0))
HALF = wp.constant(wp.float64(0.5))


@wp.func
def objective(m: wp.array2d(dtype=wp.float64), a: wp.array(dtype=wp.float64), step: wp.array(dtype=wp.float64), size: wp.float64) -> wp.float64:
    """f(a + size * step)."""
    total = wp.float64(0.0)
    for i in range(a.shape[0]):
        x = a[i] + size * step[i]
        row = wp.float64(0.0)
        for j in range(a.shape[0]):
            row += m[i, j] * (a[j] + size * step[j])
        total += HALF * x * row - wp.log(x)
    return total


@wp.func
def solve(work: wp.array2d(dtype=wp.float64), x: wp.array(dtype=wp.float64)):
    """Gaussian elimination with pivots on [n, n + 1]; the matrix is positive definite."""
    n = x.shape[0]
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if wp.abs(work[i, k]) > wp.abs(work[pivot, k]):
                pivot = i
        for j in range(n + 1):
            swapped = work[k, j]
            work[k, j] = work[pivot, j]
            work[pivot, j] = swapped
        for i in range(k + 1, n):
            factor = work[i, k] / work[k, k]
            for j in range(k, n + 1):
                work[i, j] = work[i, j] - factor * work[k, j]
    for r in range(n):
        i = n - 1 - r
        value = work[i, n]
        for j in range(i + 1, n):
            value = value - work[i, j] * x[j]
        x[i] = value / work[i, i]


@wp.kernel
def bargain(
    gram: wp.array2d(dtype=wp.float64),
    active: wp.array(dtype=wp.bool),
    m: wp.array2d(dtype=wp.float64),  # scratch [n, n]: unit diagonal and ridge
    work: wp.array2d(dtype=wp.float64),  # scratch [n, n + 1]
    step: wp.array(dtype=wp.float64),  # scratch [n]
    alpha: wp.array(dtype=wp.float64),  # out [n]
):
    n = alpha.shape[0]
    total = wp.float64(0.0)
    for i in range(n):
        for j in range(n):
            keep = gram[i, i] > TINY * TINY and gram[j, j] > TINY * TINY and active[i] and active[j]
            m[i, j] = ZERO
            if keep:
                m[i, j] = HALF * (gram[i, j] + gram[j, i]) / wp.sqrt(gram[i, i] * gram[j, j])
            if i == j:
                # A group that is left out bargains with nobody.
                m[i, j] = ONE + RIDGE
            total += m[i, j]
    for i in range(n):
        alpha[i] = ONE / wp.sqrt(wp.max(total, RIDGE) / wp.float64(n))
        step[i] = ZERO
    for _k in range(ITERATIONS):
        worst = wp.float64(0.0)
        for i in range(n):
            gradient = -ONE / alpha[i]
            for j in range(n):
                gradient += m[i, j] * alpha[j]
                work[i, j] = m[i, j]
            work[i, i] = work[i, i] + ONE / (alpha[i] * alpha[i])
            work[i, n] = -gradient
            worst = wp.max(worst, wp.abs(gradient * alpha[i]))
        if worst < TOLERANCE:
            break
        solve(work, step)
        slope = wp.float64(0.0)
        shrink = wp.float64(0.0)
        for i in range(n):
            shrink = wp.max(shrink, -step[i] / alpha[i])
            gradient = -ONE / alpha[i]
            for j in range(n):
                gradient += m[i, j] * alpha[j]
            slope += gradient * step[i]
        # Stay inside a > 0, then halve until the convex objective really falls (Armijo).
        size = wp.float64(1.0)
        if shrink > ZERO:
            size = wp.min(size, wp.float64(0.99) / shrink)
        start = objective(m, alpha, step, ZERO)
        while size > TINY and objective(m, alpha, step, size) > start + wp.float64(1e-4) * size * slope + wp.float64(1e-15) * wp.abs(start):
            size = size * HALF
        for i in range(n):
            alpha[i] = alpha[i] + size * step[i]
    for i in range(n):
        if gram[i, i] > TINY * TINY and active[i]:
            alpha[i] = alpha[i] / wp.sqrt(gram[i, i])
        else:
            alpha[i] = ZERO


def nash_weights(gram: Tensor, active: Tensor | None = None) -> Tensor:
    """alpha [G] f64 >= 0 from the Gram matrix [G, G] of the group gradients; 0 for groups that are left out.

    The problem is solved on the unit-diagonal matrix, so that lengths that differ by orders of magnitude do no harm,
    and alpha_i = solution_i / |g_i| afterwards. `active` [G] bool leaves groups out whose own loss has no gradient.
    """
    gram = gram.detach().double().contiguous()
    n = len(gram)
    active = gram.new_ones(n, dtype=torch.bool) if active is None else active.detach().to(gram.device)
    m, work, step, alpha = gram.new_empty(n, n), gram.new_empty(n, n + 1), gram.new_empty(n), gram.new_empty(n)
    launch(bargain, (1,), [gram, active.contiguous(), m, work, step, alpha], gram.device, 32)
    return alpha


def nash_residual(gram: Tensor, alpha: Tensor) -> Tensor:
    """max |a_i (M a)_i - 1| over the groups in use: 0 at the bargaining solution, whatever the scale."""
    used = alpha > 0
    return ((alpha * (gram.to(alpha.dtype) @ alpha))[used] - 1).abs().max() if used.any() else torch.zeros(())
