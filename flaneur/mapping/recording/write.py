"""A map as files people use: a picture, a GeoTIFF, polygons, labelled voxels."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from flaneur.classes import ClassList
from flaneur.mapping.semantic_map import UNEXPLORED, SemanticMap

SMALLEST_POLYGON = 4  # cells


def write_outputs(maps: SemanticMap, classes: ClassList, folder: Path, corner: np.ndarray, origin: dict[str, Any]) -> list[Path]:
    """map.png always; map.ply; map.geojson and map.tif with coordinates when the recording is georeferenced.

    corner: world position of the map's south-west corner; origin: crs, easting and northing of the world's zero.
    """
    folder.mkdir(parents=True, exist_ok=True)
    labels = maps.labels[0].cpu().numpy()
    east, north = float(corner[0]) + origin.get("easting", 0.0), float(corner[1]) + origin.get("northing", 0.0)
    written = [_write(folder / "map.png", _png(labels, classes)), _write(folder / "map.ply", _ply(maps, classes, corner))]
    written.append(_write(folder / "map.geojson", _geojson(labels, classes, maps.grid.cell, east, north, origin.get("crs"))))
    if origin.get("crs"):
        written.append(_geotiff(folder / "map.tif", labels, classes, maps.grid.cell, east, north + maps.grid.size, origin["crs"]))
    return written


def _write(path: Path, data: bytes) -> Path:
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(data)
    os.replace(part, path)
    return path


def _colours(labels: np.ndarray, classes: ClassList) -> np.ndarray:
    table = np.full((256, 3), 255, np.uint8)
    table[: len(classes)] = classes.colors
    return table[labels]


def _png(labels: np.ndarray, classes: ClassList) -> bytes:
    import io

    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(_colours(labels, classes)[::-1]).resize((1024, 1024), Image.Resampling.NEAREST).save(buffer, "PNG")
    return buffer.getvalue()


def _ply(maps: SemanticMap, classes: ClassList, corner: np.ndarray) -> bytes:
    """Centres of the observed voxels with label and colour, binary little endian."""
    z, y, x = (i.cpu().numpy() for i in maps.observed[0].nonzero(as_tuple=True))
    odds = maps.log_odds[0].cpu().numpy()[z, y, x]
    odds[:, classes.sky] = -np.inf
    label = odds.argmax(1).astype(np.uint8)
    edges, cell = np.array(maps.grid.height_edges), maps.grid.cell
    ground = maps.ground[int(maps.scene_index[0])].cpu().numpy()[y, x]
    rows = np.zeros(len(x), [("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("red", "u1"), ("green", "u1"), ("blue", "u1"), ("label", "u1")])
    rows["x"], rows["y"] = (x + 0.5) * cell + corner[0], (y + 0.5) * cell + corner[1]
    rows["z"] = (edges[z] + edges[z + 1]) / 2 + ground
    rows["red"], rows["green"], rows["blue"] = classes.colors[label].T
    rows["label"] = label
    kinds = {"<f4": "float", "u1": "uchar"}
    names = "".join(f"property {kinds['<f4' if n in 'xyz' else 'u1']} {n}\n" for n in rows.dtype.names or ())
    comments = "".join(f"comment label {c.id} {c.name}\n" for c in classes)
    return f"ply\nformat binary_little_endian 1.0\n{comments}element vertex {len(rows)}\n{names}end_header\n".encode() + rows.tobytes()


def _geojson(labels: np.ndarray, classes: ClassList, cell: float, east: float, north: float, crs: str | None) -> bytes:
    """One polygon per connected patch of a class; WGS84 when the projection is known, else metres."""
    import shapely

    to_lonlat = None
    if crs:
        from pyproj import Transformer

        to_lonlat = Transformer.from_crs(crs, "EPSG:4326", always_xy=True)
    features = []
    for c in classes:
        rows, columns = np.nonzero(labels == c.id)
        if not len(rows):
            continue
        squares = shapely.box(east + columns * cell, north + rows * cell, east + (columns + 1) * cell, north + (rows + 1) * cell)
        merged = shapely.union_all(squares)
        for part in shapely.get_parts(merged):
            if part.area < SMALLEST_POLYGON * cell * cell:
                continue
            shape = shapely.transform(part, lambda p: np.stack(to_lonlat.transform(p[:, 0], p[:, 1]), -1)) if to_lonlat else part
            features.append({"type": "Feature", "properties": {"class": c.name, "group": c.group, "area_m2": round(part.area, 2)}, "geometry": json.loads(shapely.to_geojson(shape))})
    document: dict[str, Any] = {"type": "FeatureCollection", "features": features}
    if not crs:
        document["note"] = "coordinates are metres of the recording; give origin.json for longitude and latitude"
    return json.dumps(document).encode()


def _geotiff(path: Path, labels: np.ndarray, classes: ClassList, cell: float, west: float, top: float, crs: str) -> Path:
    """Class ids as bytes with GeoTIFF keys (EPSG code or user-defined projected system); nodata 255."""
    import tifffile
    from pyproj import CRS

    system = CRS.from_user_input(crs)
    code = system.to_epsg()
    keys: list[int] = [1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, code or 32767]
    citation = system.name + "|"
    extra: list[tuple] = [(33550, "d", 3, (cell, cell, 0.0)), (33922, "d", 6, (0.0, 0.0, 0.0, west, top, 0.0)), (42113, "s", 0, str(UNEXPLORED))]
    if code is None:
        keys = [1, 1, 0, 4, *keys[4:], 3073, 34737, len(citation), 0]
        extra.append((34737, "s", 0, citation))
    extra.append((34735, "H", len(keys), tuple(keys)))
    part = path.with_name(f".{path.name}.part")
    description = json.dumps({c.id: c.name for c in classes})
    tifffile.imwrite(part, labels[::-1].astype(np.uint8), compression="zlib", description=description, extratags=[(t, k, n, v, True) for t, k, n, v in extra])
    os.replace(part, path)
    return path
