from __future__ import annotations

import numpy as np
import pytest
import torch
from planner_checks import assert_held, assert_reads_no_truth, crossed_voxels, explored_env, fly, random_views
from scipy import ndimage

from flaneur.planners.candidates import ClosedPlaces, centre_of, draw_views, free_places, reachable, voxel_of
from flaneur.planners.rays import camera_rays
from flaneur.planners.uncertainty import Uncertainty, UncertaintyConfig


@pytest.mark.parametrize("seed", range(6))
def test_reachable_is_the_component_of_the_start(seed):
    rng = np.random.default_rng(seed)
    occupancy = rng.choice([0, 1, 2], size=(2, 6, 20, 20), p=[0.3, 0.3, 0.4]).astype(np.uint8)
    start = torch.tensor([[2, 10, 10], [5, 0, 19]])
    got = reachable(torch.from_numpy(occupancy), start, rounds=40).numpy()
    for b in range(2):
        open_ = occupancy[b] != 2
        open_[tuple(start[b])] = True  # the agent's own voxel, whatever the map says
        label, _ = ndimage.label(open_)
        np.testing.assert_array_equal(got[b], label == label[tuple(start[b])])


def test_ray_entropy_is_that_of_a_loop():
    env = explored_env()
    context, config = env.context(), UncertaintyConfig(columns=4, rows=3, unknown=0.4)
    views = random_views(12, seed=1)
    views[:, :6, :3] = env.poses[:, None, :3] + views[:, :6, :3] * 0.01  # some look through known space
    planner = Uncertainty(config)
    got = planner.entropy(context, views, torch.ones(1, dtype=torch.bool))[0]
    occupancy, rays = context.occupancy[0].numpy(), camera_rays(context.camera, 4, 3).numpy()
    kinds = set()
    for n in range(views.shape[1]):
        entropies = []
        for ray in rays:
            through, h = 1.0, 0.0
            for voxel in crossed_voxels(context, views[0, n].numpy(), ray):
                kinds.add(int(occupancy[voxel]))
                alpha = (0.4, 0.0, 1.0)[occupancy[voxel]]
                if (w := through * alpha) > 1e-12:
                    h -= w * np.log(w)
                through *= 1 - alpha
            entropies.append(h - through * np.log(through) if through > 1e-12 else h)
        assert got[n].item() == pytest.approx(np.mean(entropies), abs=2e-3)
    assert kinds == {0, 1, 2}


def test_an_entropy_of_two_ends():
    """Known free space tells nothing; one unknown voxel before a wall is a fair coin."""
    env = explored_env()
    context = env.context()
    context.occupancy.fill_(1)
    active, view = torch.ones(1, dtype=torch.bool), torch.tensor([[[100.2, 100.3, 20.0, 0.0, 0.0, 0.01]]])
    planner = Uncertainty(UncertaintyConfig(columns=1, rows=1))
    assert planner.entropy(context, view, active).item() == 0
    context.occupancy[..., 40:] = 2
    assert planner.entropy(context, view, active).item() == 0
    context.occupancy[..., 40] = 0
    assert planner.entropy(context, view, active).item() == pytest.approx(np.log(2), abs=1e-5)


def test_candidates_are_free_reachable_and_legal():
    env = explored_env(num_envs=2)
    context = env.context()
    views, some = draw_views(context, 200, torch.Generator().manual_seed(0))
    assert some.all()
    z, y, x = voxel_of(context, views[..., :3]).unbind(-1)
    b = torch.arange(2)[:, None]
    assert (context.occupancy[b, z, y, x] == 1).all() and free_places(context)[b, z, y, x].all()
    assert (views[..., 2] >= 1.5).all() and (views[..., 2] <= 80).all()
    assert set(torch.rad2deg(views[..., 4]).round().int().unique().tolist()) == {0, -30, -60}
    assert len(views[..., 5].unique()) == 8
    flat = (z * context.grid.cells + y) * context.grid.cells + x
    torch.testing.assert_close(centre_of(context, b, flat), views[..., :3])


def test_closed_places_are_left_alone():
    closed, goal = ClosedPlaces(radius=4.0), torch.tensor([[50.0, 50.0, 10.0, 0.0, 0.0]])
    points = torch.tensor([[[51.0, 50.0, 12.0], [60.0, 50.0, 10.0]]])
    assert not closed.near(points).any()
    closed.note(goal, torch.tensor([False]))
    assert not closed.near(points).any()
    closed.note(goal, torch.tensor([True]))
    assert closed.near(points).tolist() == [[True, False]]
    closed.forget([0])
    assert not closed.near(points).any()


def test_an_episode():
    goals = fly(explored_env(num_envs=2), Uncertainty(seed=1), 20)
    assert_held(goals)
    assert (goals == fly(explored_env(num_envs=2), Uncertainty(seed=1), 20)).all()


def test_reads_no_truth():
    assert_reads_no_truth(lambda: Uncertainty(UncertaintyConfig(candidates=64), seed=1))
