"""Scenes on the device: one merged mesh and its tables per scene, all scenes of a batch at once."""

# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false, reportOperatorIssue=false, reportCallIssue=false, reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false, reportAssignmentType=false, reportReturnType=false
# (Warp compiles kernels from their syntax; Python's types do not describe them.)
from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
import warp as wp

from flaneur.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flaneur.city.scene import Scene

MAX_INSTANCES = 1 << 24  # label and instance share one 32-bit word per triangle
BVH_BYTES_PER_TRIANGLE = 120  # two packed halves of 16 B per node, twice the triangles in nodes, primitive bounds and order
CPU_LEAF_SIZE = 4  # triangles; built a third faster than with 2 and walked as fast
CUDA_TREE = "cubql"  # casts 2.3 times the rays of Warp's own choice, lbvh, and 1.2 times those of sah (decision 0072)
HEADROOM = 0.9  # share of the free memory that scenes may take


@wp.struct
class SceneTable:
    """What kernels need of all scenes. Row s of `mesh` and the offsets belong to scene s."""

    mesh: wp.array(dtype=wp.uint64)  # [S]
    face_offset: wp.array(dtype=wp.int32)  # [S] first row of the scene in the per-face arrays
    corner_offset: wp.array(dtype=wp.int32)  # [S] first row in the per-vertex arrays
    instance_offset: wp.array(dtype=wp.int32)  # [S] first row in the per-instance arrays
    owner: wp.array(dtype=wp.uint32)  # [F] label << 24 | instance
    material: wp.array(dtype=wp.uint16)  # [F] row in the texture table
    uv: wp.array(dtype=wp.vec2)  # [V]
    tint: wp.array(dtype=wp.vec3ub)  # [N]
    size: wp.array(dtype=wp.float32)  # [S] metres


@dataclass(frozen=True)
class Geometry:
    """One scene as arrays on the host."""

    vertices: np.ndarray  # [V, 3] f32
    faces: np.ndarray  # [F, 3] i32
    uv: np.ndarray  # [V, 2] f32
    material: np.ndarray  # [F] u16, index into the scene's own list
    owner: np.ndarray  # [F] u32

    @property
    def bytes(self) -> int:
        tables = self.vertices.nbytes + self.faces.nbytes + self.uv.nbytes + self.material.nbytes + self.owner.nbytes
        return tables + BVH_BYTES_PER_TRIANGLE * len(self.faces)


def scene_geometry(scene: Scene) -> Geometry:
    """The scene as one mesh, checked."""
    if not len(scene.instances) or not len(scene.prototypes):
        raise UserError(f"scene '{scene.name}': holds no instances; build it again")
    if len(scene.instances) >= MAX_INSTANCES:
        raise UserError(f"scene '{scene.name}': {len(scene.instances)} instances; at most {MAX_INSTANCES - 1} are supported")
    vertices, faces, uv, material, instance = scene.triangles()
    if not np.isfinite(vertices).all():
        raise UserError(f"scene '{scene.name}': vertices are not finite; build it again")
    owner = scene.class_id.astype(np.uint32)[instance] << np.uint32(24) | instance.astype(np.uint32)
    return Geometry(vertices, faces, uv.astype(np.float32), material, owner)


def free_memory(device: torch.device) -> int:
    """Bytes that can still be taken."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    try:
        with open("/proc/meminfo") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


class SceneSet:
    """All scenes of a batch, resident on one device."""

    def __init__(self, scenes: Sequence[Scene], device: torch.device, material_row: dict[str, int], memory_limit: int | None = None):
        if not scenes:
            raise UserError("simulator: no scene was given; name at least one")
        self.scenes = list(scenes)
        self.device = device
        self.wp_device = wp.device_from_torch(device)
        budget = memory_limit if memory_limit is not None else int(free_memory(device) * HEADROOM)
        self.bytes: list[int] = []  # per scene
        parts: list[Geometry] = []
        self.meshes: list[wp.Mesh] = []
        for k, scene in enumerate(self.scenes):
            part = scene_geometry(scene)
            unknown = [m for m in scene.materials if m not in material_row]
            if unknown:
                raise UserError(f"scene '{scene.name}': unknown material '{unknown[0]}'; build it again with this version")
            if sum(self.bytes) + part.bytes > budget:
                raise UserError(
                    f"simulator: {len(self.scenes)} scenes do not fit on {device}: {k} fit into the {budget / 1e6:.0f} MB free "
                    f"(scene '{scene.name}' needs {part.bytes / 1e6:.0f} MB); give fewer scenes"
                )
            self.bytes.append(part.bytes)
            rows = np.array([material_row[m] for m in scene.materials], np.uint16)
            parts.append(Geometry(part.vertices, part.faces, part.uv, rows[part.material], part.owner))
            self.meshes.append(self._mesh(part))
        self.face_count = np.array([len(p.faces) for p in parts], np.int64)
        self.table = self._table(parts)

    def _mesh(self, part: Geometry) -> wp.Mesh:
        points = wp.array(part.vertices, dtype=wp.vec3, device=self.wp_device)
        indices = wp.array(part.faces.reshape(-1), dtype=wp.int32, device=self.wp_device)
        if self.device.type == "cpu":
            return wp.Mesh(points, indices, bvh_leaf_size=CPU_LEAF_SIZE)
        return wp.Mesh(points, indices, bvh_constructor=CUDA_TREE)

    def _table(self, parts: list[Geometry]) -> SceneTable:
        def offsets(counts: list[int]) -> wp.array:
            return wp.array(np.cumsum([0, *counts[:-1]]).astype(np.int32), dtype=wp.int32, device=self.wp_device)

        def together(arrays: list[np.ndarray], dtype: type) -> wp.array:
            return wp.array(np.concatenate(arrays), dtype=dtype, device=self.wp_device)

        table = SceneTable()
        table.mesh = wp.array([m.id for m in self.meshes], dtype=wp.uint64, device=self.wp_device)
        table.face_offset = offsets([len(p.faces) for p in parts])
        table.corner_offset = offsets([len(p.vertices) for p in parts])
        table.instance_offset = offsets([len(s.instances) for s in self.scenes])
        table.owner = together([p.owner for p in parts], wp.uint32)
        table.material = together([p.material for p in parts], wp.uint16)
        table.uv = together([p.uv for p in parts], wp.vec2)
        table.tint = together([s.instances.tint for s in self.scenes], wp.vec3ub)
        table.size = wp.array([s.size for s in self.scenes], dtype=wp.float32, device=self.wp_device)
        return table
