"""Pictures: colours, sheets, flights and files."""

from __future__ import annotations

import imageio.v2 as imageio
import numpy as np
import pytest
import torch
from PIL import Image

from flaneur.errors import UserError
from flaneur.geometry import Camera, rotation_from_angles
from flaneur.sim import Simulator, pictures


@pytest.fixture(scope="module")
def sim(tiny_scene):
    return Simulator([tiny_scene(0)], Camera.from_fov(48, 32))


def test_sheet_and_image_file(sim, tmp_path):
    poses = pictures.sheet_poses(sim)
    sheet = pictures.view_sheet(sim, poses)
    assert sheet.shape == (8 * 36 + 4, 4 * 52 + 4, 3)
    pictures.write_image(tmp_path / "a" / "sheet.png", sheet)
    assert np.array_equal(np.asarray(Image.open(tmp_path / "a" / "sheet.png")), sheet)
    assert [p.name for p in (tmp_path / "a").iterdir()] == ["sheet.png"]


def test_orbit_looks_at_the_middle():
    poses = pictures.orbit_poses(200.0, 12).double()
    forward = -rotation_from_angles(poses[:, 3:])[:, :, 2]
    towards = torch.nn.functional.normalize(torch.tensor([100.0, 100.0, 5.0]) - poses[:, :3], dim=1)
    assert torch.allclose(forward, towards, atol=1e-5)


def test_flight_passes_its_waypoints():
    waypoints = torch.tensor([[0.0, 0, 2, 0, 0, 3.0], [10.0, 0, 2, 0, 0, -3.0], [10.0, 10, 5, 0, -0.2, -1.5]])
    flight = pictures.flight_poses(waypoints, 41)
    assert torch.allclose(flight[[0, 20, 40], :3], waypoints[:, :3], atol=1e-5)
    assert float((flight[1:, 5] - flight[:-1, 5]).abs().max()) < 0.3


@pytest.mark.parametrize("name", ["o.gif", "o.mp4"])
def test_video_with_progress(sim, tmp_path, name):
    poses, seen = pictures.orbit_poses(200.0, 5), []
    pictures.write_video(tmp_path / name, pictures.render_frames(sim, poses), 5, 10, lambda k, n: seen.append((k, n)))
    assert seen == [(k, 5) for k in range(1, 6)]
    assert len(imageio.mimread(tmp_path / name)) == 5


def test_colours_are_black_where_nothing_is():
    assert (pictures.colour_depth(np.zeros((2, 2), np.float32), 150.0) == 0).all()
    assert (pictures.colour_instances(np.array([[-1]])) == 0).all()
    assert (pictures.colour_normals(np.zeros((1, 3), np.float32)) == 0).all()
    ids = pictures.colour_instances(np.arange(500))
    assert len(np.unique(ids, axis=0)) > 490


def test_unknown_formats(tmp_path):
    with pytest.raises(UserError, match="unknown image format"):
        pictures.write_image(tmp_path / "a.bmp", np.zeros((2, 2, 3), np.uint8))
    with pytest.raises(UserError, match="unknown video format"):
        pictures.write_video(tmp_path / "a.avi", [], 0)
