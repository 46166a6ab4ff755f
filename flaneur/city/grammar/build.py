"""The whole grammar: CityGraph + RuleLibrary + CityPlan + seed -> Scene."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from shapely import STRtree

from flaneur import __version__
from flaneur.city.assets.catalogue import Catalogue, load_catalogue
from flaneur.city.assets.materials import MATERIALS
from flaneur.city.grammar.buildings import build_buildings
from flaneur.city.grammar.built import BuiltBuilding
from flaneur.city.grammar.clearance import clear_of_buildings
from flaneur.city.grammar.edge import cut_at_window
from flaneur.city.grammar.ground import lay_ground
from flaneur.city.grammar.ground_mesh import ground_meshes
from flaneur.city.grammar.mapped import OSM_TYPES, place_mapped
from flaneur.city.grammar.packaged import package_lots as build_packaged
from flaneur.city.grammar.placer import Places
from flaneur.city.grammar.scatter import Stock, generator, scatter, settle
from flaneur.city.grammar.sites import survey
from flaneur.city.grammar.streets import lay_streets, to_shapely
from flaneur.city.layout.graph import CityGraph
from flaneur.city.planning.library import CityPlan, RuleLibrary
from flaneur.city.scene import Instances, Prototype, Scene

OSM_LICENCE = "(c) OpenStreetMap contributors, ODbL 1.0"
UV_STEP = 1e-3  # tiles
_FIELDS = ("prototype", "position", "yaw", "scale", "tint", "block", "rule", "osm_id", "osm_type", "clipped")


def build_scene(
    graph: CityGraph, library: RuleLibrary, plan: CityPlan, seed: int, catalogue: Catalogue | None = None, light: str = "day", name: str = "",
    rule_package: Path | None = None, package_lots: str = "",
) -> Scene:  # fmt: skip
    """Build the city. The same graph, library, plan, seed and catalogue give the same scene, byte for byte.

    rule_package: a CityEngine .rpk that builds the lots of the architecture style `package_lots` ("": all lots).
    """
    streets = lay_streets(graph)
    buildings, packaged = build_buildings(graph, plan, library, seed), None
    if rule_package is not None:
        buildings, packaged = build_packaged(graph, buildings, rule_package, package_lots, seed)
    buildings = [cut_at_window(b, graph.size) for b in buildings]
    ground = lay_ground(graph, streets, np.array([e for b in buildings for e in b.entrances]).reshape(-1, 3))
    sites = survey(graph, streets, ground, buildings)
    stock = Stock(catalogue or load_catalogue(), graph.size, seed, graph.origin.lat if graph.origin else 50.0)
    obstacles = [(b.footprint, -1.0, float(b.prototype.vertices[:, 2].max())) for b in buildings] + [o for b in buildings for o in b.obstacles]
    stock.placer.add_solids([o[0] for o in obstacles], [o[1] for o in obstacles], [o[2] for o in obstacles])
    blocks = STRtree([to_shapely(b.polygon) for b in graph.blocks])
    placed = [Places.none(), *place_mapped(graph, sites, stock, blocks, seed), *scatter(settle(graph, library, plan), sites, stock, seed)]
    objects = Places.join(placed)
    objects = objects.take(clear_of_buildings(objects, stock.prototypes, buildings))
    surfaces = ground_meshes(graph, ground, streets, sites.bay_lines)
    prototypes, instances = _assemble(graph, library, objects, stock, buildings, surfaces, seed)
    prototypes, materials = _used_materials(prototypes)
    assigned = {a.block: a for a in plan.assignments}
    return Scene(
        name or graph.name, prototypes, instances, materials, np.zeros((2, 2), np.float32), graph.place_type, seed, graph.size, light,
        origin=graph.origin.model_dump() if graph.origin else {},
        blocks=[_block_record(b, assigned.get(b.id)) for b in graph.blocks], rules=[r.name for r in library.rules],
        licence=(graph.attribution or OSM_LICENCE) if graph.source == "osm" else "",
        provenance=_provenance(graph, library, plan, seed) | ({"rule_package": packaged} if packaged else {}),
    )  # fmt: skip


def _block_record(block: Any, assignment: Any) -> dict[str, Any]:
    record = {"id": block.id, "type": block.type, "name": block.name, "rule": assignment.rule if assignment else ""}
    return record | ({"semantics": assignment.semantics} if assignment and assignment.semantics else {})


def _provenance(graph: CityGraph, library: RuleLibrary, plan: CityPlan, seed: int) -> dict[str, Any]:
    digest = lambda model: hashlib.sha256(model.model_dump_json().encode()).hexdigest()  # noqa: E731
    return {
        "generator": f"flaneur {__version__}", "seed": seed, "graph_sha256": digest(graph),
        "library": library.name, "library_sha256": digest(library), "planner": plan.planner, "plan_sha256": digest(plan),
        "source": graph.source, "source_file": graph.source_file, "source_sha256": graph.source_sha256, "repairs": graph.repairs, "plan_repairs": plan.repairs,
    }  # fmt: skip


def _rows(places: Places, tint: np.ndarray) -> dict[str, np.ndarray]:
    n = len(places)
    return {k: getattr(places, k) for k in _FIELDS if k not in ("tint", "clipped")} | {"tint": tint, "clipped": np.zeros(n, bool)}


def _assemble(
    graph: CityGraph, library: RuleLibrary, objects: Places, stock: Stock, buildings: list[BuiltBuilding],
    surfaces: list[tuple[Prototype, np.ndarray, int]], seed: int,
) -> tuple[list[Prototype], Instances]:  # fmt: skip
    """Used prototypes and their instances, sorted by prototype, then block, then place."""
    rules = {r.name: k for k, r in enumerate(library.rules)}
    block_rows = {b.id: k for k, b in enumerate(graph.blocks)}
    tables = [_rows(objects, stock.tints(objects.prototype, generator(seed, "tints")))]
    single: list[Prototype] = []
    for b in buildings:
        osm = (b.osm.id, OSM_TYPES[b.osm.type]) if b.osm else (0, 0)
        tables.append(_single(len(stock.prototypes) + len(single), b.position, b.tint, block_rows.get(b.block, -1), rules.get(b.rule, -1), *osm, b.clipped))
        single.append(b.prototype)
    for prototype, at, block in surfaces:
        tables.append(_single(len(stock.prototypes) + len(single), at, np.full(3, 255, np.uint8), block, -1, 0, 0, False))
        single.append(prototype)
    columns = {k: np.concatenate([t[k] for t in tables]) for k in _FIELDS}
    order = np.lexsort((columns["position"][:, 1], columns["position"][:, 0], columns["block"], columns["prototype"]))
    columns = {k: v[order] for k, v in columns.items()}
    used, columns["prototype"] = np.unique(columns["prototype"], return_inverse=True)
    every = [*stock.prototypes, *single]
    types = {
        "prototype": np.int32, "position": np.float32, "yaw": np.float32, "scale": np.float32, "block": np.int32, "rule": np.int16, "osm_id": np.int64,
        "osm_type": np.uint8, "tint": np.uint8, "clipped": bool,
    }  # fmt: skip
    return [every[k] for k in used], Instances(**{k: columns[k].astype(types[k]) for k in _FIELDS})


def _single(prototype: int, at: np.ndarray, tint: np.ndarray, block: int, rule: int, osm_id: int, osm_type: int, clipped: bool) -> dict[str, np.ndarray]:
    values = (prototype, np.round(at, 2), 0.0, 1.0, tint, block, rule, osm_id, osm_type, clipped)
    return {k: np.asarray(v)[None] for k, v in zip(_FIELDS, values, strict=True)}


def _used_materials(prototypes: list[Prototype]) -> tuple[list[Prototype], list[str]]:
    """Material indices of the prototypes from the whole table to the names that this scene uses; faces in the order that packs best."""
    names = list(MATERIALS)
    used = np.unique(np.concatenate([p.materials for p in prototypes]))
    renumber = np.zeros(len(names), np.uint16)
    renumber[used] = np.arange(len(used))
    return [_packable(p, renumber) for p in prototypes], [names[k] for k in used]


def _packable(p: Prototype, renumber: np.ndarray) -> Prototype:
    """Every face begins with its first vertex and faces are sorted: the file shrinks by a quarter, the mesh is the same."""
    turn = (p.faces.argmin(1)[:, None] + np.arange(3)) % 3
    faces = np.take_along_axis(p.faces, turn, 1)
    order = np.lexsort((faces[:, 2], faces[:, 1], faces[:, 0]))
    uv = (np.rint(p.uv.astype(np.float64) / UV_STEP) * UV_STEP).astype(np.float32)
    return Prototype(p.name, p.class_id, p.fine_name, p.vertices, faces[order], uv, renumber[p.materials[order]], p.volume)
