"""Trucks, vans and buses."""

from __future__ import annotations

from functools import partial

from flaneur.city.assets.canvas import Color
from flaneur.city.assets.cars import PAINTS, wheel
from flaneur.city.assets.recipes import add
from flaneur.city.assets.shapes import Shape

VANS: tuple[Color, ...] = ((244, 244, 242), (244, 244, 242), (226, 190, 40), (40, 76, 140), (150, 40, 36), (120, 124, 128), (64, 40, 28))
BUSES: tuple[Color, ...] = ((226, 186, 40), (196, 34, 34), (36, 92, 164), (236, 236, 232), (60, 132, 84))


def _lamps(s: Shape, front: float, rear: float, width: float, z: float) -> None:
    for side in (-1, 1):
        s.box((front, side * (width / 2 - 0.2), z), (0.08, 0.3, 0.18), "headlight").box((rear, side * (width / 2 - 0.16), z), (0.08, 0.2, 0.3), "taillight")
    s.panel((front + 0.05, 0, z - 0.22), (0.5, 0.12), "plate").panel((rear - 0.05, 0, z - 0.1), (0.5, 0.12), "plate")


def van(length: float, width: float, height: float, windows: bool = False, stripe: str | None = None) -> Shape:
    """One box with a raked bonnet; `windows` along the sides make it a minibus."""
    s, half = Shape(), length / 2
    s.slab([(-half, 0.3), (half - 0.1, 0.3), (half, 0.45), (half, 0.95), (half - 0.1, 1.08), (half - 0.75, 1.22), (half - 1.45, height - 0.06), (half - 1.8, height), (-half + 0.08, height), (-half, height - 0.12)], width, "car_paint")
    s.hull([(half - 0.84, y, 1.32) for y in (-width / 2 + 0.12, width / 2 - 0.12)] + [(half - 0.74, y, 1.28) for y in (-width / 2 + 0.12, width / 2 - 0.12)] + [(half - 1.44, y, height - 0.14) for y in (-width / 2 + 0.15, width / 2 - 0.15)] + [(half - 1.34, y, height - 0.14) for y in (-width / 2 + 0.15, width / 2 - 0.15)], "glass")
    s.slab([(half - 1.02, 1.24), (half - 1.85, 1.24), (half - 1.85, height - 0.3), (half - 1.5, height - 0.3)], width + 0.02, "glass")
    if windows:
        s.box(((-half + half - 1.95) / 2 + 0.05, 0, height - 0.62), (length - 2.35, width + 0.02, 0.62), "glass").box((-half, 0, height - 0.6), (0.03, width * 0.8, 0.55), "glass")
    else:
        for side in (-0.42, 0.42):
            s.box((-half, side, height - 0.62), (0.03, 0.6, 0.45), "glass")
    if stripe:
        s.box((-0.4, 0, 0.95), (length - 2.4, width + 0.02, 0.3), stripe)
    for x in (-half + 1.0, half - 0.95):
        for side in (-1, 1):
            wheel(s, x, side * (width / 2 + 0.02), 0.35, 0.24)
    _lamps(s, half, -half, width, 0.78)
    return s.box((half, 0, 0.5), (0.1, width * 0.92, 0.2), "plastic_black")


def _cab(s: Shape, front: float, width: float, height: float, depth: float = 1.9, floor: float = 0.5) -> None:
    rear = front - depth
    s.slab([(rear, floor), (front, floor), (front, 1.5), (front - 0.22, height - 0.15), (front - 0.4, height), (rear, height)], width, "car_paint")
    s.hull([(front - d, y, z) for d, z in ((-0.01, 1.5), (0.05, 1.5), (0.16, height - 0.35), (0.3, height - 0.35)) for y in (-width / 2 + 0.1, width / 2 - 0.1)], "glass")
    s.slab([(front - 0.3, 1.5), (front - 1.2, 1.5), (front - 1.2, height - 0.4), (front - 0.42, height - 0.4)], width + 0.02, "glass")
    s.box((front, 0, 1.12), (0.06, width * 0.6, 0.4), "plastic_black").box((front, 0, floor + 0.12), (0.14, width, 0.24), "plastic_black")
    for side in (-1, 1):
        s.box((front - 0.05, side * (width / 2 + 0.12), height - 0.6), (0.08, 0.14, 0.4), "plastic_black")


