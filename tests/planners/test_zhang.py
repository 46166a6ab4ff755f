from __future__ import annotations

import numpy as np
import pytest
import torch
from planner_checks import assert_held, assert_reads_no_truth, crossed_voxels, explored_env, fly, random_views
from scipy import ndimage

from flaneur.planners.contours import components, contours
from flaneur.planners.information import RaySensor, ray_information
from flaneur.planners.rays import camera_rays
from flaneur.planners.zhang import Zhang, ZhangConfig, frontier_of


def readings(classes: int, sensor: RaySensor) -> np.ndarray:
    """[K + 1, K + 1] log-odds a reading adds, free first."""
    out = np.full((classes + 1, classes + 1), sensor.other)
    out[np.diag_indices(classes + 1)] = sensor.hit
    out[0] = sensor.miss
    out[:, 0] = 0.0
    return out


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def simulated_information(width, chi, read, rng, samples: int = 20_000) -> float:
    """Mutual information by drawing what the ray reads and updating the cells one by one; a ray that hits nothing tells nothing."""
    cells = np.repeat(chi, width, axis=0)  # [N, K + 1]
    prior = softmax(cells)
    arrive = np.concatenate([[1.0], np.cumprod(prior[:-1, 0])])
    outcome = (arrive[:, None] * prior[:, 1:]).ravel()  # probability of ending at cell n as class k
    u = (np.arange(samples) + rng.random(samples)) / samples  # stratified
    drawn = np.searchsorted(np.cumsum(outcome), u)
    drawn = drawn[drawn < len(outcome)]
    n, k = drawn // (chi.shape[1] - 1), drawn % (chi.shape[1] - 1) + 1
    divergence = lambda after, before: (after * (np.log(after) - np.log(before))).sum(-1)  # noqa: E731
    of_pass = divergence(softmax(cells + read[0]), prior)
    before = np.concatenate([[0.0], np.cumsum(of_pass)])
    return float((before[n] + divergence(softmax(cells[n] + read[k]), prior[n])).sum() / samples)


def test_closed_form_information_agrees_with_simulated_rays():
    rng = np.random.default_rng(0)
    for _ in range(100):
        q, classes = rng.integers(1, 7), rng.integers(1, 6)
        width = rng.integers(1, 9, q)
        chi = np.concatenate([np.zeros((q, 1)), rng.normal(-1.0, 1.5, (q, classes))], 1)
        read = readings(classes, RaySensor(hit=rng.uniform(0.5, 2), other=rng.uniform(0, 0.4), miss=-rng.uniform(0.2, 1)))
        got = ray_information(*(torch.from_numpy(np.asarray(a, np.float64)) for a in (width, chi, read)))
        assert got.item() == pytest.approx(simulated_information(width, chi, read, rng), rel=0.01)


def test_one_run_of_equal_cells_is_many_runs_of_one():
    chi = torch.tensor([[0.0, -1.0, 0.3]], dtype=torch.float64)
    read = torch.from_numpy(readings(2, RaySensor()))
    whole = ray_information(torch.tensor([7.0], dtype=torch.float64), chi, read)
    parts = ray_information(torch.ones(7, dtype=torch.float64), chi.expand(7, -1), read)
    torch.testing.assert_close(whole, parts)


