"""Bicycles and motorcycles: open frames of tubes, tyres as rings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from flaneur.city.assets.canvas import Color
from flaneur.city.assets.cars import axle
from flaneur.city.assets.recipes import add
from flaneur.city.assets.shapes import Shape, facing

FRAMES: tuple[Color, ...] = ((200, 36, 40), (30, 84, 160), (24, 26, 28), (40, 120, 80), (232, 232, 228), (226, 140, 40), (120, 70, 140))


@dataclass(frozen=True)
class BikeShape:
    wheel: float = 0.34  # radius, metres
    base: float = 1.05  # between the hubs
    tyre: float = 0.021
    tube: float = 0.021
    saddle: float = 0.92
    bar: float = 1.02  # handlebar height
    low_step: bool = False
    drop_bar: bool = False


def bicycle(b: BikeShape) -> Shape:
    s, t = Shape(), b.tube
    side = b.tyre + b.tube + 0.008  # the fork passes beside the tyre
    rear, front = -b.base / 2, b.base / 2
    crank, seat, head = (rear + b.base * 0.42, 0.0, b.wheel * 0.85), (rear + b.base * 0.3, 0.0, b.saddle - 0.06), (front - b.base * 0.17, 0.0, b.bar - 0.16)
    for x in (rear, front):
        s.ring((x, 0, b.wheel), b.wheel - b.tyre, b.tyre, "rubber", segments=10)
    s.rod(crank, seat, t, "plastic", sides=3).rod(crank, (head[0], 0, head[2] - 0.12), t, "plastic", sides=3)
    if not b.low_step:
        s.rod((seat[0], 0, seat[2] - 0.12), (head[0], 0, head[2] - 0.02), t, "plastic", sides=3)
    s.rod((rear, side, b.wheel), crank, t * 0.9, "plastic", sides=3).rod((rear, side, b.wheel), (seat[0], 0, seat[2] - 0.14), t * 0.8, "plastic", sides=3)
    s.rod((front, side, b.wheel), (head[0] - 0.03, 0, b.bar), t, "plastic", sides=3)
    s.hull([(seat[0] + x, y, b.saddle + z) for x, w, z in ((-0.16, 0.08, 0.04), (-0.14, 0.06, -0.03), (0.14, 0.02, 0.03), (0.12, 0.02, -0.02)) for y in (-w, w)], "plastic_black")
    x, z = head[0] - 0.02, b.bar
    if b.drop_bar:
        s.rod((x, -0.21, z), (x, 0.21, z), 0.016, "rubber", sides=3)
        for y in (-0.2, 0.2):
            s.rod((x, y, z), (x + 0.12, y, z - 0.12), 0.016, "rubber", sides=3)
    else:
        s.rod((x - 0.05, -0.29, z + 0.03), (x - 0.05, 0.29, z + 0.03), 0.018, "rubber", sides=4).rod((x - 0.02, 0, z - 0.03), (x - 0.05, 0, z + 0.012), 0.02, "chrome", sides=3)
    return s.hull([*((crank[0] + dx, 0.04 + y, crank[2] + dz) for dx, dz in ((-0.09, 0), (0.09, 0), (0, 0.09), (0, -0.09)) for y in (0, 0.02))], "iron")


def city_bike() -> Shape:
    s = bicycle(BikeShape(tyre=0.022, low_step=True, bar=1.08))
    return s.box((-0.58, 0, 0.76), (0.36, 0.14, 0.03), "iron").box((0.52, 0, 0.93), (0.26, 0.34, 0.22), "wood")


def cargo_bike() -> Shape:
    s = bicycle(BikeShape(wheel=0.3, base=1.1, bar=1.1, saddle=0.9)).moved((-0.55, 0, 0))
    s.rod((-0.05, 0, 0.3), (1.3, 0, 0.26), 0.03, "plastic", sides=4).ring((1.3, 0, 0.25), 0.228, 0.022, "rubber", segments=9)
    return s.hull([(x, y, z) for x, z in ((0.12, 0.3), (0.9, 0.3)) for y in (-0.22, 0.22)] + [(x, y, 0.74) for x in (0.02, 1.02) for y in (-0.3, 0.3)], "wood").painted(
        (facing("+z"), "plastic_black", "box")
    )


def delivery_bike() -> Shape:
    s = bicycle(BikeShape(tyre=0.024))
    return s.box((-0.62, 0, 0.98), (0.42, 0.42, 0.5), "plastic")


def tandem() -> Shape:
    s = bicycle(BikeShape(base=1.75, saddle=0.95))
    s.rod((0.3, 0, 0.9), (-0.05, 0, 0.3), 0.021, "plastic", sides=3).rod((-0.3, 0, 0.82), (0.35, 0, 0.86), 0.021, "plastic", sides=3)
    s.hull([(0.22 + x, y, 0.94 + z) for x, w, z in ((-0.16, 0.08, 0.04), (-0.14, 0.06, -0.03), (0.14, 0.02, 0.03), (0.12, 0.02, -0.02)) for y in (-w, w)], "plastic_black")
    return s.box((-0.1, 0, 1.02), (0.05, 0.5, 0.04), "rubber").rod((-0.1, 0, 1.02), (-0.28, 0, 0.8), 0.018, "plastic", sides=3)


def motorcycle(tyre: float = 0.06, fairing: bool = False, windscreen: bool = False, cases: bool = False) -> Shape:
    s = Shape()
    for x in (-0.72, 0.72):
        axle(s, x, 2 * tyre, 0.32, sides=10)
    s.hull([(x, y, z) for x, z in ((-0.28, 0.28), (0.32, 0.28), (0.4, 0.55), (-0.32, 0.62)) for y in (-0.16, 0.16)], "steel")
    s.hull([(x, y, z) for x, z, w in ((-0.08, 0.7, 0.13), (0.44, 0.74, 0.1), (0.4, 0.98, 0.1), (0.05, 0.96, 0.14)) for y in (-w, w)], "car_paint")
    s.hull([(x, y, z) for x, z, w in ((0.02, 0.68, 0.12), (0.05, 0.84, 0.12), (-0.5, 0.82, 0.15), (-0.86, 0.92, 0.09), (-0.8, 0.8, 0.08)) for y in (-w, w)], "plastic_black")
    s.rod((-0.25, 0.1, 0.45), (-0.72, 0.1, 0.32), 0.05, "iron", sides=4)
    s.hull([(x + d, y, z) for x, z in ((0.72, 0.3), (0.42, 1.02)) for y in (-0.1, 0.1) for d in (-0.03, 0.03)], "chrome")
    s.rod((0.38, -0.36, 1.06), (0.38, 0.36, 1.06), 0.025, "rubber", sides=4).box((0.56, 0, 0.92), (0.12, 0.18, 0.18), "headlight").box((-0.88, 0, 0.88), (0.05, 0.14, 0.08), "taillight")
    s.rod((-0.1, -0.2, 0.3), (-0.85, -0.2, 0.42), 0.055, "chrome", sides=5).hull(
        [(x, y, z) for x, z in ((-0.6, 0.66), (-0.6, 0.8), (-0.98, 0.62), (-0.98, 0.76)) for y in (-0.09, 0.09)], "car_paint"
    ).painted((facing("-x"), "plate", "fit"))
    if fairing:
        s.hull([(x, y, z) for x, z, w in ((0.35, 0.45, 0.2), (0.62, 0.6, 0.16), (0.7, 0.9, 0.12), (0.4, 1.0, 0.2)) for y in (-w, w)], "car_paint")
    if windscreen:
        s.hull([(0.56, y, 1.0) for y in (-0.2, 0.2)] + [(0.6, y, 1.0) for y in (-0.2, 0.2)] + [(0.4, y, 1.38) for y in (-0.14, 0.14)] + [(0.43, y, 1.38) for y in (-0.14, 0.14)], "glass")
    if cases:
        for y in (-0.32, 0.32):
            s.box((-0.68, y, 0.68), (0.44, 0.2, 0.36), "plastic_black")
        s.box((-0.9, 0, 1.06), (0.34, 0.4, 0.28), "plastic_black")
    return s


def scooter(box: bool = False, retro: bool = False) -> Shape:
    s = Shape()
    for x in (-0.58, 0.62):
        axle(s, x, 0.11, 0.23, sides=9)
    s.hull([(x, y, z) for x, z, w in ((-0.82, 0.48, 0.12), (-0.75, 0.7, 0.16), (-0.1, 0.68, 0.17), (-0.12, 0.28, 0.17), (-0.45, 0.34, 0.2)) for y in (-w, w)], "car_paint")
    s.box((0.1, 0, 0.27), (0.62, 0.34, 0.09), "car_paint").hull(
        [(x, y, z) for x, z, w in ((0.36, 0.24, 0.18), (0.44, 0.24, 0.18), (0.34, 0.92, 0.2), (0.44, 0.92, 0.14)) for y in (-w, w)], "car_paint"
    )
    s.hull([(x, y, z) for x, z, w in ((-0.78, 0.7, 0.12), (-0.05, 0.68, 0.13), (-0.1, 0.79, 0.12), (-0.76, 0.82, 0.13)) for y in (-w, w)], "leather" if retro else "plastic_black")
    s.rod((0.62, 0, 0.23), (0.38, 0, 1.0), 0.04, "steel", sides=6).hull([(x, y, z) for x, z, w in ((0.42, 0.42, 0.09), (0.82, 0.36, 0.06), (0.62, 0.5, 0.09)) for y in (-w, w)], "car_paint")
    s.box((0.37, 0, 1.02), (0.16, 0.24, 0.15), "car_paint").rod((0.33, -0.34, 1.06), (0.33, 0.34, 1.06), 0.025, "rubber", sides=4)
    s.rod((0.43, 0, 1.02), (0.49, 0, 1.02), 0.075, "headlight", sides=6).box((-0.83, 0, 0.6), (0.05, 0.16, 0.08), "taillight")
    if box:
        s.box((-0.75, 0, 1.06), (0.44, 0.46, 0.44), "paint_red")
    return s


add("bicycle", "city bike", city_bike, palette=FRAMES, weight=2.0)
add("bicycle", "road bike", partial(bicycle, BikeShape(tyre=0.0185, tube=0.02, drop_bar=True, saddle=0.98, bar=1.0)), palette=FRAMES)
add("bicycle", "mountain bike", partial(bicycle, BikeShape(tyre=0.03, tube=0.024)), palette=FRAMES)
add("bicycle", "folding bike", partial(bicycle, BikeShape(wheel=0.24, base=0.98, tyre=0.027, tube=0.026, low_step=True)), palette=FRAMES, weight=0.5)
add("bicycle", "hire bike", partial(bicycle, BikeShape(tyre=0.028, tube=0.03, low_step=True, bar=1.1)), palette=((226, 60, 40), (40, 170, 120), (240, 190, 30)))
add("bicycle", "cargo bike", cargo_bike, palette=FRAMES, weight=0.4)
add("bicycle", "delivery bike", delivery_bike, palette=((40, 190, 170), (240, 130, 30)), weight=0.4)
add("bicycle", "tandem", tandem, palette=FRAMES, weight=0.1)
add("motorcycle", "naked motorcycle", motorcycle, palette=FRAMES)
add("motorcycle", "sports motorcycle", partial(motorcycle, 0.07, True, True), palette=FRAMES)
add("motorcycle", "touring motorcycle", partial(motorcycle, 0.07, True, True, True), palette=FRAMES, weight=0.6)
add("motorcycle", "motor scooter", scooter, palette=FRAMES, weight=2.0)
add("motorcycle", "retro scooter", partial(scooter, False, True), palette=((170, 206, 196), (236, 222, 190), (196, 60, 50)))
add("motorcycle", "delivery scooter", partial(scooter, True), palette=((236, 236, 232), (196, 40, 40)), weight=0.7)
