"""What is inside each patch: class mixture, instance, distance, how much of its surroundings one instance fills."""

# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false, reportOperatorIssue=false, reportCallIssue=false, reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false, reportAssignmentType=false, reportReturnType=false

from __future__ import annotations

from dataclasses import dataclass

import torch
import warp as wp
from torch import Tensor

from flaneur.geometry import camera_to_world
from flaneur.perception.base import View
from flaneur.sim.start import launch, start_warp

start_warp()
wp.set_module_options({"enable_backward": False})

REACH = wp.constant(5)  # looks to each side: the context window is 11 x 11 of them
ACROSS = 32  # looks over the view; finer patches are skipped in between, so that the window is an angle


@dataclass(frozen=True)
class Patches:
    mixture: Tensor  # [B, C, h, w] area share of each class
    instance: Tensor  # [B, h, w] i32 at the patch's middle, -1 sky
    distance: Tensor  # [B, h, w] metres to the surface there, 0 where none
    fill: Tensor  # [B, h, w] share of the context window that shows the same instance
    point: Tensor  # [B, h, w, 3] metres, where the middle ray ends (150 m away where it meets nothing)
    down: Tensor  # [B, h, w] radians below the horizon of the middle ray


@wp.kernel
def describe(
    label: wp.array3d(dtype=wp.uint8),
    instance: wp.array3d(dtype=int),
    depth: wp.array3d(dtype=float),
    matrix: wp.array3d(dtype=float),
    focal: wp.vec2,
    centre: wp.vec2,
    max_range: float,
    mixture: wp.array4d(dtype=float),
    middle: wp.array3d(dtype=int),
    distance: wp.array3d(dtype=float),
    point: wp.array4d(dtype=float),
    down: wp.array3d(dtype=float),
):
    b, i, j = wp.tid()
    height = label.shape[1]
    width = label.shape[2]
    h = mixture.shape[2]
    w = mixture.shape[3]
    r0 = (i * height + h - 1) / h
    r1 = ((i + 1) * height + h - 1) / h
    c0 = (j * width + w - 1) / w
    c1 = ((j + 1) * width + w - 1) / w
    share = 1.0 / float((r1 - r0) * (c1 - c0))
    for r in range(r0, r1):
        for c in range(c0, c1):
            k = int(label[b, r, c])
            mixture[b, k, i, j] = mixture[b, k, i, j] + share
    rm = (r0 + r1) / 2
    cm = (c0 + c1) / 2
    middle[b, i, j] = instance[b, rm, cm]
    d = depth[b, rm, cm]
    x = (float(cm) + 0.5 - centre[0]) / focal[0]
    y = -(float(rm) + 0.5 - centre[1]) / focal[1]
    ray = wp.vec3(
        matrix[b, 0, 0] * x + matrix[b, 0, 1] * y - matrix[b, 0, 2],
        matrix[b, 1, 0] * x + matrix[b, 1, 1] * y - matrix[b, 1, 2],
        matrix[b, 2, 0] * x + matrix[b, 2, 1] * y - matrix[b, 2, 2],
    )
    length = wp.length(ray)
    down[b, i, j] = -wp.asin(wp.clamp(ray[2] / length, -1.0, 1.0))
    distance[b, i, j] = d * length
    if not d > 0.0:
        distance[b, i, j] = 0.0
        d = max_range
    for a in range(3):
        point[b, i, j, a] = matrix[b, a, 3] + ray[a] * d


@wp.kernel
def context(middle: wp.array3d(dtype=int), spacing: int, fill: wp.array3d(dtype=float)):
    b, i, j = wp.tid()
    mine = middle[b, i, j]
    same = int(0)
    total = int(0)
    for di in range(-REACH, REACH + 1):
        for dj in range(-REACH, REACH + 1):
            r = i + di * spacing
            c = j + dj * spacing
            if r >= 0 and c >= 0 and r < middle.shape[1] and c < middle.shape[2]:
                total += 1
                if middle[b, r, c] == mine:
                    same += 1
    fill[b, i, j] = float(same) / float(total)


def finer(across: int) -> int:
    """Patches to one of a view that has 32 of them: what is an angle is counted in these."""
    return max(1, round(across / ACROSS))


def describe_patches(view: View, class_count: int, across: int) -> Patches:
    """Patches of a view: `across` of them over the image's width, square."""
    frame, camera = view.frame, view.camera
    assert frame.label is not None and frame.instance is not None and frame.depth is not None
    b, height, width = frame.label.shape
    w = min(across, width)
    h = max(1, round(w * height / width))
    device = frame.label.device
    new = lambda *shape, dtype=torch.float32: torch.zeros(shape, dtype=dtype, device=device)  # noqa: E731
    p = Patches(new(b, class_count, h, w), new(b, h, w, dtype=torch.int32), new(b, h, w), new(b, h, w), new(b, h, w, 3), new(b, h, w))
    matrix = camera_to_world(view.poses).contiguous()
    images = [frame.label.contiguous(), frame.instance.contiguous(), frame.depth.contiguous()]
    optics = [wp.vec2(camera.fx, camera.fy), wp.vec2(camera.cx, camera.cy), camera.max_range]
    launch(describe, (b, h, w), [*images, matrix, *optics, p.mixture, p.instance, p.distance, p.point, p.down], device)
    launch(context, (b, h, w), [p.instance, finer(w), p.fill], device)
    return p
