"""GLB, OBJ and PLY -> Scene: labelled by a class table, or by a labelled cloud of the same place.

by = "material"            # what the names below are: material, object, or label (a number kept in a PLY file)
split = "object"           # every named object is one thing; "connected": every connected piece is one
[classes]
"Building*" = "building"   # names may hold * and ?; the first line that fits counts
"*" = ""                   # left out
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from flaneur.city.importing.cloud import WINDOW, check_metric
from flaneur.city.importing.mesh_files import Part, read_parts
from flaneur.city.importing.mesh_transfer import scene_from_transfer
from flaneur.city.importing.meshes import LabelledMesh, Piece, scene_from_pieces
from flaneur.city.importing.raster import GROUND
from flaneur.city.importing.windows import georeference
from flaneur.city.scene import Scene
from flaneur.classes import load_classes
from flaneur.errors import UserError

LARGEST, SMALLEST = 20_000.0, 5.0  # units across a model that may be metres
WELD = 1e-3  # metres within which corners are one


def scene_from_mesh(files: list[Path], table: Path | None, cloud: list[Path], scale: float | None, up: str | None, corner: tuple[float, float] | None, crs: str, licence: str, name: str) -> Scene:
    """The window whose south-west corner is `corner`, or the middle of the model."""
    if (table is None) == (not cloud):
        raise UserError(f"{files[0]}: a mesh needs either --table (which names are which class) or --cloud (whose labels it takes)")
    if scale is not None and not (np.isfinite(scale) and scale > 0):
        raise UserError(f"--scale {scale}: metres in one unit of the mesh, above 0")
    rules = read_table(table) if table is not None else None
    parts: list[Part] = []
    for file in files:
        for part in read_parts(file, colored=bool(cloud)):
            _to_metres(part, scale, up or ("y" if file.suffix.lower() in (".glb", ".gltf") else "z"))
            parts.append(part)
    low, high = np.min([p.vertices.min(0) for p in parts], 0), np.max([p.vertices.max(0) for p in parts], 0)
    _check_unit(str(files[0]), low, high, scale)
    corner = corner or tuple(np.floor((low[:2] + high[:2] - WINDOW) / 2).tolist())
    origin, provenance = georeference(crs, corner), {"source": [f.name for f in files]}
    if rules is None:
        return scene_from_transfer(parts, cloud, corner, name, origin, provenance, licence, str(files[0]))
    counts: dict[str, int] = {}
    vertices, pieces, total = [], [], 0
    for part in parts:
        for piece in _pieces(part, rules, table, counts):
            pieces.append(Piece(piece.class_name, piece.name, piece.faces + total))
        vertices.append(part.vertices)
        total += len(part.vertices)
    mesh = LabelledMesh(np.concatenate(vertices) - (*corner, 0.0), _joined(pieces), counts)
    return scene_from_pieces(mesh, name, origin, provenance, licence, str(files[0]))


def read_table(path: Path) -> dict[str, Any]:
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"{path}: not readable as TOML ({error})") from None
    unknown = sorted(set(table) - {"by", "split", "classes"})
    if unknown:
        raise UserError(f"{path}: unknown field '{unknown[0]}'; known are by, split, classes")
    for field, allowed in (("by", ("material", "object", "label")), ("split", ("object", "connected"))):
        if table.setdefault(field, allowed[0]) not in allowed:
            raise UserError(f"{path}: field '{field}' is '{table[field]}'; known are {', '.join(allowed)}")
    if not isinstance(table.get("classes"), dict) or not table["classes"]:
        raise UserError(f"{path}: field 'classes': a table of name = class is needed")
    known = load_classes()
    for key, value in table["classes"].items():
        if value and value not in known.index:
            raise UserError(f"{path}: field 'classes', '{key}': unknown class '{value}'; known are {', '.join(known.names)}")
    return table


def _to_metres(part: Part, scale: float | None, up: str) -> None:
    if up == "y":
        part.vertices = part.vertices[:, [0, 2, 1]] * (1, -1, 1)
    part.vertices = part.vertices * (scale or 1.0)


def _check_unit(source: str, low: np.ndarray, high: np.ndarray, scale: float | None) -> None:
    extent = float((high - low).max())
    if scale is None and extent > LARGEST:
        raise UserError(f"{source}: {extent:,.0f} units across, so these are no metres; give --scale, metres in one unit (0.001 for millimetres, 0.01 for centimetres, 1 if it is that large)")
    if scale is None and extent < SMALLEST:
        small = "give --scale, metres in one unit (1000 for kilometres, 1 if it is that small); degrees have to be projected to metres first"
        raise UserError(f"{source}: {extent:.3g} units across, so these are no metres; {small}")
    check_metric(source, low[:2], high[:2])


def _pieces(part: Part, rules: dict[str, Any], table: Path | None, counts: dict[str, int]) -> Iterator[Piece]:
    """A part's faces by class and thing."""
    if rules["by"] == "label":
        if part.label is None:
            raise UserError(f"{table}: field 'by' is 'label', but the mesh holds no numbers called label; label its faces or vertices in a PLY file, or go by material or object")
        kinds = [(str(k), part.label == k) for k in np.unique(part.label)]
    else:
        kinds = [(getattr(part, rules["by"]), np.ones(len(part.faces), bool))]
    for key, mask in kinds:
        class_name = next((c for pattern, c in rules["classes"].items() if fnmatchcase(key, pattern)), None)
        if class_name is None:
            raise UserError(f"{table}: field 'classes' has no line for the {rules['by']} '{key}'; add one, or \"*\" = \"\" to leave the rest out")
        if not class_name:
            note = f"faces of {rules['by']} '{key}', left out"
            counts[note] = counts.get(note, 0) + int(mask.sum())
            continue
        faces = part.faces[mask]
        named = rules["split"] == "object" and part.object
        if class_name in GROUND or named:
            yield Piece(class_name, part.object if named else "", faces)
        elif part.instance is not None:
            yield from (Piece(class_name, str(i), faces[part.instance[mask] == i]) for i in np.unique(part.instance[mask]))
        else:
            yield from (Piece(class_name, "", faces[own]) for own in connected(part.vertices, faces))


def connected(vertices: np.ndarray, faces: np.ndarray) -> list[np.ndarray]:
    """Masks [F] of the connected pieces, corners welded."""
    _, index = np.unique(np.rint(vertices[faces].reshape(-1, 3) / WELD), axis=0, return_inverse=True)
    corners = index.reshape(-1, 3)
    edges = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]]])
    size = int(corners.max()) + 1
    count, piece = connected_components(coo_matrix((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), (size, size)), directed=False)
    of_face = piece[corners[:, 0]]
    return [of_face == k for k in range(count)]


def _joined(pieces: list[Piece]) -> list[Piece]:
    """Roof and walls of one named object are one thing."""
    out: dict[tuple[str, str], Piece] = {}
    for k, piece in enumerate(pieces):
        key = (piece.class_name, piece.name or f"\0{k}")
        if key in out:
            out[key].faces = np.concatenate([out[key].faces, piece.faces])
        else:
            out[key] = piece
    return list(out.values())
