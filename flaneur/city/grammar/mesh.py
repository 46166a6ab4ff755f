"""From a derived model to arrays: solids united, details joined, texture coordinates laid, exact volume."""

from __future__ import annotations

from dataclasses import dataclass

import manifold3d
import numpy as np

from flaneur.city.assets.materials import MATERIALS
from flaneur.city.grammar.interpreter import Model
from flaneur.city.grammar.solid import SNAP, Face, Shell, is_closed, texture

MATERIAL_INDEX = {name: k for k, name in enumerate(MATERIALS)}


@dataclass(frozen=True)
class BuildingMesh:
    vertices: np.ndarray  # [V, 3] f32 metres
    faces: np.ndarray  # [F, 3] i32
    uv: np.ndarray  # [V, 2] f32 tiles
    materials: np.ndarray  # [F] u16, index into list(MATERIALS)
    volume: float  # m3 of the union of all shells


@dataclass
class _Part:
    """Triangles of one closed surface; faces say how they are textured."""

    corners: np.ndarray  # [V, 3] i32 in SNAP units
    triangles: np.ndarray  # [T, 3]
    owner: np.ndarray  # [T] index into faces
    faces: list[Face]


def build_mesh(model: Model) -> BuildingMesh | None:
    """None where the main body does not close; details that touch another shell's edge are left out."""
    body = _closed(model.main)
    if body is None:
        return None
    if model.solids:
        others = [_closed(shell) for shell in model.solids]
        body = _unite([body, *(o for o in others if o is not None)]) if all(o is not None for o in others) else None
        if body is None:
            return None
    parts, edges = [body], _edges(body)
    for shell in model.details:
        part = _closed(shell)
        if part is not None and not edges & (own := _edges(part)):
            parts.append(part)
            edges |= own
    return _assemble(parts)


def _closed(shell: Shell) -> _Part | None:
    corners, triangles, owner = shell.triangles()
    return _Part(corners, triangles, owner, shell.faces) if len(triangles) >= 4 and is_closed(triangles) else None


def _edges(part: _Part) -> set[tuple]:
    points = list(map(tuple, part.corners.tolist()))
    return {(min(points[a], points[b]), max(points[a], points[b])) for t in part.triangles.tolist() for a, b in ((t[0], t[1]), (t[1], t[2]), (t[2], t[0]))}


def _manifold(part: _Part, first_face: int = 0) -> manifold3d.Manifold:
    mesh = manifold3d.Mesh(vert_properties=(part.corners * SNAP).astype(np.float32), tri_verts=part.triangles.astype(np.uint32), face_id=(part.owner + first_face).astype(np.uint32))
    return manifold3d.Manifold(mesh)


def _unite(parts: list[_Part]) -> _Part | None:
    """One surface around all parts; None where snapping its new corners would pinch it."""
    faces: list[Face] = []
    solids = []
    for part in parts:
        solids.append(_manifold(part, len(faces)))
        faces += part.faces
    mesh = manifold3d.Manifold.batch_boolean(solids, manifold3d.OpType.Add).to_mesh()
    corners = np.rint(np.asarray(mesh.vert_properties)[:, :3].astype(np.float64) / SNAP).astype(np.int32)
    unique, inverse = np.unique(corners, axis=0, return_inverse=True)
    triangles = inverse.reshape(-1)[np.asarray(mesh.tri_verts)].astype(np.int32)
    owner = np.asarray(mesh.face_id).astype(np.int32)
    triangles, owner = _without_folds(triangles, owner)
    return _Part(unique, triangles, owner, faces) if len(triangles) >= 4 and is_closed(triangles) else None


def _without_folds(triangles: np.ndarray, owner: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Drop triangles that snapping made into lines, and pairs of equal triangles that face each other."""
    a, b, c = triangles.T
    keep = (a != b) & (b != c) & (c != a)
    first: dict[tuple, list[int]] = {}
    for k in np.flatnonzero(keep).tolist():
        first.setdefault(tuple(sorted(triangles[k].tolist())), []).append(k)
    for same in first.values():
        if len(same) == 2:
            keep[same] = False
    return triangles[keep], owner[keep]


def _assemble(parts: list[_Part]) -> BuildingMesh:
    vertices, uvs, faces, materials = [], [], [], []
    offset = 0
    for part in parts:
        order = np.argsort(part.owner, kind="stable")
        seen: dict[tuple, int] = {}
        starts = np.flatnonzero(np.diff(part.owner[order], prepend=-1))
        for rows in np.split(order, starts[1:]):
            face = part.faces[part.owner[rows[0]]]
            triangles = part.triangles[rows]
            used = list(dict.fromkeys(triangles.reshape(-1).tolist()))
            uv = texture(part.corners[used] * SNAP, face.mapping)
            place = {}
            for corner, point, coordinates in zip(used, part.corners[used].tolist(), uv.tolist(), strict=True):
                key = (*point, *coordinates)
                if key not in seen:
                    seen[key] = offset + len(seen)
                    vertices.append(point)
                    uvs.append(coordinates)
                place[corner] = seen[key]
            faces += [[place[a], place[b], place[c]] for a, b, c in triangles.tolist()]
            materials += [MATERIAL_INDEX[face.material]] * len(rows)
        offset += len(seen)
    solid = manifold3d.Manifold.batch_boolean([_manifold(p) for p in parts], manifold3d.OpType.Add) if len(parts) > 1 else _manifold(parts[0])
    return BuildingMesh((np.array(vertices, np.float64) * SNAP).astype(np.float32), np.array(faces, np.int32), np.array(uvs, np.float32), np.array(materials, np.uint16), float(solid.volume()))