def _chassis(s: Shape, length: float, width: float, axles: tuple[float, ...], radius: float = 0.48) -> None:
    s.box((0, 0, 0.72), (length - 0.3, width * 0.5, 0.35), "iron")
    for x in axles:
        for side in (-1, 1):
            wheel(s, x, side * width / 2, radius, 0.34, hub="steel")


def box_truck(length: float = 7.2, height: float = 3.3, side: str = "car_paint", axles: tuple[float, ...] = (2.45, -2.2), cargo: str = "paint_white") -> Shape:
    s, half, width = Shape(), length / 2, 2.3
    _chassis(s, length, width, axles)
    _cab(s, half, width, 2.5)
    s.box((-1.0, 0, (0.95 + height) / 2), (length - 2.05, width + 0.1, height - 0.95), cargo)
    s.box((-1.0, 0, 2.1), (length - 3.2, width + 0.13, 0.7), side)
    _lamps(s, half + 0.02, -half + 0.03, width, 0.92)
    return s


def flatbed() -> Shape:
    s = Shape()
    _chassis(s, 7.0, 2.3, (2.35, -2.0))
    _cab(s, 3.5, 2.3, 2.5)
    s.box((-1.0, 0, 1.05), (4.9, 2.4, 0.3), "wood_dark")
    for y in (-1.17, 1.17):
        s.box((-1.0, y, 1.4), (4.9, 0.06, 0.45), "car_paint")
    s.box((1.42, 0, 1.55), (0.08, 2.4, 0.8), "car_paint").box((-1.2, 0, 1.55), (3.4, 1.7, 0.8), "planks")
    _lamps(s, 3.52, -3.42, 2.3, 0.92)
    return s


def tanker_truck() -> Shape:
    s = Shape()
    _chassis(s, 8.4, 2.4, (2.95, -1.8, -2.9))
    _cab(s, 4.2, 2.4, 2.7)
    s.rod((-4.0, 0, 2.05), (2.1, 0, 2.05), 1.12, "chrome", sides=12).rod((-4.1, 0, 2.05), (-4.0, 0, 2.05), 0.6, "paint_red", sides=8)
    for x in (-2.8, -0.9, 1.0):
        s.rod((x, 0, 3.1), (x, 0, 3.3), 0.25, "steel", sides=6)
    s.box((-0.95, 0, 1.02), (6.0, 2.3, 0.12), "paint_red")
    _lamps(s, 4.22, -4.07, 2.4, 0.92)
    return s


def garbage_truck() -> Shape:
    s = Shape()
    _chassis(s, 8.0, 2.4, (2.7, -1.7, -2.8))
    _cab(s, 4.0, 2.4, 2.6)
    s.slab([(-2.4, 1.0), (1.95, 1.0), (1.95, 3.3), (-2.4, 3.4)], 2.45, "car_paint")
    s.slab([(-2.4, 0.75), (-3.4, 0.75), (-4.0, 1.5), (-3.5, 3.1), (-2.4, 3.3)], 2.3, "paint_green")
    s.slab([(-3.55, 0.98), (-4.02, 1.5), (-3.85, 2.0), (-3.5, 1.7)], 1.9, "plastic_black").box((3.2, 0, 2.66), (0.25, 0.9, 0.16), "lamp_amber")
    _lamps(s, 4.02, -3.6, 2.3, 0.9)
    return s


def dump_truck() -> Shape:
    s = Shape()
    _chassis(s, 7.4, 2.45, (2.4, -1.5, -2.7), 0.52)
    _cab(s, 3.7, 2.45, 2.6)
    s.slab([(-3.6, 1.15), (1.4, 1.15), (1.7, 2.5), (2.6, 2.62), (2.6, 2.74), (1.5, 2.74), (-3.7, 2.4)], 2.4, "paint_orange")
    s.slab([(-3.3, 2.2), (1.3, 2.2), (0.6, 2.9), (-0.6, 3.1), (-2.4, 2.8)], 2.1, "soil")
    _lamps(s, 3.72, -3.6, 2.4, 0.92)
    return s


