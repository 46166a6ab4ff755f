"""Kiosks, sheds and tanks. What has a door shows it at +x."""

from __future__ import annotations

import math
from functools import partial

from flaneur.city.assets.recipes import add
from flaneur.city.assets.shapes import Shape


# Kiosks -----------------------------------------------------------------------------------------------------------
def news_kiosk() -> Shape:
    octagon = [(1.15 * math.cos(a), 1.15 * math.sin(a)) for a in (math.pi / 4 * k + math.pi / 8 for k in range(8))]
    s = (
        Shape()
        .plan(octagon, 0, 2.5, "paint_green")
        .plan([(1.5 * x, 1.5 * y) for x, y in octagon], 2.5, 2.65, "paint_green")
        .plan([(1.3 * x, 1.3 * y) for x, y in octagon], 2.65, 3.3, "roof_copper", 0.25)
        .ball((0, 0, 3.4), 0.2, "brass", 8)
    )
    for k in (0, 1, 7):
        s.join(Shape().panel((1.07, 0, 1.5), (0.78, 1.3), "magazines", depth=0.06).turned(45 * k))
    for k in (2, 3, 4, 5, 6):
        s.join(Shape().panel((1.07, 0, 1.35), (0.78, 1.7), "advert", depth=0.04).turned(45 * k))
    return s


def food_stall(roof: str = "awning", body: str = "planks", width: float = 2.6) -> Shape:
    s = Shape().box((-0.25, 0, 1.25), (1.6, width, 2.5), body).box((0.56, 0, 1.6), (0.05, width - 0.5, 1.0), "plastic_black").box((0.75, 0, 1.05), (0.5, width - 0.3, 0.08), "wood")
    s.slab([(0.5, 2.42), (1.45, 2.05), (1.45, 1.92), (1.41, 1.92), (1.41, 2.02), (0.5, 2.36)], width + 0.1, roof)
    s.slab([(-1.15, 2.5), (0.7, 2.5), (0.7, 2.62), (-1.15, 2.56)], width + 0.2, "roof_metal").panel((0.6, 0, 2.32), (width - 0.7, 0.26), "sign_direction", depth=0.05)
    return s.panel((0.58, -0.5, 1.45), (0.6, 0.6), "magazines", depth=0.05)


def food_truck() -> Shape:
    """A trailer with a raised hatch."""
    s = (
        Shape()
        .slab([(-0.95, 0.45), (0.95, 0.45), (0.95, 2.3), (0.8, 2.5), (-0.8, 2.5), (-0.95, 2.3)], 3.6, "plastic")
        .box((0.95, 0.2, 1.65), (0.05, 2.2, 0.9), "plastic_black")
        .box((1.12, 0.2, 1.15), (0.4, 2.3, 0.06), "steel")
    )
    s.slab([(0.95, 2.18), (1.8, 2.42), (1.8, 2.48), (0.95, 2.26)], 2.3, "awning", 0.2).box((0, 2.1, 0.5), (0.1, 0.8, 0.1), "iron").box((0, 0, 0.42), (1.5, 3.2, 0.1), "iron")
    for x in (-0.85, 0.85):
        s.rod((x - 0.1, 0, 0.32), (x + 0.1, 0, 0.32), 0.32, "rubber", sides=10)
    s.rod((0, 2.4, 0), (0, 2.4, 0.5), 0.05, "steel", sides=6)
    return s.panel((0.96, -1.35, 1.6), (0.7, 0.9), "advert", depth=0.04)


def bus_shelter() -> Shape:
    """Open at the front: roof, glass walls, a seat, a poster case."""
    s = (
        Shape()
        .box((0, 0, 2.5), (1.7, 4.4, 0.3), "iron")
        .box((-0.72, 0, 1.25), (0.3, 4.0, 2.4), "glass")
        .box((0, 2.02, 1.25), (1.4, 0.32, 2.4), "advert", "fit")
        .box((-0.3, -0.3, 0.45), (0.5, 2.6, 0.1), "wood")
    )
    for y in (-2.0, 0.0):
        s.box((-0.72, y, 1.2), (0.34, 0.14, 2.4), "iron")
    for y in (-1.3, 0.7):
        s.box((-0.3, y, 0.22), (0.4, 0.1, 0.44), "iron")
    return s.box((0, -0.1, 0.06), (1.7, 4.4, 0.12), "concrete").box((0.75, -1.95, 1.2), (0.12, 0.12, 2.4), "iron").panel((0.88, 0, 2.5), (3.0, 0.22), "sign_name", depth=0.04)


