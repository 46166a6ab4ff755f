"""A small invented place, 200 m x 200 m, as UrbanBIS text, CityJSON and a mesh."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import trimesh

EDGE, EDGE_TOP = (185.0, 180.0, 200.0, 200.0), 7.0  # a house that the window cuts
HOUSE, CAR, TREE, POND = (40.0, 40.0, 60.0, 55.0), (100.0, 90.0, 104.5, 92.0), (150.0, 60.0, 156.0, 66.0), (120.0, 120.0, 170.0, 160.0)
HOUSE_TOP, CAR_TOP, TREE_TOP = 9.0, 1.5, 6.0


def table(step: float = 0.5, corner: tuple[float, float] = (0.0, 0.0)) -> np.ndarray:
    """Rows [n, 9] in UrbanBIS's columns: what is seen from straight above, every `step` metres."""
    at = np.arange(step / 2, 200, step)
    x, y = (a.ravel() for a in np.meshgrid(at, at))
    rows = np.column_stack([x, y, np.full(len(x), 12.0), np.full((len(x), 3), (90, 120, 60)), np.zeros(len(x)), np.full((len(x), 2), -100)])
    for (x0, y0, x1, y1), top, color, label in (
        (HOUSE, HOUSE_TOP, (170, 60, 50), 6),
        (EDGE, EDGE_TOP, (150, 70, 50), 6),
        (CAR, CAR_TOP, (20, 40, 200), 4),
        (TREE, TREE_TOP, (40, 90, 30), 1),
        (POND, -0.5, (60, 90, 140), 2),
    ):
        inside = (x >= x0) & (x < x1) & (y >= y0) & (y < y1)
        rows[inside, 2] += top
        rows[inside, 3:7] = (*color, label)
        if label == 6:
            rows[inside, 7:] = (top, 0)  # a number of its own
    rows[:, :2] += corner
    return rows


def write_text(path: Path, rows: np.ndarray) -> Path:
    np.savetxt(path, rows, fmt=["%.3f"] * 3 + ["%d"] * 6)
    return path


def cityjson(**changes: Any) -> dict[str, Any]:
    """A house on a lawn that fills the window from 1000, 2000."""
    x0, y0, x1, y1 = HOUSE
    corners = [(0, 0, 0), (200, 0, 0), (200, 200, 0), (0, 200, 0), *((x, y, z) for z in (0, HOUSE_TOP) for x, y in ((x0, y0), (x1, y0), (x1, y1), (x0, y1)))]
    walls = [[[4 + k, 4 + (k + 1) % 4, 8 + (k + 1) % 4, 8 + k]] for k in range(4)]
    solid = [[[[7, 6, 5, 4]], [[8, 9, 10, 11]], *walls]]
    return {
        "type": "CityJSON", "version": "2.0", "transform": {"scale": [1, 1, 1], "translate": [1000, 2000, 0]}, "vertices": [list(c) for c in corners],
        "CityObjects": {
            "house": {"type": "Building", "geometry": [{"type": "Solid", "lod": "1", "boundaries": solid}]},
            "lawn": {"type": "LandUse", "geometry": [{"type": "MultiSurface", "lod": "1", "boundaries": [[[0, 1, 2, 3]]]}]},
        },
        **changes,
    }  # fmt: skip


def write_json(path: Path, document: dict[str, Any]) -> Path:
    path.write_text(json.dumps(document), "utf-8")
    return path


def write_mesh(folder: Path, unit: float) -> list[str]:
    """A house on a lawn in an OBJ of `unit` metres, and its class table: the words of the command."""
    house = trimesh.creation.box(bounds=[(HOUSE[0], HOUSE[1], 0), (HOUSE[2], HOUSE[3], HOUSE_TOP)])
    lawn = trimesh.Trimesh([(0, 0, 0), (200, 0, 0), (200, 200, 0), (0, 200, 0)], [(0, 1, 2), (0, 2, 3)])
    lines, total = [], 1
    for name, mesh in (("house", house), ("lawn", lawn)):
        lines += [f"o {name}", *("v {:.6g} {:.6g} {:.6g}".format(*v) for v in mesh.vertices / unit)]
        lines += ["f {} {} {}".format(*f) for f in mesh.faces + total]
        total += len(mesh.vertices)
    (folder / "town.obj").write_text("\n".join(lines) + "\n")
    (folder / "classes.toml").write_text('by = "object"\n[classes]\nhouse = "building"\nlawn = "terrain"\n')
    return ["city", "import", "town.obj", "--format", "mesh", "--table", "classes.toml", "--out", "city"]
