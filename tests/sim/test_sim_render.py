"""First surfaces against Embree on the same triangles, and what a batch promises."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import warp as wp
from embreex import rtcore_scene
from embreex.mesh_construction import TriangleMesh

from flaneur.errors import UserError
from flaneur.geometry import Camera, rotation_from_angles
from flaneur.sim import DepthNoise, Distortion, Simulator, rig_poses, surface

CAMERA = Camera.from_fov(96, 72, 90.0)
SCENES = 3


@pytest.fixture(scope="module")
def scenes(tiny_scene):
    return [tiny_scene(k) for k in range(SCENES)]


@pytest.fixture(scope="module")
def sim(scenes):
    return Simulator(scenes, CAMERA)


@pytest.fixture(scope="module")
def views(sim):
    generator = np.random.default_rng(5)
    poses = torch.cat([sim.sample_free(generator, 6, k, (1.5, 40.0)) for k in range(SCENES)])
    poses[:, 4] = torch.from_numpy(generator.uniform(-1.2, 0.3, len(poses)).astype(np.float32))
    poses[:, 3] = torch.from_numpy(generator.uniform(-0.2, 0.2, len(poses)).astype(np.float32))
    return poses, torch.arange(SCENES, dtype=torch.int32).repeat_interleave(6)


def embree(scene, pose: np.ndarray, rays: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Planar depth (0 none) and face (-1 none) of rays [H, W, 2] as Embree finds them."""
    vertices, faces, *_ = scene.triangles()
    tree = rtcore_scene.EmbreeScene()
    TriangleMesh(tree, vertices, faces.astype(np.int32))
    rotation = rotation_from_angles(pose[3:].astype(np.float64))
    directions = (np.concatenate([rays, -np.ones_like(rays[..., :1])], -1).reshape(-1, 3) @ rotation.T).astype(np.float32)
    hit = tree.run(np.repeat(pose[None, :3], len(directions), 0).astype(np.float32), directions, output=True)
    face = hit["primID"].reshape(rays.shape[:2])
    return np.where(face >= 0, hit["tfar"].reshape(rays.shape[:2]), 0.0), face


def pinhole_rays(camera: Camera) -> np.ndarray:
    j, i = np.meshgrid(np.arange(camera.width) + 0.5, np.arange(camera.height) + 0.5)
    return np.stack([(j - camera.cx) / camera.fx, -(i - camera.cy) / camera.fy], -1)


def test_equals_embree(sim, scenes, views):
    poses, index = views
    frame = sim.render(poses, index)
    depth_right = instance_right = total = 0
    for b in range(len(poses)):
        scene = scenes[index[b]]
        depth, face = embree(scene, poses[b].numpy(), pinhole_rays(CAMERA))
        owner = scene.triangles()[4]
        instance = np.where(face >= 0, owner[face], -1)
        depth = np.where(depth > CAMERA.max_range, 0, depth)
        depth_right += int((np.abs(frame.depth[b].numpy() - depth) < 1e-3).sum())
        same = frame.instance[b].numpy() == instance
        instance_right += int(same.sum())
        total += same.size
        label = np.where(instance >= 0, scene.class_id[instance], scene.classes.sky)
        assert (frame.label[b].numpy()[same] == label[same]).all()
    assert depth_right / total >= 0.9999
    assert instance_right / total >= 0.999


def test_packets_equal_single_rays(sim, views):
    """The CPU's packets and the kernels that a GPU runs see the same."""
    poses, index = views
    frame = sim.render(poses, index, ("depth", "instance", "label", "normal"))
    shape = frame.depth.shape
    depth, instance, label = torch.zeros(shape), torch.zeros(shape, dtype=torch.int32), torch.zeros(shape, dtype=torch.uint8)
    normal, face, at = torch.zeros((*shape, 3)), torch.zeros(shape, dtype=torch.int32), torch.zeros((*shape, 3))
    arguments = [sim.set.table, sim._views(*sim._check(poses, index, True)), sim._tiles_across, sim.sky, *(wp.from_torch(x) for x in (depth, instance, label))]
    wp.launch(surface.first_surface, (shape[0], sim._threads), arguments, device="cpu")
    assert float((instance == frame.instance).float().mean()) >= 0.9999
    assert float(((depth - frame.depth).abs() <= 1e-4 * depth).float().mean()) >= 0.999
    plain = depth.clone(), instance.clone()
    wp.launch(surface.first_surface_and_hit, (shape[0], sim._threads), [*arguments, wp.from_torch(normal, wp.vec3), wp.from_torch(face), wp.from_torch(at, wp.vec3)], device="cpu")
    assert torch.equal(depth, plain[0]) and torch.equal(instance, plain[1])
    assert float(((normal - frame.normal).abs().amax(-1) < 1e-3).float().mean()) >= 0.999
    assert ((face >= 0) == (instance >= 0)).all()


def test_any_matrix(scenes):
    camera = Camera(64, 48, fx=70.5, fy=61.25, cx=20.0, cy=30.75)
    pose = torch.tensor([[100.0, 20.0, 3.0, 0.1, -0.2, 1.4]])
    depth, _ = embree(scenes[0], pose[0].numpy(), pinhole_rays(camera))
    image = Simulator(scenes[:1], camera).render(pose).depth[0].numpy()
    assert np.mean(np.abs(image - np.where(depth > camera.max_range, 0, depth)) < 1e-3) >= 0.999


