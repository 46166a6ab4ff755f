"""Moves stay out of matter and inside the flight volume; free poses are free."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st
from scenes import MATERIALS, prism, prototype, rectangle

from flaneur.city.scene import Instances, Scene
from flaneur.errors import UserError
from flaneur.sim import Simulator, pose_lattice

CITIES, MOVERS, ROUNDS = 4, 32, 12
CLEARANCE = 0.5


@pytest.fixture(scope="module")
def sim(tiny_scene):
    return Simulator([tiny_scene(k) for k in range(CITIES)])


def room(*parts) -> Scene:
    """One building made of the given solids over a lawn of 60 m."""
    prototypes = [prototype("lawn", "terrain", (prism(rectangle(60, 60), -0.45, 0.0), "grass")), prototype("walls", "building", *((p, "concrete_wall") for p in parts))]
    n = 2
    instances = Instances(
        prototype=np.arange(n, dtype=np.int32), position=np.array([(30, 30, 0)] * n, np.float32), yaw=np.zeros(n, np.float32), scale=np.ones(n, np.float32),
        tint=np.full((n, 3), 255, np.uint8), block=np.full(n, -1, np.int32), rule=np.full(n, -1, np.int16), osm_id=np.zeros(n, np.int64),
        osm_type=np.zeros(n, np.uint8), clipped=np.zeros(n, bool),
    )  # fmt: skip
    return Scene("room", prototypes, instances, list(MATERIALS), np.zeros((2, 2), np.float32), "town", 0, 60.0)


def distances(scene: Scene, points: np.ndarray) -> np.ndarray:
    """To the nearest triangle, by trimesh's formula over every triangle whose box is near."""
    vertices, faces, *_ = scene.triangles()
    triangles = vertices[faces].astype(np.float64)
    low, high = triangles.min(1), triangles.max(1)
    out = np.full(len(points), 5.0)
    for k, point in enumerate(points.astype(np.float64)):
        near = triangles[((low < point + 5) & (high > point - 5)).all(1)]
        if len(near):
            closest = trimesh.triangles.closest_point(near, np.repeat(point[None], len(near), 0))
            out[k] = min(out[k], np.linalg.norm(closest - point, axis=1).min())
    return out


def parity(scene: Scene, points: np.ndarray) -> np.ndarray:
    """Inside by counting crossings of upward-slanted rays with the solids that are no background, in NumPy."""
    vertices, faces, _, _, owner = scene.triangles()
    faces = faces[scene.is_object[owner]]
    a, b, c = (vertices[faces[:, i]].astype(np.float64) for i in range(3))
    direction = np.array([0.0137, 0.0291, 1.0])
    normal = np.cross(direction, c - a)
    determinant = np.einsum("ij,ij->i", b - a, normal)
    inside = np.zeros(len(points), bool)
    for k, point in enumerate(points.astype(np.float64)):
        with np.errstate(divide="ignore", invalid="ignore"):
            s = point - a
            u = np.einsum("ij,ij->i", s, normal) / determinant
            q = np.cross(s, b - a)
            v = q @ direction / determinant
            t = np.einsum("ij,ij->i", c - a, q) / determinant
        inside[k] = np.count_nonzero((u >= 0) & (v >= 0) & (u + v <= 1) & (t > 0)) % 2 == 1
    return inside


def test_moves_stay_outside(sim):
    generator = np.random.default_rng(3)
    poses = torch.cat([sim.sample_free(generator, MOVERS, k, (1.5, 30.0)) for k in range(CITIES)])
    index = torch.arange(CITIES, dtype=torch.int32).repeat_interleave(MOVERS)
    visited = []
    for _ in range(ROUNDS):
        targets = torch.from_numpy(generator.uniform((-30, -30, -5, 0, -1, -3), (230, 230, 90, 0, 1, 3), (len(poses), 6)).astype(np.float32))
        # Half of the targets are the middles of objects, which nobody may reach.
        for k in range(CITIES):
            rows = torch.nonzero(index == k)[::2, 0]
            boxes = sim.scenes[k].box[sim.scenes[k].is_object, 0]
            targets[rows, :3] = torch.from_numpy(boxes[generator.integers(0, len(boxes), len(rows))].astype(np.float32))
        result = sim.move(poses, targets, 8.0, CLEARANCE, index)
        step = (result.poses[:, :3] - poses[:, :3]).norm(dim=1)
        assert (step <= 8.0 + 1e-3).all() and (step <= result.travelled + 1e-3).all()
        assert torch.equal(result.poses[:, 3:], targets[:, 3:])
        poses = result.poses
        visited.append(poses[:, :3].numpy())
    for k in range(CITIES):
        points = np.concatenate([v[index.numpy() == k] for v in visited])
        assert not parity(sim.scenes[k], points).any()
        assert distances(sim.scenes[k], points).min() > CLEARANCE - 1e-2
        assert (points[:, :2] >= 0).all() and (points[:, :2] <= 200).all()
        assert (points[:, 2] >= 1.5).all() and (points[:, 2] <= 80.0).all()


def test_reaches_what_is_free(sim):
    start = torch.tensor([[100.0, 20.0, 30.0, 0.0, 0.0, 0.0]])
    goal = torch.tensor([[104.0, 23.0, 28.0, 0.0, 0.5, 1.0]])
    result = sim.move(start, goal, 8.0, CLEARANCE, torch.tensor([0]))
    assert torch.allclose(result.poses, goal, atol=2e-3) and not result.blocked[0]


