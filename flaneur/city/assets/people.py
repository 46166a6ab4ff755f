"""People: a skeleton posed by a few joint angles, dressed in materials."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from manifold3d import Manifold

from flaneur.city.assets.canvas import Color
from flaneur.city.assets.recipes import add
from flaneur.city.assets.shapes import GAP, Shape, Vec

CLOTHES: tuple[Color, ...] = ((200, 40, 44), (40, 84, 150), (236, 236, 230), (60, 62, 66), (226, 180, 60), (84, 130, 84), (170, 120, 160), (230, 140, 80), (120, 160, 190), (90, 60, 48))


@dataclass(frozen=True)
class Pose:
    """Degrees; positive swings a limb forward. Pairs are left, right."""

    hip: tuple[float, float] = (0, 0)
    knee: tuple[float, float] = (0, 0)  # bends backwards
    shoulder: tuple[float, float] = (4, -4)
    elbow: tuple[float, float] = (12, 12)  # bends forwards
    spread: tuple[float, float] = (8, 8)  # arms out sideways
    lean: float = 0.0


@dataclass(frozen=True)
class Look:
    height: float = 1.75
    girth: float = 1.0
    skin: str = "skin_light"
    hair: str = "hair_dark"
    top: str = "cloth"
    bottom: str = "denim"
    shoes: str = "leather"
    sleeves: str | None = None  # None: as the top; a skin for short sleeves
    skirt: float = 0.0  # share of the leg that a skirt covers
    coat: bool = False
    hat: str | None = None
    long_hair: bool = False
    carries: tuple[str, ...] = ()  # keys of CARRIED


STAND, WALK = Pose(), Pose((26, -20), (4, 24), (-24, 26), (14, 24))
STRIDE = Pose((-22, 30), (20, 6), (26, -26), (28, 12))
RUN = Pose((48, -28), (40, 70), (-45, 50), (85, 85), lean=10)


def _swing(start: Vec, length: float, angle: float, out: float = 0.0) -> Vec:
    """The end of a limb hanging from `start`, swung forward by `angle` and sideways by `out` metres."""
    a = math.radians(angle)
    drop = math.sqrt(max(length * length - out * out, 1e-9))
    return (start[0] + drop * math.sin(a), start[1] + out, start[2] - drop * math.cos(a))


def person(look: Look, pose: Pose) -> Shape:
    s, h, g = Shape(), look.height, look.girth
    lean = math.tan(math.radians(pose.lean)) * 0.28 * h
    lowest, hands = 1e9, []
    for k, side in enumerate((1, -1)):
        ankle = _leg(s, look, (0.0, side * 0.05 * h, 0.5 * h), pose.hip[k], pose.knee[k])
        lowest = min(lowest, ankle)
        hands.append(_arm(s, look, (lean, side * (0.118 * g + 0.0215) * h, 0.785 * h), pose.shoulder[k] + pose.lean, pose.elbow[k], side * pose.spread[k]))
    _torso(s, look, lean)
    _head(s, look, lean + 0.012 * h)
    for item in look.carries:
        CARRIED[item](s, look, lean, hands)
    return s.moved((0, 0, 0.035 * h - lowest))


def _hem(look: Look) -> float:
    """Height at which the trunk ends: the crotch, or the hem of a skirt or coat."""
    if look.skirt or look.coat:
        return 0.5 * look.height - (look.skirt or 0.45) * 0.47 * look.height
    return 0.46 * look.height


def _leg(s: Shape, look: Look, hip: Vec, swing: float, bend: float) -> float:
    """Thigh, shin and foot as one tube; returns the ankle's height."""
    h, g = look.height, look.girth
    knee = _swing(hip, 0.235 * h, swing)
    ankle = _swing(knee, 0.225 * h, swing - bend)
    a = math.radians(swing - bend)
    toe = (ankle[0] + 0.095 * h * math.cos(a) + 0.02 * h * math.sin(a), ankle[1], ankle[2] + 0.095 * h * math.sin(a) - 0.02 * h * math.cos(a))
    cloth = look.skin if look.skirt else look.bottom
    # A leg begins just below the trunk's flat underside, which needs no seam; a sitting one begins inside it.
    below = abs(swing) < 60
    hem = _hem(look) - GAP
    share = (hip[2] - hem) / (hip[2] - knee[2]) if below else 0.0
    rings = [(knee, 0.037 * h * g, 0.035 * h * g), (ankle, 0.034 * h, 0.028 * h), (toe, 0.016 * h, 0.03 * h)]
    if share < 0.9:
        rings = [((hip[0] + share * (knee[0] - hip[0]), hip[1], hip[2] + share * (knee[2] - hip[2])), 0.054 * h * g, 0.046 * h * g), *rings]
    else:
        share = (knee[2] - hem) / (knee[2] - ankle[2])
        rings[0] = ((knee[0] + share * (ankle[0] - knee[0]), hip[1], hem), 0.036 * h * g, 0.034 * h * g)
    s.tube(rings, cloth, 5, 0.5, {len(rings) - 2: look.shoes}, level_start=below)
    return ankle[2]


