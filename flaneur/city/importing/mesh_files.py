"""Mesh files as parts: triangles under the names and numbers that may say what they are."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from flaneur.errors import UserError

FORMATS = (".glb", ".gltf", ".obj", ".ply")
LABELS = ("label", "class", "semantic", "scalar_label", "scalar_class")  # PLY properties that hold a class number
INSTANCES = ("instance", "scalar_instance", "object")


@dataclass
class Part:
    object: str  # node, `o` or `g`; empty where the file names none
    material: str
    vertices: np.ndarray  # [V, 3] f64 in the file's unit and axes
    faces: np.ndarray  # [F, 3] i64
    color: np.ndarray | None = None  # [F, 3] u8
    label: np.ndarray | None = None  # [F] i64
    instance: np.ndarray | None = None  # [F] i64


def read_parts(path: Path, colored: bool = False) -> list[Part]:
    """All parts of a file; with `colored` also every face's colour, which OBJ and GLB keep in textures."""
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise UserError(f"{path}: format '{path.suffix}' is not read as a mesh; use one of {', '.join(FORMATS)}")
    try:
        parts = _read_obj(path) if suffix == ".obj" and not colored else _read_trimesh(path, colored)
    except UserError:
        raise
    except Exception as error:  # the parsers raise whatever a damaged file leads them to
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise UserError(f"{path}: not readable as {suffix[1:].upper()} ({reason}); export it again") from None
    parts = [p for p in parts if len(p.faces)]
    if not parts:
        raise UserError(f"{path}: holds no triangles; export the meshes themselves, not points or an empty scene")
    if not all(np.isfinite(p.vertices).all() for p in parts):
        raise UserError(f"{path}: has NaN or infinite vertices; export it again")
    return parts


def _read_obj(path: Path) -> list[Part]:
    """Own reader: libraries join all objects of one material, and the objects' names are what we are after."""
    vertices: list[tuple[float, float, float]] = []
    faces: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
    name, material = "", ""
    for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1):
        word, _, rest = line.strip().partition(" ")
        try:
            if word == "v":
                x, y, z = (float(v) for v in rest.split()[:3])
                vertices.append((x, y, z))
            elif word in ("o", "g"):
                name = rest.strip()
            elif word == "usemtl":
                material = rest.strip()
            elif word == "f":
                ring = [int(corner.split("/")[0]) for corner in rest.split()]
                ring = [k - 1 if k > 0 else len(vertices) + k for k in ring]
                if min(ring) < 0 or max(ring) >= len(vertices):
                    raise ValueError
                faces.setdefault((name, material), []).extend((ring[0], a, b) for a, b in pairwise(ring[1:]))
        except ValueError:
            raise UserError(f"{path}: line {number}: '{line.strip()[:60]}' is no OBJ statement that can be read; export it again") from None
    points = np.array(vertices, np.float64).reshape(-1, 3)
    out = []
    for (own, kind), triangles in faces.items():
        used, index = np.unique(np.array(triangles, np.int64), return_inverse=True)
        out.append(Part(own, kind, points[used], index.reshape(-1, 3)))
    return out


def _read_trimesh(path: Path, colored: bool) -> list[Part]:
    import trimesh

    scene = trimesh.load_scene(path, process=False)
    parts = []
    for node in scene.graph.nodes_geometry:
        matrix, key = scene.graph[node]
        mesh = scene.geometry[key]
        if not hasattr(mesh, "faces"):
            continue
        vertices = np.asarray(mesh.vertices, np.float64) @ matrix[:3, :3].T + matrix[:3, 3]
        material = getattr(getattr(mesh.visual, "material", None), "name", None) or ""
        plain = path.suffix.lower() == ".ply"
        part = Part("" if plain else str(node), str(material), vertices, np.asarray(mesh.faces, np.int64), _face_colors(mesh) if colored else None)
        if plain:
            part.label, part.instance = (_ply_numbers(mesh, names) for names in (LABELS, INSTANCES))
        parts.append(part)
    return parts


def _ply_numbers(mesh: Any, names: tuple[str, ...]) -> np.ndarray | None:  # [F] i64
    """A property of the faces, or of the vertices (a face takes its first corner's)."""
    raw = mesh.metadata.get("_ply_raw", {})
    for element in ("face", "vertex"):
        data = raw.get(element, {}).get("data")
        if data is None:
            continue
        found = next((n for n in names if n in _fields(data)), None)
        if found is None:
            continue
        values = np.asarray(data[found]).astype(np.int64).reshape(-1)
        if element == "vertex":
            return values[np.asarray(mesh.faces)[:, 0]]
        if len(values) == len(mesh.faces):  # polygons were cut into triangles otherwise
            return values
        raise UserError("its faces are no triangles; triangulate them, so that every one has its label")
    return None


def _fields(data: Any) -> tuple[str, ...]:
    return tuple(data) if isinstance(data, dict) else tuple(data.dtype.names or ())


def _face_colors(mesh: Any) -> np.ndarray | None:  # [F, 3] u8
    """Texture at the face's middle, or the mean of its corners' colours."""
    visual = mesh.visual
    uv, material = getattr(visual, "uv", None), getattr(visual, "material", None)
    image = getattr(material, "image", None) or getattr(material, "baseColorTexture", None)
    if uv is not None and image is not None and len(uv):
        pixels = np.asarray(image.convert("RGB"))
        middle = np.asarray(uv)[np.asarray(mesh.faces)].mean(1) % 1.0
        row = ((1 - middle[:, 1]) * len(pixels)).astype(int).clip(0, len(pixels) - 1)
        column = (middle[:, 0] * pixels.shape[1]).astype(int).clip(0, pixels.shape[1] - 1)
        return pixels[row, column]
    if visual.kind in ("vertex", "face"):
        return np.asarray(visual.face_colors)[:, :3].astype(np.uint8)
    if material is not None:
        return np.tile(np.asarray(material.main_color)[:3].astype(np.uint8), (len(mesh.faces), 1))
    return None
