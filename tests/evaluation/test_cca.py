"""Canonical correlations against scikit-learn and closed forms; the null and the held-out values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cross_decomposition import CCA

from flaneur.errors import UserError
from flaneur.evaluation.cca import analyse, correlations, held_out, statistics, whitening


def correlated(rng: np.random.Generator, n: int, rho: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs with known canonical correlations, mixed by random invertible maps."""
    d = len(rho)
    x = rng.normal(size=(n, d))
    y = rho * x + np.sqrt(1 - rho**2) * rng.normal(size=(n, d))
    return x @ rng.normal(size=(d, d)) + 3.0, y @ rng.normal(size=(d, d)) - 1.0


def test_against_scikit_learn() -> None:
    x, y = correlated(np.random.default_rng(0), 400, np.array([0.9, 0.6, 0.3, 0.1]))
    model = CCA(n_components=4, max_iter=5000, tol=1e-10).fit(x, y)
    u, v = model.transform(x, y)
    expected = [np.corrcoef(u[:, k], v[:, k])[0, 1] for k in range(4)]
    np.testing.assert_allclose(correlations(x, y), np.sort(expected)[::-1], atol=1e-4)


def test_known_correlations_are_found() -> None:
    rho = np.array([0.95, 0.5, 0.2])
    x, y = correlated(np.random.default_rng(1), 200_000, rho)
    np.testing.assert_allclose(correlations(x, y), rho, atol=0.01)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_invariant_under_invertible_maps(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = correlated(rng, 60, rng.uniform(0, 0.95, 3))
    mixed = x @ (np.eye(3) + 0.4 * rng.uniform(-1, 1, (3, 3))) + rng.normal(size=3)
    np.testing.assert_allclose(correlations(x, y), correlations(mixed, y), atol=1e-6)


def test_rank_deficient_features_are_no_problem() -> None:
    """A LayerNorm without gain leaves features that sum to zero: one direction has no variance."""
    rng = np.random.default_rng(2)
    x, y = correlated(rng, 500, np.array([0.8, 0.4]))
    wide = np.concatenate([x, x @ rng.normal(size=(2, 3)), np.ones((500, 2))], 1)
    assert whitening(wide).rank == 2
    np.testing.assert_allclose(correlations(wide, y), correlations(x, y), atol=1e-6)
    assert len(correlations(np.zeros((10, 3)), y[:10])) == 0 and statistics(np.zeros(0)) == {"max": 0.0, "mean": 0.0, "top10": 0.0}


def test_independent_features_lie_within_the_null() -> None:
    rng = np.random.default_rng(3)
    z = rng.normal(size=(2, 12, 30, 8))
    found = analyse(z[0], z[1], permutations=99)
    assert found["rank"] == 8 and found["samples"] == 360 and all(v["p"] > 0.01 for v in found["null"].values())
    assert found["mean"] == pytest.approx(found["null"]["mean"]["mean"], abs=0.05) and abs(found["held_out"]["mean"]) < 0.15


def test_a_shared_signal_is_above_the_null_and_holds_on_unseen_episodes() -> None:
    rng = np.random.default_rng(4)
    alpha, noise = rng.normal(size=(2, 12, 30, 8))
    beta = np.concatenate([alpha[..., :2], noise[..., 2:]], -1)
    found = analyse(alpha, beta, permutations=99)
    assert found["max"] == pytest.approx(1.0) and found["held_out"]["max"] == pytest.approx(1.0)
    assert all(v["p"] == pytest.approx(0.01) for v in found["null"].values())


def test_what_episodes_share_in_time_is_in_the_null() -> None:
    """A clock in both features correlates perfectly, whatever the two branches have to do with each other."""
    clock = np.tile(np.arange(20.0)[None, :, None], (6, 1, 1))
    rng = np.random.default_rng(5)
    alpha, beta = (np.concatenate([clock, rng.normal(size=(6, 20, 2))], -1) for _ in range(2))
    found = analyse(alpha, beta, permutations=50)
    assert found["max"] > 0.999 and found["null"]["max"]["mean"] > 0.999 and found["null"]["max"]["p"] > 0.2


def test_held_out_directions_keep_the_order_of_the_fit() -> None:
    x, y = correlated(np.random.default_rng(6), 4000, np.array([0.9, 0.3]))
    half = np.arange(4000) < 2000
    np.testing.assert_allclose(held_out(x, y, np.flatnonzero(half), np.flatnonzero(~half)), [0.9, 0.3], atol=0.06)


def test_too_little_is_refused() -> None:
    with pytest.raises(UserError, match="at least 3"):
        correlations(np.zeros((2, 2)), np.zeros((2, 2)))
    with pytest.raises(UserError, match="at least two"):
        analyse(np.zeros((1, 5, 2)), np.zeros((1, 5, 2)))
