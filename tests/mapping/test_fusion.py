"""The kernels against the float64 reference."""

from __future__ import annotations

import golden_fixture as golden
import numpy as np
import pytest
import torch
from fusion_reference import ReferenceMap, back_project, margin

from flaneur.classes import load_classes
from flaneur.errors import UserError
from flaneur.geometry import Camera, Grid, camera_to_world
from flaneur.mapping import PAPER, MapConfig, SemanticMap
from flaneur.scoring import Target, group_table, strict_iou

GRID = Grid(size=12.5, cells=16, height_edges=(-0.5, 0.15, 1.0, 2.0, 4.0, 8.0))
CAMERA = Camera.from_fov(16, 16, max_range=30.0)


def frames(rng, n, camera=CAMERA, grid=GRID):
    """Poses [n, 6] and depths [n, H, W] whose points keep 1 mm from every voxel boundary."""
    poses = np.stack([rng.uniform(2, 10, n), rng.uniform(2, 10, n), rng.uniform(1.5, 6, n), np.zeros(n), -rng.uniform(0, 1, n), rng.uniform(-3, 3, n)], 1).astype(np.float32)
    depth = rng.uniform(0.5, 9, (n, camera.height, camera.width)).astype(np.float32)
    matrix = camera_to_world(poses.astype(np.float64))
    for t in range(n):
        point = back_project(depth[t].astype(np.float64), matrix[t], (camera.fx, camera.fy), (camera.cx, camera.cy))
        depth[t][margin(point, grid.size, grid.cells, grid.height_edges) < 1e-3] = 0
    return poses, depth, matrix


def tensors(*arrays):
    return [torch.from_numpy(np.asarray(a, np.float32)) for a in arrays]


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_golden_fixture(preset):
    data, classes = golden.load(), golden.golden_classes()
    m = SemanticMap(classes, golden.GRID, golden.PRESETS[preset], 1, 32 * 32, golden.LOGIT_SCALE, torch.from_numpy(data["class_mean"]))
    target = Target(torch.from_numpy(data["truth"])[None], torch.from_numpy(data["scored"])[None])
    table, score = group_table(classes), torch.zeros(1, 3, dtype=torch.float64)
    for t in range(golden.STEPS):
        depth, similarity, poses, beta = tensors(*(data[k][t : t + 1] for k in ("depth", "similarity", "poses", f"{preset}/beta")))
        m.accumulate(depth, similarity, camera_to_world(poses), golden.CAMERA)
        assert np.abs(m.observation_map[0].numpy() - data[f"{preset}/observation_map"][t]).max() < 1e-4
        m.fuse(beta)
        assert np.abs(m.probabilities[0].numpy() - data[f"{preset}/map"][t]).max() < 1e-4
        now = torch.nan_to_num(strict_iou(m.labels, target, table), nan=0.0)
        np.testing.assert_allclose((now - score)[0].numpy(), data[f"{preset}/reward"][t], atol=1e-9)
        score = now


def test_golden_fixture_is_what_the_reference_makes():
    made, kept = golden.make(), golden.load()
    assert made.keys() == kept.keys()
    for name, value in made.items():
        np.testing.assert_allclose(kept[name], value, atol=1e-6, err_msg=name)


@pytest.mark.parametrize(("config", "scale"), [(PAPER, 1.0), (MapConfig(), 30.0)])
def test_384_steps_with_random_betas(config, scale):
    rng = np.random.default_rng(1)
    steps, classes = 384, 5
    grid = Grid(size=12.5, cells=8, height_edges=(-0.5, 0.15, 2.0, 8.0))
    camera = Camera.from_fov(8, 8)
    m = SemanticMap(classes, grid, config, 1, 64, scale)
    reference = ReferenceMap(
        classes, grid.size, grid.cells, grid.height_edges, sky=-1, channel=range(classes), logit_scale=config.logit_scale or scale, centred=config.centred, projection=config.projection
    )
    _poses, depth, matrix = frames(rng, steps, camera, grid)
    for t in range(steps):
        similarity, beta = rng.normal(0.2, 0.1, (classes, 4, 4)).astype(np.float32), rng.uniform(0.2, 1.8, (classes, 2, 2)).astype(np.float32)
        m.accumulate(*tensors(depth[t][None], similarity[None], matrix[t][None]), camera)
        m.fuse(*tensors(beta[None]))
        reference.accumulate(depth[t], similarity, matrix[t], (camera.fx, camera.fy), (camera.cx, camera.cy))
        reference.fuse(beta)
    error = np.abs(m.probabilities[0].numpy() - reference.probabilities())
    agree = m.labels[0].numpy() == np.where(reference.observed.any(0), reference.probabilities().argmax(0), 255)
    assert error.max() < 1e-4 if config is PAPER else 1e-3
    assert agree.mean() >= 0.999


