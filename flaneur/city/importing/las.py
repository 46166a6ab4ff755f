"""Labelled LAS and LAZ: ASPRS classes, read in chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from flaneur.city.importing.cloud import POINT, check_metric, class_table
from flaneur.errors import UserError

# ASPRS standard classes. Unclassified points of a national survey are trees, cars and street furniture in one: left out.
CLASSES: dict[int, str | None] = {
    0: None, 1: None, 2: "terrain", 3: "tree", 4: "tree", 5: "tree", 6: "building", 7: None, 8: None, 9: "water", 10: None, 11: "road",
    12: None, 13: None, 14: None, 15: None, 16: None, 17: "road", 18: None, 26: "road",
}  # fmt: skip
CHUNK = 2_000_000


def read_chunks(path: Path, classes: dict[int, str | None] | None = None, advance: Callable[[int], None] | None = None) -> Iterator[np.ndarray]:
    """Points [n] of dtype POINT, chunk by chunk; `classes` overrules or adds to CLASSES."""
    table = class_table({**CLASSES, **(classes or {})})
    with _open(path) as reader:
        header = reader.header
        check_metric(str(path), header.mins[:2], header.maxs[:2])
        done = 0
        names = set(header.point_format.dimension_names)
        for chunk in _chunks(path, reader):
            out = np.zeros(len(chunk), POINT)
            out["x"], out["y"], out["z"] = chunk.x, chunk.y, chunk.z
            if not (np.isfinite(out["x"]) & np.isfinite(out["y"]) & np.isfinite(out["z"])).all():
                raise UserError(f"{path}: points with NaN coordinates; remove them")
            code = np.asarray(chunk.classification).astype(np.int64)
            out["label"] = table[code]
            if (out["label"] == 254).any():
                unknown = int(code[out["label"] == 254][0])
                raise UserError(f"{path}: unknown class {unknown}; known are {', '.join(map(str, sorted(CLASSES)))}, name others with --label {unknown}=CLASS")
            if "red" in names:
                # 16 bits by the standard; many writers leave 8-bit values.
                shift = 8 if int(np.max(chunk.red, initial=0)) > 255 else 0
                for c in ("red", "green", "blue"):
                    out[c] = np.asarray(chunk[c]) >> shift
            out["instance"] = np.asarray(chunk["instance"]) if "instance" in names else -1
            done += len(out)
            if advance is not None:
                advance(done)
            yield out


def _open(path: Path) -> Any:
    try:
        import laspy
    except ImportError:
        raise UserError(f"{path}: LAS and LAZ need laspy: pip install 'flaneur[realdata]'") from None
    try:
        return laspy.open(str(path))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except laspy.errors.LaspyException as error:
        raise _refused(path, error) from None


def _chunks(path: Path, reader: Any) -> Iterator[Any]:
    import laspy

    try:
        yield from reader.chunk_iterator(CHUNK)
    except laspy.errors.LaspyException as error:
        raise _refused(path, error) from None


def _refused(path: Path, error: Exception) -> UserError:
    if "backend" in str(error).lower() or "decompress" in str(error).lower():
        return UserError(f"{path}: LAZ needs lazrs: pip install 'flaneur[realdata]'")
    return UserError(f"{path}: no readable LAS or LAZ ({error})")


def has_color(path: Path) -> bool:
    with _open(path) as reader:
        return "red" in set(reader.header.point_format.dimension_names)


def crs_of(path: Path) -> str:
    """EPSG code from the file's header, or empty."""
    with _open(path) as reader:
        crs = reader.header.parse_crs()
    code = crs.to_epsg() if crs is not None else None
    return f"EPSG:{code}" if code else ""


def parse_labels(texts: list[str]) -> dict[int, str | None]:
    """`64=car` and the like; an empty class means ignored."""
    from flaneur.classes import load_classes

    found: dict[int, str | None] = {}
    for text in texts:
        code, equals, name = text.partition("=")
        if not equals or not code.isdigit() or int(code) > 253:
            raise UserError(f"--label {text}: expected CODE=CLASS, such as 64=car")
        found[int(code)] = load_classes()[name].name if name else None
    return found
