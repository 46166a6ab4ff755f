"""Fences, which run along y, and air conditioners; a wall unit has its back at -x."""

from __future__ import annotations

from functools import partial

from flaneur.city.assets.recipes import add
from flaneur.city.assets.shapes import GAP, Shape


# Fences -----------------------------------------------------------------------------------------------------------
def picket_fence(material: str = "paint_white", length: float = 2.0) -> Shape:
    s = Shape()
    for z in (0.3, 0.75):
        s.box((-0.031, 0, z), (0.04, length, 0.07), material)
    n = round(length / 0.2)
    for k in range(n):
        y = -length / 2 + length * (k + 0.5) / n
        s.hull([(x, y + d, z) for x in (-0.01, 0.02) for d, z in ((-0.05, 0.06), (0.05, 0.06), (-0.05, 0.9), (0.05, 0.9), (0, 1.0))], material)
    return s


def railing(length: float = 2.0, height: float = 1.1) -> Shape:
    s = Shape()
    for z in (0.15, height - 0.08):
        s.box((0, 0, z), (0.04, length, 0.05), "iron")
    n = round(length / 0.18)
    for k in range(n):
        y = -length / 2 + length * (k + 0.5) / n
        s.rod((0, y, 0.175 + GAP), (0, y, height - 0.105 - GAP), 0.013, "iron", sides=4)
    for y in (-length / 2 + 0.1, length / 2 - 0.1):
        s.box((0.052, y, height / 2), (0.06, 0.06, height), "iron")
    return s


def panel_fence(material: str, length: float = 2.4, height: float = 1.7, thickness: float = 0.05, posts: str = "wood_dark", rail: bool = True) -> Shape:
    s = Shape().box((0, 0, height / 2 + 0.05), (thickness, length, height - 0.1), material)
    for y in (-length / 2 + 0.04, length / 2 - 0.04):
        s.box((0, y, height / 2), (0.09, 0.08, height + 0.04), posts)
    return s.box((0, 0, height - 0.02), (0.09, length, 0.06), posts) if rail else s


def mesh_fence() -> Shape:
    return panel_fence("mesh", 2.5, 1.5, 0.012, "steel", True)


def ranch_fence(length: float = 2.6) -> Shape:
    s = Shape()
    for z in (0.4, 0.75, 1.1):
        s.box((0.05, 0, z), (0.04, length, 0.13), "wood")
    for y in (-length / 2 + 0.06, length / 2 - 0.06):
        s.box((0, y, 0.62), (0.11, 0.11, 1.25), "wood_dark")
    return s


def low_wall(material: str, cap: str, height: float = 0.8, length: float = 2.4) -> Shape:
    s = Shape().box((0, 0, height / 2), (0.26, length, height), material).box((0, 0, height + 0.04), (0.34, length, 0.08), cap)
    return s.box((0, -length / 2 + 0.2, height / 2 + 0.12), (0.36, 0.4, height + 0.24), material).hull(
        [(x, -length / 2 + 0.2 + y, height + 0.24) for x in (-0.22, 0.22) for y in (-0.2, 0.24)] + [(0, -length / 2 + 0.2, height + 0.4)], cap
    )


def guard_rail(length: float = 3.0) -> Shape:
    s = Shape().slab([(0.0, 0.45), (0.05, 0.45), (0.09, 0.52), (0.05, 0.6), (0.09, 0.68), (0.05, 0.75), (0.0, 0.75)], length, "steel")
    for y in (-length / 2 + 0.4, length / 2 - 0.4):
        s.box((-0.05, y, 0.36), (0.1, 0.08, 0.72), "steel")
    return s


def crowd_barrier() -> Shape:
    s = Shape()
    for z in (0.2, 1.05):
        s.box((0, 0, z), (0.045, 2.0, 0.045), "steel")
    for k in range(9):
        s.box((0, -0.98 + 0.245 * k, 0.625), (0.032, 0.032, 0.8), "steel")
    for y in (-0.75, 0.75):
        s.box((0, y, 0.03), (0.5, 0.06, 0.05), "steel").box((0, y, 0.12), (0.04, 0.05, 0.2), "steel")
    return s


# Air conditioners: wall units have their back at -x ----------------------------------------------------------------
def split_unit(fans: int = 1) -> Shape:
    s, w, h = Shape(), 0.85, 0.6 * fans
    s.box((0, 0, h / 2 + 0.08), (0.32, w, h), "plastic_white").box((0.165, 0.29, h / 2 + 0.08), (0.02, 0.18, h * 0.8), "grille")
    for k in range(fans):
        s.rod((0.14, -0.1, 0.38 + 0.6 * k), (0.18, -0.1, 0.38 + 0.6 * k), 0.22, "plastic_black", sides=10).rod(
            (0.14, -0.1, 0.38 + 0.6 * k), (0.19, -0.1, 0.38 + 0.6 * k), 0.07, "plastic_white", sides=6
        )
    for y in (-0.3, 0.3):
        s.box((-0.02, y, 0.04), (0.36, 0.05, 0.08), "iron")
    return s