@pytest.mark.parametrize("classes", [2, 3, 29, 150])
def test_adversarial_evidence_neither_saturates_nor_overflows(classes):
    """The same wrong answer 383 times at the bound, then the same right one: the last must be able to move the sum, and nothing is lost."""
    m = SemanticMap(classes, GRID, MapConfig(logit_scale=100.0), 1, 256)
    pose = torch.tensor([[6.0, 6.0, 5.0, 0.0, -1.5707964, 0.0]])
    depth = torch.full((1, 16, 16), 4.9)
    for step in range(384):
        similarity = torch.zeros(1, classes, 1, 1)
        similarity[0, 0 if step < 192 else 1] = 1e4 if step % 2 else 1.0
        m.accumulate(depth, similarity, camera_to_world(pose), CAMERA)
        m.fuse()
    values = m.log_odds[m.observed.bool()]
    assert torch.isfinite(values).all() and torch.isfinite(m.probabilities).all()
    # 192 updates at +bound and 192 at -bound cancel exactly enough for both classes to stand level.
    assert values[:, :2].abs().max() < 1e-2
    assert values[:, 2:].numel() == 0 or values[:, 2:].max() < -384 * 13.0


def test_order_of_pixels_does_not_matter():
    """Mirrored image columns with a mirrored camera model give the same bits: sums are integers."""
    rng = np.random.default_rng(3)
    _, depth, matrix = frames(rng, 1)
    similarity = rng.normal(0, 0.3, (1, 7, 16, 16)).astype(np.float32)
    maps = []
    for flip in (False, True):
        camera = CAMERA if not flip else Camera(16, 16, -CAMERA.fx, CAMERA.fy, 16 - CAMERA.cx, CAMERA.cy)
        m = SemanticMap(7, GRID, MapConfig(logit_scale=50.0), 1, 256)
        d, s = (np.ascontiguousarray(a[..., ::-1]) if flip else a for a in (depth, similarity))
        m.accumulate(*tensors(d, s, matrix), camera)
        m.fuse()
        maps.append(m.log_odds.clone())
    assert torch.equal(*maps) and maps[0].abs().sum() > 0


def test_environments_do_not_touch_each_other():
    rng = np.random.default_rng(4)
    _, depth, matrix = frames(rng, 3)
    similarity = rng.normal(0, 0.3, (3, 4, 4, 4)).astype(np.float32)
    together = SemanticMap(4, GRID, MapConfig(logit_scale=20.0), 3, 256)
    together.accumulate(*tensors(depth, similarity, matrix), CAMERA)
    together.fuse()
    for e in range(3):
        alone = SemanticMap(4, GRID, MapConfig(logit_scale=20.0), 1, 256)
        alone.accumulate(*tensors(depth[e : e + 1], similarity[e : e + 1], matrix[e : e + 1]), CAMERA)
        alone.fuse()
        assert torch.equal(alone.log_odds[0], together.log_odds[e])
        assert torch.equal(alone.occupancy[0], together.occupancy[e])
    together.reset([1])
    assert not together.log_odds[1].any() and together.log_odds[2].any()
    assert (together.labels[1] == 255).all()


def test_odd_patch_grids_and_useless_depth():
    """Patches that do not divide the image are nearest; depth 0, negative, NaN and infinite is no observation."""
    rng = np.random.default_rng(5)
    _, depth, matrix = frames(rng, 1)
    depth[0, :2], depth[0, 2], depth[0, 3, :8], depth[0, 3, 8:] = 0, -1, np.nan, np.inf
    similarity = rng.normal(0, 0.3, (1, 4, 3, 5)).astype(np.float32)
    m = SemanticMap(4, GRID, PAPER, 1, 256)
    m.accumulate(*tensors(depth, similarity, matrix), CAMERA)
    m.fuse()
    reference = ReferenceMap(4, GRID.size, GRID.cells, GRID.height_edges, sky=-1, channel=range(4), logit_scale=1.0, centred=False, projection="log_odds")
    depth[~np.isfinite(depth)] = 0
    reference.accumulate(depth[0], similarity[0], matrix[0], (CAMERA.fx, CAMERA.fy), (CAMERA.cx, CAMERA.cy))
    reference.fuse(np.ones((4, 1, 1)))
    assert np.abs(m.probabilities[0].numpy() - reference.probabilities()).max() < 1e-5


def test_sky_is_never_in_the_map():
    classes = load_classes()
    for config in (MapConfig(), PAPER):
        m = SemanticMap(classes, GRID, config, 1, 256, 100.0)
        similarity = torch.zeros(1, len(classes), 1, 1)
        similarity[0, classes.sky] = 1.0
        m.accumulate(torch.full((1, 16, 16), 4.0), similarity, camera_to_world(torch.tensor([[6.0, 6.0, 5.0, 0.0, -1.2, 0.3]])), CAMERA)
        m.fuse()
        assert not m.probabilities[0, classes.sky].any() and not (m.labels == classes.sky).any()
        assert m.probabilities.sum(1).max() == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(
    "make",
    [
        lambda m: m.accumulate(torch.ones(1, 16, 16), torch.ones(1, 5, 4, 4), torch.eye(4)[None], CAMERA),
        lambda m: m.accumulate(torch.ones(1, 8, 16), torch.ones(1, 4, 4, 4), torch.eye(4)[None], CAMERA),
        lambda m: m.fuse(torch.ones(1, 3, 2, 2)),
        lambda m: SemanticMap(1),
        lambda m: SemanticMap(4, class_mean=torch.zeros(5)),
        lambda m: MapConfig(logit_scale=-1.0),
    ],
)
def test_bad_input_is_one_line(make):
    with pytest.raises(UserError) as error:
        make(SemanticMap(4, GRID, MapConfig(), 1, 256))
    assert "\n" not in str(error.value)


def test_memory_per_environment():
    m = SemanticMap(load_classes())
    assert sum(m.bytes_per_environment().values()) <= 180e6
