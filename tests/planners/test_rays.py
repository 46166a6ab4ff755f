from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from planner_checks import explored_env, random_views

from flaneur.geometry import rotation_from_angles
from flaneur.planners import ActiveSGM, RayFronts, Uncertainty, Zhang
from flaneur.planners.activesgm import first_met
from flaneur.planners.candidates import draw_views
from flaneur.planners.rays import camera_rays, march


def test_rays_are_those_of_the_image():
    env = explored_env(steps=0)
    camera = env.config.camera
    rays = camera_rays(camera, camera.width, camera.height).view(camera.height, camera.width, 3)
    # Pixel (row, column) = (3, 20) of a 32 x 32 picture of 90 degrees.
    torch.testing.assert_close(rays[3, 20], torch.tensor([(20.5 - 16) / 16, (16 - 3.5) / 16, -1.0]))
    some = camera_rays(camera, 4, 2)
    assert some.shape == (8, 3) and torch.allclose(some.mean(0), torch.tensor([0.0, 0.0, -1.0]), atol=1e-6)


def test_a_walk_over_stepped_ground_meets_what_small_steps_meet():
    """Height bins stand on the local ground, so a level ray changes bins from column to column."""
    env = explored_env(steps=0)
    context, rng = env.context(), np.random.default_rng(0)
    grid = context.grid
    ground = np.kron(rng.integers(0, 8, (16, 16)), np.ones((4, 4))).astype(np.float32)
    occupancy = rng.choice([1, 2], size=(grid.bins, 64, 64), p=[0.98, 0.02]).astype(np.uint8)
    context = dataclasses.replace(context, ground=torch.from_numpy(ground)[None], occupancy=torch.from_numpy(occupancy)[None])
    views, rays = random_views(12, seed=4), camera_rays(context.camera, 5, 4)
    views[..., 2] += 8
    flat = context.occupancy.flatten(1)
    number = torch.arange(flat.shape[1], dtype=torch.float32)[None]
    got = march(first_met, context, views, rays, torch.ones(1, dtype=torch.bool), flat, number)[0].numpy()
    t = np.arange(0, context.camera.max_range, 0.01)
    want = np.full(got.shape, -2.0)
    for n, view in enumerate(views[0].numpy().astype(np.float64)):
        for r, ray in enumerate(rays.numpy()):
            p = view[:3] + t[:, None] * (np.asarray(rotation_from_angles(view[3:])) @ ray)
            x, y = np.floor(p[:, :2] / grid.cell).astype(int).T
            inside = (x >= 0) & (x < 64) & (y >= 0) & (y < 64)
            z = np.searchsorted(grid.height_edges, p[:, 2] - ground[y.clip(0, 63), x.clip(0, 63)], side="right") - 1
            inside &= (z >= 0) & (z < grid.bins)
            end = len(t) if inside.all() else np.argmin(inside)
            hit = np.flatnonzero(occupancy[z[:end], y[:end], x[:end]] == 2)
            if len(hit):
                k = hit[0]
                want[n, r] = (z[k] * 64 + y[k]) * 64 + x[k]
    assert (want >= 0).mean() > 0.3
    # A corner clipped by less than a centimetre may be missed by the small steps.
    assert (got == want).mean() > 0.985


def test_environments_of_a_batch_do_not_mix():
    env = explored_env(num_envs=2)
    context = env.context()
    views = torch.cat([random_views(6, 1), random_views(6, 2)])
    together = Uncertainty().entropy(context, views, torch.ones(2, dtype=torch.bool))
    for b in range(2):
        tensors = {f.name: getattr(context, f.name) for f in dataclasses.fields(context)}
        alone = dataclasses.replace(context, **{k: v[b : b + 1] for k, v in tensors.items() if isinstance(v, torch.Tensor)})
        torch.testing.assert_close(Uncertainty().entropy(alone, views[b : b + 1], torch.ones(1, dtype=torch.bool))[0], together[b])
    half = Uncertainty().entropy(context, views, torch.tensor([True, False]))
    assert torch.equal(half[0], together[0]) and not half[1].any()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_cuda_gives_what_the_cpu_gives():
    context = explored_env(num_envs=2).context()
    tensors = {f.name: getattr(context, f.name) for f in dataclasses.fields(context)}
    there = dataclasses.replace(context, **{k: v.cuda() for k, v in tensors.items() if isinstance(v, torch.Tensor)})
    views, some = draw_views(context, 64, torch.Generator().manual_seed(0))
    views_there, some_there = draw_views(there, 64, torch.Generator().manual_seed(0))
    torch.testing.assert_close(views_there.cpu(), views)
    assert torch.equal(some_there.cpu(), some)
    active = torch.ones(2, dtype=torch.bool)
    torch.testing.assert_close(Uncertainty().entropy(there, views_there, active.cuda()).cpu(), Uncertainty().entropy(context, views, active), atol=1e-3, rtol=0)
    torch.testing.assert_close(Zhang().information(there, views_there, active.cuda()).cpu(), Zhang().information(context, views, active), rtol=1e-3, atol=0)
    for ours, theirs in zip(ActiveSGM().look(context, views, active), ActiveSGM().look(there, views_there, active.cuda()), strict=True):
        torch.testing.assert_close(theirs.cpu(), ours, atol=5e-3, rtol=0)
    torch.testing.assert_close(RayFronts(seed=3).plan(there)[0].cpu(), RayFronts(seed=3).plan(context)[0])
    for planner in (Uncertainty(), Zhang(), RayFronts(), ActiveSGM()):
        goal, _ = planner.plan(there)
        assert goal.is_cuda and torch.isfinite(goal).all()
