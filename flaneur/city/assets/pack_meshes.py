"""Reading one mesh file of an asset pack into a closed, outward-looking triangle mesh in metres, z up."""

# pyright: reportAttributeAccessIssue=false
# OpenUSD ships no type stubs.
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from manifold3d import Error, Manifold, Mesh64, OpType

from flaneur.errors import UserError

MAX_BYTES = 64 * 2**20
FORMATS = (".glb", ".gltf", ".obj", ".ply", ".stl", ".usd", ".usda", ".usdc", ".usdz")
WELD = 1e-5  # share of the mesh's size within which points are one
# Columns that turn a file's axes into ours; a y-up file's front is +z (the glTF convention).
_AXES = {"y": [2, 0, 1], "z": [0, 1, 2]}


@dataclass(frozen=True)
class PackMesh:
    points: np.ndarray  # [V, 3] f64
    faces: np.ndarray  # [F, 3] i64, counter-clockwise from outside
    color: tuple[int, int, int] | None = None  # the file's own base colour, where it has one


def read_mesh(path: Path, up: str | None = None) -> PackMesh:
    """All meshes of a file as one solid. What is no closed solid is a UserError that counts the open edges."""
    if path.suffix.lower() not in FORMATS:
        raise UserError(f"{path}: format '{path.suffix}' is not read; use one of {', '.join(FORMATS)}")
    if not path.is_file():
        raise UserError(f"{path}: missing; correct the field 'file' in pack.toml or put the file there")
    if path.stat().st_size > MAX_BYTES:
        raise UserError(f"{path}: {path.stat().st_size / 2**20:.0f} MB, at most {MAX_BYTES // 2**20} MB are read; simplify the mesh")
    reader = _read_usd if path.suffix.lower().startswith(".usd") else _read_trimesh
    try:
        points, faces, own_up, color = reader(path)
    except UserError:
        raise
    except Exception as error:  # the parsers raise whatever a damaged file leads them to
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise UserError(f"{path}: not readable as {path.suffix[1:].upper()} ({reason}); export it again") from None
    if not len(faces):
        raise UserError(f"{path}: holds no triangles; export the mesh itself, not an empty scene")
    if not np.isfinite(points).all():
        raise UserError(f"{path}: has NaN or infinite vertices; export it again")
    points, faces = _weld(points[:, _AXES[up or own_up]], faces)
    return PackMesh(*_solid(path, points, faces), color)


def _read_trimesh(path: Path) -> tuple[np.ndarray, np.ndarray, str, tuple[int, int, int] | None]:
    import trimesh

    scene = trimesh.load_scene(path, process=False)
    mesh = scene.to_mesh()
    color = None
    material = getattr(mesh.visual, "material", None)
    if material is not None:
        red, green, blue = np.asarray(material.main_color)[:3].tolist()
        color = (int(red), int(green), int(blue))
    up = "z" if path.suffix.lower() in (".stl", ".ply") else "y"
    return np.asarray(mesh.vertices, np.float64), np.asarray(mesh.faces, np.int64), up, color


def _read_usd(path: Path) -> tuple[np.ndarray, np.ndarray, str, tuple[int, int, int] | None]:
    from pxr import Usd, UsdGeom

    stage = Usd.Stage.Open(str(path))
    unit = UsdGeom.GetStageMetersPerUnit(stage)
    up = "y" if UsdGeom.GetStageUpAxis(stage) == UsdGeom.Tokens.y else "z"
    transforms = UsdGeom.XformCache()
    points, faces, offset, color = [], [], 0, None
    for prim in Usd.PrimRange(stage.GetPseudoRoot(), Usd.TraverseInstanceProxies()):
        if not prim.IsA(UsdGeom.Mesh):
            continue
        mesh = UsdGeom.Mesh(prim)
        own = np.asarray(mesh.GetPointsAttr().Get(), np.float64).reshape(-1, 3)
        matrix = np.asarray(transforms.GetLocalToWorldTransform(prim), np.float64)  # row vectors
        points.append((np.c_[own, np.ones(len(own))] @ matrix)[:, :3] * unit)
        counts, corners = np.asarray(mesh.GetFaceVertexCountsAttr().Get(), np.int64), np.asarray(mesh.GetFaceVertexIndicesAttr().Get(), np.int64)
        if len(corners) and (corners.min() < 0 or corners.max() >= len(own)):
            raise ValueError(f"faces of {prim.GetPath()} point outside its vertices")
        starts = np.cumsum(counts) - counts
        triangles = [corners[[s, s + k, s + k + 1]] for s, n in zip(starts, counts, strict=True) for k in range(1, n - 1)]
        triangles = np.array(triangles, np.int64).reshape(-1, 3) + offset
        mirrored = (np.linalg.det(matrix[:3, :3]) < 0) != (mesh.GetOrientationAttr().Get() == UsdGeom.Tokens.leftHanded)
        faces.append(triangles[:, ::-1] if mirrored else triangles)
        offset += len(own)
        shown = mesh.GetDisplayColorAttr().Get()
        if color is None and shown:
            red, green, blue = (int(round(255 * min(max(c, 0.0), 1.0) ** (1 / 2.2))) for c in shown[0])
            color = (red, green, blue)
    if not points:
        return np.zeros((0, 3)), np.zeros((0, 3), np.int64), up, None
    return np.concatenate(points), np.concatenate(faces), up, color


def _weld(points: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Merge points that coincide (files split them along UV and normal seams) and drop faces without area."""
    step = max(float(np.ptp(points, axis=0).max()) * WELD, 1e-12)
    _, first, inverse = np.unique(np.rint(points / step).astype(np.int64), axis=0, return_index=True, return_inverse=True)
    faces = inverse.reshape(-1)[faces]
    kept = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
    return points[first], faces[kept]


def _solid(path: Path, points: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Check that the surface is closed, and unite bodies that overlap, so that no volume counts twice."""
    edges = faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    _, uses = np.unique(np.sort(edges, 1), axis=0, return_counts=True)
    if (uses == 1).any():
        raise UserError(f"{path}: not watertight, {int((uses == 1).sum())} open edges; close the holes (for example Blender: Select Non Manifold, then Fill) and export again")
    solid = Manifold(Mesh64(np.ascontiguousarray(points), np.ascontiguousarray(faces.astype(np.uint64))))
    if solid.status() != Error.NoError:
        raise UserError(f"{path}: not a solid ({solid.status().name}, {int((uses > 2).sum())} edges with more than two faces); make its faces manifold and their normals consistent")
    bodies = solid.decompose()
    if solid.volume() < 0:  # modelled inside out
        bodies = [_inverted(b) for b in bodies]
    united = Manifold.batch_boolean([b for b in bodies if b.volume() > 0], OpType.Add)
    for cavity in (b for b in bodies if b.volume() < 0):
        united -= _inverted(cavity)
    if united.is_empty() or united.volume() <= 0:
        raise UserError(f"{path}: encloses no volume; check that its faces look outwards")
    mesh = united.to_mesh64()
    return np.asarray(mesh.vert_properties, np.float64)[:, :3], np.asarray(mesh.tri_verts, np.int64)


def _inverted(body: Manifold) -> Manifold:
    """The same body with its faces turned over."""
    mesh = body.to_mesh64()
    return Manifold(Mesh64(np.array(mesh.vert_properties, np.float64)[:, :3].copy(), np.array(mesh.tri_verts, np.uint64)[:, ::-1].copy()))
