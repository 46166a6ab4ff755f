"""Closed shells of planar polygons, and their way to one compact watertight mesh.

Rules emit polygons freely; neighbours need not share their corners. `Shell.triangles` snaps to 1 cm, inserts the
missing corners along every open edge (T-junctions) and triangulates, so that each edge has exactly two triangles.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import manifold3d
import numpy as np

Point3 = tuple[float, float, float]
Grid3 = tuple[int, int, int]  # a corner in units of SNAP
SNAP = 0.01  # metres
UV_STEPS = 64  # texture coordinates are multiples of 1/64 tile


@dataclass(frozen=True)
class Mapping:
    """Affine texture coordinates: uv = p . (du, dv) + (u0, v0), in tiles."""

    du: Point3
    dv: Point3
    u0: float = 0.0
    v0: float = 0.0


@dataclass
class Face:
    rings: list[list[Point3]]  # outer, counter-clockwise from outside, then holes
    material: str
    mapping: Mapping


@dataclass
class Shell:
    """One closed surface."""

    faces: list[Face] = field(default_factory=list)

    def add(self, rings: list[list[Point3]], material: str, mapping: Mapping) -> None:
        self.faces.append(Face(rings, material, mapping))

    def triangles(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Corners [V, 3] i32 in SNAP units, triangles [T, 3], face index [T]; corners are shared by position."""
        rings = _snapped(self.faces)
        _stitch(rings)
        index: dict[Grid3, int] = {}
        triangles: list[tuple[int, int, int]] = []
        owner: list[int] = []
        for k, face_rings in enumerate(rings):
            flat = [index.setdefault(p, len(index)) for ring in face_rings for p in ring]
            for a, b, c in _triangulate(face_rings):
                i, j, m = flat[a], flat[b], flat[c]
                if i != j and j != m and m != i:
                    triangles.append((i, j, m))
                    owner.append(k)
        corners = np.array(list(index), np.int32).reshape(-1, 3)
        return corners, np.array(triangles, np.int32).reshape(-1, 3), np.array(owner, np.int32)


def _snapped(faces: list[Face]) -> list[list[list[Grid3]]]:
    scale = 1.0 / SNAP
    out = []
    for face in faces:
        rings = []
        for ring in face.rings:
            # Rounded twice: halves of a centimetre would else fall to either side by the last bit of a double.
            points = [(round(round(x, 6) * scale), round(round(y, 6) * scale), round(round(z, 6) * scale)) for x, y, z in ring]
            points = [p for i, p in enumerate(points) if p != points[i - 1]]
            if len(points) >= 3:
                rings.append(points)
            elif not rings:
                break
        out.append(rings)
    return out


def _stitch(rings: list[list[list[Grid3]]]) -> None:
    """Insert into every open edge the corners of other open edges that lie on it."""
    for _ in range(2):
        edges = {(ring[i - 1], p) for face in rings for ring in face for i, p in enumerate(ring)}
        open_edges = [e for e in edges if (e[1], e[0]) not in edges]
        if not open_edges:
            return
        open_edges.sort()
        corners = sorted({p for e in open_edges for p in e})
        at = np.array(corners, np.float64)  # [n, 3]
        start = np.array([e[0] for e in open_edges], np.float64)
        along = np.array([e[1] for e in open_edges], np.float64) - start  # [m, 3]
        square = (along**2).sum(1)
        t = (at[None] @ along[:, :, None])[..., 0] - (start * along).sum(1)[:, None]  # [m, n], 0 .. square
        offset = at[None] - start[:, None] - (t / square[:, None])[..., None] * along[:, None]
        length = np.sqrt(square)[:, None]
        on = ((offset**2).sum(2) <= 2.0) & (t > 1.0 * length) & (t < square[:, None] - 1.0 * length)
        missing = {open_edges[i]: [corners[j] for j in sorted(np.flatnonzero(on[i]), key=lambda j: t[i, j])] for i in np.flatnonzero(on.any(1))}
        if not missing:
            return
        for face in rings:
            for k, ring in enumerate(face):
                if any((ring[i - 1], p) in missing for i, p in enumerate(ring)):
                    face[k] = [q for i, p in enumerate(ring) for q in (*missing.get((ring[i - 1], p), ()), p)]


def _triangulate(rings: list[list[Grid3]]) -> list[tuple[int, int, int]]:
    """Triangles over the concatenated corners of a planar polygon with holes."""
    if not rings:
        return []
    outer = rings[0]
    if len(outer) == 3 and len(rings) == 1:
        return [(0, 1, 2)]
    nx = ny = nz = 0
    for ring in rings:
        for i, (bx, by, bz) in enumerate(ring):
            ax, ay, az = ring[i - 1]
            nx += (ay - by) * (az + bz)
            ny += (az - bz) * (ax + bx)
            nz += (ax - bx) * (ay + by)
    axis = max(range(3), key=lambda i: abs((nx, ny, nz)[i]))
    u, v = ((1, 2), (2, 0), (0, 1))[axis]
    if (nx, ny, nz)[axis] < 0:
        u, v = v, u
    flat = [[(p[u], p[v]) for p in ring] for ring in rings]
    if len(outer) == 4 and len(rings) == 1:
        turns = [_cross(flat[0][i - 1], flat[0][i], flat[0][(i + 1) % 4]) for i in range(4)]
        if min(turns) > 0:
            return [(0, 1, 2), (0, 2, 3)]
    polygons = [np.array(ring, np.float64) for ring in flat]
    return [(a, b, c) for a, b, c in manifold3d.triangulate(polygons, 0.5).tolist()]


def _cross(a: tuple[int, int], b: tuple[int, int], c: tuple[int, int]) -> int:
    return (b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0])


def is_closed(triangles: np.ndarray) -> bool:
    """Every directed edge once, and its opposite once."""
    edges = Counter(map(tuple, triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2).tolist()))
    return all(n == 1 and edges.get((b, a)) == 1 for (a, b), n in edges.items())


def texture(corners: np.ndarray, mapping: Mapping) -> np.ndarray:
    """uv [n, 2] of corners [n, 3] in metres, on the grid of 1/UV_STEPS; moved near zero by whole tiles."""
    uv = corners @ np.array([mapping.du, mapping.dv]).T + (mapping.u0, mapping.v0)
    steps = np.rint(uv * UV_STEPS)
    return (steps - np.floor(steps.min(0) / UV_STEPS) * UV_STEPS) / UV_STEPS
