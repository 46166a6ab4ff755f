"""Street furniture: benches and chairs, bins, hydrants, bollards, mailboxes, planters."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise

from flaneur.city.assets.canvas import Color
from flaneur.city.assets.recipes import add
from flaneur.city.assets.shapes import GAP, Shape

BIN_TINTS: tuple[Color, ...] = ((52, 92, 66), (60, 62, 66), (40, 70, 130), (120, 84, 50), (226, 180, 40))


# Benches: the sitter looks along +x -------------------------------------------------------------------------------
def slat_bench(length: float, back: bool = True, legs: str = "iron", arms: bool = False, slat: str = "wood") -> Shape:
    s = Shape()
    for x in (-0.16, 0.0, 0.16):
        s.box((x, 0, 0.45 + GAP), (0.13, length, 0.05), slat)
    if back:
        for z, x in ((0.6, -0.22), (0.78, -0.258)):
            s.box((x, 0, z), (0.04, length, 0.14), slat, tilt=(0, -12, 0))
    for y in (-length / 2 + 0.22, length / 2 - 0.22):
        s.slab([(0.16, 0), (0.22, 0), (0.22, 0.425), (-0.24, 0.425), (-0.24, 0), (-0.18, 0), (-0.18, 0.37), (0.16, 0.37)], 0.06, legs, y)
        if back:
            s.box((-0.275, y, 0.64), (0.05, 0.06, 0.46), legs, tilt=(0, -12, 0))
        if arms:
            s.slab([(0.24, 0.48), (0.24, 0.68), (-0.24, 0.68), (-0.24, 0.64), (0.2, 0.64), (0.2, 0.48)], 0.05, legs, y)
    return s


def stone_bench() -> Shape:
    s = Shape().box((0, 0, 0.42), (0.5, 1.8, 0.12), "granite")
    for y in (-0.65, 0.65):
        s.box((0, y, 0.19), (0.42, 0.24, 0.38), "granite")
    return s


def round_bench() -> Shape:
    """A hexagonal bench as it stands around a tree or a lamp."""
    s = Shape()
    ring = [(math.cos(a), math.sin(a)) for a in (math.pi / 3 * k for k in range(6))]
    for (x0, y0), (x1, y1) in pairwise([*ring, ring[0]]):
        s.hull([(r * x, r * y, z) for x, y in ((x0, y0), (x1, y1)) for r in (0.55, 0.98) for z in (0.4, 0.47)], "wood")
    for x, y in ring:
        s.box((0.75 * x, 0.75 * y, 0.2), (0.08, 0.08, 0.4), "iron")
    return s


def chair(material: str = "plastic", arms: bool = False) -> Shape:
    s = (
        Shape()
        .box((0, 0, 0.45), (0.42, 0.42, 0.05), material)
        .hull([(-0.2, y, 0.46) for y in (-0.2, 0.2)] + [(-0.16, y, 0.46) for y in (-0.2, 0.2)] + [(-0.29, y, 0.86) for y in (-0.19, 0.19)] + [(-0.25, y, 0.86) for y in (-0.19, 0.19)], material)
    )
    for x in (-0.18, 0.18):
        for y in (-0.18, 0.18):
            s.rod((x * 1.1, y * 1.1, 0), (x, y, 0.44), 0.032, "steel", sides=4)
    if arms:
        for y in (-0.22, 0.22):
            s.box((-0.02, y, 0.66), (0.4, 0.05, 0.04), material).box((0.16, y, 0.56), (0.04, 0.04, 0.22), material)
    return s


def cafe_table_set() -> Shape:
    s = Shape().rod((0, 0, 0.7), (0, 0, 0.74), 0.36, "plastic_white", sides=10).rod((0, 0, 0.03), (0, 0, 0.7), 0.035, "iron", sides=6).rod((0, 0, 0), (0, 0, 0.04), 0.24, "iron", sides=8)
    s.join(chair().turned(180).moved((0.62, 0, 0)))
    return s.join(chair().moved((-0.62, 0, 0)))


def picnic_table() -> Shape:
    s = Shape().box((0, 0, 0.755 + GAP), (0.76, 1.8, 0.06), "planks")
    for x in (-0.72, 0.72):
        s.box((x, 0, 0.47), (0.26, 1.8, 0.05), "planks")
    for y in (-0.6, 0.6):
        s.box((0, y, 0.4), (1.66, 0.08, 0.08), "wood_dark")
        for side in (-1, 1):
            s.rod((side * 0.62, y, 0), (side * 0.26, y, 0.71), 0.05, "wood_dark", sides=4)
    return s


def shelter_seat() -> Shape:
    """A lounger of slats in a wave."""
    s = Shape()
    profile = [(-0.8, 0.75), (-0.45, 0.34), (0.0, 0.3), (0.4, 0.44), (0.8, 0.28), (0.8, 0.34), (0.4, 0.5), (0.0, 0.36), (-0.42, 0.4), (-0.76, 0.79)]
    s.slab(profile, 0.75, "wood")
    for y in (-0.28, 0.28):
        s.slab([(-0.5, 0), (-0.4, 0), (0.0, 0.31), (0.5, 0), (0.6, 0), (0.4, 0.46), (0.0, 0.33), (-0.42, 0.38)], 0.06, "iron", y)
    return s


# Waste bins -------------------------------------------------------------------------------------------------------
def wheelie_bin(size: float = 1.0, wheels: int = 2) -> Shape:
    s, w, d, h = Shape(), 0.29 * size, 0.36, 1.0
    if wheels == 4:
        w, d, h = 0.68, 0.5, 1.2
    s.hull([(x * 0.82, y * 0.86, 0.08) for x in (-d, d) for y in (-w, w)] + [(x, y, h - 0.06) for x in (-d, d) for y in (-w, w)], "plastic")
    s.hull(
        [(x, y, h - 0.07) for x in (-d - 0.05, d + 0.04) for y in (-w - 0.03, w + 0.03)] + [(x * 0.8, y * 0.85, h + (0.2 if wheels == 4 else 0.06)) for x in (-d, d) for y in (-w, w)],
        "plastic_black" if wheels == 4 else "plastic",
    )
    for x in (-0.28,) if wheels == 2 else (-0.34, 0.34):
        for side in (-1, 1):
            s.rod((x, side * (w - 0.08), 0.1), (x, side * w, 0.1), 0.1, "rubber", sides=8)
    return s.rod((-d - 0.09, -w + 0.04, h - 0.12), (-d - 0.09, w - 0.04, h - 0.12), 0.022, "plastic_black", sides=4).box((-d - 0.04, 0, h - 0.12), (0.1, 0.06, 0.06), "plastic_black")


def litter_bin() -> Shape:
    s = Shape().lathe([(0.22, 0.25), (0.26, 0.9), (0.24, 0.92)], "plastic", sides=10).rod((-0.3, 0, 0), (-0.3, 0, 1.15), 0.035, "steel", sides=6).box((-0.26, 0, 0.7), (0.1, 0.1, 0.1), "steel")
    return s.rod((0, 0, 0.92), (0, 0, 1.02), 0.25, "plastic_black", 0.16, 10)


def park_bin() -> Shape:
    """Wooden slats around a can."""
    s = Shape().rod((0, 0, 0.06), (0, 0, 0.82), 0.24, "iron", sides=10).rod((0, 0, 0), (0, 0, 0.06), 0.2, "iron", sides=10)
    for k in range(8):
        a = math.pi / 4 * k
        s.box((0.27 * math.cos(a), 0.27 * math.sin(a), 0.44), (0.03, 0.16, 0.72), "wood", tilt=(0, 0, 45 * k))
    return s.rod((0, 0, 0.82), (0, 0, 0.87), 0.27, "iron", 0.2, sides=10)


def box_bin() -> Shape:
    s = Shape().box((0, 0, 0.55), (0.42, 0.5, 1.0), "plastic").box((0, 0, 0.04), (0.36, 0.44, 0.1), "iron").box((0.2, 0, 0.88), (0.06, 0.36, 0.18), "plastic_black")
    return s.slab([(-0.25, 1.04), (0.25, 1.04), (0.22, 1.14), (-0.12, 1.2), (-0.25, 1.12)], 0.54, "iron").panel((0.212, 0, 0.5), (0.3, 0.3), "sign_blue")


def bottle_bank() -> Shape:
    s = Shape().lathe([(0.72, 0.05), (0.8, 0.3), (0.8, 0.9), (0.6, 1.35), (0.2, 1.55)], "plastic", sides=10).lathe([(0.65, 0), (0.65, 0.1)], "iron", sides=10)
    for y in (-0.35, 0.35):
        s.rod((0.55, y, 1.1), (0.78, y, 1.05), 0.12, "rubber", sides=8)
    return s.rod((0, 0, 1.5), (0, 0, 1.7), 0.06, "steel", sides=6)


def skip() -> Shape:
    s = Shape().slab([(-0.9, 0.05), (0.9, 0.05), (1.4, 1.14), (-1.4, 1.14)], 1.24, "plastic").box((0, 0, 1.08), (2.7, 1.3, 0.08), "iron")
    for x in (-0.6, 0.6):
        for side in (-1, 1):
            s.box((x, side * 0.64, 0.6), (0.1, 0.1, 1.0), "iron")
    return s.hull([(-1.2, -0.5, 1.12), (1.1, -0.5, 1.12), (1.2, 0.5, 1.12), (-1.1, 0.5, 1.12), (-0.3, 0.1, 1.4), (0.4, -0.1, 1.32)], "soil")


# Hydrants and bollards --------------------------------------------------------------------------------------------
def hydrant(color: str, cap: str = "steel", tall: float = 0.75, arms: int = 2) -> Shape:
    s = Shape().lathe([(0.16, 0), (0.16, 0.06), (0.1, 0.08), (0.105, tall * 0.68), (0.14, tall * 0.7), (0.14, tall * 0.76), (0.1, tall * 0.9), (0.04, tall * 0.96)], color, sides=8)
    s.rod((0, 0, tall * 0.93), (0, 0, tall), 0.035, cap, sides=5).rod((0, 0, tall * 0.5), (0.2, 0, tall * 0.5), 0.075, cap, sides=8)
    if arms == 2:
        s.rod((0, -0.2, tall * 0.55), (0, 0.2, tall * 0.55), 0.05, cap, sides=6)
    return s


def pillar_hydrant() -> Shape:
    s = Shape().rod((0, 0, 0), (0, 0, 0.95), 0.1, "paint_red", sides=10).rod((0, 0, 0.95), (0, 0, 1.1), 0.13, "paint_red", 0.06, 10).rod((0, 0, 0.3), (0, 0, 0.36), 0.105, "paint_white", sides=10)
    for a in (60, -60):
        x, y = math.cos(math.radians(a)), math.sin(math.radians(a))
        s.rod((0, 0, 0.72), (0.2 * x, 0.2 * y, 0.68), 0.06, "chrome", sides=6)
    return s


def wall_hydrant() -> Shape:
    """A low box hydrant with a lid."""
    s = Shape().box((0, 0, 0.3), (0.34, 0.4, 0.6), "paint_red").slab([(-0.2, 0.6), (0.2, 0.6), (0.12, 0.7), (-0.16, 0.74)], 0.44, "paint_red")
    return s.rod((0.15, 0, 0.32), (0.24, 0, 0.32), 0.08, "brass", sides=8).panel((0.171, 0, 0.5), (0.24, 0.12), "paint_white", depth=0.01)


def post(height: float, radius: float, material: str, top: str = "dome", band: str | None = None, sides: int = 10) -> Shape:
    s = Shape()
    tip = {"dome": [(radius * 0.75, height - radius * 0.25), (radius * 0.3, height)], "flat": [(radius * 0.9, height)], "ball": [(radius * 0.6, height - 2 * radius)]}[top]
    s.lathe([(radius, 0), (radius, height - radius * 0.7 if top != "ball" else height - 2.4 * radius), *tip], material, sides=sides)
    if top == "ball":
        s.ball((0, 0, height - radius * 1.15), radius * 1.15, material, 8)
    if band:
        s.lathe([(radius * 1.06, height * 0.7), (radius * 1.06, height * 0.82)], band, sides=sides)
    return s


def stone_ball() -> Shape:
    return Shape().ball((0, 0, 0.27), 0.28, "granite", 12).rod((0, 0, 0), (0, 0, 0.07), 0.2, "granite", sides=8)


def cone() -> Shape:
    s = Shape().box((0, 0, 0.025), (0.4, 0.4, 0.05), "plastic_black").rod((0, 0, 0.05), (0, 0, 0.75), 0.16, "paint_orange", 0.03, 10)
    return s.rod((0, 0, 0.32), (0, 0, 0.5), 0.112, "paint_white", 0.08, 10)


def bell_bollard() -> Shape:
    return Shape().lathe([(0.3, 0), (0.3, 0.08), (0.22, 0.25), (0.16, 0.5), (0.1, 0.6)], "iron", sides=10)


# Mailboxes and planters -------------------------------------------------------------------------------------------
def pillar_box() -> Shape:
    s = Shape().lathe([(0.24, 0), (0.24, 0.12)], "iron", sides=12).lathe([(0.21, 0.12), (0.21, 1.35), (0.26, 1.37), (0.26, 1.44), (0.16, 1.56), (0.05, 1.6)], "paint_red", sides=12)
    return s.box((0.2, 0, 1.24), (0.05, 0.24, 0.05), "plastic_black").panel((0.205, 0, 0.98), (0.16, 0.2), "paint_white", depth=0.03)


def post_box(material: str) -> Shape:
    """A box on a post."""
    s = Shape().rod((0, 0, 0), (0, 0, 0.8), 0.05, "iron", sides=6).box((0, 0, 0.02), (0.3, 0.3, 0.04), "iron").box((0, 0, 1.1), (0.3, 0.42, 0.6), material)
    s.slab([(-0.17, 1.4), (0.17, 1.4), (0.1, 1.48), (-0.1, 1.48)], 0.44, material)
    return s.box((0.15, 0, 1.3), (0.03, 0.3, 0.05), "plastic_black").panel((0.156, 0, 1.05), (0.24, 0.2), "paint_white", depth=0.01)


def collection_box() -> Shape:
    """The rounded blue box on four feet."""
    arc = [(0.26 * math.cos(a), 1.02 + 0.26 * math.sin(a)) for a in (math.pi * k / 6 for k in range(7))]
    s = Shape().slab([(-0.26, 0.14), (0.26, 0.14), *arc], 0.56, "paint_blue")
    for x in (-0.2, 0.2):
        for y in (-0.22, 0.22):
            s.box((x, y, 0.08), (0.07, 0.07, 0.16), "iron")
    return s.box((0.255, 0, 1.04), (0.06, 0.4, 0.16), "plastic_black").panel((0.262, 0, 0.65), (0.3, 0.24), "paint_white", depth=0.01)


def rural_mailbox() -> Shape:
    arc = [(0.13 * math.cos(a), 1.2 + 0.13 * math.sin(a)) for a in (math.pi * k / 6 for k in range(7))]
    s = Shape().slab([(-0.13, 1.07), (0.13, 1.07), *arc], 0.5, "plastic").turned(90)
    return s.box((0, 0, 0.55), (0.1, 0.1, 1.1), "wood_dark").box((0.02, 0.15, 1.33), (0.14, 0.02, 0.1), "paint_red").box((0.02, 0.15, 1.24), (0.02, 0.02, 0.2), "paint_red")


def parcel_locker() -> Shape:
    s = Shape().box((0, 0, 0.95), (0.5, 0.95, 1.9), "paint_yellow").box((0, 0, 0.04), (0.46, 0.9, 0.1), "iron")
    for z in (0.36, 0.7, 1.04, 1.38, 1.7):
        for y in (-0.25, 0.25):
            s.box((0.25, y, z), (0.03, 0.42, 0.28), "plastic_white")
    return s.box((0.05, 0, 1.94), (0.62, 1.0, 0.08), "iron")


def _plants(s: Shape, x: float, y: float, z: float, r: float, material: str = "flowers") -> Shape:
    return s.ball((x, y, z), (r, r, r * 0.8), material, 8)


def pot(radius: float, height: float, material: str, plant: str) -> Shape:
    s = Shape().lathe([(radius * 0.7, 0), (radius, height * 0.9), (radius * 1.1, height * 0.9), (radius * 1.1, height)], material, sides=10)
    return _plants(s, 0, 0, height + radius * 0.35, radius * 1.05, plant)


def trough(length: float, material: str, plant: str = "flowers") -> Shape:
    s = Shape().hull([(x * 0.85, y * 0.95, 0) for x in (-0.25, 0.25) for y in (-length / 2, length / 2)] + [(x, y, 0.5) for x in (-0.25, 0.25) for y in (-length / 2, length / 2)], material)
    n = max(2, round(length / 0.5))
    for k in range(n):
        s.ball((0, -length / 2 + length * (k + 0.5) / n, 0.55), (0.24, length / n * 0.62, 0.22 + 0.06 * (k % 2)), plant, 8)
    return s


def tree_box() -> Shape:
    s = Shape().box((0, 0, 0.35), (0.7, 0.7, 0.7), "wood").rod((0, 0, 0.6), (0, 0, 1.4), 0.04, "bark", sides=5)
    for x in (-0.33, 0.33):
        for y in (-0.33, 0.33):
            s.box((x, y, 0.38), (0.1, 0.1, 0.76), "wood_dark")
    return s.ball((0, 0, 1.65), (0.45, 0.45, 0.5), "leaves_hedge", 8)


def bowl() -> Shape:
    return _plants(Shape().lathe([(0.35, 0), (0.3, 0.12), (0.62, 0.5), (0.68, 0.5), (0.68, 0.58)], "concrete", sides=12), 0, 0, 0.6, 0.55)


def raised_bed() -> Shape:
    s = Shape().box((0, 0, 0.25), (1.2, 2.2, 0.5), "wood_dark")
    for x, y, r, m in ((-0.25, -0.7, 0.38, "leaves_linden"), (0.2, -0.1, 0.42, "flowers"), (-0.15, 0.6, 0.44, "leaves_oak"), (0.3, 0.85, 0.26, "leaves_autumn")):
        s.ball((x, y, 0.55), (r, r, r * 0.8), m, 8)
    return s


add("bench", "park bench", partial(slat_bench, 1.8), weight=2.0)
add("bench", "long bench", partial(slat_bench, 2.4, True, "iron", True))
add("bench", "backless bench", partial(slat_bench, 1.6, False, "concrete"))
add("bench", "metal bench", partial(slat_bench, 1.7, True, "iron", False, "steel"))
add("bench", "stone bench", stone_bench)
add("bench", "round bench", round_bench, weight=0.4)
add("bench", "cafe chair", chair, palette=((200, 40, 40), (240, 240, 236), (60, 110, 90), (40, 40, 44)), weight=1.5)
add("bench", "armchair", partial(chair, "wood", True))
add("bench", "cafe table set", cafe_table_set, palette=((200, 40, 40), (60, 110, 90), (150, 110, 70)))
add("bench", "picnic table", picnic_table, weight=0.5)
add("bench", "wooden lounger", shelter_seat, weight=0.4)
add("waste_bin", "wheelie bin", wheelie_bin, palette=BIN_TINTS, weight=2.0)
add("waste_bin", "large wheelie bin", partial(wheelie_bin, 1.0, 4), palette=BIN_TINTS)
add("waste_bin", "litter bin", litter_bin, palette=((226, 130, 40), (60, 110, 80), (60, 62, 66)), weight=1.5)
add("waste_bin", "park bin", park_bin)
add("waste_bin", "box bin", box_bin, palette=BIN_TINTS)
add("waste_bin", "bottle bank", bottle_bank, palette=((52, 110, 70), (236, 236, 230), (130, 86, 50)), weight=0.4)
add("waste_bin", "skip", skip, palette=((226, 180, 40), (60, 90, 140), (170, 60, 50)), weight=0.2)
add("fire_hydrant", "red fire hydrant", partial(hydrant, "paint_red"))
add("fire_hydrant", "yellow fire hydrant", partial(hydrant, "paint_yellow", "paint_blue"))
add("fire_hydrant", "silver fire hydrant", partial(hydrant, "steel", "paint_red", 0.65, 1))
add("fire_hydrant", "pillar hydrant", pillar_hydrant)
add("fire_hydrant", "box hydrant", wall_hydrant)
add("bollard", "iron bollard", partial(post, 0.95, 0.075, "iron", "ball"), weight=1.5)
add("bollard", "steel bollard", partial(post, 0.9, 0.07, "steel"), weight=1.5)
add("bollard", "slim bollard", partial(post, 0.86, 0.063, "paint_white", "flat", "paint_red"))
add("bollard", "wooden bollard", partial(post, 0.8, 0.09, "wood_dark", "flat", "paint_white", 8))
add("bollard", "striped bollard", partial(post, 0.95, 0.08, "hazard"))
add("bollard", "concrete bollard", partial(post, 0.75, 0.14, "concrete", "dome"))
add("bollard", "granite ball", stone_ball, weight=0.5)
add("bollard", "bell bollard", bell_bollard, weight=0.4)
add("bollard", "traffic cone", cone, weight=0.5)
add("mailbox", "pillar box", pillar_box)
add("mailbox", "yellow post box", partial(post_box, "paint_yellow"))
add("mailbox", "red post box", partial(post_box, "paint_red"))
add("mailbox", "collection box", collection_box)
add("mailbox", "roadside mailbox", rural_mailbox, palette=((200, 204, 206), (60, 62, 66), (180, 40, 40)))
add("mailbox", "parcel locker", parcel_locker, weight=0.5)
add("planter", "terracotta pot", partial(pot, 0.26, 0.42, "terracotta", "flowers"), weight=1.5)
add("planter", "large flower pot", partial(pot, 0.42, 0.6, "concrete", "leaves_blossom"))
add("planter", "steel tub", partial(pot, 0.36, 0.7, "steel", "leaves_hedge"))
add("planter", "flower trough", partial(trough, 1.4, "wood"))
add("planter", "concrete trough", partial(trough, 2.0, "concrete", "leaves_olive"))
add("planter", "tree box", tree_box)
add("planter", "flower bowl", bowl)
add("planter", "raised bed", raised_bed, weight=0.5)
