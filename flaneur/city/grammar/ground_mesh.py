"""Ground as meshes: triangulated faces, kerbs and banks on shared edges, markings a little above the asphalt."""

from __future__ import annotations

from itertools import pairwise

import mapbox_earcut
import numpy as np
import shapely

from flaneur.city.assets.materials import MATERIALS
from flaneur.city.grammar.ground import COVERS, GRID, ROAD_LEVEL, WATER_LEVEL, Ground
from flaneur.city.grammar.streets import Streets
from flaneur.city.layout.graph import CityGraph
from flaneur.city.scene import Prototype
from flaneur.classes import load_classes

MARKING_LIFT = 0.006  # metres above the asphalt
KERB, BANK, MARKING = "concrete", "concrete", "marking_white"
_NAMES = list(MATERIALS)


class MeshBuilder:
    """Collects triangles with materials; vertices are not shared between surfaces that meet at an edge."""

    def __init__(self) -> None:
        self.vertices: list[np.ndarray] = []
        self.faces: list[np.ndarray] = []
        self.uv: list[np.ndarray] = []
        self.materials: list[np.ndarray] = []
        self.count = 0

    def add(self, vertices: np.ndarray, faces: np.ndarray, uv: np.ndarray, material: str) -> None:
        self.vertices.append(vertices)
        self.faces.append(faces + self.count)
        self.uv.append(uv)
        self.materials.append(np.full(len(faces), _NAMES.index(material), np.uint16))
        self.count += len(vertices)

    def prototype(self, name: str, class_name: str, fine_name: str) -> tuple[Prototype, np.ndarray]:
        """The mesh around its own middle (rounded to the grid), and that middle [3]."""
        vertices = np.concatenate(self.vertices)
        middle = np.round((vertices[:, :2].min(0) + vertices[:, :2].max(0)) / 2)
        at = np.array([middle[0], middle[1], 0.0])
        prototype = Prototype(
            name, load_classes()[class_name].id, fine_name, (vertices - at).astype(np.float32), np.concatenate(self.faces).astype(np.int32),
            np.concatenate(self.uv).astype(np.float32), np.concatenate(self.materials), 0.0,
        )  # fmt: skip
        return prototype, at


def triangulate(polygon: shapely.Polygon) -> tuple[np.ndarray, np.ndarray]:
    """Vertices [V, 2] and counter-clockwise triangles [T, 3]; no vertex is added, so neighbours fit."""
    rings = [np.array(r.coords)[:-1] for r in (polygon.exterior, *polygon.interiors)]
    points = np.concatenate(rings)
    faces = mapbox_earcut.triangulate_float64(points, np.cumsum([len(r) for r in rings]).astype(np.uint32)).reshape(-1, 3).astype(np.int64)
    a, b, c = (points[faces[:, i]] for i in range(3))
    turn = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    faces[turn < 0] = faces[turn < 0][:, ::-1]
    return points, faces[np.abs(turn) > 1e-9]


def _flat(mesh: MeshBuilder, points: np.ndarray, faces: np.ndarray, z: float, material: str) -> None:
    uv = points / np.array(MATERIALS[material].size)
    # Tile coordinates start near 0 in every mesh, which keeps them short on disk; whole tiles make no difference.
    uv = uv - np.floor(uv.min(0))
    mesh.add(np.column_stack([points, np.full(len(points), z)]), faces, uv, material)


def _edges(ground: Ground) -> list[list[tuple[tuple[int, int], tuple[int, int]]]]:
    """Directed edges per face in grid steps: what lies on the right belongs to the face with the reversed edge."""
    out = []
    for face in ground.faces:
        edges = []
        for ring in (face.exterior, *face.interiors):
            p = [tuple(v) for v in np.rint(np.array(ring.coords) / GRID).astype(int).tolist()]
            edges += list(pairwise(p))
        out.append(edges)
    return out


def ground_meshes(graph: CityGraph, ground: Ground, streets: Streets, bay_lines: dict[int, list[np.ndarray]]) -> list[tuple[Prototype, np.ndarray, int]]:
    """(prototype, position [3], block row) of every face, with its kerbs or banks and a road's markings."""
    edges = _edges(ground)
    owner = {edge: k for k, face in enumerate(edges) for edge in face}
    level = [COVERS[c].level for c in ground.cover]
    marked: set[int] = set()
    areas = np.array([f.area for f in ground.faces])
    out = []
    for k, (face, cover) in enumerate(zip(ground.faces, ground.cover, strict=True)):
        points, faces = triangulate(face)
        if not len(faces):
            continue
        mesh = MeshBuilder()
        _flat(mesh, points, faces, level[k], COVERS[cover].material)
        walls = [(a, b, level[owner[b, a]]) for a, b in edges[k] if (b, a) in owner and level[owner[b, a]] < level[k]]
        if walls:
            _walls(mesh, walls, level[k])
        row = int(ground.street[k])
        if row >= 0 and row not in marked and areas[k] == max(areas[ground.street == row]):
            marked.add(row)
            _markings(mesh, streets.markings.get(row, []), graph.size, level[k])
        if cover == "parking":
            inside = [q for q in bay_lines.get(int(ground.block[k]), []) if face.covers(shapely.Point(q.mean(0)))]
            _markings(mesh, inside, graph.size, level[k])
        name = f"ground_{k:03d}_{cover}"
        title = graph.streets[row].kind.replace("_", " ") + " road" if row >= 0 else cover.replace("_", " ")
        prototype, at = mesh.prototype(name, COVERS[cover].class_name, title)
        out.append((prototype, at, int(ground.block[k])))
    return out


def _walls(mesh: MeshBuilder, walls: list[tuple[tuple[int, int], tuple[int, int], float]], top: float) -> None:
    a, b = (np.array([w[i] for w in walls], np.float64) * GRID for i in (0, 1))
    low = np.array([w[2] for w in walls])
    n = len(walls)
    length = np.hypot(*(b - a).T)
    corners = np.empty((n, 4, 3))
    # The face lies on the left of a -> b, so its outside is on the right: (b, a) read upwards turns counter-clockwise.
    corners[:, 0, :2], corners[:, 1, :2], corners[:, 2, :2], corners[:, 3, :2] = a, b, b, a
    corners[:, :2, 2], corners[:, 2:, 2] = low[:, None], top
    uv = np.zeros((n, 4, 2))
    uv[:, 1:3, 0] = (length / MATERIALS[KERB].size[0])[:, None]
    uv[:, 2:, 1] = ((top - low) / MATERIALS[KERB].size[1])[:, None]
    faces = (np.array([[0, 1, 2], [0, 2, 3]])[None] + 4 * np.arange(n)[:, None, None]).reshape(-1, 3)
    material = BANK if low.min() <= WATER_LEVEL and low.max() < ROAD_LEVEL else KERB
    mesh.add(corners.reshape(-1, 3), faces, uv.reshape(-1, 2), material)


def _markings(mesh: MeshBuilder, quads: list[np.ndarray], size: float, level: float) -> None:
    inside = [np.round(q, 2) for q in quads if (q >= 0).all() and (q <= size).all()]
    if not inside:
        return
    points = np.concatenate(inside)
    faces = (np.array([[0, 1, 2], [0, 2, 3]])[None] + 4 * np.arange(len(inside))[:, None, None]).reshape(-1, 3)
    corner = np.tile(np.array([[0.0, 0.0], [0.5, 0.0], [0.5, 0.5], [0.0, 0.5]]), (len(inside), 1))
    mesh.add(np.column_stack([points, np.full(len(points), level + MARKING_LIFT)]), faces, corner, MARKING)
