"""What lights a surface besides sun and sky: how high its surroundings stand, and the lamps near it."""

# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false, reportOperatorIssue=false, reportCallIssue=false, reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false, reportAssignmentType=false, reportReturnType=false
# (Warp compiles kernels from their syntax; Python's types do not describe them.)
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
import warp as wp

from flaneur.city.assets.materials import MATERIALS
from flaneur.sim.start import launch

if TYPE_CHECKING:
    from flaneur.city.scene import Scene
    from flaneur.sim.upload import SceneSet

wp.set_module_options({"enable_backward": False})

HEIGHT_CELLS = 128
BLUR_CELLS = (1, 5, 15)  # box widths of the three height maps: as it is, a street's width, a block's
SKY_Z = wp.constant(1.0e4)
LAMP_CELLS = 16  # cells of the lamp grid along one side
LAMP_REACH = 24.0  # metres


@wp.struct
class Surroundings:
    heights: wp.array(dtype=wp.float32, ndim=4)  # [S, blur, n, n] metres, [y, x]
    lamp_start: wp.array(dtype=wp.int32)  # [S * cells * cells + 1] first lamp of a cell
    lamp: wp.array(dtype=wp.vec3)  # positions, cell after cell


@wp.kernel
def top_heights(mesh: wp.array(dtype=wp.uint64), size: wp.array(dtype=wp.float32), heights: wp.array3d(dtype=wp.float32)):
    s, i, j = wp.tid()
    n = heights.shape[1]
    cell = size[s] / float(n)
    hit = wp.mesh_query_ray(mesh[s], wp.vec3((float(j) + 0.5) * cell, (float(i) + 0.5) * cell, SKY_Z), wp.vec3(0.0, 0.0, -1.0), 2.0 * SKY_Z)
    heights[s, i, j] = wp.where(hit.result, SKY_Z - hit.t, 0.0)


def lamp_positions(scene: Scene) -> np.ndarray:
    """Where the scene's street lamps shine from [n, 3] metres: the middle of their glowing faces, else their top."""
    lamp = scene.classes.index.get("street_lamp", -1)
    glowing = np.array([MATERIALS[m].emission > 0 for m in scene.materials], bool)
    out = [np.zeros((0, 3))]
    for k, p in enumerate(scene.prototypes):
        if p.class_id != lamp:
            continue
        faces = p.faces[glowing[p.materials]]
        corners = p.vertices[faces.reshape(-1)] if len(faces) else p.vertices[p.vertices[:, 2] > p.vertices[:, 2].max() - 0.05]
        local = np.append((corners.min(0).astype(np.float64) + corners.max(0)) / 2, 1.0)
        local[2] = corners[:, 2].min() - 0.1  # below the glass, so that the lamp does not shade itself
        out.append((scene.transform[scene.instances.prototype == k] @ local)[:, :3])
    return np.concatenate(out)


def _lamp_grid(scenes: list[Scene]) -> tuple[np.ndarray, np.ndarray]:
    starts, lamps = [0], []
    for scene in scenes:
        positions = lamp_positions(scene)
        cell = scene.size / LAMP_CELLS
        low = np.stack(np.meshgrid(np.arange(LAMP_CELLS), np.arange(LAMP_CELLS)), -1).reshape(-1, 1, 2) * cell
        nearest = np.clip(positions[None, :, :2], low, low + cell)
        near = np.linalg.norm(nearest - positions[None, :, :2], axis=-1) < LAMP_REACH  # [cells, lamps]
        for row in near:
            lamps.append(positions[row])
            starts.append(starts[-1] + int(row.sum()))
    return np.array(starts, np.int32), np.concatenate(lamps).astype(np.float32).reshape(-1, 3)


def surroundings(scene_set: SceneSet) -> Surroundings:
    count, n = len(scene_set.scenes), HEIGHT_CELLS
    device = scene_set.wp_device
    top = torch.empty((count, n, n), device=scene_set.device)
    launch(top_heights, (count, n, n), [scene_set.table.mesh, scene_set.table.size, top], scene_set.device)
    pad = [torch.nn.functional.pad(top[:, None], (w // 2,) * 4, mode="replicate") for w in BLUR_CELLS]
    blurred = [torch.nn.functional.avg_pool2d(p, w, 1) for p, w in zip(pad, BLUR_CELLS, strict=True)]
    table = Surroundings()
    table.heights = wp.clone(wp.from_torch(torch.cat(blurred, 1).contiguous()))
    starts, lamps = _lamp_grid(scene_set.scenes)
    table.lamp_start = wp.array(starts, dtype=wp.int32, device=device)
    table.lamp = wp.array(lamps if len(lamps) else np.zeros((1, 3), np.float32), dtype=wp.vec3, device=device)
    return table


@wp.func
def height_at(around: Surroundings, scene: int, blur: int, size: float, x: float, y: float) -> float:
    """Bilinear height of the blurred surroundings."""
    n = around.heights.shape[2]
    u = wp.clamp(x / size * float(n) - 0.5, 0.0, float(n) - 1.001)
    v = wp.clamp(y / size * float(n) - 0.5, 0.0, float(n) - 1.001)
    j = int(u)
    i = int(v)
    fu = u - float(j)
    fv = v - float(i)
    low = around.heights[scene, blur, i, j] * (1.0 - fu) + around.heights[scene, blur, i, j + 1] * fu
    high = around.heights[scene, blur, i + 1, j] * (1.0 - fu) + around.heights[scene, blur, i + 1, j + 1] * fu
    return low * (1.0 - fv) + high * fv


@wp.func
def open_sky(around: Surroundings, scene: int, size: float, point: wp.vec3, normal: wp.vec3) -> float:
    """Share of the sky that the surroundings leave to a surface, estimated from their heights at two scales."""
    out = float(1.0)
    for blur in range(1, 3):
        reach = 4.0 + 10.0 * float(blur - 1)
        above = height_at(around, scene, blur, size, point[0] + normal[0] * reach, point[1] + normal[1] * reach) - point[2] - 0.3 * reach * wp.max(normal[2], 0.0)
        out = out * (1.0 - 0.5 * wp.smoothstep(0.0, 2.5 * reach, above))
    return out
