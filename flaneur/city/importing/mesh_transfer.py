"""A mesh without labels and a labelled cloud of the same place: every spot of the mesh takes the nearest points' label.

The scene is then built as from points, only that the points now lie on the mesh: as dense as the raster asks for and
in the mesh's own colours. A photogrammetric mesh is one skin without things in it; this way its buildings, trees and
vehicles become closed solids of their own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import KDTree

from flaneur.city.importing import las, urbanbis
from flaneur.city.importing.cloud import IGNORED, POINT, WINDOW, Cloud
from flaneur.city.importing.mesh_files import Part
from flaneur.city.importing.surface import scene_from_cloud
from flaneur.city.importing.tiles import Tiles
from flaneur.city.scene import Scene
from flaneur.errors import UserError

DENSITY = 25.0  # points on a square metre of mesh: four a raster cell
NEAREST = 5  # points of the cloud that vote
REACH = 1.5  # metres beyond which the cloud says nothing about the mesh
OVERLAP = 0.3  # share of the mesh's points in the window that must find a label


def scene_from_transfer(parts: list[Part], cloud: list[Path], corner: tuple[float, float], name: str, origin: dict[str, Any], provenance: dict[str, Any], licence: str, source: str) -> Scene:
    """parts in metres, z up, in the cloud's coordinates."""
    points = _labelled_points(cloud, corner, parts, source)
    places, colors, colored = sample_faces(parts, corner)
    if not len(places):
        raise UserError(f"{source}: no surface in the window of {cloud[0]}; mesh and cloud need the same coordinates, choose the place with --window X,Y")
    label, instance = transfer(places, points, corner)
    share = float((label != IGNORED).mean())
    if share < OVERLAP:
        raise UserError(f"{source}: only {share:.0%} of the mesh lies within {REACH} m of a labelled point of {cloud[0]}; mesh and cloud need the same coordinates and heights")
    found = Cloud(places.astype(np.float32), colors, label, instance, colored)
    return scene_from_cloud(found, name, origin, {**provenance, "labels": [f.name for f in cloud], "points": len(places)}, licence)


def _labelled_points(cloud: list[Path], corner: tuple[float, float], parts: list[Part], source: str) -> np.ndarray:  # [n] POINT
    with Tiles(corner) as tiles:
        for file in cloud:
            for block in las.read_chunks(file) if file.suffix.lower() in (".las", ".laz") else urbanbis.read_blocks(file):
                tiles.add(block[block["label"] != IGNORED])
        found = [points for _, points in tiles.windows()]
    if not found:
        low, high = np.min([p.vertices.min(0) for p in parts], 0), np.max([p.vertices.max(0) for p in parts], 0)
        raise UserError(f"{cloud[0]}: no labelled points where {source} lies (x {low[0]:.0f}..{high[0]:.0f}, y {low[1]:.0f}..{high[1]:.0f}); mesh and cloud need the same coordinates")
    return found[0]


def sample_faces(parts: list[Part], corner: tuple[float, float]) -> tuple[np.ndarray, np.ndarray, bool]:
    """Points [n, 3] in the window's frame and colours [n, 3] u8, evenly spread over the surface; whether the mesh has colours."""
    rng = np.random.default_rng(0)
    places, colors = [np.zeros((0, 3))], [np.zeros((0, 3), np.uint8)]
    colored = all(p.color is not None for p in parts)
    for part in parts:
        triangles = part.vertices[part.faces] - (*corner, 0.0)
        middle = triangles[..., :2].mean(1)
        near = ((middle > -10) & (middle < WINDOW + 10)).all(1)
        triangles = triangles[near]
        a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
        area = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2
        counts = np.diff(np.floor(np.cumsum(area * DENSITY) + rng.random()).astype(np.int64), prepend=0)
        face = np.repeat(np.arange(len(triangles)), counts)
        u, v = rng.random((2, len(face)))
        fold = u + v > 1
        u[fold], v[fold] = 1 - u[fold], 1 - v[fold]
        spots = a[face] + (b - a)[face] * u[:, None] + (c - a)[face] * v[:, None]
        inside = ((spots[:, :2] >= 0) & (spots[:, :2] < WINDOW)).all(1)
        places.append(spots[inside])
        colors.append(part.color[near][face][inside] if part.color is not None else np.full((int(inside.sum()), 3), 128, np.uint8))
    return np.concatenate(places), np.concatenate(colors), colored


def transfer(places: np.ndarray, points: np.ndarray, corner: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Label [n] u8 and instance [n] i32 by the most votes among the nearest points (dtype POINT) within reach."""
    assert points.dtype == POINT
    known = np.stack([points["x"] - corner[0], points["y"] - corner[1], points["z"]], 1)
    distance, index = (np.asarray(found) for found in KDTree(known).query(places, NEAREST, distance_upper_bound=REACH))
    reached = np.isfinite(distance)
    votes = np.where(reached, points["label"][np.where(reached, index, 0)], IGNORED)
    support = ((votes[:, :, None] == votes[:, None, :]) & reached[:, :, None]).sum(2)
    best = support.argmax(1)  # of equally many votes, the nearest point's
    row = np.arange(len(places))
    chosen = np.where(reached[row, best], index[row, best], 0)
    label = np.where(reached.any(1), votes[row, best], IGNORED).astype(np.uint8)
    return label, np.where(label == IGNORED, -1, points["instance"][chosen]).astype(np.int32)
