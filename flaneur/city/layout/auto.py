"""Choosing windows: the most varied ones of an extract that do not overlap."""

from __future__ import annotations

import numpy as np
import shapely

from flaneur.city.layout import land
from flaneur.city.layout.buildings import tagged_profile
from flaneur.city.layout.classify import BUSINESS
from flaneur.city.layout.heights import HeightModel
from flaneur.city.layout.osm import Extract
from flaneur.city.layout.place import COUNTRY
from flaneur.city.layout.streets import KINDS
from flaneur.city.layout.window import SIZE, Window
from flaneur.errors import UserError

_LEAST_STREET = 150.0  # metres of street that a window must hold
_SAMPLES = 5  # land cover is looked up at 5 x 5 places of a cell


def windows_auto(extract: Extract, n: int, size: float = SIZE) -> list[Window]:
    """The `n` most varied windows that do not overlap, the one with most streets and buildings first.

    The extract is tallied once on cells of half a window; every 2 x 2 cells are a candidate.
    """
    if n < 1:
        raise UserError(f"--auto {n}: give a number of windows, at least 1")
    west, south, east, north = extract.core
    frame = Window((west + east) / 2, (south + north) / 2, size)
    low, high = frame.project(np.array([[west, south], [east, north]]))
    middle, half = (low + high) / 2, size / 2
    counts = np.maximum(2, np.floor((high - low) / half).astype(int))
    start = middle - counts * half / 2
    cells = _tally(extract, frame, start, half, counts)  # [k, ny, nx]
    sums = cells[:, :-1, :-1] + cells[:, 1:, :-1] + cells[:, :-1, 1:] + cells[:, 1:, 1:]
    street, car, built, number, known, tall, business, signals, country = sums
    rows, columns = np.nonzero((street > _LEAST_STREET) & (number > 0))
    if not len(rows):
        raise UserError(f"{extract.path}: no window with streets and buildings was found; the extract covers {extract.covers()}")
    at = (rows, columns)
    ground = size**2
    height = tall[at] / np.maximum(known[at], 1.0)
    vectors = np.stack([
        3 * built[at] / ground, np.minimum(height, 60) / 20, np.log10(np.maximum(built[at] / number[at], 10)), np.minimum(business[at], 60) / 20, 2 * country[at] / (4 * _SAMPLES**2),
        np.minimum(car[at], 1600) / 600, np.minimum(signals[at], 20) / 10,
    ], 1)  # fmt: skip
    worth = np.minimum(street[at] / 1500, 1.0) + np.minimum(number[at] / 40, 1.0)
    chosen = [int(np.argmax(np.round(worth, 6)))]
    while len(chosen) < n:
        apart = np.maximum(np.abs(rows[:, None] - rows[chosen]), np.abs(columns[:, None] - columns[chosen])).min(1) >= 2
        variety = np.linalg.norm(vectors[:, None] - vectors[chosen][None], axis=-1).min(1) + 0.5 * worth
        best = int(np.argmax(np.where(apart, np.round(variety, 6), -1.0)))
        if not apart[best]:
            raise UserError(f"{extract.path}: --auto {n}: only {len(chosen)} windows of {size:.0f} m with streets and buildings fit apart; ask for {len(chosen)} or fewer")
        chosen.append(best)
    centres = frame.unproject(start + np.stack([columns[chosen] + 1, rows[chosen] + 1], 1) * half)
    return [Window(round(float(lon), 7), round(float(lat), 7), size) for lon, lat in centres]


def _tally(extract: Extract, frame: Window, start: np.ndarray, cell: float, counts: np.ndarray) -> np.ndarray:
    """Per cell: street m, carriageway m, built m2, buildings, m2 and m2 x height of known height, business, signals, country samples."""
    edges = [start[i] + np.arange(counts[i] + 1) * cell for i in (1, 0)]

    def spread(xy: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return np.histogram2d(xy[:, 1], xy[:, 0], bins=edges, weights=weights)[0] if len(xy) else np.zeros(counts[::-1])

    segments, lengths, cars = [np.zeros((0, 2))], [np.zeros(0)], [np.zeros(0)]
    for line in extract.lines:
        kind = line.tags.get("highway")
        if kind in KINDS:
            xy = frame.project(line.coords)
            length = np.hypot(*np.diff(xy, axis=0).T)
            # Long segments count where they run, not only in the cell of their middle.
            parts = np.maximum(1, np.ceil(length / 20).astype(int))
            index = np.repeat(np.arange(len(length)), parts)
            t = (np.concatenate([np.arange(p) for p in parts]) + 0.5) / parts[index]
            segments.append(xy[index] + t[:, None] * np.diff(xy, axis=0)[index])
            lengths.append((length / parts)[index])
            cars.append(lengths[-1] * KINDS[kind].carriageway)
    houses, country = [], []
    for s in extract.shapes:
        if s.tags.get("building", "no") != "no":
            ring = frame.project(s.outers[0])
            height, _ = HeightModel.total(tagged_profile(s.tags))
            houses.append((*ring.mean(0), shapely.Polygon(ring).area, height or 0.0))
        elif land.cover_kind(s.tags) in COUNTRY:
            country += [p for r in s.outers if (p := shapely.Polygon(frame.project(r))).is_valid]
    h = np.array(houses).reshape(-1, 4)
    tags = [p.tags for p in extract.points]
    points = frame.project(extract.point_coords) if len(tags) else np.zeros((0, 2))
    business = np.array([("shop" in t) or ("office" in t) or t.get("amenity") in BUSINESS or t.get("tourism") == "hotel" for t in tags], float)
    signals = np.array([t.get("highway") in ("traffic_signals", "crossing") for t in tags], float)
    lattice = np.stack(np.meshgrid(*[start[i] + (np.arange(counts[i] * _SAMPLES) + 0.5) * cell / _SAMPLES for i in (0, 1)]), -1).reshape(-1, 2)
    covered = np.zeros(len(lattice))
    if country:
        covered[np.unique(shapely.STRtree(country).query(shapely.points(lattice), predicate="within")[0])] = 1.0
    xy, length = np.concatenate(segments), np.concatenate(lengths)
    return np.stack([
        spread(xy, length), spread(xy, np.concatenate(cars)), spread(h, h[:, 2]), spread(h, np.ones(len(h))), spread(h, h[:, 2] * (h[:, 3] > 0)), spread(h, h[:, 2] * h[:, 3]),
        spread(points, business), spread(points, signals), spread(lattice, covered),
    ])  # fmt: skip
