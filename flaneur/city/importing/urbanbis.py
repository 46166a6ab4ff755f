"""UrbanBIS text: nine space-separated columns `x y z r g b semantic instance building_type`, read in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv

from flaneur.city.importing.cloud import IGNORED, POINT, check_metric, class_table
from flaneur.errors import UserError

Item = TypeVar("Item")
COLUMNS = ("x", "y", "z", "r", "g", "b", "semantic", "instance", "building_type")
SEMANTICS = {0: "terrain", 1: "vegetation", 2: "water", 3: "bridge", 4: "vehicle", 5: "boat", 6: "building", -100: "ignored"}
# A boat has no class of ours: it is left out and the water goes on below it.
CLASSES = {0: "terrain", 1: "tree", 2: "water", 3: "road", 4: "car", 5: None, 6: "building", -100: None}
BLOCK = 32 << 20  # bytes of text parsed at once
_TYPES = {"x": pa.float64(), "y": pa.float64(), "z": pa.float32(), **{c: pa.float32() for c in ("r", "g", "b", "semantic", "instance", "building_type")}}
_TABLE = class_table(CLASSES)


def read_blocks(path: Path, block: int = BLOCK, advance: Callable[[int], None] | None = None) -> Iterator[np.ndarray]:
    """Points [n] of dtype POINT, block by block; `advance` hears the bytes read so far."""
    path = Path(path)
    try:
        file = path.open("rb")
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    with file:
        done, metric = 0, False
        for size, points in _ahead(_parsed(path, file, block)):
            if not metric and len(points):
                check_metric(str(path), np.array([points["x"].min(), points["y"].min()]), np.array([points["x"].max(), points["y"].max()]))
                metric = True
            done += size
            if advance is not None:
                advance(done)
            yield points
        if not metric:
            raise UserError(f"{path}: no points in it")


def _parsed(path: Path, file: BinaryIO, block: int) -> Iterator[tuple[int, np.ndarray]]:
    first_line = 1
    for text in _blocks(file, block):
        yield len(text), _parse(path, text, first_line)
        first_line += text.count(b"\n")


def _ahead(items: Iterator[Item]) -> Iterator[Item]:
    """The next item is made in a thread while the last one is used: parsing leaves the interpreter free."""
    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(next, items, None)
        while (item := following.result()) is not None:
            following = pool.submit(next, items, None)
            yield item


def _blocks(file: BinaryIO, block: int) -> Iterator[bytes]:
    """Whole lines, about `block` bytes at a time."""
    rest = b""
    while data := file.read(block):
        cut = data.rfind(b"\n") + 1
        if cut:
            yield rest + data[:cut]
            rest = data[cut:]
        else:
            rest += data
            if len(rest) > 4 * block:
                raise UserError(f"{file.name}: no line ends in {len(rest):,} bytes; is this UrbanBIS text?")
    if rest.strip():
        yield rest


def _parse(path: Path, text: bytes, first_line: int) -> np.ndarray:
    try:
        table = csv.read_csv(
            pa.BufferReader(text),
            csv.ReadOptions(column_names=list(COLUMNS), use_threads=True),
            csv.ParseOptions(delimiter=" ", quote_char=False, ignore_empty_lines=True),
            csv.ConvertOptions(column_types=_TYPES, null_values=[], strings_can_be_null=False),
        )
    except pa.ArrowInvalid:
        raise _bad_line(path, text, first_line) from None
    out = np.zeros(table.num_rows, POINT)
    column = {name: table.column(name).to_numpy() for name in COLUMNS}
    finite = np.isfinite(column["x"]) & np.isfinite(column["y"]) & np.isfinite(column["z"])
    if not finite.all():
        line = first_line + int(np.flatnonzero(~finite)[0])
        raise UserError(f"{path}: line {line} has a coordinate that is NaN or infinite; remove such points ({int((~finite).sum()):,} in this part)")
    semantic = column["semantic"].astype(np.int32)
    known = (semantic == column["semantic"]) & (((semantic >= 0) & (semantic <= 6)) | (semantic == -100))
    if not known.all():
        k = int(np.flatnonzero(~known)[0])
        ids = ", ".join(f"{i} {name}" for i, name in SEMANTICS.items())
        raise UserError(f"{path}: line {first_line + k}, column semantic: unknown label {column['semantic'][k]:g}; known are {ids}")
    out["x"], out["y"], out["z"] = column["x"], column["y"], column["z"]
    for ours, theirs in (("red", "r"), ("green", "g"), ("blue", "b")):
        value = column[theirs]
        if not ((value >= 0) & (value <= 255)).all():
            raise UserError(f"{path}: column {theirs}: colours must lie in 0..255")
        out[ours] = value
    out["label"] = _TABLE[semantic & 255]
    # Instances are counted on buildings only; elsewhere the column is -100 or noise.
    out["instance"] = np.where(semantic == 6, column["instance"], -1)
    out["instance"][out["label"] == IGNORED] = -1
    return out


def _bad_line(path: Path, text: bytes, first_line: int) -> UserError:
    expected = "expected 9 columns separated by one space: " + " ".join(COLUMNS)
    for k, line in enumerate(text.splitlines()):
        fields = line.split(b" ")
        if not line.strip():
            continue
        if b"," in line:
            return UserError(f"{path}: line {first_line + k} has commas; {expected}")
        if len(fields) != len(COLUMNS):
            return UserError(f"{path}: line {first_line + k} has {len(fields)} columns; {expected}")
        for name, value in zip(COLUMNS, fields, strict=True):
            try:
                float(value)
            except ValueError:
                return UserError(f"{path}: line {first_line + k}, column {name}: '{value.decode(errors='replace')}' is no number; {expected}")
    return UserError(f"{path}: lines {first_line} and on are no UrbanBIS text; {expected}")