def advertising_column() -> Shape:
    s = (
        Shape()
        .lathe([(0.8, 0), (0.8, 0.35)], "granite", sides=12)
        .rod((0, 0, 0.3), (0, 0, 3.0), 0.72, "advert", sides=12, mapping="box")
        .lathe([(0.86, 3.0), (0.86, 3.15), (0.5, 3.4), (0.1, 3.75)], "roof_copper", sides=12)
    )
    return s.ball((0, 0, 3.8), 0.12, "brass", 4)


def glass_pavilion() -> Shape:
    s = (
        Shape()
        .box((0, 0, 1.4), (2.2, 2.8, 2.5), "glass")
        .box((0.1, 0, 2.75), (3.0, 3.4, 0.2), "paint_white")
        .box((0, 0, 0.08), (2.3, 2.9, 0.16), "concrete")
        .box((1.1, 0, 0.55), (0.12, 2.7, 0.9), "wood")
    )
    for x in (-1.1, 1.1):
        for y in (-1.4, 0, 1.4):
            s.box((x, y, 1.4), (0.1, 0.1, 2.6), "iron")
    return s.panel((1.62, 0, 2.75), (1.8, 0.2), "lamp_glass", depth=0.06)


# Sheds ------------------------------------------------------------------------------------------------------------
def hut(width: float, depth: float, eaves: float, ridge: float, wall: str, roof: str, door: str = "wood_dark", window: bool = True, overhang: float = 0.15) -> Shape:
    """A gabled hut; the ridge runs along x, the door is in the gable."""
    s = Shape()
    w, d = width / 2, depth / 2
    gable = [(-w, 0), (w, 0), (w, eaves), (0, ridge), (-w, eaves)]
    s.join(Shape().slab(gable, depth, wall).turned(90))
    t, slope = 0.09, (ridge - eaves) / w
    roof_line = [
        (-w - overhang, eaves - overhang * slope),
        (0, ridge),
        (w + overhang, eaves - overhang * slope),
        (w + overhang, eaves - overhang * slope + t),
        (0, ridge + t),
        (-w - overhang, eaves - overhang * slope + t),
    ]
    s.join(Shape().slab(roof_line, depth + 2 * overhang, roof).turned(90))
    s.panel((d, 0, 0.97), (0.9, 1.94), door, depth=0.06)
    if window:
        s.box((0, w, eaves * 0.62), (0.8, 0.06, 0.6), "paint_white").box((0, w + 0.02, eaves * 0.62), (0.68, 0.06, 0.48), "glass")
    return s


def garage(doors: int = 1) -> Shape:
    w = 3.0 * doors
    s = Shape().box((0, 0, 1.25), (5.4, w, 2.5), "concrete").box((0, 0, 2.56), (5.6, w + 0.2, 0.16), "roof_bitumen")
    for k in range(doors):
        y = 3.0 * (k - (doors - 1) / 2)
        s.box((2.7, y, 1.08), (0.06, 2.5, 2.14), "corrugated")
    return s


def lean_to() -> Shape:
    s = Shape().slab([(-1.1, 0), (1.1, 0), (1.1, 2.0), (-1.1, 2.5)], 3.0, "planks").slab([(-1.2, 2.5), (1.35, 1.94), (1.35, 2.04), (-1.2, 2.62)], 3.3, "corrugated")
    return s.panel((1.1, -0.7, 0.95), (0.9, 1.85), "wood_dark", depth=0.06).box((1.1, 0.75, 1.3), (0.06, 0.9, 0.6), "glass")


