"""Clearance from buildings: what hangs on walls, stands on roofs or reaches under eaves is tested against the true mesh.

Footprints and flat roofs are what the placer knows of a building; balconies, cornices and roof works are in the mesh alone.
"""

from __future__ import annotations

import numpy as np
import shapely
from manifold3d import Manifold, Mesh
from shapely import STRtree

from flaneur.city.grammar.built import BuiltBuilding
from flaneur.city.grammar.placer import Places
from flaneur.city.scene import Prototype

TOUCH = 1e-5  # m3 that may be shared
EAVES = 2.4  # metres
OVERHANG, NEAR = 1.0, 0.3  # metres around footprint, steps and canopies in which objects above and below EAVES may meet the mesh


def solid_of(prototype: Prototype) -> Manifold:
    mesh = Mesh(vert_properties=np.array(prototype.vertices, np.float32), tri_verts=np.array(prototype.faces, np.uint32))
    mesh.merge()
    return Manifold(mesh)


def clear_of_buildings(places: Places, prototypes: list[Prototype], buildings: list[BuiltBuilding]) -> np.ndarray:
    """[n] bool: the solid shares nothing with any building's."""
    clear = np.ones(len(places), bool)
    if not len(places) or not buildings:
        return clear
    top = np.array([float(b.prototype.vertices[:, 2].max()) for b in buildings])
    reach = np.array([np.hypot(*np.abs(p.vertices[:, :2]).max(0)) for p in prototypes])[places.prototype] * places.scale
    height = np.array([p.vertices[:, 2].max() for p in prototypes])[places.prototype] * places.scale + places.position[:, 2]
    far = np.where(height > EAVES, OVERHANG, NEAR)
    outlines = [shapely.union_all([b.footprint, *(o[0] for o in b.obstacles)]) for b in buildings]
    place, building = STRtree(outlines).query(shapely.points(places.position[:, :2]), predicate="dwithin", distance=reach + far)
    below = places.position[place, 2] < top[building]
    place, building = place[below], building[below]
    solids: dict[int, Manifold] = {}
    for b in np.unique(building):
        near = place[building == b]
        placed = [_placed(solids, places, int(k), prototypes) for k in near]
        wall = solid_of(buildings[b].prototype).translate(tuple(buildings[b].position))
        if (wall ^ Manifold.compose(placed)).volume() < TOUCH:
            continue
        for k, solid in zip(near, placed, strict=True):
            clear[k] &= (wall ^ solid).volume() < TOUCH
    return clear


def _placed(solids: dict[int, Manifold], places: Places, k: int, prototypes: list[Prototype]) -> Manifold:
    p = int(places.prototype[k])
    if p not in solids:
        solids[p] = solid_of(prototypes[p])
    c, s, scale = np.cos(places.yaw[k]), np.sin(places.yaw[k]), places.scale[k]
    x, y, z = places.position[k]
    return solids[p].transform(np.array([[c * scale, -s * scale, 0, x], [s * scale, c * scale, 0, y], [0, 0, scale, z]]))
