"""The start rules: from a job to a derived model."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
from shapely import affinity, union_all
from shapely.geometry import Polygon

from flaneur.city.assets.materials import MATERIALS
from flaneur.city.grammar import details
from flaneur.city.grammar.facades import facade_plan, facades, family_of
from flaneur.city.grammar.interpreter import Lot, Mass, Model, Wall
from flaneur.city.grammar.jobs import Job
from flaneur.city.grammar.masses import MassPlan
from flaneur.city.grammar.outlines import largest
from flaneur.city.grammar.roofs import Crown, flat, pitched
from flaneur.city.grammar.solid import Shell
from flaneur.city.grammar.styles import PLACES_OF_WORSHIP, STYLES, Style

OUTLINE_SHARE = 0.012  # of a mapped footprint: so much may its outline seen from above grow by cornice and details
HEIGHT_SHARE = 0.04  # of a mapped height: so far may a chimney rise above it
_BASE = {
    "plaster_perimeter": (236, 226, 206),
    "modern_apartment": (228, 228, 224),
    "shop_house": (238, 216, 170),
    "detached_house": (240, 238, 230),
    "timber_house": (206, 214, 218),
    "industrial": (164, 172, 178),
}


def tint_of(job: Job) -> np.ndarray:  # [3] u8
    """The mapped colour, else one of the style's."""
    colour = mapped_colour(job.colour)
    if colour is not None:
        base = np.array(_BASE.get(family(job), (220, 220, 220)), float)
        return np.clip(np.rint(255.0 * np.array(colour) / base), 0, 255).astype(np.uint8)
    tints = STYLES[job.style].tints
    return np.array(tints[int(job.choice * 7919) % len(tints)], np.uint8)


@lru_cache(maxsize=256)
def mapped_colour(value: str) -> tuple[int, int, int] | None:
    from PIL import ImageColor

    try:
        return ImageColor.getrgb(value.strip().lower())[:3] if value else None
    except ValueError:
        return None


def family(job: Job) -> str:
    chosen = family_of(STYLES[job.style], job.choice)
    if mapped_colour(job.colour) is not None and not MATERIALS[f"{chosen}_wall"].tinted:
        return "modern_apartment" if job.top > 20 else "plaster_perimeter"
    return chosen


def derive(job: Job, plans: list[MassPlan], kinds: list[list[list[str]]], centre: tuple[float, float], budget: int, plain: bool = False) -> Model:
    """Rules in order of the masses; the first is the main body. `plain` leaves out roofs and details."""
    style = STYLES[job.style]
    area = job.footprint.area
    model = Model(budget=0 if plain else budget, silhouette=OUTLINE_SHARE / 2 * area if job.mapped else np.inf, top=job.top + (HEIGHT_SHARE * job.top if job.mapped else 2.5))
    attributes = {"choice": job.choice, "balcony_share": job.balcony_share, "style": job.style}
    outlines = [_rounded(affinity.translate(plan.polygon, -centre[0], -centre[1])) for plan in plans]
    model.ground = [o for o, p in zip(outlines[1:], plans[1:], strict=True) if p.low < 1.0]
    for k, (plan, edge_kinds) in enumerate(zip(plans, kinds, strict=True)):
        shell = model.main if k == 0 else Shell()
        lot = Lot(model, shell, job.rng, attributes, outlines[k], plan.low, edge_kinds)
        roofs, slopes = len(model.flat_roofs), len(model.slopes)
        _raise(lot, job, plan, style, plain, first=k == 0)
        _cover(model, roofs, slopes, [(o, p) for j, (o, p) in enumerate(zip(outlines, plans, strict=True)) if j != k])
        if k > 0:
            model.solids.append(shell)
    if not plain:
        details.on_roof(model, style, job.rng, family(job))
        if job.use in ("roof", "carport") and plans[0].low > 1.5:
            details.posts(model, plans[0].low, outlines[:1])
    return model


def _cover(model: Model, roofs: int, slopes: int, others: list[tuple[Polygon, MassPlan]]) -> None:
    """Take away the roof that lies inside or under the other masses."""
    for k in range(len(model.flat_roofs) - 1, roofs - 1, -1):
        polygon, z = model.flat_roofs[k]
        free = largest(polygon.difference(union_all([o.buffer(0.1) for o, p in others if p.low < z + 3.0 and p.height > z + 0.3])))
        if free.area > 2.0:
            model.flat_roofs[k] = (free, z)
        else:
            model.flat_roofs.pop(k)
    for k in range(len(model.slopes) - 1, slopes - 1, -1):
        slope = model.slopes[k]
        free = largest(slope.polygon.difference(union_all([o.buffer(0.2) for o, p in others if p.low < slope.z + 9.0 and p.height > slope.z])))
        if free.area > 4.0:
            model.slopes[k] = replace(slope, polygon=free)
        else:
            model.slopes.pop(k)