def greenhouse() -> Shape:
    s = Shape()
    s.join(Shape().slab([(-1.2, 0.4), (1.2, 0.4), (1.2, 1.7), (0, 2.5), (-1.2, 1.7)], 3.4, "roof_glass").turned(90)).box((0, 0, 0.22), (3.5, 2.5, 0.44), "brick_row_wall")
    for x in (-1.7, 0, 1.7):
        s.join(Shape().slab([(-1.22, 0.4), (1.22, 0.4), (1.22, 1.72), (0, 2.54), (-1.22, 1.72)], 0.08, "paint_white").turned(90).moved((x, 0, 0)))
    return s.panel((1.76, 0, 1.0), (0.8, 1.9), "glass", depth=0.06)


def container() -> Shape:
    s = Shape().box((0, 0, 1.3), (6.06, 2.44, 2.5), "corrugated_paint").panel((3.03, 0, 1.3), (2.2, 2.3), "plastic", depth=0.08)
    for x in (-3.0, 3.0):
        for y in (-1.2, 1.2):
            s.box((x, y, 1.3), (0.14, 0.14, 2.6), "plastic")
    for y in (-0.5, -0.2, 0.2, 0.5):
        s.rod((3.09, y, 0.15), (3.09, y, 2.45), 0.03, "steel", sides=4)
    return s


def carport() -> Shape:
    s = (
        Shape()
        .slab([(-2.7, 2.3), (2.7, 2.3), (2.7, 2.65), (-2.7, 2.65)], 3.4, "wood_dark")
        .box((0, 0, 2.7), (5.5, 3.5, 0.1), "roof_bitumen")
        .box((-2.55, 0, 1.2), (0.2, 3.2, 2.3), "planks")
        .box((-1.2, 1.55, 1.2), (2.6, 0.2, 2.3), "planks")
    )
    for x in (0.4, 2.5):
        for y in (-1.55, 1.55):
            s.box((x, y, 1.15), (0.16, 0.16, 2.3), "wood_dark")
    return s


# Tanks ------------------------------------------------------------------------------------------------------------
def storage_tank(radius: float, height: float, material: str = "paint_white", roof: float = 0.5) -> Shape:
    s = (
        Shape()
        .lathe([(radius, 0), (radius, height), (radius * 0.5, height + roof * 0.75), (0.15, height + roof)], material, sides=20)
        .lathe([(radius + 0.06, height - 0.35), (radius + 0.06, height + 0.02)], "steel", sides=20)
    )
    for k in range(3):
        a0, a1 = 0.3 * k, 0.3 * (k + 1)
        z0, z1 = height * k / 3, height * (k + 1) / 3 - 0.15
        r = radius + 0.08
        s.hull([(q * math.cos(a), q * math.sin(a), z + d) for a, z in ((a0, z0), (a1, z1)) for q in (r, r + 0.3) for d in (0.0, 0.12)], "steel")
    return s.rod((radius * 0.4, 0, height), (radius * 0.4, 0, height + roof + 0.4), 0.12, "steel", sides=6)


def silo(count: int, radius: float, height: float, material: str = "corrugated") -> Shape:
    s = Shape()
    for k in range(count):
        y = (k - (count - 1) / 2) * radius * 2.04
        s.lathe([(radius, 0), (radius, height), (0.3, height + radius * 0.7), (0.3, height + radius * 0.7 + 0.4)], material, (0, y, 0), 14)
    s.box((radius + 0.15, -(count - 1) / 2 * radius * 2.04, height / 2), (0.35, 0.5, height), "steel")
    return s.box((0, 0, height + radius * 0.7 + 0.3), (0.8, max(1.0, (count - 1) * radius * 2.04 + 1.0), 0.3), "steel") if count > 1 else s


def water_tower() -> Shape:
    s = Shape().lathe([(0.6, 11.5), (2.6, 12.6), (3.2, 14.2), (3.2, 16.2), (2.4, 17.6), (0.3, 18.3)], "paint_white", sides=16).rod((0, 0, 0), (0, 0, 12), 0.5, "steel", sides=8)
    for k in range(6):
        a = math.pi / 3 * k
        c, n = math.cos(a), math.sin(a)
        s.rod((3.4 * c, 3.4 * n, 0), (2.6 * c, 2.6 * n, 12.8), 0.16, "steel", sides=4)
    return s.lathe([(3.28, 15.0), (3.28, 15.5)], "paint_blue", sides=16).rod((0, 0, 18.2), (0, 0, 19.2), 0.1, "steel", sides=6)


