"""The ground as surfaces: one piece per background class and quarter of the window, following the height field."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy import ndimage

from flaneur.city.importing.builder import INDEX, SceneBuilder, nearest_material
from flaneur.city.importing.cloud import WINDOW
from flaneur.city.importing.raster import Raster
from flaneur.classes import load_classes

SMOOTH = 1.6  # metres over which the ground's colour is averaged
PIECES = 4  # per side: background instances of 50 m
PALETTES = {
    "terrain": ("grass", "meadow", "soil", "asphalt", "asphalt_light", "concrete", "pavement_brick", "sand"),
    "road": ("asphalt", "asphalt_light", "pavement_brick", "concrete"),
    "pavement": ("pavement_slab", "pavement_brick", "concrete"),
    "water": ("water",),
}
DEFAULTS = {"terrain": "grass", "road": "asphalt", "pavement": "pavement_slab", "water": "water"}


def add_ground(builder: SceneBuilder, raster: Raster, colored: bool) -> None:
    """Cells of the height field that hold one class are two triangles; mixed ones are cut into runs of raster cells."""
    classes = load_classes()
    n, nodes = len(raster.label), len(raster.ground) - 1
    fine = n // nodes
    blocks = raster.ground_label.reshape(nodes, fine, nodes, fine).transpose(0, 2, 1, 3)
    uniform = (blocks == blocks[:, :, :1, :1]).all((2, 3))
    row, column = np.nonzero(uniform)
    quads = [np.stack([row, column, row + 1, column + 1, blocks[row, column, 0, 0]], 1).astype(float)]
    for i, j in np.argwhere(~uniform):
        for r in range(fine):
            line = blocks[i, j, r]
            # Also cut where the square's own two triangles meet, so that every quad lies on the surface and none gapes.
            cuts = sorted({0, r, r + 1, fine, *(np.flatnonzero(np.diff(line)) + 1).tolist()})
            quads.append(np.array([(i + r / fine, j + a / fine, i + (r + 1) / fine, j + b / fine, line[a]) for a, b in pairwise(cuts)]))
    all_quads = np.concatenate(quads)
    low, high = all_quads[:, :2], all_quads[:, 2:4]
    middle = (low + high) / 2
    label = all_quads[:, 4].astype(int)
    piece = np.floor(middle / nodes * PIECES).astype(int)
    paint = _painter(raster, colored)
    for c in np.unique(label):
        name = classes.names[c]
        for key in np.unique(piece[label == c], axis=0):
            mine = (label == c) & (piece == key).all(1)
            y0, x0, y1, x1 = low[mine, 0], low[mine, 1], high[mine, 0], high[mine, 1]
            corners = np.stack([np.stack(p, -1) for p in ((y0, x0), (y0, x1), (y1, x1), (y1, x0))], 1).reshape(-1, 2)
            heights = height_at(raster.ground, corners)
            vertices = np.column_stack([corners[:, 1] * WINDOW / nodes, corners[:, 0] * WINDOW / nodes, heights])
            k = np.arange(int(mine.sum()))[:, None] * 4
            faces = np.concatenate([k + (0, 1, 2), k + (0, 2, 3)])
            builder.surface(name, vertices, faces, paint(name))


def height_at(ground: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Height of the two triangles (split from south-west to north-east) of a node square at `at` [n, 2] = row, column in nodes."""
    n = len(ground) - 1
    i, j = (np.clip(np.floor(at[:, k]).astype(int), 0, n - 1) for k in range(2))
    fy, fx = at[:, 0] - i, at[:, 1] - j
    a, b, c, d = ground[i, j], ground[i, j + 1], ground[i + 1, j + 1], ground[i + 1, j]
    return np.where(fx >= fy, a + (b - a) * fx + (c - b) * fy, a + (c - d) * fx + (d - a) * fy)


def _ground_color(raster: Raster) -> np.ndarray:  # [n, n, 3]
    """Mean colour of the ground cells within SMOOTH metres: single points are noise, and crowns hide what is below them."""
    width = 2 * round(SMOOTH / raster.cell) + 1
    own = (raster.label == raster.ground_label)[..., None].astype(float)
    blur = lambda a: ndimage.uniform_filter(a, width, mode="nearest", axes=(0, 1))  # noqa: E731
    weight = blur(own)
    mean = blur(raster.color * own) / np.maximum(weight, 1e-6)
    return np.where(weight > 1e-3, mean, raster.color)


def _painter(raster: Raster, colored: bool):
    color = _ground_color(raster) if colored else raster.color

    def of_class(name: str):
        def paint(centre: np.ndarray, normal: np.ndarray) -> np.ndarray:
            if not colored:
                return np.full(len(centre), INDEX[DEFAULTS[name]])
            n = len(raster.label)
            j, i = (np.clip((centre[:, k] / raster.cell).astype(int), 0, n - 1) for k in range(2))
            return nearest_material(PALETTES[name], color[i, j])

        return paint

    return of_class
