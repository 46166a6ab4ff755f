"""Lots whose building a user's CityEngine rule package makes, through `rule_packages`; the others keep ours."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import manifold3d
import numpy as np
import shapely
from shapely.geometry import Polygon
from shapely.geometry.polygon import orient

from flaneur.city.grammar.built import BuiltBuilding, Facade
from flaneur.city.grammar.mesh import MATERIAL_INDEX
from flaneur.city.grammar.outlines import largest
from flaneur.city.grammar.rule_packages import generate
from flaneur.city.grammar.solid import SNAP, is_closed
from flaneur.city.layout.graph import CityGraph
from flaneur.city.planning.library import ARCHITECTURE_STYLES
from flaneur.city.scene import Prototype
from flaneur.classes import load_classes
from flaneur.errors import UserError

SMALLEST_VOLUME = 5.0  # m3
SHED_VOLUME = 100.0  # m3
SKYSCRAPER_HEIGHT = 60.0  # metres
OUTSIDE = 0.05  # metres that a model may reach over its lot: rounding, no more
WALL, ROOF = "plaster_perimeter_wall", "roof_gravel"
TILE = 3.0  # metres: one repeat of either


def package_lots(graph: CityGraph, buildings: list[BuiltBuilding], package: Path, style: str, seed: int) -> tuple[list[BuiltBuilding], dict[str, Any]]:
    """The buildings with the package's in place of ours on lots of that style ("": all), and the record for the provenance.

    A lot for which the package makes nothing, or nothing watertight within the lot, keeps our building and is counted.
    """
    if style and style not in ARCHITECTURE_STYLES:
        raise UserError(f"package lots '{style}': no such architecture style; known are {', '.join(ARCHITECTURE_STYLES)}")
    lots = [shapely.Polygon(lot.polygon.exterior, lot.polygon.holes) for lot in graph.lots]
    tree = shapely.STRtree(lots)
    chosen: list[tuple[int, Polygon]] = []
    for k, building in enumerate(buildings):
        if not building.mapped and (not style or building.style == style):
            chosen += [(k, lots[j]) for j in tree.query(building.footprint.representative_point(), "within").tolist()[:1]]
    record = {"file": Path(package).name, "style": style or "all", "lots": len(chosen), "built": 0, "kept": 0}
    rings = [np.array(orient(lot, 1.0).exterior.coords[:-1]) for _, lot in chosen]
    seeds = [int(np.random.default_rng([seed & 0xFFFFFFFF, k]).integers(2**31)) for k, _ in chosen]
    models = generate(package, rings, [{}] * len(rings), seeds)
    out = list(buildings)
    for (k, lot), model in zip(chosen, models, strict=True):
        building = _building(buildings[k], lot, *model) if model is not None else None
        if building is not None:
            out[k] = building
        record["built" if building is not None else "kept"] += 1
    if chosen and not record["built"]:
        raise UserError(f"{package}: no watertight building within its lot on any of {len(chosen)} lots; close the package's volumes or choose other lots with --package-lots")
    return out, record


def _building(ours: BuiltBuilding, lot: Polygon, vertices: np.ndarray, faces: np.ndarray) -> BuiltBuilding | None:
    """Ours with the package's mesh [V, 3], [F, 3]; None where that is no closed solid that stands within the lot."""
    corners, index = np.unique(np.rint(vertices.astype(np.float64) / SNAP).astype(np.int64), axis=0, return_inverse=True)
    triangles = index.reshape(-1)[faces]
    a, b, c = triangles.T
    triangles = triangles[(a != b) & (b != c) & (c != a)].astype(np.int32)
    if len(triangles) < 4 or not is_closed(triangles) or abs(int(corners[:, 2].min())) > 5:
        return None
    points = corners * SNAP
    shadow = shapely.union_all([p for t in triangles if (p := Polygon(points[t, :2])).area > 1e-6])
    if not lot.buffer(OUTSIDE).contains(shadow):
        return None
    solid = manifold3d.Manifold(manifold3d.Mesh(vert_properties=points.astype(np.float32), tri_verts=triangles.astype(np.uint32)))
    volume = float(solid.volume())
    if solid.status() != manifold3d.Error.NoError or volume < SMALLEST_VOLUME:
        return None
    footprint = orient(Polygon(largest(shadow).exterior), 1.0)
    centre = np.round(np.array([*footprint.centroid.coords[0], 0.0]), 2)
    local = points[triangles] - centre  # [F, 3, 3] metres
    normal = np.cross(local[:, 1] - local[:, 0], local[:, 2] - local[:, 0])
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)
    top = float(points[:, 2].max())
    kind = "shed" if volume < SHED_VOLUME else "skyscraper" if top >= SKYSCRAPER_HEIGHT else "building"
    prototype = Prototype(
        f"{ours.prototype.name}_package", load_classes()[kind].id, ours.fine_name, local.reshape(-1, 3).astype(np.float32), np.arange(3 * len(local), dtype=np.int32).reshape(-1, 3),
        _texture(local, normal).reshape(-1, 2).astype(np.float32), np.where(normal[:, 2] > 0.7, MATERIAL_INDEX[ROOF], MATERIAL_INDEX[WALL]).astype(np.uint16), volume,
    )  # fmt: skip
    ring = [(x, y) for x, y, *_ in footprint.exterior.coords]
    # Where doors and flat roofs are in a package's mesh is not known: nothing is placed at or on them.
    return replace(
        ours, prototype=prototype, position=centre, footprint=footprint, entrances=[], flat_roofs=[], obstacles=[],
        facades=[Facade(p, q, top) for p, q in itertools.pairwise(ring)],
    )  # fmt: skip


def _texture(corners: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """uv [F, 3, 2] in tiles: walls along their foot and height, the rest from above."""
    flat = np.abs(normal[:, 2]) > 0.7
    along = np.stack([-normal[:, 1], normal[:, 0]], 1) / np.maximum(np.hypot(normal[:, 0], normal[:, 1]), 1e-9)[:, None]
    u = np.where(flat[:, None], corners[..., 0], (corners[..., :2] * along[:, None]).sum(2))
    v = np.where(flat[:, None], corners[..., 1], corners[..., 2])
    return np.stack([u, v], 2) / TILE