def _arm(s: Shape, look: Look, shoulder: Vec, swing: float, bend: float, spread: float) -> Vec:
    """Upper arm, forearm and hand as one tube; returns the hand's place."""
    h, g = look.height, look.girth
    elbow = _swing(shoulder, 0.175 * h, swing, 0.175 * h * math.sin(math.radians(spread)))
    wrist = _swing(elbow, 0.145 * h, swing + bend)
    tip = _swing(wrist, 0.075 * h, swing + bend + 6)
    rings = [(shoulder, 0.038 * h * g, 0.026 * h * g), (elbow, 0.03 * h * g, 0.026 * h * g), (wrist, 0.02 * h, 0.02 * h), (tip, 0.022 * h, 0.012 * h)]
    s.tube(rings, look.top, 4, 0.5, {1: look.sleeves or look.top, 2: look.skin})
    return wrist


def _torso(s: Shape, look: Look, lean: float) -> None:
    h, g = look.height, look.girth
    hem = _hem(look)
    flare = (0.13 * h, 0.125 * h) if look.skirt or look.coat else (0.078 * h * g, 0.1 * h * g)
    rings = [
        ((0.0, 0.0, hem), *flare), ((lean * 0.2, 0.0, 0.56 * h), 0.068 * h * g, 0.092 * h * g), ((lean * 0.9, 0.0, 0.74 * h), 0.078 * h * g, 0.118 * h * g),
        ((lean, 0.0, 0.815 * h), 0.055 * h, 0.1 * h * g),
        ((lean + 0.005 * h, 0.0, 0.838 * h), 0.036 * h, 0.04 * h), ((lean + 0.012 * h, 0.0, 0.859 * h - GAP), 0.032 * h, 0.03 * h),
    ]  # fmt: skip
    s.tube(rings, look.top, 6, 0.5, {0: look.top if look.coat else look.bottom, 4: look.skin}, axis="z")


def _head(s: Shape, look: Look, x: float) -> None:
    """One hull: faces that look up or back are hair."""
    h, z = look.height, 0.925 * look.height
    rings = ((-0.066, 0.008, 0.036, 0.028), (-0.02, 0.0, 0.054, 0.044), (0.03, -0.004, 0.06, 0.05), (0.07, -0.006, 0.034, 0.03))
    cloud = [(x + (dx + a * math.cos(t)) * h, b * h * math.sin(t), z + dz * h) for dz, dx, a, b in rings for t in (math.pi * (i + 0.5) / 2.5 for i in range(5))]
    s.hull(cloud, look.skin)
    s.painted((lambda c, n: (n[:, 2] > 0.35) | (c[:, 0] < x - 0.012 * h) | ((c[:, 2] > z + 0.03 * h) & (np.abs(n[:, 1]) > 0.7)), look.hair, "box"))
    if look.long_hair:
        s.hull(
            [(x - 0.02 * h, y * h, z + 0.03 * h) for y in (-0.05, 0.05)]
            + [(x - 0.075 * h, y * h, z) for y in (-0.03, 0.03)]
            + [(x - 0.085 * h, y * h, 0.79 * h) for y in (-0.05, 0.05)]
            + [(x - 0.03 * h, y * h, 0.81 * h) for y in (-0.052, 0.052)],
            look.hair,
        )
    if look.hat:
        s.lathe([(0.08 * h, z + 0.03 * h), (0.058 * h, z + 0.045 * h), (0.045 * h, z + 0.09 * h)], look.hat, (x, 0, 0), 7, "box")


