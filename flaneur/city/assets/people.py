"""People: a skeleton posed by a few joint angles, dressed in materials."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial

from flaneur.city.assets.canvas import Color
from flaneur.city.assets.recipes import add
from flaneur.city.assets.shapes import Shape, Vec

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
    carries: tuple[str, ...] = field(default=())


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
    lean = math.tan(math.radians(pose.lean))
    pelvis = (0.0, 0.0, 0.52 * h)
    chest: Vec = (lean * 0.28 * h, 0.0, 0.80 * h)
    thigh, shin = 0.245 * h, 0.235 * h
    lowest = 1e9
    for k, side in enumerate((1, -1)):
        hip: Vec = (0.0, side * 0.055 * h, 0.5 * h)
        knee = _swing(hip, thigh, pose.hip[k])
        ankle = _swing(knee, shin, pose.hip[k] - pose.knee[k])
        bare = look.skirt > 0
        s.rod(hip, knee, 0.046 * h * g, look.skin if bare else look.bottom, 0.036 * h * g, sides=5)
        s.rod(knee, ankle, 0.036 * h * g, look.skin if bare else look.bottom, 0.024 * h * g, sides=5)
        turn = pose.hip[k] - pose.knee[k]
        s.box((ankle[0] + 0.035 * h * math.cos(math.radians(turn)), ankle[1], ankle[2] - 0.008 * h + 0.035 * h * math.sin(math.radians(turn))), (0.15 * h, 0.055 * h, 0.045 * h), look.shoes, tilt=(0, -turn * 0.9, 0))
        lowest = min(lowest, ankle[2])
        shoulder: Vec = (chest[0], side * 0.115 * h * g, 0.79 * h)
        elbow = _swing(shoulder, 0.175 * h, pose.shoulder[k] + pose.lean, side * 0.175 * h * math.sin(math.radians(pose.spread[k])))
        hand = _swing(elbow, 0.16 * h, pose.shoulder[k] + pose.elbow[k])
        s.rod(shoulder, elbow, 0.029 * h * g, look.top, 0.025 * h, sides=4).rod(elbow, hand, 0.024 * h, look.sleeves or look.top, 0.019 * h, sides=4)
        s.ball(hand, 0.026 * h, look.skin, 4)
        if "phone" in look.carries and k == 1:
            s.box((hand[0] + 0.03, hand[1], hand[2] + 0.04), (0.02, 0.08, 0.15), "screen")
        if "bag" in look.carries and k == 0:
            s.box((hand[0], hand[1], hand[2] - 0.26), (0.34, 0.1, 0.36), "paint_orange").box((hand[0], hand[1], hand[2] - 0.05), (0.16, 0.03, 0.1), "leather")
        if "briefcase" in look.carries and k == 0:
            s.box((hand[0], hand[1], hand[2] - 0.18), (0.42, 0.1, 0.3), "leather")
        if "cane" in look.carries and k == 1:
            s.rod((hand[0] + 0.02, hand[1], hand[2] + 0.03), (hand[0] + 0.12, hand[1], 0.03), 0.016, "wood_dark", sides=4)
        if "umbrella" in look.carries and k == 1:
            s.rod(hand, (hand[0] + 0.02, hand[1] * 0.6, 1.22 * h), 0.014, "iron", sides=4)
            s.add(_canopy(0.52).translate((hand[0] + 0.02, hand[1] * 0.6, 1.1 * h)), "paint_blue")
    waist, breast = 0.075 * h * g, 0.08 * h * g
    ring = [(math.cos(a), math.sin(a)) for a in (i * math.pi / 3 + math.pi / 6 for i in range(6))]
    torso = [(0.85 * waist * c, 0.105 * h * g * n, 0.5 * h) for c, n in ring] + [(chest[0] + breast * c, 0.125 * h * g * n, 0.77 * h) for c, n in ring]
    s.hull([*torso, *((chest[0] + 0.05 * h * c, 0.06 * h * n, 0.83 * h) for c, n in ring)], look.top)
    if look.skirt or look.coat:
        hem = 0.5 * h - (look.skirt or 0.5) * 0.47 * h
        flare = 0.13 if look.skirt else 0.115
        s.hull([(0.9 * waist * c, 0.1 * h * n, 0.55 * h) for c, n in ring] + [(flare * h * c, flare * h * 1.05 * n, hem) for c, n in ring], look.top if look.coat else look.bottom)
    else:
        s.hull([(0.92 * waist * c, 0.105 * h * g * n, z) for c, n in ring for z in (0.455 * h, 0.53 * h)], look.bottom)
    head: Vec = (chest[0] + 0.012 * h, 0.0, 0.925 * h)
    s.rod((chest[0], 0, 0.8 * h), (head[0], 0, 0.9 * h), 0.034 * h, look.skin, sides=5)
    s.ball(head, (0.056 * h, 0.045 * h, 0.068 * h), look.skin, 8)
    s.ball((head[0] - 0.016 * h, 0, head[2] + 0.022 * h), (0.053 * h, 0.05 * h, 0.058 * h), look.hair, 8)
    s.hull([(head[0] + 0.05 * h, y, head[2] - 0.015 * h) for y in (-0.008, 0.008)] + [(head[0] + 0.066 * h, 0, head[2] - 0.02 * h), (head[0] + 0.05 * h, 0, head[2] + 0.01 * h)], look.skin)
    if look.long_hair:
        s.hull([(head[0] - 0.02 * h, y * h, head[2] + 0.02 * h) for y in (-0.048, 0.048)] + [(head[0] - 0.055 * h, y * h, head[2]) for y in (-0.03, 0.03)] + [(chest[0] - 0.075 * h, y * h, 0.79 * h) for y in (-0.05, 0.05)] + [(chest[0] - 0.02 * h, y * h, 0.8 * h) for y in (-0.05, 0.05)], look.hair)
    if look.hat:
        s.lathe([(0.075 * h, head[2] + 0.03 * h), (0.055 * h, head[2] + 0.045 * h), (0.05 * h, head[2] + 0.085 * h)], look.hat, (head[0], 0, 0), 8)
    if "backpack" in look.carries:
        s.box((chest[0] - 0.13 * h, 0, 0.7 * h), (0.12 * h, 0.2 * h, 0.26 * h), "paint_green")
    if "vest" in look.carries:
        s.hull([(x * 1.05, y * 1.05, z) for x, y, z in ((0.9 * waist * c, 0.108 * h * g * n, 0.56 * h) for c, n in ring)] + [(chest[0] + 1.05 * breast * c, 0.127 * h * g * n, 0.75 * h) for c, n in ring], "paint_orange")
    if "suitcase" in look.carries:
        s.box((-0.42, 0.28, 0.42), (0.28, 0.46, 0.66), "paint_red").rod((-0.32, 0.28, 0.72), (-0.12, 0.24, 0.78), 0.018, "steel", sides=4)
    return s.moved((0, 0, -lowest))


def _canopy(radius: float):
    from manifold3d import Manifold

    return Manifold.cylinder(0.26, radius, 0.05, 8)


def pram() -> Shape:
    """Somebody pushing a pram."""
    s = person(Look(1.68, long_hair=True, hair="hair_light"), Pose((20, -16), (2, 20), (38, 38), (32, 32)))
    s.hull([(x, y, z) for x, z in ((0.5, 0.5), (1.05, 0.5), (0.42, 0.82), (1.2, 0.82)) for y in (-0.2, 0.2)], "suit").hull([(x, y, z) for x, z in ((0.85, 0.82), (1.2, 0.82), (0.95, 1.14), (1.16, 1.05)) for y in (-0.2, 0.2)], "cloth")
    s.rod((0.36, -0.2, 1.0), (0.36, 0.2, 1.0), 0.02, "rubber", sides=4)
    for y in (-0.21, 0.21):
        s.rod((0.36, y * 0.95, 1.0), (1.05, y, 0.2), 0.018, "steel", sides=4).rod((0.5, y, 0.7), (0.5, y, 0.2), 0.018, "steel", sides=4)
        for x in (0.5, 1.08):
            s.rod((x, y - 0.02, 0.13), (x, y + 0.02, 0.13), 0.13, "rubber", sides=8)
    return s


def dog_walker() -> Shape:
    s = person(Look(1.7, top="cloth", bottom="suit", hat="plastic_black"), WALK)
    s.hull([(x, y, z) for x, w in ((0.55, 0.07), (1.05, 0.09)) for y in (-0.35 - w, -0.35 + w) for z in (0.34, 0.52)], "leather")
    s.ball((1.14, -0.35, 0.62), (0.11, 0.08, 0.09), "leather", 4).rod((1.16, -0.35, 0.58), (1.28, -0.35, 0.57), 0.045, "leather", sides=4).rod((0.56, -0.35, 0.48), (0.4, -0.35, 0.66), 0.02, "leather", sides=4)
    for x in (0.6, 1.0):
        for y in (-0.4, -0.3):
            s.rod((x, y, 0.4), (x + 0.02, y, 0.0), 0.026, "leather", sides=4)
    return s.rod((0.3, -0.22, 0.84), (1.05, -0.35, 0.58), 0.008, "rubber", sides=3)


def wheelchair_user() -> Shape:
    s = person(Look(1.72, skin="skin_tan"), Pose((82, 82), (78, 78), (20, 20), (30, 30)))
    s = s.moved((0, 0, -0.02))
    for y in (-0.3, 0.3):
        s.ring((-0.05, y, 0.31), 0.29, 0.022, "rubber", segments=14).rod((-0.05, y - 0.02, 0.31), (-0.05, y + 0.02, 0.31), 0.05, "chrome", sides=6)
        s.rod((0.45, y * 0.8, 0.08), (0.45, y * 0.8 + 0.03, 0.08), 0.08, "rubber", sides=6).rod((-0.22, y, 0.45), (-0.26, y, 0.95), 0.018, "chrome", sides=4).rod((-0.2, y, 0.4), (0.45, y * 0.8, 0.1), 0.018, "chrome", sides=4)
    return s.box((0.02, 0, 0.38), (0.46, 0.56, 0.07), "plastic_black").box((-0.2, 0, 0.62), (0.05, 0.56, 0.42), "plastic_black")


_PEOPLE = {
    "man": (Look(1.78, bottom="denim"), STAND, 2.0),
    "walking man": (Look(1.8, skin="skin_tan", bottom="trousers_tan"), WALK, 2.0),
    "woman": (Look(1.66, 0.92, hair="hair_light", long_hair=True), STRIDE, 2.0),
    "woman in a dress": (Look(1.67, 0.92, bottom="cloth", skirt=0.6, sleeves="skin_light", long_hair=True), Pose((14, -10), (2, 12)), 1.0),
    "woman in a skirt": (Look(1.7, 0.94, "skin_dark", bottom="suit", skirt=0.45, long_hair=True), WALK, 1.0),
    "businessman": (Look(1.8, 1.02, top="suit", bottom="suit", carries=("briefcase",)), WALK, 1.0),
    "jogger": (Look(1.76, 0.95, "skin_dark", bottom="plastic_black", sleeves="skin_dark", shoes="paint_white"), RUN, 0.6),
    "child": (Look(1.22, 1.14, hair="hair_light", bottom="trousers_tan"), STRIDE, 0.8),
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