def _rounded(polygon: Polygon) -> Polygon:
    outer, *holes = [[(round(x, 2), round(y, 2)) for x, y in ring.coords[:-1]] for ring in (polygon.exterior, *polygon.interiors)]
    return Polygon(outer, holes)


def _raise(lot: Lot, job: Job, plan: MassPlan, style: Style, plain: bool, first: bool) -> None:
    """Mass --> extrude(eaves) comp(f) { bottom | sides: Facade | top: Roof }."""
    extent = plan.height - plan.low
    roof = "flat" if plain else plan.roof
    roof_height = 0.0 if roof == "flat" else min(plan.roof_height, extent - 0.4 if plan.low > 0.3 else max(extent - 2.0, 0.5 * extent))
    crown = _crown(lot, job, plan, style, extent) if roof == "flat" and not plain else Crown(parapet=0.0)
    mass = lot.extrude(extent - roof_height - crown.cornice)
    chosen = family(job)
    if plan.role == "podium" and chosen == "glass_tower" and job.choice > 0.35:
        chosen = "stone_office"
    lot.texture("concrete", (3.0, 3.0), down=True)
    _walls(mass, job, plan, style, chosen, first)
    pick = int(job.choice * 104729)
    if roof == "flat":
        materials = style.flat_materials
        flat(mass.top, materials[pick % len(materials)], crown)
    else:
        materials = style.roof_materials if roof not in ("dome", "onion") and plan.role != "spire" else ("roof_copper", "roof_slate")
        eaves = style.eaves if not job.mapped and plan.role in ("main", "wing") else 0.0
        pitched(mass.top, roof, roof_height, materials[pick % len(materials)], f"{chosen}_wall", eaves, style.ridge)


def _walls(mass: Mass, job: Job, plan: MassPlan, style: Style, chosen: str, first: bool) -> None:
    on_ground = plan.low < 0.3
    height = mass.walls[0].height
    shop = job.shop and on_ground and first and height > 3.4
    storeys = facade_plan(style, chosen, height, plan.levels, shop, on_ground and height >= 2.0)
    if height < 2.0 or (job.use in ("roof", "carport") and not on_ground):
        for wall in mass.walls:
            wall.texture(f"{chosen}_wall", max(round(wall.width / style.bay), 1), 1)
        return
    if plan.role == "spire":
        storeys = replace(storeys, bay=max(wall.width for wall in mass.walls))
    facades(mass, storeys, style, _entrance(mass) if first and on_ground else None)
    if first and on_ground and "column" in style.details and job.use not in PLACES_OF_WORSHIP and job.rng.random() < 0.7:
        _portico(mass, style)


def _entrance(mass: Mass) -> Wall | None:
    """The widest wall to the street, else to the garden, else to the court."""
    for kind in ("front", "side", "court"):
        walls = [w for w in mass.walls if w.kind == kind and w.width >= 1.6]
        if walls:
            return max(walls, key=lambda w: w.width)
    return None


def _portico(mass: Mass, style: Style) -> None:
    fronts = [w for w in mass.walls if w.kind == "front" and w.width > 12 and w.height > 6]
    if not fronts or fronts[0].model.budget < 120:
        return
    wall = max(fronts, key=lambda w: w.width)
    width = min(0.45 * wall.width, 14.0)
    _left, middle, _right = wall.split("x", f"~1 | {width} | ~1")
    height = min(wall.height - 1.0, 9.0)
    if wall.model.silhouette > 2.2 * width:
        wall.model.silhouette -= 2.2 * width
        details.columns(middle, 4, height, 1.5, style.trim)
        wall.model.detail(details.wall_box(middle, 0.0, height - 0.05, width, 0.9, 2.1, style.trim), 12, 0.1)
        wall.model.detail(details.wall_box(middle, 0.0, 0.0, width, 0.35, 2.3, style.trim), 12, 0.1)


def _crown(lot: Lot, job: Job, plan: MassPlan, style: Style, extent: float) -> Crown:
    if extent < 3.4 or lot.polygon.area < 30 or job.use in ("roof", "carport"):
        return Crown(parapet=0.0)
    overhang, cornice = style.overhang, style.cornice
    if job.mapped:
        overhang = min(overhang, OUTLINE_SHARE / 2 * lot.polygon.area / lot.polygon.length)
    corners = sum(map(len, lot.rings))
    if overhang < 0.05 or extent < 6 or corners > 20:
        overhang = cornice = 0.0
    parapet = style.parapet if corners <= 40 else 0.0
    return Crown(overhang, cornice, min(parapet, 0.12 * extent), 0.3, style.trim)
