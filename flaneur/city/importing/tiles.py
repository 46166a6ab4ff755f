"""Points sorted into windows of 200 m on disk, so that a cloud of any size is read once and in bounded memory."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

from flaneur.city.importing.cloud import POINT, WINDOW

MAX_POINTS = 12_000_000  # of one window in memory (300 per m2); a denser one is thinned evenly
BUFFERED = 1 << 20  # points held back over all windows before they are written


class Tiles:
    """`with Tiles() as tiles:` then `add` blocks, then go through `windows`. The files are gone afterwards."""

    def __init__(self, corner: tuple[float, float] | None = None, parent: Path | None = None) -> None:
        self.corner = corner  # only the window whose south-west corner this is; all windows of a regular grid otherwise
        self.counts: dict[tuple[int, int], int] = {}
        self.low, self.high = np.full(2, np.inf), np.full(2, -np.inf)
        self._parent = parent
        self._held: dict[tuple[int, int], list[np.ndarray]] = {}
        self._held_points = 0

    def __enter__(self) -> Tiles:
        self._folder = Path(tempfile.mkdtemp(prefix=".tiles.", dir=self._parent))
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def add(self, points: np.ndarray) -> None:
        """Points [n] of dtype POINT in the source's coordinates."""
        if not len(points):
            return
        x, y = points["x"], points["y"]
        self.low = np.minimum(self.low, (x.min(), y.min()))
        self.high = np.maximum(self.high, (x.max(), y.max()))
        if self.corner is not None:
            x0, y0 = self.corner
            keep = (x >= x0) & (x < x0 + WINDOW) & (y >= y0) & (y < y0 + WINDOW)
            self._hold((0, 0), points[keep])
        else:
            self._sort(points)
        if self._held_points > BUFFERED:
            self._flush()

    def _sort(self, points: np.ndarray) -> None:
        column, row = (np.floor(points[axis] / WINDOW).astype(np.int64) for axis in ("x", "y"))
        first, low = int(column.min()), int(row.min())
        rows = int(row.max()) - low + 1
        code = (column - first) * rows + (row - low)
        if int(code.max()) < 1 << 16:
            code = code.astype(np.uint16)  # sorted in linear time
        order = np.argsort(code, kind="stable")
        code, points = code[order].astype(np.int64), points[order]
        starts = np.flatnonzero(np.diff(code, prepend=-1)).tolist()
        for start, end in pairwise([*starts, len(code)]):
            self._hold((first + int(code[start]) // rows, low + int(code[start]) % rows), points[start:end])

    def _hold(self, key: tuple[int, int], points: np.ndarray) -> None:
        if len(points):
            self._held.setdefault(key, []).append(points)
            self._held_points += len(points)
            self.counts[key] = self.counts.get(key, 0) + len(points)

    def _flush(self) -> None:
        for (column, row), parts in self._held.items():
            with (self._folder / f"{column}_{row}.bin").open("ab") as file:
                for part in parts:
                    part.tofile(file)
        self._held, self._held_points = {}, 0

    def windows(self) -> Iterator[tuple[tuple[float, float], np.ndarray]]:
        """South-west corner and points of every window, from south-west to north-east."""
        self._flush()
        for column, row in sorted(self.counts):
            corner = self.corner if self.corner is not None else (column * WINDOW, row * WINDOW)
            stored = np.memmap(self._folder / f"{column}_{row}.bin", POINT, "r")
            step = -(-len(stored) // MAX_POINTS)
            yield corner, np.array(stored[::step])