def test_every_view_gets_its_own_scene(sim, scenes):
    """The same pose in different scenes, in mixed order, equals each scene rendered alone."""
    order = [2, 0, 1, 1, 2, 0, 0]
    pose = torch.tensor([[100.0, 20.0, 12.0, 0.0, -0.1, 2.3]]).expand(len(order), 6)
    together = sim.render(pose, torch.tensor(order), ("depth", "instance", "label", "rgb"))
    for b, k in enumerate(order):
        alone = Simulator([scenes[k]], CAMERA).render(pose[:1], outputs=("depth", "instance", "label", "rgb"))
        assert torch.equal(together.instance[b], alone.instance[0])
        assert torch.equal(together.depth[b], alone.depth[0])
        assert torch.equal(together.label[b], alone.label[0])
        assert torch.equal(together.rgb[b], alone.rgb[0])
    assert not torch.equal(together.instance[0], together.instance[1])


def test_same_bytes_again(scenes, views):
    poses, index = views
    outputs = ("depth", "instance", "label", "rgb", "normal")
    first, second = (Simulator(scenes, CAMERA, samples=2, ambient_rays=2).render(poses, index, outputs) for _ in range(2))
    for name in outputs:
        assert torch.equal(getattr(first, name), getattr(second, name))


def test_only_what_was_asked(sim, views):
    poses, index = views
    frame = sim.render(poses, index, ("label",))
    assert frame.depth is None and frame.rgb is None and frame.label.dtype == torch.uint8
    full = sim.render(poses, index, ("depth", "instance", "label", "normal"))
    assert torch.equal(full.label, frame.label)
    length = full.normal.norm(dim=-1)
    assert torch.allclose(length[full.instance >= 0], torch.ones(()), atol=1e-4)
    assert (length[full.instance < 0] == 0).all()


def test_normals_face_the_camera(sim):
    frame = sim.render(torch.tensor([[100.0, 60.0, 30.0, 0.0, -np.pi / 2, 0.0]]), torch.tensor([0]), ("normal", "label"))
    assert float(frame.normal[0, CAMERA.height // 2, CAMERA.width // 2, 2]) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("light", ["day", "dusk", "night", "overcast"])
def test_lights_differ_and_are_exposed(scenes, light):
    image = Simulator(scenes[:1], CAMERA, light=light).render(torch.tensor([[100.0, 30.0, 2.0, 0.0, 0.0, 1.5708]]), outputs=("rgb",)).rgb[0].float()
    low, high = {"day": (70, 200), "dusk": (50, 190), "night": (4, 90), "overcast": (70, 220)}[light]
    assert low < float(image.mean()) < high
    assert (image >= 254).all(-1).float().mean() < 0.25


def test_distortion_inverts():
    lens = Distortion(k1=-0.12, k2=0.02, p1=0.001, p2=-0.0005)
    x, y = np.meshgrid(np.linspace(-0.9, 0.9, 20), np.linspace(-0.7, 0.7, 15))
    assert np.allclose(lens.distort(*lens.undistort(x, y)), (x, y), atol=1e-6)


def test_rig_turns_with_its_body(sim):
    poses = torch.tensor([[50.0, 60.0, 5.0, 0.0, 0.0, np.pi / 2]])
    offsets = torch.tensor([[1.0, 0.0, 0.5, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0, 0.0, np.pi / 2]])
    mounted = rig_poses(poses, offsets)
    assert torch.allclose(mounted[0], torch.tensor([50.0, 61.0, 5.5, 0.0, 0.0, np.pi / 2]), atol=1e-5)
    assert torch.allclose(mounted[1, :3], torch.tensor([48.0, 60.0, 5.0]), atol=1e-5)
    assert abs(float(mounted[1, 5])) == pytest.approx(np.pi, abs=1e-5)


def test_depth_noise_is_seeded(sim, views):
    depth = sim.render(*views, ("depth",)).depth
    noise = DepthNoise(sigma=0.01, sigma_quadratic=0.001, dropout=0.05, edge_dropout=0.5)
    one, same, other = (noise(depth, torch.Generator().manual_seed(s)) for s in (1, 1, 2))
    assert torch.equal(one, same) and not torch.equal(one, other)
    assert (one[depth == 0] == 0).all()
    assert 0.03 < float(((one == 0) & (depth > 0)).float().mean()) < 0.3
    kept = (one > 0) & (depth < 10)
    assert float((one - depth)[kept].abs().mean()) < 0.1


def test_bad_input(sim, scenes, views):
    poses, index = views
    broken = poses.clone()
    broken[3, 2] = float("nan")
    with pytest.raises(UserError, match="row 3 is not finite"):
        sim.render(broken, index)
    with pytest.raises(UserError, match="scene_index"):
        sim.render(poses)
    with pytest.raises(UserError, match="3 scenes, counted from 0"):
        sim.render(poses[:1], torch.tensor([3]))
    with pytest.raises(UserError, match="outputs: unknown 'colour'"):
        sim.render(poses, index, ("colour",))
    with pytest.raises(UserError, match="at least 1"):
        Simulator(scenes, Camera(0, 10))
    with pytest.raises(UserError, match="no scene was given"):
        Simulator([])
    with pytest.raises(UserError, match="2 fit into"):
        Simulator(scenes, CAMERA, memory_limit=int(2.5 * sim.memory[0][1]))
    with pytest.raises(UserError, match="known are day"):
        Simulator(scenes, CAMERA, light="noon")
    with pytest.raises(UserError, match="lies inside matter"):
        sim.require_clear(torch.tensor([[0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]), torch.tensor([0]))
    if not torch.cuda.is_available():
        with pytest.raises(UserError, match="no CUDA device"):
            Simulator(scenes, CAMERA, device="cuda")


def test_memory_is_told(sim):
    assert [name for name, _ in sim.memory] == ["tiny-0", "tiny-1", "tiny-2"]
    assert all(100_000 < size < 10_000_000 for _, size in sim.memory)
