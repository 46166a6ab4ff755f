"""Frames and rotations against SciPy and by hand."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from flaneur.geometry import Camera, Grid, angles_from_rotation, camera_to_world, quaternion_from_rotation, rotation_from_angles, rotation_from_quaternion

angle = st.floats(-1.5, 1.5)


def test_level_camera_looks_east_with_the_north_on_its_left() -> None:
    right, up, back = rotation_from_angles(np.zeros(3)).T
    np.testing.assert_allclose(-back, [1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(right, [0, -1, 0], atol=1e-12)
    np.testing.assert_allclose(up, [0, 0, 1], atol=1e-12)


def test_yaw_turns_north_and_negative_pitch_looks_down() -> None:
    north = -rotation_from_angles(np.array([0, 0, np.pi / 2]))[:, 2]
    np.testing.assert_allclose(north, [0, 1, 0], atol=1e-12)
    down = -rotation_from_angles(np.array([0, -np.pi / 6, 0]))[:, 2]
    np.testing.assert_allclose(down, [np.cos(np.pi / 6), 0, -0.5], atol=1e-12)


def test_equals_scipys_intrinsic_turns() -> None:
    scipy = pytest.importorskip("scipy.spatial.transform")
    angles = np.random.default_rng(0).uniform(-1.5, 1.5, (50, 3))
    roll, pitch, yaw = angles.T
    body = scipy.Rotation.from_euler("ZYX", np.stack([yaw, -pitch, roll], -1)).as_matrix()  # x forward, y left, z up
    camera_axes_in_body = np.array([[0, 0, -1], [-1, 0, 0], [0, 1, 0]])  # columns: right, up, back
    np.testing.assert_allclose(rotation_from_angles(angles), body @ camera_axes_in_body, atol=1e-12)


@given(angle, angle, angle)
def test_angles_and_quaternions_round_trip(roll: float, pitch: float, yaw: float) -> None:
    angles = np.array([roll, pitch, yaw])
    rotation = rotation_from_angles(angles)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(angles_from_rotation(rotation), angles, atol=1e-7)
    np.testing.assert_allclose(rotation_from_quaternion(quaternion_from_rotation(rotation)), rotation, atol=1e-9)


def test_torch_and_numpy_agree() -> None:
    pose = np.random.default_rng(1).uniform(-1, 1, (4, 6))
    np.testing.assert_array_equal(camera_to_world(torch.tensor(pose)).numpy(), camera_to_world(pose))


def test_camera_and_grid() -> None:
    camera = Camera.from_fov(256, 256, 90)
    assert camera.fx == pytest.approx(128) and camera.cx == 128
    assert Grid().cell == 0.78125 and Grid().bins == 17
