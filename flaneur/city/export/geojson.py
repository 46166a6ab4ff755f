"""GeoJSON (RFC 7946) and GeoParquet 1.1 of every object: polygons with the whole annotation, in WGS 84.

An invented city lies nowhere: its GeoParquet has coordinates in metres and no reference system, its GeoJSON is put at
longitude and latitude 0 (one degree is 111,320 m) and says so in the member `georeferenced`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from flaneur.city.export.annotations import columns, table
from flaneur.city.export.files import replacing
from flaneur.city.export.footprints import footprints
from flaneur.city.export.georeference import to_degrees
from flaneur.city.scene import Scene

METRES_PER_DEGREE = 111_320.0
DIGITS = 8  # of a degree: about a millimetre
LEFT_OUT = ("transform", "box_center", "tint", "class_id", "x", "y", "z")  # the geometry says it, or only a renderer asks


def write_geojson(scene: Scene, path: Path, background: bool = False) -> None:
    """A FeatureCollection with one polygon per object (and per piece of background if asked)."""
    rows, shapes = _shapes(scene, background)
    convert = to_degrees(scene)
    place = convert or (lambda xy: xy / METRES_PER_DEGREE)
    shapes = shapely.orient_polygons(shapely.transform(shapes, place), exterior_cw=False)
    data = {k: v if isinstance(v, list) else np.asarray(v).tolist() for k, v in columns(scene, rows).items() if k not in LEFT_OUT}
    with replacing(path) as target, target.open("w", encoding="utf-8") as file:
        head = {"type": "FeatureCollection", "name": scene.name, "licence": scene.licence, "georeferenced": convert is not None}
        file.write(json.dumps(head, ensure_ascii=False)[:-1] + ', "features": [\n')
        for n, shape in enumerate(shapes):
            feature = {"type": "Feature", "id": int(rows[n]), "geometry": _geometry(shape), "properties": {k: _plain(v[n]) for k, v in data.items()}}
            file.write((",\n" if n else "") + json.dumps(feature, ensure_ascii=False, separators=(",", ":")))
        file.write("\n]}\n")


def write_geoparquet(scene: Scene, path: Path, background: bool = False) -> None:
    """GeoParquet 1.1: the annotation columns and `geometry` as WKB."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows, shapes = _shapes(scene, background)
    convert = to_degrees(scene)
    if convert:
        shapes = shapely.transform(shapes, convert)
    shapes = shapely.orient_polygons(shapes, exterior_cw=False)
    kinds = sorted({"MultiPolygon" if shapely.get_type_id(s) == shapely.GeometryType.MULTIPOLYGON else "Polygon" for s in shapes})
    geometry: dict[str, Any] = {"encoding": "WKB", "geometry_types": kinds, "orientation": "counterclockwise"}
    if not convert:
        geometry["crs"] = None  # absent would mean WGS 84
    if len(shapes):
        geometry["bbox"] = [float(v) for v in shapely.total_bounds(shapes)]
    meta = {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": geometry}}
    full = table(scene, rows).append_column("geometry", pa.array(shapely.to_wkb(shapes).tolist(), pa.binary()))
    facts = {"geo": json.dumps(meta), "flaneur:name": scene.name, "flaneur:licence": scene.licence}
    with replacing(path) as target:
        pq.write_table(full.replace_schema_metadata(facts), target, compression="zstd")


def _shapes(scene: Scene, background: bool) -> tuple[np.ndarray, np.ndarray]:
    rows = np.arange(len(scene.instances)) if background else np.flatnonzero(scene.is_object)
    return rows, footprints(scene, rows)


def _geometry(shape: Any) -> dict[str, Any]:
    rounded = json.loads(shapely.to_geojson(shape))
    return {"type": rounded["type"], "coordinates": _round(rounded["coordinates"])}


def _round(value: Any) -> Any:
    return round(value, DIGITS) if isinstance(value, float) else [_round(v) for v in value] if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 4)
    return [round(v, 4) for v in value] if isinstance(value, list) else value