Carry = Callable[[Shape, Look, float, list[Vec]], object]


def _umbrella(s: Shape, look: Look, lean: float, hands: list[Vec]) -> None:
    x, y, z = hands[1]
    s.rod((x, y, z), (x + 0.02, y * 0.6, 1.22 * look.height), 0.014, "iron", sides=4)
    s.add(Manifold.cylinder(0.26, 0.52, 0.05, 8).translate((x + 0.02, y * 0.6, 1.1 * look.height)), "paint_blue")


def _suitcase(s: Shape, look: Look, lean: float, hands: list[Vec]) -> None:
    x, y, z = hands[0]
    s.box((x - 0.35, y, 0.4), (0.26, 0.42, 0.6), "paint_red").rod((x - 0.3, y, 0.66), (x, y, z - 0.05), 0.018, "steel", sides=4)


def _bag(s: Shape, look: Look, lean: float, hands: list[Vec]) -> None:
    x, y, z = hands[0]
    s.box((x, y, z - 0.32), (0.32, 0.12, 0.36), "paint_orange").box((x, y, z - 0.1), (0.14, 0.03, 0.12), "leather")


def _briefcase(s: Shape, look: Look, lean: float, hands: list[Vec]) -> None:
    x, y, z = hands[0]
    s.box((x, y, z - 0.26), (0.42, 0.1, 0.3), "leather")


def _phone(s: Shape, look: Look, lean: float, hands: list[Vec]) -> None:
    x, y, z = hands[1]
    s.box((x + 0.07, y, z + 0.08), (0.025, 0.08, 0.16), "screen")


def _cane(s: Shape, look: Look, lean: float, hands: list[Vec]) -> None:
    x, y, z = hands[1]
    s.rod((x + 0.05, y, z), (x + 0.14, y, 0.0), 0.018, "wood_dark", sides=4)


def _backpack(s: Shape, look: Look, lean: float, hands: list[Vec]) -> None:
    h = look.height
    s.box((lean - 0.115 * h, 0, 0.69 * h), (0.12 * h, 0.19 * h, 0.24 * h), "paint_green")


def _vest(s: Shape, look: Look, lean: float, hands: list[Vec]) -> None:
    h = look.height
    s.tube([((0.0, 0.0, z * h), a * h, b * h) for z, a, b in ((0.57, 0.08, 0.108), (0.74, 0.09, 0.132))], "paint_orange", 6, 0.5, axis="z")


CARRIED: dict[str, Carry] = {
    "backpack": _backpack, "bag": _bag, "briefcase": _briefcase, "cane": _cane, "phone": _phone, "suitcase": _suitcase, "umbrella": _umbrella, "vest": _vest,
}  # fmt: skip


def pram() -> Shape:
    """Somebody pushing a pram."""
    s = person(Look(1.68, long_hair=True, hair="hair_light"), Pose((20, -16), (2, 20), (38, 38), (32, 32)))
    s.hull([(x, y, z) for x, z in ((0.55, 0.45), (1.05, 0.45), (0.45, 0.85), (1.2, 0.82)) for y in (-0.2, 0.2)], "suit").hull(
        [(x, y, z) for x, z in ((0.85, 0.8), (1.2, 0.8), (0.95, 1.14), (1.16, 1.05)) for y in (-0.19, 0.19)], "cloth"
    )
    s.box((0.38, 0, 0.98), (0.05, 0.42, 0.04), "rubber")
    for y in (-0.18, 0.18):
        s.rod((0.38, y, 0.98), (0.56, y, 0.7), 0.02, "steel", sides=3)
    for x in (0.55, 1.05):
        s.rod((x, -0.22, 0.13), (x, 0.22, 0.13), 0.13, "rubber", sides=7).box((x, 0, 0.3), (0.05, 0.3, 0.4), "steel")
    return s


