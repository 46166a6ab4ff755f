"""The benchmark functions measure what they say, with a peer beside."""

from __future__ import annotations

import pytest

from flaneur.geometry import Camera
from flaneur.sim import Simulator, bench


def test_render_beside_embree(tiny_scene):
    found = bench.bench_render([tiny_scene(0)], views=2, size=32, seconds=0.05)
    assert found["surface_rays_per_s"] == pytest.approx(found["surface_frames_per_s"] * 32 * 32)
    assert found["of_embree"] == pytest.approx(found["surface_rays_per_s"] / found["embree_rays_per_s"])
    assert found["rgb_frames_per_s"] > 0 and found["triangles"] > 1000 and found["machine"]["cpu"]


def test_steps(tiny_scene):
    found = bench.bench_step([tiny_scene(0), tiny_scene(1)], environments=4, size=16, seconds=0.05)
    assert found["steps_per_s"] > 10 and found["scenes"] == 2


def test_newton_beside(tiny_scene):
    pytest.importorskip("newton")
    sim = Simulator([tiny_scene(0)], Camera.from_fov(16, 16))
    found = bench.newton_rates(sim, bench.bench_views(sim, 1)[0], 0.01)
    assert found is not None and min(found.values()) > 0
