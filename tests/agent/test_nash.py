"""Nash weights against TorchJD on well-scaled problems, and the properties that define them."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_nash import reference_weights

from flaneur.agent.nash import nash_residual, nash_weights

seeds = st.integers(0, 2**31 - 1)


def gradients(seed: int, groups: int = 3, size: int = 40) -> torch.Tensor:
    return torch.randn(groups, size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@settings(deadline=None, max_examples=60)
@given(seeds, st.integers(1, 6))
def test_solves_the_bargaining_equation(seed: int, groups: int) -> None:
    g = gradients(seed, groups)
    gram = g @ g.T
    alpha = nash_weights(gram)
    assert (alpha > 0).all()
    assert nash_residual(gram, alpha) < 1e-4  # the ridge's own size
    assert (alpha @ gram @ alpha) == pytest.approx(groups, rel=1e-4)  # |G alpha|^2 = n always


@settings(deadline=None, max_examples=60)
@given(seeds, st.integers(1, 5), st.floats(-8, 0), st.integers(0, 31))
def test_the_kernel_gives_what_linear_algebra_gives(seed: int, groups: int, opposed: float, left_out: int) -> None:
    g = gradients(seed, groups)
    g[-1] = -g[0] + 10.0**opposed * g[-1]  # from ordinary to nearly opposed
    active = torch.tensor([not left_out >> i & 1 for i in range(groups)])
    kept = torch.nn.functional.normalize(g[active], dim=1)
    # Each of up to five equations is solved by both to a residual of 1e-10, which leaves that times the matrix's condition in alpha.
    condition = float(torch.linalg.cond(kept @ kept.T + 1e-6 * torch.eye(len(kept), dtype=g.dtype))) if len(kept) else 1.0
    torch.testing.assert_close(nash_weights(g @ g.T, active), reference_weights(g @ g.T, active), rtol=2 * 5 * 1e-10 * (1 + condition), atol=0)


@settings(deadline=None, max_examples=30)
@given(seeds)
def test_permutation_equivariant(seed: int) -> None:
    g = gradients(seed)
    order = torch.tensor([2, 0, 1])
    torch.testing.assert_close(nash_weights(g[order] @ g[order].T), nash_weights(g @ g.T)[order], rtol=1e-7, atol=0)


@settings(deadline=None, max_examples=30)
@given(seeds, st.lists(st.floats(-5, 5), min_size=3, max_size=3))
def test_update_does_not_depend_on_the_gradients_lengths(seed: int, exponents: list[float]) -> None:
    g = gradients(seed)
    scale = 10.0 ** torch.tensor(exponents, dtype=torch.float64)
    scaled = g * scale[:, None]
    torch.testing.assert_close(nash_weights(scaled @ scaled.T) @ scaled, nash_weights(g @ g.T) @ g, rtol=1e-5, atol=1e-7)


def test_orthogonal_gradients_in_closed_form() -> None:
    g = torch.diag(torch.tensor([1e-4, 1.0, 50.0], dtype=torch.float64))
    torch.testing.assert_close(nash_weights(g @ g.T), 1 / g.diagonal(), rtol=1e-5, atol=0)


def test_nearly_opposed_gradients() -> None:
    a = torch.tensor([1.0, 0.0], dtype=torch.float64)
    g = torch.stack([a, -a + torch.tensor([0.0, 1e-2], dtype=torch.float64), torch.tensor([0.0, 1.0], dtype=torch.float64)])
    gram = g @ g.T
    alpha = nash_weights(gram)
    assert torch.isfinite(alpha).all() and (gram @ alpha > 0).all()  # no group is made worse


def test_group_without_gradient_is_left_out() -> None:
    g = gradients(0)
    g[1] = 0
    alpha = nash_weights(g @ g.T)
    assert alpha[1] == 0 and (alpha[[0, 2]] > 0).all()
    torch.testing.assert_close(alpha[[0, 2]], nash_weights(g[[0, 2]] @ g[[0, 2]].T))
    assert (nash_weights(torch.zeros(3, 3)) == 0).all()


def test_inactive_group_is_left_out_although_it_has_a_gradient() -> None:
    g = gradients(1)
    alpha = nash_weights(g @ g.T, torch.tensor([True, True, False]))
    assert alpha[2] == 0
    torch.testing.assert_close(alpha[:2], nash_weights(g[:2] @ g[:2].T))


def test_agrees_with_torchjd_where_its_solver_is_good() -> None:
    weighting = pytest.importorskip("torchjd.aggregation", reason="torchjd is a development dependency")
    if not hasattr(weighting, "NashMTL"):
        pytest.skip("this torchjd has no NashMTL (extra nash_mtl missing)")
    try:
        solver = weighting.NashMTL(n_tasks=3, optim_niter=200)
    except Exception as error:
        pytest.skip(f"torchjd's NashMTL needs its extra: {error}")
    for seed in range(5):
        g = gradients(seed) / 6
        theirs = solver(g.to(torch.float32)).to(torch.float64)
        ours = nash_weights(g @ g.T) @ g
        # TorchJD normalises the update's length; the direction is what the two must share.
        assert torch.nn.functional.cosine_similarity(theirs, ours, dim=0) > 0.999
        solver.reset()
