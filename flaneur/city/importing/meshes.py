"""Labelled triangles -> Scene: what CityJSON and mesh files share."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from manifold3d import Manifold, Mesh, triangulate

from flaneur.city.importing.builder import NAMES, Paint, SceneBuilder, nearest_material, plain, roofed
from flaneur.city.importing.cloud import WINDOW
from flaneur.city.importing.ground import DEFAULTS, PALETTES
from flaneur.city.importing.raster import GROUND, NODES, fill_heights
from flaneur.city.scene import Scene
from flaneur.errors import UserError

Color = tuple[int, int, int]


@dataclass
class Piece:
    class_name: str
    name: str
    faces: np.ndarray  # [F, 3] into the mesh's vertices
    color: Color | None = None  # mean colour, where the source has one


@dataclass
class LabelledMesh:
    vertices: np.ndarray  # [V, 3] f64 metres in the window's frame, z as in the source
    pieces: list[Piece]
    counts: dict[str, int] = field(default_factory=dict)


def scene_from_pieces(mesh: LabelledMesh, name: str, origin: dict[str, Any], provenance: dict[str, Any], licence: str, source: str) -> Scene:
    """Objects whose middle lies in the window; background is cut at its edge by whole triangles."""
    builder = SceneBuilder()
    builder.counts.update(mesh.counts)
    inside = [(p, kept) for p in mesh.pieces if len(kept := _in_window(mesh.vertices, p))]
    if not inside:
        low, high = mesh.vertices.min(0), mesh.vertices.max(0)
        raise UserError(f"{source}: no labelled surface in the window; in its frame the model covers x {low[0]:.0f}..{high[0]:.0f}, y {low[1]:.0f}..{high[1]:.0f}, choose another with --window X,Y")
    ground = _height_field(mesh.vertices, inside)
    zero = float(np.round(np.median(ground), 2))
    for piece, faces in inside:
        used, index = np.unique(faces, return_inverse=True)
        vertices = mesh.vertices[used] - (0.0, 0.0, zero)
        index = index.reshape(-1, 3)
        if piece.class_name in GROUND:
            builder.surface(piece.class_name, vertices, index, _ground_paint(piece))
            continue
        clipped = bool((vertices[:, :2] < 0).any() or (vertices[:, :2] > WINDOW).any())
        if clipped:
            vertices, index = _cut(vertices, index)
        vertices, index, volume = _measured(vertices, index, builder)
        if len(index):
            tint = piece.color or (255, 255, 255)
            builder.closed(piece.class_name, vertices, index, volume, _object_paint(piece, vertices), tint, clipped)
    return builder.finish(name, ground - np.float32(zero), {**origin, "height": zero} if origin else {}, provenance, licence)


def _in_window(vertices: np.ndarray, piece: Piece) -> np.ndarray:
    corners = vertices[piece.faces][..., :2]
    if piece.class_name in GROUND:
        middle = corners.mean(1)
        return piece.faces[((middle >= 0) & (middle < WINDOW)).all(1)]
    middle = (corners.min((0, 1)) + corners.max((0, 1))) / 2
    return piece.faces if ((middle >= 0) & (middle < WINDOW)).all() else piece.faces[:0]


def _cut(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A closed solid cut at the window's edge; one that is open stays whole."""
    solid = _manifold(vertices, faces)
    if solid is None:
        return vertices, faces
    low, high = vertices[:, 2].min() - 1, vertices[:, 2].max() + 1
    mesh = (solid ^ Manifold.cube((WINDOW, WINDOW, high - low)).translate((0, 0, low))).to_mesh()
    return np.asarray(mesh.vert_properties)[:, :3].astype(np.float64), np.asarray(mesh.tri_verts).astype(np.int64)


def _manifold(vertices: np.ndarray, faces: np.ndarray) -> Manifold | None:
    points, index = np.unique(np.round(vertices, 4), axis=0, return_inverse=True)
    triangles = index.reshape(-1)[faces]
    a, b, c = triangles.T
    triangles = triangles[(a != b) & (b != c) & (c != a)]
    solid = Manifold(Mesh(points.astype(np.float32), triangles.astype(np.uint32)))
    return None if solid.is_empty() else solid


def _measured(vertices: np.ndarray, faces: np.ndarray, builder: SceneBuilder) -> tuple[np.ndarray, np.ndarray, float]:
    """The closed surface and its volume. Holes (most often the floor) are closed; what stays open becomes its convex hull."""
    if not len(faces):
        return vertices, faces, 0.0
    solid = _manifold(vertices, faces)
    if solid is None:
        vertices, faces = _closed(vertices, faces)
        solid = _manifold(vertices, faces)
        if solid is not None:
            builder.counts["objects with an open surface, closed"] += 1
    if solid is None:
        builder.counts["objects with an open surface, made their convex hull"] += 1
        solid = Manifold.hull_points(vertices)
    elif solid.volume() < 0:
        solid = _manifold(vertices, faces[:, ::-1]) or solid
    mesh = solid.to_mesh()
    return np.asarray(mesh.vert_properties)[:, :3].astype(np.float64), np.asarray(mesh.tri_verts).astype(np.int64), float(solid.volume())


