"""What is to be built: style, height and masses of every mapped building and every lot, before any geometry."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from shapely.geometry import Polygon
from shapely.geometry.polygon import orient

from flaneur.city.grammar.masses import LAYOUTS, MassPlan, Site, church, sides
from flaneur.city.grammar.outlines import largest
from flaneur.city.grammar.styles import PLACES_OF_WORSHIP, STYLES, USES
from flaneur.city.grammar.surroundings import Surroundings
from flaneur.city.layout.graph import Building, CityGraph, Lot, OsmRef
from flaneur.city.layout.graph import Polygon as GraphPolygon
from flaneur.city.planning.library import Assignment, CityPlan, Rule, RuleLibrary

_HOUSES = ("detached_house", "timber_house", "farm")
_NO_STOREYS_FROM_PLAN = ("garage", "garages", "shed", "carport", "hut", "kiosk", "roof", "greenhouse", "service", *PLACES_OF_WORSHIP)
_DEFAULT_STYLE = {"cbd": "stone_office", "town": "plaster_perimeter", "suburb": "detached_house", "rural": "farm"}


@dataclass
class Job:
    name: str
    block: int
    rule: str
    style: str
    fine_name: str
    footprint: Polygon
    plans: list[MassPlan]
    rng: np.random.Generator
    mapped: bool
    shop: bool = False
    balcony_share: float = 0.0
    choice: float = 0.0  # [0, 1): the building's own number, for materials
    use: str = ""
    colour: str = ""
    clipped: bool = False
    osm: OsmRef | None = None
    title: str = ""
    top: float = field(default=0.0)  # metres: the tallest mass


def to_shapely(polygon: GraphPolygon) -> Polygon:
    made = Polygon(polygon.exterior, polygon.holes)
    return orient(made if made.is_valid else largest(made.buffer(0)))


class Architect:
    """Reads the plan: which rule, style and parameters hold on a block."""

    def __init__(self, graph: CityGraph, plan: CityPlan, library: RuleLibrary, seed: int) -> None:
        self.graph, self.seed = graph, seed
        self.rules = {r.name: r for r in library.rules}
        self.assigned = {a.block: a for a in plan.assignments}

    def rule(self, block: int) -> tuple[Rule | None, Assignment | None]:
        assignment = self.assigned.get(block)
        return (self.rules.get(assignment.rule), assignment) if assignment else (None, None)

    def value(self, block: int, name: str, otherwise: float) -> float:
        """A parameter of the block's architecture: the assignment's, else the rule's default."""
        rule, assignment = self.rule(block)
        if rule is None or rule.architecture is None or assignment is None:
            return otherwise
        limits = getattr(rule.architecture, name)
        return min(max(assignment.parameters.get(f"architecture.{name}", limits.default), limits.low), limits.high)

    def style(self, block: int) -> str:
        rule, assignment = self.rule(block)
        if assignment is not None and assignment.style:
            return assignment.style
        return rule.architecture.style if rule is not None and rule.architecture is not None else _DEFAULT_STYLE[self.graph.place_type]

    def mapped(self, building: Building, polygon: Polygon) -> Job:
        rng = np.random.default_rng([self.seed, 1, building.osm.id if building.osm else building.id, building.id])
        rule, _ = self.rule(building.block)
        choice = float(rng.random())
        height, levels, roof_height = building.height, building.levels, building.roof_height
        if building.height_source == "prior" and rule is not None and rule.architecture is not None and polygon.area >= 80 and building.use not in _NO_STOREYS_FROM_PLAN and not building.parts:
            most = USES.get(building.use, (None, "", 60))[2]
            levels = int(np.clip(round(self.value(building.block, "storeys", levels) * rng.uniform(0.8, 1.2)), 1, most))
            storey = STYLES[self.style(building.block)].storey
            height = round(levels * storey + roof_height + 0.4, 2)
        style = self._fitting(building, polygon, height, choice)
        plans = [MassPlan(to_shapely(p.polygon), p.min_height, p.height, 0, p.roof_shape, p.roof_height, "part") for p in building.parts if p.height - p.min_height > 0.3]
        if not plans:
            if building.use in PLACES_OF_WORSHIP and not building.clipped and len(polygon.interiors) == 0 and polygon.area > 60:
                plans = church(polygon, height)
            else:
                plans = [MassPlan(polygon, building.min_height, height, levels, building.roof_shape, roof_height)]
        return self._job(
            f"building_{building.id}",
            building.block,
            style,
            polygon,
            plans,
            rng,
            choice,
            building.use,
            mapped=True,
            colour=building.colour,
            clipped=building.clipped,
            osm=building.osm,
            title=building.name,
        )

    def _fitting(self, building: Building, polygon: Polygon, height: float, choice: float) -> str:
        """The block's style, unless the building's use or size tells otherwise."""
        style = USES.get(building.use, (None, "", 0))[0] or self.style(building.block)
        flat = building.roof_shape == "flat"
        if height >= 60:
            return style if style in ("glass_tower", "modern_apartment") else "glass_tower" if choice < 0.6 else "stone_office"
        if style in _HOUSES and building.use not in USES and (height > 13 or polygon.area > 420):
            style = "industrial" if polygon.area > 1200 and height < 12 else "modern_apartment" if flat else "plaster_perimeter"
        if style == "glass_tower" and height < 20:
            style = "stone_office" if flat else "plaster_perimeter"
        if style in ("industrial", "farm") and height > 24:
            style = "stone_office"
        if polygon.area < 45 and height < 5 and building.use not in USES:
            style = "timber_house" if choice < 0.6 else "industrial"
        return style

    def lot(self, lot: Lot, polygon: Polygon, surroundings: Surroundings, landmark: bool) -> Job | None:
        rule, _ = self.rule(lot.block)
        if rule is None or rule.architecture is None or polygon.area < 25:
            return None
        rng = np.random.default_rng([self.seed, 2, lot.id])
        choice = float(rng.random())
        use_style = USES.get(lot.use, (None, "", 0))[0]
        style = use_style or self.style(lot.block)
        wanted = self.value(lot.block, "storeys", 2.0)
        limits = rule.architecture.storeys
        storeys = int(np.clip(round(wanted * rng.uniform(0.78, 1.25)), max(1, limits.low), max(1, limits.high)))
        if lot.use == "tower":
            storeys = int(rng.integers(16, 34))
        elif lot.use in USES:
            storeys = min(storeys, USES[lot.use][2])
        if polygon.area < 120:
            storeys = min(storeys, 4)
        if STYLES[style].lot in ("slab", "civic", "hall"):  # what stands alone is not much taller than wide
            storeys = max(min(storeys, int(1.5 * min(sides(polygon)) / STYLES[style].storey)), 1)
        front, fronts = surroundings.fronts(polygon, lot.front)
        site = Site(polygon, front, fronts, STYLES[style], storeys, self.value(lot.block, "coverage", 0.4), lot.use, landmark, rng)
        plans = [p for p in LAYOUTS[STYLES[style].lot](site) if p.polygon.area > 4.0]
        if not plans:
            return None
        return self._job(f"lot_{lot.id}", lot.block, style, plans[0].polygon, plans, rng, choice, lot.use, mapped=False, title=lot.name)

    def _job(self, name: str, block: int, style: str, footprint: Polygon, plans: list[MassPlan], rng: np.random.Generator, choice: float, use: str, mapped: bool, **more) -> Job:
        rule, _ = self.rule(block)
        names = STYLES[style].fine_names
        fine = USES[use][1] if use in USES else names[int(rng.integers(0, len(names)))]
        shop_share = self.value(block, "shop_share", 0.1)
        shop = bool(rng.random() < shop_share) and style not in ("farm", "industrial") and footprint.area > 40 and use not in ("garage", "garages", "shed", *PLACES_OF_WORSHIP)
        return Job(
            name, block, rule.name if rule else "", style, fine, footprint, plans, rng, mapped, shop, self.value(block, "balcony_share", 0.2), choice, use, top=max(p.height for p in plans), **more
        )