def concrete_water_tower() -> Shape:
    return Shape().lathe([(1.7, 0), (1.3, 9), (1.4, 12), (4.0, 15.5), (4.2, 18.0), (3.8, 18.4), (1.0, 19.0), (1.0, 20.0)], "concrete", sides=16).lathe([(4.06, 15.6), (4.18, 16.2)], "glass", sides=16)


def gas_sphere() -> Shape:
    s = Shape().ball((0, 0, 5.0), 4.0, "paint_white", 12)
    for k in range(6):
        a = math.pi / 3 * k
        s.rod((3.9 * math.cos(a), 3.9 * math.sin(a), 0), (3.9 * math.cos(a), 3.9 * math.sin(a), 5.2), 0.18, "steel", sides=6)
    return s.rod((0, 0, 8.8), (0, 0, 9.6), 0.2, "steel", sides=6)


def bullet_tank() -> Shape:
    s = Shape().rod((-4.6, 0, 2.6), (4.6, 0, 2.6), 1.9, "paint_white", sides=14)
    for x in (-4.6, 4.6):
        s.ball((x, 0, 2.6), (0.8, 1.9, 1.9), "paint_white", 12)
    for x in (-3.0, 3.0):
        s.slab([(x - 0.4, 0), (x + 0.4, 0), (x + 0.3, 1.4), (x - 0.3, 1.4)], 3.0, "concrete")
    return s.box((0, 0, 2.6), (0.3, 3.86, 0.6), "paint_red").rod((0, 0, 4.4), (0, 0, 5.0), 0.3, "steel", sides=6)


add("kiosk", "newspaper kiosk", news_kiosk)
add("kiosk", "market stall", food_stall)
add("kiosk", "flower stall", partial(food_stall, "awning_green", "wood_dark", 2.2))
add("kiosk", "food trailer", food_truck, palette=((230, 110, 80), (90, 170, 160), (244, 220, 120)))
add("kiosk", "bus shelter", bus_shelter, weight=1.5)
add("kiosk", "advertising column", advertising_column)
add("kiosk", "glass pavilion", glass_pavilion, weight=0.6)
add("shed", "garden shed", partial(hut, 2.2, 2.6, 1.9, 2.6, "planks", "roof_bitumen"), weight=2.0)
add("shed", "log cabin", partial(hut, 3.0, 3.4, 2.1, 3.1, "wood", "roof_red"))
add("shed", "brick outhouse", partial(hut, 3.2, 4.0, 2.3, 3.4, "brick_row_wall", "roof_slate"))
add("shed", "barn hut", partial(hut, 3.6, 4.6, 2.4, 3.9, "wood_dark", "roof_brown", "planks", False))
add("shed", "garage", garage, weight=1.5)
add("shed", "double garage", partial(garage, 2))
add("shed", "lean-to shed", lean_to)
add("shed", "greenhouse", greenhouse)
add("shed", "shipping container", container, palette=((170, 60, 50), (40, 80, 140), (60, 120, 90), (200, 130, 50)), weight=0.6)
add("shed", "carport", carport)
add("tank", "oil tank", partial(storage_tank, 4.5, 6.0))
add("tank", "large oil tank", partial(storage_tank, 8.0, 9.0, "paint_white", 1.0))
add("tank", "fermenter", partial(storage_tank, 4.0, 4.5, "paint_green", 2.6))
add("tank", "grain silo", partial(silo, 1, 2.6, 11.0))
add("tank", "silo row", partial(silo, 3, 2.2, 10.0))
add("tank", "concrete silos", partial(silo, 2, 3.0, 16.0, "concrete"))
add("tank", "water tower", water_tower)
add("tank", "concrete water tower", concrete_water_tower)
add("tank", "gas sphere", gas_sphere)
add("tank", "gas bullet", bullet_tank)
