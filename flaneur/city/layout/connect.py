"""Footpaths that join separate street networks, around buildings and water where there is a way."""

from __future__ import annotations

import numpy as np
import shapely
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import KDTree
from shapely.geometry.base import BaseGeometry

_STEP = 3.0  # metres between the places where a connector may start
_CELL = 2.0  # metres of the routing grid
_BUILDING_COST, _WATER_COST = 40.0, 15.0


def connectors(components: list[list[shapely.LineString]], square: shapely.Polygon, buildings: BaseGeometry, water: BaseGeometry) -> list[shapely.LineString]:
    """One line from every component but the first to its nearest neighbour."""
    obstacles = shapely.union_all([buildings, water]).buffer(0.4)
    shapely.prepare(obstacles)
    places = [_sample(c) for c in components]
    out: list[shapely.LineString] = []
    for k in range(1, len(components)):
        others = np.concatenate([p for i, p in enumerate(places) if i != k])
        line = _direct(places[k], others, obstacles)
        out.append(line if line is not None else _around(places[k], others, square, buildings, water))
    return out


def _sample(lines: list[shapely.LineString]) -> np.ndarray:  # [n, 2]
    parts = [shapely.get_coordinates(shapely.line_interpolate_point(line, np.append(np.arange(0.0, line.length, _STEP), line.length))) for line in lines]
    return np.round(np.concatenate(parts), 2)


def _direct(start: np.ndarray, others: np.ndarray, obstacles: BaseGeometry) -> shapely.LineString | None:
    distance, index = KDTree(others).query(start, k=min(6, len(others)))
    distance, index = distance.reshape(len(start), -1), index.reshape(len(start), -1)
    for flat in np.argsort(distance, axis=None, kind="stable")[:300]:
        i, j = divmod(int(flat), distance.shape[1])
        if distance[i, j] < 0.02:
            continue
        line = shapely.LineString([start[i], others[index[i, j]]])
        if not obstacles.intersects(line):
            return line
    return None


def _around(start: np.ndarray, others: np.ndarray, square: shapely.Polygon, buildings: BaseGeometry, water: BaseGeometry) -> shapely.LineString:
    """The cheapest path over a grid; through a building only where there is no other way."""
    n = int(np.ceil(square.bounds[2] / _CELL))
    centres = (np.arange(n) + 0.5) * _CELL
    x, y = np.meshgrid(centres, centres)  # [n, n] row is y
    cost = 1.0 + _BUILDING_COST * shapely.contains_xy(buildings.buffer(0.5), x, y) + _WATER_COST * shapely.contains_xy(water, x, y)
    cell = np.arange(n * n).reshape(n, n)
    rows, cols, weights = [], [], []
    for dx, dy, length in ((1, 0, 1.0), (0, 1, 1.0), (1, 1, 2**0.5), (1, -1, 2**0.5)):
        a = (slice(max(0, -dy), n - max(0, dy)), slice(0, n - dx))
        b = (slice(max(0, dy), n - max(0, -dy)), slice(dx, n))
        rows.append(cell[a].ravel())
        cols.append(cell[b].ravel())
        weights.append((length * (cost[a] + cost[b]) / 2).ravel())
    graph = coo_matrix((np.concatenate(weights), (np.concatenate(rows), np.concatenate(cols))), shape=(n * n, n * n)).tocsr()

    def cells(xy: np.ndarray) -> np.ndarray:
        ij = np.clip((xy / _CELL).astype(int), 0, n - 1)
        return cell[ij[:, 1], ij[:, 0]]

    sources, targets = np.unique(cells(start)), np.unique(cells(others))
    distance, before, _ = dijkstra(graph, directed=False, indices=sources, min_only=True, return_predecessors=True)
    at = int(targets[np.argmin(distance[targets])])
    path = [at]
    while before[path[-1]] >= 0:
        path.append(int(before[path[-1]]))
    middle = [(float(centres[c % n]), float(centres[c // n])) for c in path[::-1]]
    first = start[np.argmin(np.hypot(*(start - middle[0]).T))]
    last = others[np.argmin(np.hypot(*(others - middle[-1]).T))]
    inner = shapely.LineString(middle).simplify(1.0).coords if len(middle) > 1 else middle
    return shapely.LineString([tuple(first), *inner, tuple(last)])
