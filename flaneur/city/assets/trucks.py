"""Trucks, vans and buses."""

from __future__ import annotations

from functools import partial

from flaneur.city.assets.canvas import Color
from flaneur.city.assets.cars import PAINTS, axle
from flaneur.city.assets.recipes import add
from flaneur.city.assets.shapes import Shape, facing

VANS: tuple[Color, ...] = ((244, 244, 242), (244, 244, 242), (226, 190, 40), (40, 76, 140), (150, 40, 36), (120, 124, 128), (64, 40, 28))
BUSES: tuple[Color, ...] = ((226, 186, 40), (196, 34, 34), (36, 92, 164), (236, 236, 232), (60, 132, 84))


def van(length: float, width: float, height: float, side: str = "van_side", stripe: str | None = None) -> Shape:
    """One box with a raked bonnet; its flanks, front and rear are drawn."""
    s, half = Shape(), length / 2
    s.slab(
        [
            (-half, 0.3),
            (half - 0.1, 0.3),
            (half, 0.4),
            (half, 1.0),
            (half - 0.12, 1.1),
            (half - 0.75, 1.22),
            (half - 1.45, height - 0.06),
            (half - 1.8, height),
            (-half + 0.08, height),
            (-half, height - 0.12),
        ],
        width,
        "car_paint",
    )
    s.painted(
        (facing("+x", 0.9), "car_front", "fit"),
        (facing("+x", 0.55, 1.25), "windscreen", "fit"),
        (facing("-x", 0.9), "van_rear", "fit"),
        (facing("+y"), f"{side}_l", "fit"),
        (facing("-y"), f"{side}_r", "fit"),
    )
    if stripe:
        s.box((-0.6, 0, 1.0), (length - 2.8, width + 0.03, 0.3), stripe)
    for x in (-half + 1.0, half - 0.95):
        axle(s, x, width + 0.05, 0.35)
    return s


def _cab(s: Shape, front: float, width: float, height: float, depth: float = 1.9, floor: float = 0.5) -> None:
    rear = front - depth
    s.slab([(rear, floor), (front, floor), (front, height - 0.12), (front - 0.25, height), (rear, height)], width, "car_paint")
    s.painted((facing("+x", 0.9), "truck_front", "fit"), (facing("+y"), "truck_side", "fit"), (facing("-y"), "truck_side", "fit"))
    for side in (-1, 1):
        s.box((front - 0.05, side * (width / 2 + 0.1), height - 0.7), (0.08, 0.22, 0.42), "plastic_black")


def _chassis(s: Shape, length: float, width: float, axles: tuple[float, ...], radius: float = 0.48) -> None:
    s.box((0, 0, 0.72), (length - 0.3, width * 0.5, 0.35), "iron")
    for x in axles:
        axle(s, x, width, radius, "wheel_heavy")


def _tail(s: Shape, rear: float, width: float) -> None:
    s.box((rear + 0.03, 0, 0.85), (0.06, width, 0.26), "truck_rear", "fit")


def box_truck(length: float = 7.2, height: float = 3.3, side: str = "car_paint", axles: tuple[float, ...] = (2.45, -2.2), cargo: str = "paint_white") -> Shape:
    s, half, width = Shape(), length / 2, 2.3
    _chassis(s, length, width, axles)
    _cab(s, half, width, 2.5)
    s.box((-1.0, 0, (0.95 + height) / 2), (length - 2.05, width + 0.1, height - 0.95), cargo).painted((facing("-x"), "truck_rear", "fit"), (facing("+y"), side, "fit"), (facing("-y"), side, "fit"))
    return s


def flatbed() -> Shape:
    s = Shape()
    _chassis(s, 7.0, 2.3, (2.35, -2.0))
    _cab(s, 3.5, 2.3, 2.5)
    s.box((-1.0, 0, 1.05), (4.9, 2.4, 0.3), "wood_dark").box((-1.2, 0, 1.55), (3.4, 1.7, 0.8), "planks")
    for y in (-1.17, 1.17):
        s.box((-1.0, y, 1.4), (4.9, 0.06, 0.45), "car_paint")
    _tail(s, -3.5, 2.2)
    return s.box((1.42, 0, 1.55), (0.08, 2.4, 0.8), "car_paint")


def tanker_truck() -> Shape:
    s = Shape()
    _chassis(s, 8.4, 2.4, (2.95, -1.8, -2.9))
    _cab(s, 4.2, 2.4, 2.7)
    s.rod((-4.0, 0, 2.05), (2.1, 0, 2.05), 1.12, "chrome", sides=10)
    for x in (-1.0,):
        s.rod((x, 0, 3.1), (x, 0, 3.3), 0.25, "steel", sides=6)
    _tail(s, -4.2, 2.3)
    return s.box((-0.95, 0, 1.02), (6.0, 2.3, 0.12), "paint_red")


def garbage_truck() -> Shape:
    s = Shape()
    _chassis(s, 8.0, 2.4, (2.7, -1.7, -2.8))
    _cab(s, 4.0, 2.4, 2.6)
    s.slab([(-2.4, 1.0), (1.95, 1.0), (1.95, 3.3), (-2.4, 3.4)], 2.45, "car_paint")
    s.slab([(-2.4, 0.75), (-3.4, 0.75), (-4.0, 1.5), (-3.5, 3.1), (-2.4, 3.3)], 2.3, "paint_green")
    return s.slab([(-3.55, 0.98), (-4.02, 1.5), (-3.85, 2.0), (-3.5, 1.7)], 1.9, "plastic_black").box((3.2, 0, 2.66), (0.25, 0.9, 0.16), "lamp_amber")


