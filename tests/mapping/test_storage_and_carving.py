from __future__ import annotations

import numpy as np
import pytest
import torch

from flaneur.classes import load_classes
from flaneur.errors import UserError
from flaneur.geometry import Camera, Grid, camera_to_world
from flaneur.mapping import MapConfig, SemanticMap, load_map, save_map

GRID = Grid(size=40.0, cells=40, height_edges=(-0.5, 0.15, 1.0, 2.0, 4.0, 8.0, 16.0))
CAMERA = Camera.from_fov(32, 32, max_range=30.0)
CLASSES = load_classes()


def look_at_a_wall(distance: float = 10.0) -> SemanticMap:
    """A camera at (5, 20, 3) facing east; everything ends on a plane ahead."""
    m = SemanticMap(CLASSES, GRID, MapConfig(carve_stride=1), 1, 1024, 50.0)
    similarity = torch.randn(1, len(CLASSES), 4, 4, generator=torch.Generator().manual_seed(0)) * 0.05
    pose = torch.tensor([[5.5, 20.5, 3.0, 0.0, 0.0, 0.0]])
    m.accumulate(torch.full((1, 32, 32), distance), similarity, camera_to_world(pose), CAMERA)
    return m


def test_rays_carve_what_they_cross():
    """Against marching in small steps in NumPy."""
    m = look_at_a_wall()
    free = np.zeros((GRID.bins, 40, 40), bool)
    edges = np.array(GRID.height_edges)
    for r in range(32):
        for c in range(32):
            direction = np.array([1.0, -(c + 0.5 - 16) / 16, -(r + 0.5 - 16) / 16])
            for t in np.linspace(0, 10, 4000)[:-1]:
                x, y, z = np.array([5.5, 20.5, 3.0]) + t * direction
                k = np.searchsorted(edges, z, "right") - 1
                if 0 <= int(x) < 40 and 0 <= int(y) < 40 and 0 <= k < GRID.bins:
                    free[k, int(y), int(x)] = True
    got = m.occupancy[0].numpy()
    assert (got[free] > 0).all()
    # Marching misses corners that it jumps over; the walk may find more, but few.
    assert (got == 1).sum() <= 1.1 * free.sum()
    assert (got == 2).sum() == int(m._used[0])


def test_occupied_stays_occupied():
    m = look_at_a_wall()
    hit = m.occupancy[0] == 2
    pose = torch.tensor([[5.5, 20.5, 3.0, 0.0, 0.0, 0.0]])
    m.accumulate(torch.full((1, 32, 32), 20.0), torch.zeros(1, len(CLASSES), 4, 4), camera_to_world(pose), CAMERA)
    assert (m.occupancy[0][hit] == 2).all()


def test_misses_carve_only_when_they_mean_open_space():
    for carve_misses in (True, False):
        m = SemanticMap(CLASSES, GRID, MapConfig(carve_misses=carve_misses), 1, 1024, 50.0)
        m.accumulate(torch.zeros(1, 32, 32), torch.zeros(1, len(CLASSES), 4, 4), camera_to_world(torch.tensor([[5.0, 20.0, 3.0, 0.0, 0.3, 0.0]])), CAMERA)
        assert m.occupancy.any() == carve_misses


def test_a_map_survives_a_file_and_goes_on(tmp_path):
    m = look_at_a_wall()
    m.fuse()
    save_map(m, tmp_path / "map.npz", class_names=CLASSES.names, extra={"frame": 7})
    back, extra = load_map(tmp_path / "map.npz", CLASSES, 1024)
    assert extra == {"frame": 7} and torch.equal(back.log_odds, m.log_odds) and torch.equal(back.labels, m.labels)
    torch.testing.assert_close(back.probabilities, m.probabilities)
    assert torch.equal(back.occupancy, m.occupancy)
    for one in (m, back):
        one.accumulate(torch.full((1, 32, 32), 7.0), torch.ones(1, len(CLASSES), 2, 2), camera_to_world(torch.tensor([[8.5, 20.5, 3.0, 0.0, -0.2, 0.1]])), CAMERA)
        one.fuse()
    assert torch.equal(back.log_odds, m.log_odds)


def test_an_observation_is_fused_once():
    m = look_at_a_wall()
    m.fuse()
    with pytest.raises(UserError):
        m.fuse()


@pytest.mark.parametrize("content", [None, b"nothing", "other"])
def test_bad_files_are_one_line(tmp_path, content):
    path = tmp_path / "map.npz"
    if content == "other":
        m = SemanticMap(4, GRID, MapConfig(logit_scale=1.0), 1, 1024)
        save_map(m, path)
    elif content:
        path.write_bytes(content)
    with pytest.raises(UserError) as error:
        load_map(path, CLASSES)
    assert "\n" not in str(error.value)
