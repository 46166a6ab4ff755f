from __future__ import annotations

import numpy as np
import torch
from planner_checks import assert_held, assert_reads_no_truth, explored_env, fly

from flaneur.planners.candidates import centre_of
from flaneur.planners.rayfronts import RayFronts, RayFrontsConfig, count_around, frontier_voxels, group_voxels


def test_neighbours_are_counted_like_a_loop():
    mask = np.random.default_rng(0).random((2, 5, 7, 6)) < 0.4
    padded = np.pad(mask, ((0, 0), (1, 1), (1, 1), (1, 1)))
    want = sum(padded[:, 1 + i : 6 + i, 1 + j : 8 + j, 1 + k : 7 + k].astype(int) for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1)) - mask
    np.testing.assert_array_equal(count_around(torch.from_numpy(mask)).numpy(), want)


def test_frontiers_of_hand_made_volumes():
    occupancy = torch.zeros(1, 8, 8, 8, dtype=torch.uint8)
    occupancy[0, :, :, :4] = 1
    frontier = frontier_voxels(occupancy)[0]
    # Beside a plane of the unknown: nine unknown neighbours and seventeen free ones.
    assert frontier[1:-1, 1:-1, 3].all() and frontier.sum() == 36
    assert not frontier[..., 4:].any(), "an unknown voxel is no frontier"
    assert frontier_voxels(occupancy, unobserved=10).sum() == 0
    alone = torch.zeros(1, 5, 5, 5, dtype=torch.uint8)
    alone[0, 2, 2, 2] = 1
    assert not frontier_voxels(alone).any(), "one free voxel has no free neighbours"
    alone[0, 2, 2, 1], alone[0, 2, 2, 3], alone[0, 2, 1, 2], alone[0, 2, 3, 2] = 1, 1, 1, 1
    assert frontier_voxels(alone)[0, 2, 2, 2]
    alone[0, 2, 2, 3] = 2
    assert not frontier_voxels(alone)[0, 2, 2, 2], "three free neighbours are too few"
    wall = occupancy.clone()
    wall[0, :, :, 4] = 2
    assert not frontier_voxels(wall).any(), "behind a wall nothing is to be seen from here"


def test_groups_are_cubes_with_enough_members_and_stand_at_their_middle():
    frontier = torch.zeros(2, 3, 10, 10, dtype=torch.bool)
    frontier[0, 1, 1, 0:7] = True  # seven voxels of 1 m in a row
    frontier[1, 0, 9, 6:9] = True  # too few
    places = torch.stack(torch.meshgrid(torch.arange(3), torch.arange(10), torch.arange(10), indexing="ij"), -1).flip(-1).float().view(-1, 3) + 0.5
    flat = frontier.flatten(1)
    voxel, some = group_voxels(flat, places[flat.nonzero()[:, 1]], size=10.0, ceiling=3.0, radius=4.0, least=5)
    assert some.sum().item() == 1 and some[0].any()
    assert voxel[some].item() == 1 * 100 + 1 * 10 + 3


def test_a_goal_is_one_of_the_five_cheapest_groups():
    env = explored_env()
    context, planner = env.context(), RayFronts(seed=0)
    goals = torch.cat([planner.choose(context, torch.ones(1, dtype=torch.bool)) for _ in range(60)])
    goals = goals.unique(dim=0)
    assert 2 <= len(goals) <= 5
    cheapest = RayFronts(RayFrontsConfig(choices=1), seed=0).choose(context, torch.ones(1, dtype=torch.bool))

    def cost(g):
        way = g[:, :3] - context.poses[0, :3]
        return way.norm(dim=1) + 2 * (1 - torch.cos(torch.atan2(way[:, 1], way[:, 0]) - context.poses[0, 5]))

    torch.testing.assert_close(cost(goals).min(), cost(cheapest)[0])
    assert (cost(goals) >= 5).all()
    assert planner.still_frontier(context, cheapest).all()


def test_a_group_lasts_as_long_as_it_has_enough_frontier_voxels():
    env = explored_env()
    context, planner = env.context(), RayFronts()
    whole = frontier_voxels(context.occupancy)[0]
    drawn = torch.from_numpy(np.random.default_rng(0).choice(np.flatnonzero(whole.flatten().numpy()), 60))
    every = torch.arange(whole.numel())
    centres = centre_of(context, torch.zeros_like(every), every)
    cubes, seen = (centres / 8).long(), set()
    for v in drawn.tolist():
        # The cube of its middle, the same for all voxels in it whatever their height.
        want = int((whole.flatten() & (cubes == cubes[v]).all(1)).sum()) >= 5
        assert planner.still_frontier(context, torch.cat([centres[v], torch.zeros(2)])[None]).item() == want
        seen.add(want)
    assert seen == {True, False}


def test_an_episode():
    goals = fly(explored_env(num_envs=2), RayFronts(seed=1), 20)
    assert_held(goals)
    assert (goals == fly(explored_env(num_envs=2), RayFronts(seed=1), 20)).all()


def test_reads_no_truth():
    assert_reads_no_truth(lambda: RayFronts(seed=1))