def test_kernel_gives_the_closed_form_of_the_map():
    env = explored_env()
    context = env.context()
    config = ZhangConfig(columns=3, rows=2)
    views = random_views(8, seed=3)
    views[:, :5, :3] = env.poses[:, None, :3] + views[:, :5, :3] * 0.01
    got = Zhang(config).information(context, views, torch.ones(1, dtype=torch.bool))[0]
    objects = [k for k in range(len(context.classes)) if k != context.classes.sky]
    read = torch.from_numpy(readings(len(objects), config.sensor))
    occupancy, odds = context.occupancy[0].numpy(), context.log_odds[0].double().numpy()
    hits = 0
    for n in range(views.shape[1]):
        total = 0.0
        for ray in camera_rays(context.camera, 3, 2).numpy():
            path = crossed_voxels(context, views[0, n].numpy(), ray)
            solid = np.array([(config.unknown, config.free, config.occupied)[occupancy[v]] for v in path])
            classes = np.stack([softmax(odds[v][objects]) if occupancy[v] == 2 else np.full(len(objects), 1 / len(objects)) for v in path])
            hits += int((occupancy[tuple(np.array(path).T)] == 2).any())
            chi = np.concatenate([np.zeros((len(path), 1)), np.log(np.maximum(solid[:, None] * classes, 1e-300) / (1 - solid[:, None]))], 1)
            total += ray_information(torch.ones(len(path), dtype=torch.float64), torch.from_numpy(chi), read).item()
        assert got[n].item() == pytest.approx(total, rel=5e-3)
    assert hits > 10


@pytest.mark.parametrize("seed", range(4))
def test_components_are_scipys(seed):
    mask = np.random.default_rng(seed).random((2, 40, 40)) < (0.15, 0.3, 0.4, 0.5)[seed]
    got = components(torch.from_numpy(mask)).view(2, 40, 40).numpy()
    for b in range(2):
        label, count = ndimage.label(mask[b], np.ones((3, 3)))
        assert len(np.unique(got[b][mask[b]])) == count
        for k in range(1, count + 1):
            assert (got[b][label == k] == np.flatnonzero(label == k).min()).all()


def test_a_spiral_is_one_component():
    mask = np.zeros((1, 33, 33), bool)
    for r in range(0, 16, 4):
        mask[0, r, r : 33 - r] = mask[0, 32 - r, r : 33 - r] = mask[0, r : 33 - r, 32 - r] = mask[0, r + 4 : 33 - r, r] = True
        mask[0, r + 4, r : r + 5] = True
    assert len(np.unique(components(torch.from_numpy(mask)).numpy()[mask.reshape(1, -1)])) == 1


def test_contours_have_length_and_a_point_nearest_their_mean():
    edge = torch.zeros(1, 64, 64, dtype=torch.bool)
    edge[0, 10, 5:35] = True  # 30 cells, mean at x = 19.5
    edge[0, 50, 5:15] = True  # too short
    allowed = torch.ones_like(edge)
    allowed[0, 10, 15:22] = False
    found = contours(edge, allowed, 4, 20)
    assert found.valid.tolist() == [[True, False, False, False]] and found.length[0, 0] == 30
    assert found.point[0, 0].item() == 10 * 64 + 22


def test_frontiers_lie_between_free_and_unknown_and_gaps_are_closed():
    planar = torch.zeros(1, 40, 40, dtype=torch.uint8)
    planar[0, 10:30, 10:30] = 1
    planar[0, 20, 20] = 0  # a gap between two carved rays
    planar[0, 10:30, 29] = 2  # a wall has no frontier behind it
    edge = frontier_of(planar)[0]
    assert not edge[18:23, 18:23].any() and edge[10, 10:28].all() and edge[12:28, 10].all() and not edge[12:28, 28].any()
    assert not edge[planar[0] != 1].any()


def test_an_episode_at_eight_metres():
    goals = fly(explored_env(num_envs=2), Zhang(), 20)
    assert_held(goals)
    assert np.isin(goals[..., 2].round(3), [8.0, 12.0]).all()  # 12 m is where it turned on the spot at the start


def test_a_place_is_not_chosen_twice():
    env, planner = explored_env(), Zhang()
    goals = fly(env, planner, 20)[:, 0]
    chosen = goals[np.append(True, np.abs(np.diff(goals, axis=0)).max(1) > 1e-6)]
    frontier_goals = chosen[np.isclose(chosen[:, 2], 8.0), :2]
    gaps = np.linalg.norm(frontier_goals[:, None] - frontier_goals[None], axis=-1)
    assert len(gaps) > 1 and gaps[~np.eye(len(gaps), dtype=bool)].min() > 0
    planner.reset([0])
    assert not planner._dropped.any()


def test_reads_no_truth():
    assert_reads_no_truth(Zhang)
