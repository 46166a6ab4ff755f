"""CityJSON 1.0, 1.1 and 2.0 -> Scene: every city object's finest geometry, triangulated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from flaneur.city.importing.cloud import WINDOW, check_metric
from flaneur.city.importing.meshes import LabelledMesh, Piece, polygon_triangles, scene_from_pieces
from flaneur.city.importing.windows import georeference
from flaneur.city.scene import Scene
from flaneur.errors import UserError

VERSIONS = ("1.0", "1.1", "2.0")
CLASSES = {
    "Building": "building", "BuildingPart": "building", "BuildingInstallation": None, "BuildingUnit": None, "Road": "road", "Railway": "road", "TransportSquare": "pavement", "Square": "pavement",
    "Bridge": "road", "BridgePart": "road", "LandUse": "terrain", "PlantCover": "terrain", "TINRelief": "terrain", "WaterBody": "water", "WaterWay": "water", "Waterway": "water",
    "SolitaryVegetationObject": "tree", "CityFurniture": None, "GenericCityObject": None, "OtherConstruction": None, "Tunnel": None, "CityObjectGroup": None,
}  # fmt: skip
_DEPTH = {"MultiSurface": 0, "CompositeSurface": 0, "Solid": 1, "MultiSolid": 2, "CompositeSolid": 2}


def scene_from_cityjson(path: Path, corner: tuple[float, float] | None, crs: str = "", licence: str = "", name: str = "") -> Scene:
    """The window whose south-west corner is `corner`, or the middle of the model."""
    document = _read(path)
    vertices = _vertices(path, document)
    if not len(vertices):
        raise UserError(f"{path}: field 'vertices' is empty; nothing to import")
    check_metric(str(path), vertices[:, :2].min(0), vertices[:, :2].max(0))
    if corner is None:
        corner = tuple((np.floor((vertices[:, :2].min(0) + vertices[:, :2].max(0) - WINDOW) / 2)).tolist())
    pieces, counts = [], {}
    for key, thing in document["CityObjects"].items():
        kind = thing.get("type", "")
        class_name = CLASSES.get(kind)
        if class_name is None:
            note = f"CityObjects of the extension type {kind}, left out" if kind.startswith("+") else f"CityObjects of type {kind}, which is no class, left out"
            counts[note] = counts.get(note, 0) + 1
            continue
        geometry = max((g for g in thing.get("geometry", ()) if g.get("type") in _DEPTH), key=lambda g: float(str(g.get("lod", 0))), default=None)
        if geometry is None:
            continue
        faces = _triangles(path, key, geometry, vertices)
        if len(faces):
            pieces.append(Piece(class_name, key, faces))
    found = LabelledMesh(vertices - (*corner, 0.0), pieces, counts)
    epsg = crs or _crs(document)
    extensions = sorted(document.get("extensions", {}))
    provenance: dict[str, Any] = {"source": [path.name], "cityjson": document["version"]} | ({"extensions": extensions} if extensions else {})
    return scene_from_pieces(found, name or path.stem, georeference(epsg, corner), provenance, licence, str(path))


def _read(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UserError(f"{path}: not readable as CityJSON ({error})") from None
    if not isinstance(document, dict) or document.get("type") != "CityJSON":
        kind = document.get("type") if isinstance(document, dict) else type(document).__name__
        raise UserError(f"{path}: field 'type' is '{kind}', expected CityJSON (CityJSONSeq: merge it with cjio first)")
    version = str(document.get("version", ""))
    if not version.startswith(VERSIONS):
        raise UserError(f"{path}: field 'version' is '{version}'; {', '.join(VERSIONS)} are read, upgrade the file with cjio")
    if not isinstance(document.get("CityObjects"), dict) or not isinstance(document.get("vertices"), list):
        raise UserError(f"{path}: fields 'CityObjects' and 'vertices' are needed")
    return document


def _vertices(path: Path, document: dict[str, Any]) -> np.ndarray:  # [V, 3] f64
    try:
        vertices = np.array(document["vertices"], np.float64).reshape(-1, 3)
        transform = document.get("transform")
        if transform is not None:
            vertices = vertices * np.array(transform["scale"], np.float64) + np.array(transform["translate"], np.float64)
    except (ValueError, TypeError, KeyError) as error:
        raise UserError(f"{path}: field 'vertices' or 'transform' is malformed ({error})") from None
    if not np.isfinite(vertices).all():
        raise UserError(f"{path}: field 'vertices' has NaN coordinates")
    return vertices


def _crs(document: dict[str, Any]) -> str:
    system = str(document.get("metadata", {}).get("referenceSystem", ""))
    code = system.replace("/", ":").rsplit(":", 1)[-1]
    return f"EPSG:{code}" if code.isdigit() else ""


def _triangles(path: Path, key: str, geometry: dict[str, Any], vertices: np.ndarray) -> np.ndarray:  # [F, 3]
    surfaces = geometry["boundaries"]
    for _ in range(_DEPTH[geometry["type"]]):
        surfaces = [surface for shell in surfaces for surface in shell]
    faces = []
    for surface in surfaces:
        try:
            faces += polygon_triangles([vertices[ring] for ring in surface], [list(ring) for ring in surface])
        except (IndexError, TypeError):
            raise UserError(f"{path}: CityObject '{key}', field 'boundaries' points outside the {len(vertices)} vertices or is nested wrongly") from None
    return np.array(faces, np.int64).reshape(-1, 3)
