"""ESRI Shapefiles of polygons: .shp, .shx, .dbf, .prj and .cpg, after Esri's white paper of 1998 and dBASE III."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import shapely

POLYGON, FILE_CODE, VERSION = 5, 9994, 1000
TEXT_WIDTH, NUMBER_WIDTH, DECIMALS = 120, 18, 6


def write_shapefile(path: Path, shapes: Sequence[Any], attributes: Mapping[str, Sequence[Any]], wkt: str = "") -> None:
    """Write shapely (multi)polygons with attribute columns; `path` ends in .shp, its companions lie beside it."""
    records = [_record(s) for s in shapes]
    bounds = shapely.total_bounds(np.array(shapes, object)) if len(shapes) else np.zeros(4)
    index, body, offset = b"", b"", 50  # offsets count 16-bit words, the header has 50
    for number, record in enumerate(records, 1):
        index += struct.pack(">ii", offset, len(record) // 2)
        body += struct.pack(">ii", number, len(record) // 2) + record
        offset += 4 + len(record) // 2
    path.write_bytes(_header(len(body), bounds) + body)
    path.with_suffix(".shx").write_bytes(_header(len(index), bounds) + index)
    path.with_suffix(".dbf").write_bytes(_table(attributes, len(records)))
    path.with_suffix(".cpg").write_text("UTF-8")
    if wkt:
        path.with_suffix(".prj").write_text(wkt)


def _header(size: int, bounds: np.ndarray) -> bytes:
    return struct.pack(">7i", FILE_CODE, 0, 0, 0, 0, 0, (100 + size) // 2) + struct.pack("<2i8d", VERSION, POLYGON, *map(float, bounds), 0.0, 0.0, 0.0, 0.0)


def _record(shape: Any) -> bytes:
    # Outer rings run clockwise, holes counter-clockwise.
    rings = [shapely.get_coordinates(r) for part in shapely.get_parts(shapely.orient_polygons(shape, exterior_cw=True)) for r in (part.exterior, *part.interiors)]
    starts = np.cumsum([0, *(len(r) for r in rings[:-1])]).astype("<i4")
    points = np.concatenate(rings).astype("<f8")
    return struct.pack("<i4d2i", POLYGON, *map(float, shape.bounds), len(rings), len(points)) + starts.tobytes() + points.tobytes()


def _table(attributes: Mapping[str, Sequence[Any]], rows: int) -> bytes:
    kinds = {name: _kind(values) for name, values in attributes.items()}
    fields = b""
    for name, (kind, width, decimals) in kinds.items():
        fields += struct.pack("<11sc4xBB14x", name[:10].encode("ascii"), kind, width, decimals)
    width = 1 + sum(k[1] for k in kinds.values())
    # The date of the last change is fixed, so that equal cities give equal bytes.
    head = struct.pack("<BBBBIHH20x", 3, 80, 1, 1, rows, 33 + len(fields), width)
    body = b"".join(b" " + b"".join(_cell(attributes[name][n], *kinds[name]) for name in attributes) for n in range(rows))
    return head + fields + b"\r" + body + b"\x1a"


def _kind(values: Sequence[Any]) -> tuple[bytes, int, int]:
    if all(isinstance(v, (int, np.integer)) and not isinstance(v, bool) for v in values):
        return b"N", NUMBER_WIDTH, 0
    if all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in values):
        return b"N", NUMBER_WIDTH, DECIMALS
    return b"C", TEXT_WIDTH, 0


def _cell(value: Any, kind: bytes, width: int, decimals: int) -> bytes:
    if kind == b"N":
        return f"{value:>{width}.{decimals}f}".encode("ascii")[:width]
    # Cutting UTF-8 must not halve a character.
    return str(value).encode()[:width].decode(errors="ignore").encode().ljust(width)
