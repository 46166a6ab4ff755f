"""Buildings of a city: every mapped footprint and every lot becomes one watertight mesh."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import shapely
from shapely import affinity
from shapely.geometry import Polygon

from flaneur.city.grammar.built import BuiltBuilding, Facade
from flaneur.city.grammar.derive import derive, tint_of
from flaneur.city.grammar.interpreter import Model
from flaneur.city.grammar.jobs import Architect, Job, to_shapely
from flaneur.city.grammar.masses import MassPlan
from flaneur.city.grammar.mesh import BuildingMesh, build_mesh
from flaneur.city.grammar.outlines import clean, largest
from flaneur.city.grammar.surroundings import Surroundings, between_masses
from flaneur.city.layout.graph import CityGraph
from flaneur.city.planning.library import CityPlan, RuleLibrary
from flaneur.city.scene import Prototype
from flaneur.classes import load_classes

SKYSCRAPER_HEIGHT = 60.0  # metres
SHED_VOLUME = 100.0  # m3: below it a building is a shed
SMALLEST_VOLUME = 5.0  # m3: below it nothing is built
DETAIL_TRIANGLES = 13_000  # of a whole scene, shared evenly
DETAILS_EACH = (24, 200)  # triangles, least and most
LANDMARK_AREA = 1400.0  # m2: a lot from this size on may carry the city's landmark


def build_buildings(graph: CityGraph, plan: CityPlan, library: RuleLibrary, seed: int) -> list[BuiltBuilding]:
    """Every mapped building and every lot, in the order of the graph; what stays under 5 m3 is left out."""
    architect = Architect(graph, plan, library, seed)
    mapped = [(b, to_shapely(b.polygon)) for b in graph.buildings]
    lots = [(lot, to_shapely(lot.polygon)) for lot in graph.lots]
    streets = Surroundings(graph, [p for _, p in mapped])
    landmark = _landmark(graph, architect)
    jobs = [architect.mapped(b, p) for b, p in mapped if not p.is_empty]
    jobs += [job for lot, p in lots if (job := architect.lot(lot, p, streets, lot.id == landmark)) is not None]
    cleaned = [_clean_plans(job) for job in jobs]
    footprints = [shapely.union_all([p.polygon for p in plans]) if plans else Polygon() for plans in cleaned]
    around = Surroundings(graph, [largest(f) for f in footprints])
    flat_plans = [(k, p.polygon) for k, plans in enumerate(cleaned) for p in plans]
    kinds = around.kinds([p for _, p in flat_plans], [k for k, _ in flat_plans])
    budget = int(np.clip(DETAIL_TRIANGLES / max(len(jobs), 1), *DETAILS_EACH))
    built, at = [], 0
    for number, (job, plans) in enumerate(zip(jobs, cleaned, strict=True)):
        own = between_masses(plans, kinds[at : at + len(plans)])
        at += len(plans)
        if plans and (building := _build(job, plans, own, around, number, budget)) is not None:
            built.append(building)
    return built


def _landmark(graph: CityGraph, architect: Architect) -> int | None:
    """The largest lot of a centre that carries towers; one that the layout reserves for a tower comes first."""
    if graph.place_type != "cbd":
        return None
    lots = [(lot.use == "tower", to_shapely(lot.polygon).area, -lot.id) for lot in graph.lots if lot.use == "tower" or (not lot.use and architect.style(lot.block) in ("glass_tower", "stone_office"))]
    _, area, number = max((lot for lot in lots if lot[1] >= LANDMARK_AREA), default=(False, 0.0, 0))
    return -number if area else None


def _clean_plans(job: Job, erode: float = 0.0) -> list[MassPlan]:
    plans = []
    for k, plan in enumerate(job.plans):
        # Neighbouring parts are drawn in by different hairs, so that no two share an edge.
        polygon = clean(plan.polygon, erode=erode * (1 + k % 3))
        if not polygon.is_empty and polygon.area > 0.5:
            plans.append(replace(plan, polygon=polygon))
    return plans


def _build(job: Job, plans: list[MassPlan], kinds: list[list[list[str]]], around: Surroundings, number: int, budget: int) -> BuiltBuilding | None:
    low = min(plan.low for plan in plans)
    if sum(p.polygon.area * (p.height - p.low) for p in plans) < SMALLEST_VOLUME:
        return None
    bounds = shapely.union_all([p.polygon for p in plans]).bounds
    centre = round((bounds[0] + bounds[2]) / 2, 2), round((bounds[1] + bounds[3]) / 2, 2)
    small = plans[0].polygon.area * (job.top - low) < SHED_VOLUME
    model, mesh = _first_closed(job, plans, kinds, around, number, centre, 12 if small else budget)
    if mesh is None or mesh.volume < SMALLEST_VOLUME:
        return None
    kind = "shed" if mesh.volume < SHED_VOLUME else "skyscraper" if job.top >= SKYSCRAPER_HEIGHT else "building"
    fine = ("garden shed" if job.style == "timber_house" else "garage") if kind == "shed" and job.fine_name not in ("kiosk", "hut", "carport", "greenhouse") else job.fine_name
    prototype = Prototype(job.name, load_classes()[kind].id, fine, mesh.vertices, mesh.faces, mesh.uv, mesh.materials, mesh.volume)
    return _described(job, prototype, model, plans, kinds, centre)


def _first_closed(job: Job, plans: list[MassPlan], kinds: list[list[list[str]]], around: Surroundings, number: int, centre: tuple[float, float], budget: int) -> tuple[Model, BuildingMesh | None]:
    """The full building; where snapping pinches it, the same with its outlines drawn in by 1 and 2 cm, then without roof and details."""
    model = Model()
    for erode, plain in ((0.0, False), (0.01, False), (0.02, False), (0.02, True), (0.06, True)):
        tried = plans if not erode else _clean_plans(job, erode)
        if not tried:
            continue
        sides = kinds if not erode else between_masses(tried, around.kinds([p.polygon for p in tried], [number] * len(tried)))
        model = derive(job, tried, sides, centre, budget, plain)
        mesh = build_mesh(model)
        if mesh is not None:
            return model, mesh
    return model, None


def _described(job: Job, prototype: Prototype, model: Model, plans: list[MassPlan], kinds: list[list[list[str]]], centre: tuple[float, float]) -> BuiltBuilding:
    cx, cy = centre
    ground = [(p, k) for p, k in zip(plans, kinds, strict=True) if p.low < 0.3] or list(zip(plans, kinds, strict=True))
    outline = shapely.union_all([p.polygon for p, _ in ground])
    footprint = job.footprint if job.mapped else largest(outline)
    # A garage may stand apart from its house: nothing is placed in the smaller of the two either.
    apart = [] if job.mapped else [part for part in getattr(outline, "geoms", ()) if not footprint.covers(part)]
    facades = []
    for p, rings in ground:
        for ring, row in zip((p.polygon.exterior, *p.polygon.interiors), rings, strict=True):
            corners = [(x, y) for x, y in ring.coords]
            facades += [Facade(a, b, p.height - p.roof_height, kind != "party") for a, b, kind in zip(corners, corners[1:], row, strict=False)]
    return BuiltBuilding(
        prototype, np.array([cx, cy, 0.0]), footprint, job.block, job.rule, job.style, tint_of(job), job.mapped, job.clipped, job.osm, job.title,
        entrances=[(round(px + cx, 3), round(py + cy, 3), float(np.arctan2(oy, ox))) for (px, py), (ox, oy) in model.doors],
        flat_roofs=[(affinity.translate(p, cx, cy), z) for p, z in model.flat_roofs],
        obstacles=[(affinity.translate(p, cx, cy), low, high) for p, low, high in model.obstacles] + [(part, -1.0, float(prototype.vertices[:, 2].max())) for part in apart],
        facades=facades,
    )  # fmt: skip
