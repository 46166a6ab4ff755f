"""Rays of a camera: pinhole by its matrix, Brown distortion on request; rigs of several cameras on one body."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from flaneur.errors import UserError
from flaneur.geometry import Camera, angles_from_rotation, rotation_from_angles

NEWTON_STEPS = 20


@dataclass(frozen=True)
class Distortion:
    """Brown's radial (k) and tangential (p) coefficients, as calibration tools print them."""

    k1: float = 0.0
    k2: float = 0.0
    p1: float = 0.0
    p2: float = 0.0
    k3: float = 0.0

    def distort(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where the lens puts the ideal image point (x right, y down, focal lengths)."""
        r2 = x * x + y * y
        radial = 1 + r2 * (self.k1 + r2 * (self.k2 + r2 * self.k3))
        dx = 2 * self.p1 * x * y + self.p2 * (r2 + 2 * x * x)
        dy = self.p1 * (r2 + 2 * y * y) + 2 * self.p2 * x * y
        return x * radial + dx, y * radial + dy

    def undistort(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The inverse of `distort`, by Newton's method with a numerical Jacobian."""
        u, v, h = x.copy(), y.copy(), 1e-6
        for _ in range(NEWTON_STEPS):
            fx, fy = self.distort(u, v)
            ax, ay = self.distort(u + h, v)
            bx, by = self.distort(u, v + h)
            a, c, b, d = (ax - fx) / h, (ay - fy) / h, (bx - fx) / h, (by - fy) / h
            determinant = a * d - b * c
            ex, ey = x - fx, y - fy
            u, v = u + (d * ex - b * ey) / determinant, v + (a * ey - c * ex) / determinant
        fx, fy = self.distort(u, v)
        if not (np.isfinite(u).all() and max(np.abs(fx - x).max(), np.abs(fy - y).max()) < 1e-6):
            raise UserError(f"camera distortion {self}: has no inverse over the whole image; use smaller coefficients or a narrower view")
        return u, v


def check_camera(camera: Camera) -> None:
    if camera.width < 1 or camera.height < 1:
        raise UserError(f"camera: size {camera.width} x {camera.height}; width and height must be at least 1")
    numbers = (camera.fx, camera.fy, camera.cx, camera.cy, camera.max_range)
    if not all(np.isfinite(numbers)) or camera.fx <= 0 or camera.fy <= 0 or camera.max_range <= 0:
        raise UserError(f"camera: fx {camera.fx}, fy {camera.fy}, max_range {camera.max_range}; focal lengths and range must be positive and finite")


def ray_table(camera: Camera, distortion: Distortion | None = None) -> np.ndarray:
    """Per pixel [H, W, 2] f32: x right and y up of the ray whose component along the optical axis is 1."""
    check_camera(camera)
    x, y = np.meshgrid((np.arange(camera.width) + 0.5 - camera.cx) / camera.fx, (np.arange(camera.height) + 0.5 - camera.cy) / camera.fy)
    if distortion is not None:
        x, y = distortion.undistort(x, y)
    return np.stack([x, -y], -1).astype(np.float32)


def rig_poses(poses: Tensor, offsets: Tensor) -> Tensor:
    """Poses [B * K, 6] of K cameras mounted on B bodies; offsets [K, 6] are x forward, y left, z up and roll, pitch, yaw in the body's frame."""
    body, mounted = rotation_from_angles(poses[:, 3:]), rotation_from_angles(offsets[:, 3:])
    # The body's axes (forward, left, up) are the camera's (-z, -x, y).
    right, up, back = body.unbind(-1)
    body_axes = torch.stack([-back, -right, up], -1)  # [B, 3, 3]
    position = poses[:, None, :3] + torch.einsum("bij,kj->bki", body_axes, offsets[:, :3])
    rotation = torch.einsum("bij,kjl->bkil", body_axes, mounted)
    return torch.cat([position, angles_from_rotation(rotation)], -1).reshape(-1, 6)
