"""What a GPU owes: the CPU's images, flat memory, no wait in a step, and the rates."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from flaneur.geometry import Camera
from flaneur.sim import Simulator, bench

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")]
OUTPUTS = ("depth", "instance", "label", "rgb", "normal")


@pytest.fixture(scope="module")
def scenes(tiny_scene):
    return [tiny_scene(k) for k in range(3)]


def views() -> tuple[torch.Tensor, torch.Tensor]:
    generator = np.random.default_rng(0)
    poses = torch.from_numpy(generator.uniform((5, 5, 2, 0, -1, -3), (195, 195, 60, 0, 0.2, 3), (12, 6)).astype(np.float32))
    return poses, torch.arange(12, dtype=torch.int32) % 3


def test_same_images_as_the_cpu(scenes):
    poses, index = views()
    cpu = Simulator(scenes, Camera.from_fov(128, 96)).render(poses, index, OUTPUTS)
    gpu = Simulator(scenes, Camera.from_fov(128, 96), device="cuda").render(poses.cuda(), index.cuda(), OUTPUTS)
    assert float((gpu.instance.cpu() == cpu.instance).float().mean()) >= 0.9999
    assert float((gpu.label.cpu() == cpu.label).float().mean()) >= 0.9999
    assert float(((gpu.depth.cpu() - cpu.depth).abs() <= 1e-4 * cpu.depth).float().mean()) >= 0.9999
    assert float(((gpu.rgb.cpu().int() - cpu.rgb.int()).abs().amax(-1) <= 3).float().mean()) >= 0.99


def test_same_bytes_again(scenes):
    poses, index = views()
    sim = Simulator(scenes, Camera.from_fov(64, 64), device="cuda", samples=2, ambient_rays=2)
    first, second = (sim.render(poses.cuda(), index.cuda(), OUTPUTS) for _ in range(2))
    assert all(torch.equal(getattr(first, name), getattr(second, name)) for name in OUTPUTS)


def test_no_wait_and_flat_memory(scenes):
    poses, index = (x.cuda() for x in views())
    sim = Simulator(scenes, Camera.from_fov(64, 64), device="cuda")
    sim.render(poses, index, OUTPUTS)
    sim.move(poses, poses.roll(1, 0), 8.0, 0.5, index)
    torch.cuda.synchronize()
    free = []
    torch.cuda.set_sync_debug_mode("error")
    try:
        for _ in range(200):
            sim.render(sim.move(poses, poses.roll(1, 0), 8.0, 0.5, index).poses, index, OUTPUTS)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    torch.cuda.synchronize()
    free.append(torch.cuda.mem_get_info()[0])
    for _ in range(200):
        sim.render(poses, index, OUTPUTS)
    torch.cuda.synchronize()
    assert torch.cuda.mem_get_info()[0] >= free[0] - (1 << 20)


def test_moves_equal_the_cpu(scenes):
    poses, index = views()
    targets = poses.roll(1, 0)
    cpu = Simulator(scenes).move(poses, targets, 8.0, 0.5, index)
    gpu = Simulator(scenes, device="cuda").move(poses.cuda(), targets.cuda(), 8.0, 0.5, index.cuda())
    assert float((cpu.poses - gpu.poses.cpu()).abs().max()) < 0.05


def test_rates(tiny_scene):
    found = bench.bench_render([tiny_scene(k) for k in range(8)], "cuda", views=64, size=256, seconds=1.0)
    assert found["surface_frames_per_s"] >= 18_000 and found["rgb_frames_per_s"] >= 4_000