def dog_walker() -> Shape:
    s = person(Look(1.7, top="cloth", bottom="suit", hat="plastic_black"), WALK)
    s.tube([((0.5, -0.35, 0.5), 0.07, 0.07), ((1.02, -0.35, 0.46), 0.11, 0.09), ((1.2, -0.35, 0.64), 0.07, 0.06), ((1.36, -0.35, 0.58), 0.04, 0.04)], "leather", 4, 0.5)
    for x in (0.6, 1.0):
        s.box((x, -0.35, 0.2), (0.05, 0.13, 0.4), "leather")
    return s.rod((0.3, -0.26, 0.84), (1.08, -0.35, 0.6), 0.009, "rubber", sides=3).rod((0.52, -0.35, 0.5), (0.38, -0.35, 0.68), 0.025, "leather", sides=3)


def wheelchair_user() -> Shape:
    s = person(Look(1.72, skin="skin_tan"), Pose((82, 82), (78, 78), (20, 20), (30, 30)))
    for y in (-0.28, 0.28):
        s.ring((-0.05, y, 0.31), 0.285, 0.025, "rubber", segments=9)
    s.slab([(-0.22, 0.3), (0.22, 0.3), (0.5, 0.02), (0.56, 0.06), (0.26, 0.4), (-0.13, 0.4), (-0.17, 0.9), (-0.25, 0.9)], 0.44, "plastic_black")
    return s


_PEOPLE = {
    "man": (Look(1.78, bottom="denim"), STAND, 2.0),
    "walking man": (Look(1.8, skin="skin_tan", bottom="trousers_tan"), WALK, 2.0),
    "woman": (Look(1.66, 0.92, hair="hair_light", long_hair=True), STRIDE, 2.0),
    "woman in a dress": (Look(1.67, 0.92, bottom="cloth", skirt=0.6, sleeves="skin_light", long_hair=True), Pose((14, -10), (2, 12)), 1.0),
    "woman in a skirt": (Look(1.7, 0.94, "skin_dark", bottom="suit", skirt=0.45, long_hair=True), WALK, 1.0),
    "businessman": (Look(1.8, 1.02, top="suit", bottom="suit", carries=("briefcase",)), WALK, 1.0),
    "jogger": (Look(1.76, 0.95, "skin_dark", bottom="plastic_black", sleeves="skin_dark", shoes="paint_white"), RUN, 0.6),
    "child": (Look(1.24, 1.2, hair="hair_light", bottom="trousers_tan"), STRIDE, 0.8),
    "schoolchild": (Look(1.36, 1.02, "skin_tan", carries=("backpack",)), WALK, 0.8),
    "old man": (Look(1.68, 1.1, hair="plastic_white", bottom="trousers_tan", hat="suit", carries=("cane",)), Pose((10, -8), (4, 8), (10, 24), (20, 20), lean=8), 0.8),
    "tourist": (Look(1.75, 1.05, sleeves="skin_light", bottom="trousers_tan", hat="straw", carries=("backpack",)), STAND, 0.8),
    "traveller with suitcase": (Look(1.72, skin="skin_tan", carries=("suitcase",)), STRIDE, 0.5),
    "shopper": (Look(1.68, 0.96, long_hair=True, carries=("bag",)), WALK, 1.0),
    "person with phone": (Look(1.75, carries=("phone",)), Pose((4, -4), (0, 6), (8, 28), (14, 100)), 1.0),
    "person with umbrella": (Look(1.72, coat=True, top="suit", carries=("umbrella",)), Pose((18, -14), (2, 18), (-10, 12), (12, 115)), 0.4),
    "person in a coat": (Look(1.77, 1.04, hair="hair_light", coat=True), STRIDE, 1.0),
    "construction worker": (Look(1.8, 1.08, "skin_tan", hat="paint_yellow", bottom="denim", carries=("vest",)), STAND, 0.4),
    "police officer": (Look(1.82, 1.06, top="suit", bottom="suit", hat="paint_blue"), Pose(spread=(16, 16)), 0.2),
    "waving person": (Look(1.74, skin="skin_dark", bottom="trousers_tan"), Pose((0, 0), (0, 0), (4, 165), (12, 10), (8, 20)), 0.3),
}  # fmt: skip
for _name, (_look, _pose, _weight) in _PEOPLE.items():
    add("person", _name, partial(person, _look, _pose), palette=CLOTHES, weight=_weight)
add("person", "person with a pram", pram, palette=CLOTHES, weight=0.4)
add("person", "dog walker", dog_walker, palette=CLOTHES, weight=0.5)
add("person", "wheelchair user", wheelchair_user, palette=CLOTHES, weight=0.2)