def dump_truck() -> Shape:
    s = Shape()
    _chassis(s, 7.4, 2.45, (2.4, -1.5, -2.7), 0.52)
    _cab(s, 3.7, 2.45, 2.6)
    s.slab([(-3.6, 1.15), (1.4, 1.15), (1.7, 2.5), (2.6, 2.62), (2.6, 2.74), (1.5, 2.74), (-3.7, 2.4)], 2.4, "paint_orange")
    return s.slab([(-3.3, 2.2), (1.3, 2.2), (0.6, 2.9), (-0.6, 3.1), (-2.4, 2.8)], 2.1, "soil")


def fire_engine() -> Shape:
    s = Shape()
    _chassis(s, 8.2, 2.45, (2.75, -2.1))
    _cab(s, 4.1, 2.45, 2.75, 2.6)
    s.box((-1.3, 0, 1.95), (5.5, 2.5, 1.9), "car_paint").painted((facing("+y"), "corrugated", "box"), (facing("-y"), "corrugated", "box"), (facing("-x"), "truck_rear", "fit"))
    for y in (-0.35, 0.35):
        s.box((-0.6, y, 3.05), (6.2, 0.08, 0.16), "steel")
    for x in (-3.0, -1.4, 0.2, 1.8):
        s.box((x, 0, 3.03), (0.08, 0.7, 0.08), "steel")
    return s.box((3.2, 0, 2.82), (0.3, 1.8, 0.18), "paint_blue").box((-1.3, 0, 1.12), (5.52, 2.54, 0.16), "paint_white")


def pickup() -> Shape:
    s, w = Shape(), 1.95
    s.slab([(-2.7, 0.5), (-2.55, 0.38), (2.55, 0.38), (2.7, 0.5), (2.7, 1.04), (2.58, 1.14), (1.35, 1.2), (-0.75, 1.2), (-2.7, 1.2)], w, "car_paint")
    s.painted((facing("+x", 0.9), "car_front", "fit"), (facing("-x", 0.9), "car_rear", "fit"), (facing("+y"), "car_side", "fit"), (facing("-y"), "car_side", "fit"))
    s.loft((-0.72, 1.5, -0.94, 0.94, 1.15), (-0.6, 0.72, -0.82, 0.82, 1.88), "car_paint").painted(
        *((facing(a, 0.3, 1.2), "windscreen", "fit") for a in ("+x", "-x")), *((facing(a, 0.6), "car_windows", "fit") for a in ("+y", "-y"))
    )
    s.box((-1.7, 0, 1.2), (1.75, 1.6, 0.03), "plastic_black").box((2.66, 0, 0.5), (0.16, 1.9, 0.16), "chrome")
    for x in (-1.75, 1.75):
        axle(s, x, 2.02, 0.4)
    return s


def bus(
    length: float = 12.0, height: float = 3.1, width: float = 2.5, decks: int = 1, nose: float = 0.0, doors: bool = True, stripe: str | None = None, axles: tuple[float, ...] = (3.2, -3.0)
) -> Shape:
    """A coach body with drawn window bays; doors are on the right-hand side (-y)."""
    s, half = Shape(), length / 2
    front, bays = half - nose, round((length - nose) / 1.55)
    s.slab([(-half, 0.3), (front, 0.3), (front, height - 0.2), (front - 0.3, height), (-half + 0.2, height), (-half, height - 0.15)], width, "car_paint")
    sides = tuple((facing(a), "bus_side", ("fit", bays, decks)) for a in ("+y", "-y"))
    s.painted(*sides, (facing("+x", 0.9), "bus_front" if decks == 1 else "double_decker_front", "fit"), (facing("-x", 0.9), "bus_rear" if decks == 1 else "double_decker_rear", "fit"))
    if nose:
        s.slab([(front - 0.1, 0.45), (half, 0.45), (half, 1.2), (front - 0.1, 1.5)], width * 0.82, "car_paint").painted((facing("+x", 0.9), "bus_nose", "fit"))
    if doors:
        for x in (front - 0.85, -0.6):
            s.box((x, -width / 2, 1.35), (1.2, 0.06, 2.0), "bus_door", "fit")
    if stripe:
        s.box((-0.1, 0, 0.95), (length - 0.8 - nose, width + 0.03, 0.25), stripe)
    for x in axles:
        axle(s, x, width + 0.05, 0.48, "wheel_heavy")
    return s.box((-0.1 * length, 0, height), (length * 0.35, width * 0.6, 0.3), "plastic_white")


add("truck", "delivery van", partial(van, 5.9, 2.05, 2.6), palette=VANS, weight=3.0)
add("truck", "small van", partial(van, 4.6, 1.85, 1.95), palette=VANS, weight=2.0)
add("truck", "parcel van", partial(van, 6.4, 2.1, 2.75, "van_side", "paint_red"), palette=((244, 200, 40), (244, 244, 242)), weight=1.5)
add("truck", "ambulance", partial(van, 6.2, 2.1, 2.7, "van_side", "stripes_red"), palette=((244, 244, 240),), weight=0.4)
add("truck", "camper van", partial(van, 5.6, 2.05, 2.5, "camper_side"), palette=((236, 230, 214), (120, 150, 160)), weight=0.6)
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
