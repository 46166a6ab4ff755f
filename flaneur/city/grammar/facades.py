"""Facade rules: walls into ground floor and storeys, storeys into bays, a door, shops; what hangs on them is in details."""

from __future__ import annotations

import math
from dataclasses import dataclass

from shapely.geometry import Point

from flaneur.city.assets.facades import FACADES
from flaneur.city.grammar import details
from flaneur.city.grammar.interpreter import Mass, Wall
from flaneur.city.grammar.styles import Style

RUN_TURN = math.cos(math.radians(28.0))  # walls that turn less belong to one facade, a curved front for instance


@dataclass(frozen=True)
class FacadePlan:
    """How the storeys of a mass are divided."""

    family: str
    bay: float  # metres
    ground: float  # metres of the ground floor; 0 where the mass starts above it
    storeys: int  # above the ground floor
    shop: bool = False
    door: bool = True


def facade_plan(style: Style, family: str, wall_height: float, levels: int, shop: bool, ground: bool = True) -> FacadePlan:
    """Storeys that fill `wall_height` metres; `levels` is kept where it gives rooms one can stand in."""
    first = (style.shop_ground if shop else style.ground) if ground else 0.0
    if levels >= 1 and 2.3 <= wall_height / levels <= 6.0:
        if not ground:
            return FacadePlan(family, style.bay, 0.0, levels, shop)
        if levels == 1:
            return FacadePlan(family, style.bay, wall_height, 0, shop)
        first = min(first, max(1.35 * wall_height / levels, 2.4))
        return FacadePlan(family, style.bay, first, levels - 1, shop)
    if ground and wall_height < first + 0.7 * style.storey:
        return FacadePlan(family, style.bay, wall_height, 0, shop)
    return FacadePlan(family, style.bay, first, max(round((wall_height - first) / style.storey), 1), shop)


def lay_bays(walls: list[Wall], bay: float) -> None:
    """Whole bays on every facade; a facade may bend gently over several walls. Slivers get none."""
    runs: list[list[Wall]] = []
    for wall in walls:
        last = runs[-1][-1] if runs else None
        touches = last is not None and math.dist(last.point(last.width, 0)[:2], wall.origin[:2]) < 1e-3
        if last is not None and touches and last.kind == wall.kind and last.x[0] * wall.x[0] + last.x[1] * wall.x[1] > RUN_TURN:
            runs[-1].append(wall)
        else:
            runs.append([wall])
    for run in runs:
        total = sum(w.width for w in run)
        count = max(round(total / bay), 1) if total > 0.55 * bay else 0
        at = 0.0
        for wall in run:
            wall.u0, wall.bays = (at, count * wall.width / total) if count else (0.0, 0.0)
            at += wall.bays


def facades(mass: Mass, plan: FacadePlan, style: Style, entrance: Wall | None = None) -> None:
    """Terminal for all walls of a mass."""
    lay_bays(mass.walls, plan.bay)
    for wall in mass.walls:
        facade(wall, plan, style, wall is entrance)
    if entrance is not None and not entrance.model.doors:
        entrance.model.doors.append((entrance.point(entrance.width / 2, 0)[:2], entrance.out))


def facade(wall: Wall, plan: FacadePlan, style: Style, entrance: bool) -> None:
    if wall.kind == "party" or wall.bays == 0.0:
        return wall.texture(f"{plan.family}_wall", max(round(wall.width / plan.bay), 1), max(round(wall.height / style.storey), 1))
    if plan.ground <= 0.0:
        return storeys(wall, plan, style)
    if plan.storeys == 0:
        return ground_floor(wall, plan, style, entrance)
    ground, upper = wall.split("y", f"{plan.ground} | ~1")
    ground_floor(ground, plan, style, entrance)
    storeys(upper, plan, style)
    return None


def storeys(wall: Wall, plan: FacadePlan, style: Style) -> None:
    """`{ ~storey: { ~bay: Window }* }*`: tiles repeat what CGA would split."""
    wall.texture(f"{plan.family}_window", storeys=max(plan.storeys, 1))
    details.on_storeys(wall, max(plan.storeys, 1), style, plan.family)


def ground_floor(wall: Wall, plan: FacadePlan, style: Style, entrance: bool) -> None:
    shops = plan.shop and wall.kind == "front"
    hall = style.lot == "hall"
    kind = "shop" if shops else "wall" if hall else "window"
    bays = int(wall.bays + 1e-6)
    if entrance and bays >= 1 and abs(wall.u0 - round(wall.u0)) < 1e-6:
        width = wall.width / wall.bays
        place = _door_bay(wall, int(wall.rng.integers(0, bays)) if shops or bays > 4 else bays // 2, bays, width)
        left, door, right = wall.split("x", f"{place * width} | {width} | ~1")
        for part in (left, right):
            _bays(part, plan.family, kind)
        door.texture(f"{plan.family}_door", 1.0)
        wall.model.doors.append((door.point(width / 2, 0)[:2], door.out))
        details.at_door(door, style, shops)
        if shops:
            details.over_shops(right if right.width > left.width else left, style)
        return
    _bays(wall, plan.family, kind)
    if shops and bays >= 1:
        details.over_shops(wall, style)
    if hall and wall.kind != "party":
        details.gates(wall, plan.family)


def _door_bay(wall: Wall, wished: int, bays: int, width: float) -> int:
    """The bay nearest to the wished one whose door no other mass of the building stands before."""
    free = [k for k in range(bays) if not any(o.intersects(Point(wall.point((k + 0.5) * width, 0, 0.3)[:2])) for o in wall.model.ground)]
    return min(free, key=lambda k: abs(k - wished), default=wished)


def _bays(wall: Wall, family: str, kind: str) -> None:
    if wall.width > 1e-3:
        wall.texture(f"{family}_{kind}")


def family_of(style: Style, choice: float) -> str:
    """One of the style's facade families by a number in [0, 1): the first is the commonest."""
    names = [f for f in style.facades if f in FACADES]
    return names[min(int(choice**1.6 * len(names)), len(names) - 1)]
