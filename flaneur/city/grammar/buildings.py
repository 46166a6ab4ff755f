"""Buildings of a city: every mapped footprint and every lot becomes one watertight mesh."""

from __future__ import annotations

import manifold3d
import numpy as np
from shapely.geometry import Polygon
from shapely.geometry.polygon import orient

from flaneur.city.assets.materials import MATERIALS
from flaneur.city.grammar.built import BuiltBuilding, Facade
from flaneur.city.layout.graph import CityGraph
from flaneur.city.layout.graph import Polygon as GraphPolygon
from flaneur.city.planning.library import CityPlan, RuleLibrary
from flaneur.city.scene import Prototype
from flaneur.classes import load_classes

SKYSCRAPER_HEIGHT = 60.0  # metres
SHED_VOLUME = 100.0  # m3: below it a building is a shed
SMALLEST_VOLUME = 5.0  # m3: below it nothing is built


def _shapely(polygon: GraphPolygon) -> Polygon:
    return orient(Polygon(polygon.exterior, polygon.holes))


def _simple(footprint: Polygon, height: float, name: str, style: str) -> tuple[Prototype, np.ndarray]:
    names = list(MATERIALS)
    centre = np.round(np.array(footprint.centroid.coords[0]), 2)
    rings = [np.round(np.array(r.coords)[:-1] - centre, 2) for r in (footprint.exterior, *footprint.interiors)]
    solid = manifold3d.Manifold.extrude(manifold3d.CrossSection(rings, manifold3d.FillRule.EvenOdd), height)
    mesh = solid.to_mesh()
    vertices, faces = np.asarray(mesh.vert_properties)[:, :3], np.asarray(mesh.tri_verts)
    corners = vertices[faces]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    uv = np.where(np.abs(normal[:, None, 2:]) > 0, corners[..., :2] / 4, np.stack([corners[..., 0] + corners[..., 1], corners[..., 2]], -1) / 3)
    volume = float(solid.volume())
    kind = "shed" if volume < SHED_VOLUME else "skyscraper" if height >= SKYSCRAPER_HEIGHT else "building"
    materials = np.where(normal[:, 2] > 0, names.index("roof_gravel"), names.index("concrete")).astype(np.uint16)
    flat = np.arange(3 * len(faces), dtype=np.int32).reshape(-1, 3)
    prototype = Prototype(name, load_classes()[kind].id, style.replace("_", " "), corners.reshape(-1, 3).astype(np.float32), flat, uv.reshape(-1, 2).astype(np.float32), materials, volume)
    return prototype, np.array([centre[0], centre[1], 0.0])


def build_buildings(graph: CityGraph, plan: CityPlan, library: RuleLibrary, seed: int) -> list[BuiltBuilding]:
    """Every mapped building and every lot, in the order of the graph."""
    rules = {r.name: r for r in library.rules}
    assigned = {a.block: a for a in plan.assignments}
    built = []
    for k, item in enumerate([*graph.buildings, *graph.lots]):
        assignment = assigned.get(item.block)
        rule = rules.get(assignment.rule) if assignment else None
        mapped = k < len(graph.buildings)
        if not mapped and (rule is None or rule.architecture is None):
            continue
        style = "plaster_perimeter" if rule is None or rule.architecture is None else (assignment.style or rule.architecture.style)
        footprint = _shapely(item.polygon)
        height = 3.2 * rule.architecture.storeys.default if not mapped else item.height
        footprint = footprint if mapped else footprint.buffer(-2.0, join_style="mitre")
        if footprint.geom_type != "Polygon" or footprint.area * height < SMALLEST_VOLUME:
            continue
        prototype, position = _simple(footprint, height, f"{'building' if mapped else 'lot'}_{item.id}", style)
        ring = list(footprint.exterior.coords)
        facades = [Facade(a, b, height) for a, b in zip(ring, ring[1:], strict=False)]
        a, b = max(zip(ring, ring[1:], strict=False), key=lambda e: (e[0][0] - e[1][0]) ** 2 + (e[0][1] - e[1][1]) ** 2)
        outward = float(np.arctan2(a[0] - b[0], b[1] - a[1]))
        built.append(BuiltBuilding(
            prototype, position, footprint, item.block, rule.name if rule else "", style, np.array([220, 214, 200], np.uint8), mapped,
            clipped=bool(getattr(item, "clipped", False)), osm=getattr(item, "osm", None), name=getattr(item, "name", ""),
            entrances=[((a[0] + b[0]) / 2, (a[1] + b[1]) / 2, outward)], flat_roofs=[(footprint, height)], facades=facades,
        ))  # fmt: skip
    return built
