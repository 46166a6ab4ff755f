"""What each object covers on the ground."""

from __future__ import annotations

from typing import Any

import numpy as np
import shapely

from flaneur.city.scene import Prototype, Scene

MESH_GROUPS = ("large", "background")  # footprint by projecting the mesh; the rest get their oriented box
SLIVER = 1e-4  # metres: what scenes are quantised to


def footprint(p: Prototype) -> Any:
    """Projection of a mesh on the ground, in its local frame: a polygon or multipolygon."""
    corners = p.vertices[p.faces][:, :, :2].astype(np.float64)  # [F, 3, 2]
    a, b = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    flat = np.abs(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]) > 2 * SLIVER**2
    if not flat.any():
        return shapely.convex_hull(shapely.multipoints(p.vertices[:, :2].astype(np.float64)))
    triangles = shapely.polygons(corners[flat])
    return shapely.normalize(shapely.remove_repeated_points(shapely.union_all(triangles, grid_size=SLIVER), SLIVER))


def footprints(scene: Scene, rows: np.ndarray) -> np.ndarray:
    """[n] shapely geometries in the window's frame, metres."""
    low = np.array([p.vertices.min(0) for p in scene.prototypes], np.float64)[:, :2]
    high = np.array([p.vertices.max(0) for p in scene.prototypes], np.float64)[:, :2]
    local: dict[int, Any] = {}
    out = np.empty(len(rows), object)
    for n, row in enumerate(rows):
        k = int(scene.instances.prototype[row])
        if k not in local:
            group = scene.classes[scene.prototypes[k].class_id].group
            local[k] = footprint(scene.prototypes[k]) if group in MESH_GROUPS else shapely.box(*low[k], *high[k])
        m = scene.transform[row]
        # row and m are used up within this call of transform.
        out[n] = shapely.transform(local[k], lambda xy, m=m: xy @ m[:2, :2].T + m[:2, 3])
    return out