def fire_engine() -> Shape:
    s = Shape()
    _chassis(s, 8.2, 2.45, (2.75, -2.1))
    _cab(s, 4.1, 2.45, 2.75, 2.6)
    s.box((-1.3, 0, 1.95), (5.5, 2.5, 1.9), "car_paint").box((-1.2, 0, 1.75), (4.6, 2.53, 1.0), "corrugated").box((-1.3, 0, 1.12), (5.52, 2.54, 0.16), "paint_white")
    for y in (-0.35, 0.35):
        s.box((-0.6, y, 3.05), (6.2, 0.08, 0.16), "steel")
    for x in (-3.2, -2.1, -1.0, 0.1, 1.2, 2.2):
        s.box((x, 0, 3.03), (0.08, 0.7, 0.08), "steel")
    s.box((3.2, 0, 2.82), (0.3, 1.8, 0.18), "paint_blue")
    _lamps(s, 4.12, -4.07, 2.45, 0.92)
    return s


def pickup() -> Shape:
    s, w = Shape(), 1.95
    s.slab([(-2.7, 0.5), (-2.55, 0.38), (2.5, 0.38), (2.7, 0.55), (2.7, 1.0), (2.6, 1.14), (1.35, 1.2), (-0.75, 1.2), (-2.7, 1.2)], w, "car_paint")
    s.loft((-0.72, 1.5, -0.92, 0.92, 1.15), (-0.6, 0.75, -0.8, 0.8, 1.82), "glass").loft((-0.68, 0.84, -0.84, 0.84, 1.8), (-0.55, 0.7, -0.74, 0.74, 1.88), "car_paint")
    s.loft((0.1, 0.22, -0.94, 0.94, 1.18), (0.1, 0.2, -0.82, 0.82, 1.82), "car_paint").box((-1.7, 0, 1.2), (1.75, 1.6, 0.03), "plastic_black")
    s.box((2.7, 0, 0.85), (0.06, 1.2, 0.28), "plastic_black").box((2.68, 0, 0.5), (0.14, 1.9, 0.16), "chrome").box((-2.7, 0, 0.52), (0.14, 1.9, 0.16), "chrome")
    for x in (-1.75, 1.75):
        for side in (-1, 1):
            wheel(s, x, side * 1.0, 0.4, 0.27)
    _lamps(s, 2.69, -2.69, w, 0.95)
    return s


