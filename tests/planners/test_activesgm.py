from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from planner_checks import assert_held, assert_reads_no_truth, crossed_voxels, explored_env, fly, random_views

from flaneur.planners.activesgm import GONE, POOLED, WAITING, ActiveSGM, ActiveSGMConfig, fibonacci_directions, utility
from flaneur.planners.rays import camera_rays

ACTIVE = torch.ones(1, dtype=torch.bool)


def test_utility_is_that_of_a_loop():
    rng = np.random.default_rng(0)
    distance, unseen, entropy = rng.uniform(0, 9, (3, 7)), rng.integers(4, 700, (3, 7)), rng.uniform(0, 2.7, (3, 7))
    valid = rng.random((3, 7)) < 0.7
    got = utility(*(torch.from_numpy(np.asarray(a, np.float64)) for a in (distance, unseen, entropy)), torch.from_numpy(valid)).numpy()
    for b in range(3):
        rows = [i for i in range(7) if valid[b, i]]
        for i in range(7):
            if not valid[b, i]:
                assert got[b, i] == -1
                continue
            far = math.exp(distance[b, i]) / sum(math.exp(distance[b, j]) for j in rows)
            new = unseen[b, i] / sum(unseen[b, j] for j in rows)
            unsure = math.exp(entropy[b, i]) / sum(math.exp(entropy[b, j]) for j in rows)
            assert got[b, i] == pytest.approx((1 - far) * new * unsure)


def test_what_a_view_sees_is_that_of_a_loop():
    env = explored_env()
    context = env.context()
    views = random_views(10, seed=2)
    views[:, :7, :3] = env.poses[:, None, :3] + views[:, :7, :3] * 0.01
    planner = ActiveSGM(ActiveSGMConfig(columns=6, rows=4))
    unseen, entropy = planner.look(context, views, ACTIVE)
    occupancy, odds, sky = context.occupancy[0].numpy(), context.log_odds[0].double().numpy(), context.classes.sky
    some = 0
    for n in range(views.shape[1]):
        ends, entropies = 0, []
        for ray in camera_rays(context.camera, 6, 4).numpy():
            met = next((v for v in crossed_voxels(context, views[0, n].numpy(), ray) if occupancy[v] != 1), None)
            if met is None:
                continue
            ends += occupancy[met] == 0
            if occupancy[met] == 2:
                a = np.sort(np.delete(odds[met], sky))[::-1][:16]
                p = np.exp(a - a[0]) / np.exp(a - a[0]).sum()
                entropies.append(-(p * np.log(np.maximum(p, 1e-300))).sum())
        some += len(entropies)
        assert unseen[0, n].item() == pytest.approx(ends / 24)
        assert entropy[0, n].item() == pytest.approx(np.mean(entropies) if entropies else 0.0, abs=1e-3)
    assert some > 10 and entropy.max() > 0.01


def test_directions_are_legal_and_spread():
    got = fibonacci_directions(15, (0.0, -30.0, -60.0))
    assert set(torch.rad2deg(got[:, 0]).round().int().tolist()) == {0, -30, -60}
    gaps = np.diff(np.sort(np.append(got[:, 1].numpy(), got[:, 1].min().item() + 2 * math.pi)))
    assert gaps.max() < 2.5 * 2 * math.pi / 15


def test_the_pool_fills_with_free_places_and_goes_from_coarse_to_fine():
    env = explored_env()
    context, planner = env.context(), ActiveSGM()
    views, is_fine = planner.lattice(context)
    assert (~is_fine).sum() == 400 * 5 and is_fine.sum() == 400 * 2 * 15
    assert views[0, ~is_fine, 2].unique().tolist() == [20.0] and views[0, is_fine, 2].unique().tolist() == [6.0, 20.0]
    pool = planner.pool(context, views, is_fine, ACTIVE)
    assert pool.any() and not pool[:, is_fine].any()
    assert ((planner.state == POOLED)[:, ~is_fine] == pool[:, ~is_fine]).all()
    # Nothing is free any more: what is in the pool stays, nothing joins.
    context.occupancy.fill_(0)
    assert torch.equal(planner.pool(context, views, is_fine, ACTIVE), pool)
    # All coarse views used up: the fine stage begins and is never left.
    planner.state[:, ~is_fine] = torch.where(planner.state[:, ~is_fine] == POOLED, GONE, planner.state[:, ~is_fine])
    pool = planner.pool(context, views, is_fine, ACTIVE)
    assert planner.fine.all() and pool[:, is_fine].any() and not pool[:, ~is_fine].any()
    planner.reset([0])
    assert not planner.fine.any() and (planner.state == WAITING).all()


def test_views_leave_the_pool_when_used_up_or_visited():
    env = explored_env()
    context = env.context()
    planner = ActiveSGM(ActiveSGMConfig(visits=2, columns=8, rows=6), seed=0)
    chosen = torch.cat([planner.choose(context, ACTIVE) for _ in range(12)])
    _, counts = chosen.unique(dim=0, return_counts=True)
    assert counts.max() == 2
    assert (planner.visits[planner.state == GONE].max() == 2) and (planner.visits[planner.state == POOLED] < 2).all()
    # A world without unknowns empties every stage, and then one turns on the spot.
    context.occupancy[context.occupancy == 0] = 1
    planner = ActiveSGM(ActiveSGMConfig(judged=20000, columns=4, rows=3), seed=0)
    for _ in range(3):
        goal = planner.choose(context, ACTIVE)
    assert not (planner.state == POOLED).any() and torch.equal(goal[0, :3], context.poses[0, :3])


def test_an_episode():
    goals = fly(explored_env(num_envs=2), ActiveSGM(seed=1), 20)
    assert_held(goals)
    assert (goals == fly(explored_env(num_envs=2), ActiveSGM(seed=1), 20)).all()


def test_reads_no_truth():
    assert_reads_no_truth(lambda: ActiveSGM(ActiveSGMConfig(judged=64), seed=1))
