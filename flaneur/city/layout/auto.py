"""Choosing windows: the most varied ones of an extract that do not overlap."""

from __future__ import annotations

import numpy as np
import shapely

from flaneur.city.layout.osm import Extract
from flaneur.city.layout.place import place_features
from flaneur.city.layout.streets import KINDS
from flaneur.city.layout.window import Window
from flaneur.errors import UserError


def windows_auto(extract: Extract, n: int, size: float = 200.0) -> list[Window]:
    """The `n` most varied windows that do not overlap, the one with most streets and buildings first."""
    if n < 1:
        raise UserError(f"--auto {n}: give a number of windows, at least 1")
    w, s, e, north = extract.core
    middle = Window((w + e) / 2, (s + north) / 2, size)
    low, high = middle.project(np.array([[w, s], [e, north]]))
    steps = [np.arange(a + size / 2, max(b - size / 2, a + size / 2) + 1.0, size / 2) for a, b in zip(low, high, strict=True)]
    centres = np.stack(np.meshgrid(*steps), -1).reshape(-1, 2)
    candidates, vectors, worth = [], [], []
    for lonlat in middle.unproject(centres):
        window = Window(round(float(lonlat[0]), 7), round(float(lonlat[1]), 7), size)
        street, built, inner = _content(extract, window)
        if street < 150 or built < 1 or not inner:
            continue
        candidates.append(window)
        worth.append(min(street / 1500, 1.0) + min(built / 40, 1.0))
    if not candidates:
        raise UserError(f"{extract.path}: no window with streets and buildings was found; the extract covers {extract.covers()}")
    # Only the richer ones are measured in full, which keeps a large extract fast.
    order = np.argsort(-np.array(worth), kind="stable")[: max(60, 12 * n)]
    candidates, worth = [candidates[i] for i in order], [worth[i] for i in order]
    vectors = np.array([place_features(extract, c).vector() for c in candidates])
    chosen = [0]
    at = np.array([middle.project(np.array([c.lon, c.lat])) for c in candidates])
    while len(chosen) < n:
        apart = np.abs(at[:, None] - at[chosen][None]).max(-1).min(1) >= size - 1.0
        variety = np.linalg.norm(vectors[:, None] - vectors[chosen][None], axis=-1).min(1) + 0.5 * np.array(worth)
        variety[~apart] = -1.0
        best = int(np.argmax(np.round(variety, 6)))
        if variety[best] < 0:
            raise UserError(f"{extract.path}: holds only {len(chosen)} windows of {size:.0f} m with streets and buildings; ask for --auto {len(chosen)} or fewer")
        chosen.append(best)
    return [candidates[i] for i in chosen]


def _content(extract: Extract, window: Window) -> tuple[float, int, bool]:
    """Metres of street, number of buildings, and whether streets reach all four quarters of the neighbourhood."""
    west, south, east, north = window.degrees()
    b, c = extract.line_boxes, extract.shape_boxes
    street = 0.0
    for i in np.flatnonzero((b[:, 0] <= east) & (b[:, 2] >= west) & (b[:, 1] <= north) & (b[:, 3] >= south)):
        if extract.lines[i].tags.get("highway") in KINDS:
            street += shapely.LineString(window.project(extract.lines[i].coords)).intersection(window.square).length
    mx, my = (c[:, 0] + c[:, 2]) / 2, (c[:, 1] + c[:, 3]) / 2
    near = np.flatnonzero((mx >= west) & (mx <= east) & (my >= south) & (my <= north))
    return street, sum("building" in extract.shapes[i].tags for i in near), street > 0