@settings(max_examples=25, deadline=None)
@given(angle=st.floats(0, 6.28), thickness=st.floats(0.001, 0.02), step=st.floats(1.0, 40.0))
def test_thin_walls_hold(angle, thickness, step):
    """A closed ring of walls a few millimetres thick, and a lone sheet, let nobody through."""
    walls = [prism(rectangle(20, thickness, 0, y), 0, 90) for y in (-10, 10)] + [prism(rectangle(thickness, 20, x, 0), 0, 90) for x in (-10, 10)]
    sim = Simulator([room(*walls)])
    pose = torch.tensor([[30.0, 30.0, 5.0, 0, 0, 0]])
    goal = pose + torch.tensor([[25 * np.cos(angle), 25 * np.sin(angle), 3.0, 0, 0, 0]], dtype=torch.float32)
    for _ in range(6):
        pose = sim.move(pose, goal, step, 0.3).poses
    assert (pose[0, :2] - 30).abs().max() < 10 - 0.29


def test_slides_along_a_wall():
    sim = Simulator([room(prism(rectangle(1, 50), 0, 20))])
    pose = torch.tensor([[26.0, 10.0, 5.0, 0, 0, 0]])
    goal = torch.tensor([[34.0, 50.0, 5.0, 0, 0, 0]])
    for _ in range(8):
        pose = sim.move(pose, goal, 8.0, CLEARANCE).poses
    assert float(pose[0, 1]) > 40.0


def test_too_near_may_only_leave():
    sim = Simulator([room(prism(rectangle(1, 50), 0, 20))])
    pose = torch.tensor([[29.3, 30.0, 5.0, 0, 0, 0]])  # 0.2 m before the wall
    toward, away = (sim.move(pose, pose + torch.tensor([[dx, 0, 0, 0, 0, 0]]), 4.0, CLEARANCE).poses for dx in (3.0, -3.0))
    assert float(toward[0, 0]) <= 29.3 + 1e-4
    assert float(away[0, 0]) == pytest.approx(26.3, abs=1e-2)


def test_clear_knows_inside_from_outside(sim):
    scene = sim.scenes[0]
    middles = scene.box[scene.is_object & (scene.volume > 1000), 0]
    inside = torch.from_numpy(middles.astype(np.float32))
    assert not sim.clear(inside, 0.05, torch.zeros(len(inside))).any()
    free = sim.sample_free(np.random.default_rng(0), 200, 0)
    assert not parity(scene, free[:, :3].numpy()).any()
    assert distances(scene, free[:, :3].numpy()).min() >= CLEARANCE - 1e-4


def test_start_poses_are_the_scenes_own(sim, tiny_scene):
    starts = [sim.start_poses(k) for k in range(CITIES)]
    assert not torch.equal(starts[0], starts[1])
    again = Simulator([tiny_scene(1)]).start_poses(0)
    assert torch.equal(again, starts[1])
    for k, poses in enumerate(starts):
        assert sim.clear(poses[:, :3], CLEARANCE, torch.full((3,), k)).all()
        assert (poses[:, 2] >= 1.5).all() and (poses[:, 2] <= 2.7).all()
        _, label = sim.cast(poses[:, :3], torch.tensor([[0.0, 0.0, -1.0]]).expand(3, 3), torch.full((3,), k))
        assert {sim.scenes[k].classes.names[i] for i in label.tolist()} <= {"road", "pavement"}


def test_lattice_is_free_and_whole(sim):
    batches = list(pose_lattice(sim, 0, 25.0, (2.0, 20.0), 4, (0.0, -30.0), CLEARANCE, batch=50))
    poses = torch.cat(batches)
    assert all(len(b) == 50 for b in batches[:-1]) and len(poses) % 8 == 0
    assert len(poses.unique(dim=0)) == len(poses) <= 8 * 8 * 2 * 8
    assert sim.clear(poses[:, :3], CLEARANCE).all()


def test_bad_input(sim):
    with pytest.raises(UserError, match="must be positive"):
        sim.move(torch.zeros(1, 6), torch.zeros(1, 6), 8.0, 0.0, torch.tensor([0]))
    with pytest.raises(UserError, match="lower the clearance"):
        sim.sample_free(np.random.default_rng(0), 4, 0, (1.5, 2.0), clearance=300.0)


def test_who_flies_into_a_wedge_comes_out_again():
    # Two walls that meet at an angle of 20 degrees, open to the west: whoever flies in from there ends where they leave a metre.
    angle = np.radians(10)
    upper = np.array([(-12, 12 * np.tan(angle) + 0.05), (3, 0.0), (3, 3), (-12, 6)])
    lower = upper[::-1] * [1, -1]
    scene = room(prism(upper, 0, 20), prism(lower, 0, 20))
    sim = Simulator([scene])
    height = torch.linspace(3, 12, 16)
    start = torch.zeros(16, 6)
    start[:, 0], start[:, 1], start[:, 2] = 14.0, 30.0 + torch.linspace(-0.5, 0.5, 16), height
    tip, away = start.clone(), start.clone()
    tip[:, 0], tip[:, 1] = 33.0, 30.0 + torch.linspace(0.3, -0.3, 16)
    index, poses = torch.zeros(16, dtype=torch.int32), start
    for _ in range(6):
        poses = sim.move(poses, tip, 8.0, CLEARANCE, index).poses
    assert (poses[:, 0] > 22).all()  # deep in
    inside = poses
    for _ in range(4):
        poses = sim.move(poses, away, 8.0, CLEARANCE, index).poses
    assert (poses[:, 0] < 18).all(), f"started back from {inside[:, :2].tolist()}"
    assert (distances(scene, inside[:, :3].numpy()) > CLEARANCE - 1e-3).all()