def bus(length: float = 12.0, height: float = 3.1, width: float = 2.5, decks: int = 1, nose: float = 0.0, doors: bool = True, stripe: str | None = None, axles: tuple[float, ...] = (3.2, -3.0)) -> Shape:
    """A coach body: window bands, doors on the right-hand side (-y), a lit destination board."""
    s, half = Shape(), length / 2
    front = half - nose
    s.slab([(-half, 0.4), (-half + 0.1, 0.3), (front - 0.1, 0.3), (front, 0.4), (front, height - 0.35), (front - 0.25, height), (-half + 0.15, height), (-half, height - 0.2)], width, "car_paint")
    if nose:
        s.slab([(front - 0.1, 0.45), (half, 0.45), (half, 1.3), (front - 0.1, 1.5)], width * 0.82, "car_paint").box((half, 0, 0.95), (0.06, width * 0.5, 0.5), "plastic_black")
    deck = (height - 0.3) / decks
    for k in range(decks):
        z = 0.3 + deck * (k + (0.62 if decks == 1 else 0.6 - 0.04 * k))
        tall = 0.98 if decks == 1 else 0.85
        s.box((-0.15, 0, z), (length - 0.9 - nose, width + 0.03, tall), "glass")
        for x in (-0.3, -0.1, 0.12, 0.32):
            s.box((x * length, 0, z), (0.12, width + 0.05, tall), "car_paint")
        s.box((front - (0.0 if k < decks - 1 or decks == 1 else 0.01), 0, z - (0.12 if k == 0 and not nose else -0.05)), (0.04, width * 0.9, tall + (0.25 if k == 0 and not nose else -0.1)), "glass")
        s.box((-half, 0, z), (0.04, width * 0.8, tall * 0.8), "glass")
    if doors:
        for x in (front - 0.85, -0.6):
            s.box((x, -width / 2, 1.3), (1.15, 0.07, 1.95), "plastic_black").box((x - 0.28, -width / 2, 1.4), (0.48, 0.1, 1.6), "glass").box((x + 0.28, -width / 2, 1.4), (0.48, 0.1, 1.6), "glass")
    board = 0.3 + deck - 0.1 if decks > 1 else height - 0.3
    s.box((front - 0.02, 0, board), (0.08, width * 0.7, 0.24), "lamp_amber")
    if stripe:
        s.box((-0.1, 0, 0.95), (length - 0.8 - nose, width + 0.025, 0.25), stripe)
    for x in axles:
        for side in (-1, 1):
            wheel(s, x, side * (width / 2 + 0.02), 0.48, 0.3, hub="steel")
    _lamps(s, half, -half, width * (0.82 if nose else 1), 0.72)
    return s.box((0, 0, height), (length * 0.45, width * 0.6, 0.22), "plastic_white")


add("truck", "delivery van", partial(van, 5.9, 2.05, 2.6), palette=VANS, weight=3.0)
add("truck", "small van", partial(van, 4.6, 1.85, 1.95), palette=VANS, weight=2.0)
add("truck", "parcel van", partial(van, 6.4, 2.1, 2.75, False, "paint_red"), palette=((244, 200, 40), (244, 244, 242)), weight=1.5)
add("truck", "ambulance", partial(van, 6.2, 2.1, 2.7, False, "stripes_red"), palette=((244, 244, 240),), weight=0.4)
add("truck", "camper van", partial(van, 5.6, 2.05, 2.5, True), palette=((236, 230, 214), (120, 150, 160)), weight=0.6)
add("truck", "box truck", box_truck, palette=VANS, weight=1.5)
add("truck", "refrigerated truck", partial(box_truck, 8.4, 3.6, "paint_blue", (3.0, -2.3, -3.4)), palette=VANS)
add("truck", "furniture truck", partial(box_truck, 9.2, 3.8, "advert", (3.4, -3.0)), palette=VANS, weight=0.6)
add("truck", "flatbed truck", flatbed, palette=VANS)
add("truck", "tanker truck", tanker_truck, palette=VANS, weight=0.4)
add("truck", "garbage truck", garbage_truck, palette=((244, 244, 240), (226, 130, 40)), weight=0.6)
add("truck", "dump truck", dump_truck, palette=((226, 150, 40), (240, 240, 236)), weight=0.6)
add("truck", "fire engine", fire_engine, palette=((196, 28, 28),), weight=0.2)
add("truck", "pickup truck", pickup, palette=PAINTS, weight=2.0)
add("bus", "city bus", bus, palette=BUSES, weight=3.0)
add("bus", "midibus", partial(bus, 8.8, 2.95, 2.35, axles=(2.3, -2.2)), palette=BUSES)
add("bus", "coach", partial(bus, 12.0, 3.3, 2.5, doors=False, stripe="paint_blue", axles=(3.6, -2.8, -4.0)), palette=BUSES)
add("bus", "double-decker bus", partial(bus, 9.6, 4.1, 2.45, 2, axles=(2.8, -2.6)), palette=((196, 28, 28), (40, 90, 150)), weight=0.8)
add("bus", "school bus", partial(bus, 10.4, 2.95, 2.4, 1, 1.2, False, "plastic_black", (4.3, -2.9)), palette=((240, 176, 28),), weight=0.6)
add("bus", "minibus", partial(bus, 7.2, 2.75, 2.2, doors=False, axles=(2.1, -2.1)), palette=BUSES)