def window_unit() -> Shape:
    return Shape().box((0, 0, 0.22), (0.55, 0.66, 0.42), "plastic_white").panel((0.28, 0, 0.22), (0.58, 0.32), "grille").box((-0.05, 0, 0.01), (0.45, 0.7, 0.03), "iron")


def rooftop_unit(length: float, width: float, height: float, fans: int = 2) -> Shape:
    s = Shape().box((0, 0, height / 2 + 0.12), (length, width, height), "plastic_white").box((0, 0, 0.07), (length * 0.94, width * 0.94, 0.14), "iron")
    for k in range(fans):
        x = length * ((k + 0.5) / fans - 0.5)
        s.rod((x, 0, height + 0.1), (x, 0, height + 0.3), min(width, length / fans) * 0.38, "steel", sides=10).rod(
            (x, 0, height + 0.28), (x, 0, height + 0.33), min(width, length / fans) * 0.3, "plastic_black", sides=8
        )
    for side in (-1, 1):
        s.box((0, side * width / 2, height * 0.5 + 0.12), (length * 0.84, 0.03, height * 0.66), "grille")
    return s


def cooling_tower() -> Shape:
    s = Shape().box((0, 0, 0.75), (1.5, 1.5, 1.3), "corrugated").rod((0, 0, 1.4), (0, 0, 1.75), 0.6, "steel", 0.66, 12).rod((0, 0, 1.7), (0, 0, 1.78), 0.52, "plastic_black", sides=10)
    for x in (-0.65, 0.65):
        for y in (-0.65, 0.65):
            s.box((x, y, 0.06), (0.14, 0.14, 0.14), "iron")
    return s


def duct() -> Shape:
    """A ventilation hood with a bent duct."""
    s = Shape().box((-0.3, 0, 0.3), (0.9, 0.8, 0.6), "steel").rod((-0.4, 0, 0.5), (-0.4, 0, 1.25), 0.26, "steel", sides=10).rod((-0.5, 0, 1.25), (0.45, 0, 1.25), 0.26, "steel", sides=10)
    return s.rod((0.4, 0, 1.25), (0.62, 0, 1.25), 0.26, "steel", 0.36, 10).panel((0.15, 0, 0.3), (0.6, 0.4), "grille")


def mushroom_vent() -> Shape:
    return Shape().box((0, 0, 0.12), (0.7, 0.7, 0.24), "steel").rod((0, 0, 0.2), (0, 0, 0.62), 0.25, "steel", sides=10).lathe([(0.45, 0.55), (0.45, 0.68), (0.2, 0.85)], "steel", sides=10)


add("fence", "picket fence", picket_fence, weight=1.5)
add("fence", "wooden picket fence", partial(picket_fence, "wood", 1.6))
add("fence", "iron railing", railing, weight=1.5)
add("fence", "timber panel fence", partial(panel_fence, "planks"))
add("fence", "concrete panel fence", partial(panel_fence, "concrete", 2.0, 1.4, 0.08, "concrete"), weight=0.6)
add("fence", "wire mesh fence", mesh_fence, weight=1.5)
add("fence", "ranch fence", ranch_fence)
add("fence", "brick wall", partial(low_wall, "brick_row_wall", "concrete"))
add("fence", "stone wall", partial(low_wall, "rubble_wall", "granite", 0.7))
add("fence", "guard rail", guard_rail, weight=0.5)
add("fence", "crowd barrier", crowd_barrier, weight=0.3)
add("air_conditioner", "split unit", split_unit, "wall", weight=2.0)
add("air_conditioner", "tall split unit", partial(split_unit, 2), "wall")
add("air_conditioner", "window unit", window_unit, "wall")
add("air_conditioner", "rooftop unit", partial(rooftop_unit, 2.4, 1.2, 1.2), "roof", weight=1.5)
add("air_conditioner", "small rooftop unit", partial(rooftop_unit, 1.1, 1.0, 0.9, 1), "roof", weight=1.5)
add("air_conditioner", "cooling tower", cooling_tower, "roof", weight=0.5)
add("air_conditioner", "ventilation duct", duct, "roof")
add("air_conditioner", "mushroom vent", mushroom_vent, "roof")
