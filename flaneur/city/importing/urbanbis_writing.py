"""A cloud in UrbanBIS's exact format, sampled from one of our cities: a test of every label path without the data set."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import ndimage

from flaneur.city.export.files import replacing
from flaneur.city.export.points import sample
from flaneur.city.scene import Scene

SEMANTIC = {
    "terrain": 0, "road": 0, "pavement": 0, "water": 2, "tree": 1, "shrub": 1, "car": 4, "truck": 4, "bus": 4, "building": 6, "skyscraper": 6, "shed": 6, "kiosk": 6, "tank": 6,
}  # fmt: skip
IGNORED = -100
OCCLUSION = 0.05  # metres: the raster in which points below other points are found
TOLERANCE = 0.6  # metres below the highest point of a raster cell that still counts as seen


def write_urbanbis(scene: Scene, path: Path, density: float = 50.0, seed: int = 0, offset: tuple[float, float] = (0.0, 0.0)) -> int:
    """Write what an aerial survey would see of the scene; the number of points. `offset` shifts x and y by metres."""
    points = sample(scene, density, seed)
    points = points[seen_from_air(points, scene.size)]
    names = scene.classes.names
    semantic = np.array([SEMANTIC.get(n, IGNORED) for n in names])[points["label"]]
    instance = np.where(semantic == 6, points["instance"], IGNORED)
    kind = np.where(semantic == 6, 0, IGNORED)
    table = np.column_stack([points["x"] + offset[0], points["y"] + offset[1], points["z"].astype(np.float64)])
    with replacing(Path(path)) as target, target.open("w", encoding="ascii") as file:
        for k in range(0, len(table), 1 << 18):
            rows = slice(k, k + (1 << 18))
            columns = (*table[rows].T.tolist(), *(points[c][rows].tolist() for c in ("red", "green", "blue")), semantic[rows].tolist(), instance[rows].tolist(), kind[rows].tolist())
            file.write("".join(f"{x:.3f} {y:.3f} {z:.3f} {r} {g} {b} {s} {i} {t}\n" for x, y, z, r, g, b, s, i, t in zip(*columns, strict=True)))
    return len(table)


def seen_from_air(points: np.ndarray, size: float) -> np.ndarray:
    """[n] bool: nothing above it, or the point's own wall. Gaps between the points of a roof are closed, its edges stay."""
    n = round(size / OCCLUSION)
    at = np.clip((points["y"] / OCCLUSION).astype(np.int32), 0, n - 1) * n + np.clip((points["x"] / OCCLUSION).astype(np.int32), 0, n - 1)
    order = np.argsort(points["z"], kind="stable")
    highest = np.zeros(n * n, np.int64)
    highest[at[order]] = order
    filled = np.full(n * n, points["z"].min(), np.float32)
    filled[at] = points["z"][highest[at]]
    width = 2 * round(1.5 / np.sqrt(len(points) / size**2) / OCCLUSION) + 1
    closed = ndimage.grey_closing(filled.reshape(n, n), (width, width)).ravel()
    return (points["z"] > closed[at] - TOLERANCE) | (points["instance"] == points["instance"][highest[at]])