def _closed(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Corners welded, and every ring of open edges filled with triangles."""
    points, index = np.unique(np.round(vertices, 3), axis=0, return_inverse=True)
    corners = index.reshape(-1)[faces]
    corners = corners[(corners != np.roll(corners, 1, 1)).all(1)]
    edges = {(int(a), int(b)) for face in corners for a, b in zip(face, np.roll(face, -1), strict=True)}
    following = {b: a for a, b in edges if (b, a) not in edges}  # a hole is walked against the faces around it
    lids: list[tuple[int, int, int]] = []
    while following:
        start, after = following.popitem()
        ring = [start]
        while after != start and after in following:
            ring.append(after)
            after = following.pop(after)
        if after == start:
            lids += polygon_triangles([points[ring]], [ring])
    return points, np.concatenate([corners, np.array(lids, np.int64).reshape(-1, 3)])


def polygon_triangles(points: list[np.ndarray], index: list[list[int]]) -> list[tuple[int, int, int]]:
    """Triangles of a planar polygon with holes; rings [n, 3] are counter-clockwise from outside, `index` names their corners."""
    flat = [i for ring in index for i in ring]
    if len(flat) < 3:
        return []
    if len(flat) == 3:
        return [(flat[0], flat[1], flat[2])]
    ring = points[0] - points[0].mean(0)
    normal = np.cross(ring, np.roll(ring, -1, 0)).sum(0)
    length = math.sqrt(float(normal @ normal))
    if length < 1e-9:
        return []
    axis = int(np.argmax(np.abs(normal)))
    u, v = ((1, 2), (2, 0), (0, 1))[axis]
    if normal[axis] < 0:
        u, v = v, u
    found = triangulate([np.ascontiguousarray((p - points[0][0])[:, [u, v]]) for p in points], 1e-6)
    return [(flat[a], flat[b], flat[c]) for a, b, c in np.asarray(found).tolist()]


def _height_field(vertices: np.ndarray, pieces: list[tuple[Piece, np.ndarray]]) -> np.ndarray:  # [NODES, NODES] f32
    """Mean height of the background's points at every node; feet of the objects where there is none."""
    background = [vertices[faces].reshape(-1, 3) for p, faces in pieces if p.class_name in GROUND]
    if background:
        points = np.concatenate([sampled(p.reshape(-1, 3, 3), WINDOW / NODES) for p in background])
    else:
        points = np.array([[*v[:, :2].mean(0), v[:, 2].min()] for v in (vertices[f].reshape(-1, 3) for _, f in pieces)])
    node = np.rint(points[:, :2] / WINDOW * (NODES - 1)).astype(int).clip(0, NODES - 1)
    at = node[:, 1] * NODES + node[:, 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(at, points[:, 2], NODES**2) / np.bincount(at, minlength=NODES**2)
    return fill_heights(mean.reshape(NODES, NODES))


def sampled(triangles: np.ndarray, step: float) -> np.ndarray:
    """Points [n, 3] on triangles [F, 3, 3] on a lattice no wider than `step`."""
    sides = np.linalg.norm(triangles - np.roll(triangles, 1, 1), axis=2).max(1)
    count = np.clip(np.ceil(sides / step), 1, 200).astype(int)
    found = []
    for n in np.unique(count):
        i, j = (g.ravel() for g in np.meshgrid(np.arange(n + 1), np.arange(n + 1)))
        keep = i + j <= n
        w = np.stack([i[keep], j[keep], n - i[keep] - j[keep]], 1) / n
        found.append(np.einsum("wk,fkd->fwd", w, triangles[count == n]).reshape(-1, 3))
    return np.concatenate(found)


def _ground_paint(piece: Piece) -> Paint:
    return plain(DEFAULTS[piece.class_name] if piece.color is None else NAMES[int(nearest_material(PALETTES[piece.class_name], np.array(piece.color)))])


def _object_paint(piece: Piece, vertices: np.ndarray) -> Paint:
    height = float(np.ptp(vertices[:, 2]))
    if piece.class_name in ("building", "skyscraper", "shed", "kiosk"):
        return roofed("brick_row_window" if height < 14 else "modern_apartment_window" if height < 40 else "glass_tower_window", "roof_red" if height < 14 else "roof_gravel")
    return plain({"tree": "leaves_linden", "shrub": "leaves_hedge", "car": "car_paint", "truck": "car_paint", "bus": "car_paint"}.get(piece.class_name, "plastic"))
