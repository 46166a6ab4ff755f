"""The window's edge: eaves and balconies of buildings that stand at it are cut, so that nothing reaches out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from manifold3d import Manifold, Mesh

from flaneur.city.grammar.built import BuiltBuilding
from flaneur.city.scene import QUANTUM, Prototype

TOLERANCE = 0.005  # metres
# (metres inside the edge, metres more at a second edge, shortest edge in metres), tried in turn: a wall on the very edge
# and edges shorter than the file's quantum would open the mesh when it is written; so would two cuts that meet on the
# ridge of a hipped roof in the window's corner.
CUTS = ((-0.01, 0.0, 0.001), (0.0, 0.0, 0.005), (0.02, 0.0, 0.005), (0.05, 0.0, 0.02), (0.0, 0.02, 0.005), (0.02, 0.05, 0.02))


def cut_at_window(building: BuiltBuilding, size: float) -> BuiltBuilding:
    """The building without what lies outside [0, size]; texture coordinates and materials stay."""
    p = building.prototype
    low, high = p.vertices[:, :2].min(0) + building.position[:2], p.vertices[:, :2].max(0) + building.position[:2]
    planes = []
    for axis in (0, 1):
        normal = np.eye(3)[axis]
        if low[axis] < -TOLERANCE:
            planes.append((normal, -building.position[axis]))
        if high[axis] > size + TOLERANCE:
            planes.append((-normal, building.position[axis] - size))
    if not planes:
        return building
    whole, materials = _solid(p)
    for inset, more, shortest in CUTS:
        solid = whole
        for k, (normal, offset) in enumerate(planes):
            solid = solid.trim_by_plane(tuple(normal), float(offset) + inset + k * more)
        cut = _prototype(p, solid.simplify(shortest), materials)
        if _closed(cut):
            return replace(building, prototype=cut)
    return building


def _solid(p: Prototype) -> tuple[Manifold, dict[int, int]]:
    """A solid that carries texture coordinates, and the material of each of its runs by their ids."""
    order = np.argsort(p.materials, kind="stable")
    names, starts = np.unique(p.materials[order], return_index=True)
    first = Manifold.reserve_ids(len(names))
    ids = np.arange(first, first + len(names), dtype=np.uint32)
    mesh = Mesh(
        vert_properties=np.column_stack([p.vertices, p.uv]).astype(np.float32), tri_verts=p.faces[order].astype(np.uint32),
        run_index=(np.append(starts, len(order)) * 3).astype(np.uint32), run_original_id=ids,
    )  # fmt: skip
    mesh.merge()
    return Manifold(mesh), dict(zip(ids.tolist(), names.tolist(), strict=True))


def _closed(p: Prototype) -> bool:
    """Whether the mesh is watertight once its corners are on the file's quantum."""
    _, corner = np.unique(np.rint(p.vertices.astype(np.float64) / QUANTUM).astype(np.int64), axis=0, return_inverse=True)
    f = corner.reshape(-1)[p.faces]
    edges = np.sort(np.concatenate([f[:, [0, 1]], f[:, [1, 2]], f[:, [2, 0]]]), axis=1)
    return bool((edges[:, 0] != edges[:, 1]).all() and (np.unique(edges, axis=0, return_counts=True)[1] == 2).all())


def _prototype(p: Prototype, solid: Manifold, materials: dict[int, int]) -> Prototype:
    mesh = solid.to_mesh()
    properties = np.asarray(mesh.vert_properties, np.float64)
    vertices = np.rint(properties[:, :3] / QUANTUM) * QUANTUM
    faces = np.asarray(mesh.tri_verts, np.int32)
    runs = np.asarray(mesh.run_index, int) // 3
    # The cut itself belongs to no run of the building; it takes the material of the most faces.
    common = int(np.bincount(p.materials).argmax())
    per_run = np.array([materials.get(int(k), common) for k in mesh.run_original_id], np.uint16)
    uv = properties[:, 3:5] if properties.shape[1] >= 5 else np.zeros((len(vertices), 2))
    return replace(p, vertices=vertices.astype(np.float32), faces=faces, uv=uv.astype(np.float32), materials=np.repeat(per_run, np.diff(runs)), volume=float(solid.volume()))
