"""Frames, poses, the pinhole camera and the map grid: the few conventions everyone shares.

World: metres, x east, y north, z up, origin at the window's south-west corner on the ground.
Camera: looks along its own -z, x right, y up (OpenGL and USD). Image row 0 is the top.
Pose: [x, y, z, roll, pitch, yaw], metres and radians. Yaw turns from east towards north; positive pitch looks up;
yaw is applied first, then pitch, then roll (ZYX). Quaternions are xyzw.
Maps: [..., row, column] = [..., y, x]; row 0 is the southern edge.

The functions take NumPy arrays or torch tensors and return the same kind.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

# Height-bin edges above the local ground, metres: bin 0 is the ground slab.
HEIGHT_EDGES = (-0.5, 0.15, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0, 96.0, 300.0)


def _namespace(x: Any) -> Any:
    """The array library of `x`; torch is looked up only when a tensor is given, so that city building never imports it."""
    if type(x).__module__.startswith("torch"):
        import torch

        return torch
    return np


def rotation_from_angles(angles: Any) -> Any:
    """Camera-to-world rotation [..., 3, 3] from [..., 3] = roll, pitch, yaw in radians."""
    xp = _namespace(angles)
    roll, pitch, yaw = angles[..., 0], angles[..., 1], angles[..., 2]
    cr, sr, cp, sp, cy, sy = xp.cos(roll), xp.sin(roll), xp.cos(pitch), xp.sin(pitch), xp.cos(yaw), xp.sin(yaw)
    zero = xp.zeros_like(yaw)
    forward = xp.stack([cp * cy, cp * sy, sp], -1)
    right0 = xp.stack([sy, -cy, zero], -1)
    up0 = xp.stack([-sp * cy, -sp * sy, cp], -1)
    # Positive roll lowers the right-hand side (x forward, y left, z up: a turn about forward).
    right = right0 * cr[..., None] - up0 * sr[..., None]
    up = up0 * cr[..., None] + right0 * sr[..., None]
    return xp.stack([right, up, -forward], -1)


def camera_to_world(pose: Any) -> Any:
    """Rigid transform [..., 4, 4] from poses [..., 6]."""
    xp = _namespace(pose)
    out = xp.zeros_like(pose[..., :4, None] * pose[..., None, :4])
    out[..., :3, :3] = rotation_from_angles(pose[..., 3:])
    out[..., :3, 3] = pose[..., :3]
    out[..., 3, 3] = 1.0
    return out


def angles_from_rotation(rotation: Any) -> Any:
    """Roll, pitch, yaw [..., 3] of camera-to-world rotations [..., 3, 3]; the inverse of `rotation_from_angles`."""
    xp = _namespace(rotation)
    right, up, forward = rotation[..., :, 0], rotation[..., :, 1], -rotation[..., :, 2]
    pitch = xp.arcsin(xp.clip(forward[..., 2], -1.0, 1.0))
    # Straight up or down, yaw is taken from the image's up vector so that the result stays continuous.
    steep = xp.abs(forward[..., 2]) > 1.0 - 1e-9
    sign = -xp.sign(forward[..., 2])
    yaw = xp.where(steep, xp.arctan2(up[..., 1] * sign, up[..., 0] * sign), xp.arctan2(forward[..., 1], forward[..., 0]))
    right0 = xp.stack([xp.sin(yaw), -xp.cos(yaw), xp.zeros_like(yaw)], -1)
    roll = xp.arctan2((up * right0).sum(-1), (right * right0).sum(-1))
    return xp.stack([roll, pitch, yaw], -1)


def quaternion_from_rotation(rotation: np.ndarray) -> np.ndarray:
    """Unit quaternions xyzw [..., 4] (w >= 0) of rotations [..., 3, 3]."""
    m = np.asarray(rotation, np.float64)
    trace = np.einsum("...ii->...", m)
    diagonal = np.einsum("...ii->...i", m)
    # The largest of x, y, z, w is found first and divided by, which keeps every branch well conditioned.
    squared = np.concatenate([1 + 2 * diagonal - trace[..., None], (1 + trace)[..., None]], -1)
    x, y, z, w = (np.sqrt(np.maximum(squared[..., i], 0)) / 2 for i in range(4))
    dx, dy, dz = m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]
    sxy, sxz, syz = m[..., 0, 1] + m[..., 1, 0], m[..., 0, 2] + m[..., 2, 0], m[..., 1, 2] + m[..., 2, 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        options = np.stack(
            [
                np.stack([x, sxy / (4 * x), sxz / (4 * x), dx / (4 * x)], -1),
                np.stack([sxy / (4 * y), y, syz / (4 * y), dy / (4 * y)], -1),
                np.stack([sxz / (4 * z), syz / (4 * z), z, dz / (4 * z)], -1),
                np.stack([dx / (4 * w), dy / (4 * w), dz / (4 * w), w], -1),
            ],
            -2,
        )
    q = np.take_along_axis(options, np.argmax(squared, -1)[..., None, None], -2)[..., 0, :]
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    return np.where(q[..., 3:] < 0, -q, q)


def rotation_from_quaternion(q: np.ndarray) -> np.ndarray:
    """Rotations [..., 3, 3] of quaternions xyzw [..., 4]."""
    x, y, z, w = np.moveaxis(np.asarray(q, np.float64), -1, 0)
    return np.stack(
        [
            np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)], -1),
            np.stack([2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)], -1),
            np.stack([2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)], -1),
        ],
        -2,
    )


@dataclass(frozen=True)
class Camera:
    """Pinhole camera; pixel centres lie at integer + 0.5, so cx = width / 2 is the middle."""

    width: int = 256
    height: int = 256
    fx: float = 128.0
    fy: float = 128.0
    cx: float = 128.0
    cy: float = 128.0
    max_range: float = 150.0  # metres of planar depth; beyond it depth is 0

    @classmethod
    def from_fov(cls, width: int, height: int, horizontal_degrees: float = 90.0, max_range: float = 150.0) -> Camera:
        focal = width / 2 / math.tan(math.radians(horizontal_degrees) / 2)
        return cls(width, height, focal, focal, width / 2, height / 2, max_range)

    @property
    def matrix(self) -> np.ndarray:  # [3, 3], image x right, y down
        return np.array([[self.fx, 0, self.cx], [0, self.fy, self.cy], [0, 0, 1.0]])


@dataclass(frozen=True)
class Grid:
    """The map: a square window of `cells` x `cells` planar cells with height bins above the local ground."""

    size: float = 200.0  # metres
    cells: int = 256
    height_edges: tuple[float, ...] = HEIGHT_EDGES

    @property
    def cell(self) -> float:  # metres
        return self.size / self.cells

    @property
    def bins(self) -> int:
        return len(self.height_edges) - 1
