"""Cars: a side profile, a glass cabin under a painted roof, wheels, lamps, plates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from flaneur.city.assets.canvas import Color
from flaneur.city.assets.recipes import add
from flaneur.city.assets.shapes import Shape

PAINTS: tuple[Color, ...] = ((240, 240, 238), (24, 26, 30), (150, 154, 158), (92, 96, 102), (170, 28, 30), (30, 58, 112), (34, 80, 62), (196, 182, 152), (206, 118, 32), (110, 30, 44), (86, 132, 168))


@dataclass(frozen=True)
class CarShape:
    """Metres; x positions run from the rear bumper (0) to the front bumper (length)."""

    length: float
    width: float
    height: float
    hood: float  # height of the bonnet's front edge
    belt: float  # lower edge of the windows
    boot: float  # height of the tail
    cabin: tuple[float, float]  # foot of the rear and the front window
    roof: tuple[float, float]
    wheel: float = 0.32
    axles: tuple[float, float] = (0.75, 0.8)  # from the rear end and from the front end
    clearance: float = 0.2
    narrowing: float = 0.16  # of the roof on either side


def wheel(s: Shape, x: float, y: float, radius: float, width: float, sides: int = 10, hub: str = "chrome") -> None:
    """A tyre lying in x-z whose outer face is at |y|, with a hub cap."""
    side = 1 if y > 0 else -1
    s.rod((x, y - side * width, radius), (x, y, radius), radius, "rubber", sides=sides)
    s.rod((x, y - side * 0.05, radius), (x, y + side * 0.015, radius), radius * 0.55, hub, sides=6)


def car(c: CarShape) -> Shape:
    s = Shape()
    half, w = c.length / 2, c.width

    def at(x: float) -> float:
        return x - half

    low = c.clearance
    s.slab(
        [
            (at(0.12), low), (at(c.length - 0.15), low), (half, low + 0.15), (half, c.hood - 0.16), (at(c.length - 0.12), c.hood),
            (at(c.cabin[1]), c.belt), (at(c.cabin[0]), c.belt), (at(0.1), c.boot), (-half, c.boot - 0.14), (-half, low + 0.18),
        ], w, "car_paint",
    )  # fmt: skip
    y0, y1 = w / 2 - 0.05, w / 2 - c.narrowing
    top = c.height - 0.05
    s.loft((at(c.cabin[0]), at(c.cabin[1]), -y0, y0, c.belt - 0.05), (at(c.roof[0]), at(c.roof[1]), -y1, y1, top), "glass")
    s.loft((at(c.roof[0]) - 0.04, at(c.roof[1]) + 0.06, -y1 - 0.02, y1 + 0.02, top - 0.02), (at(c.roof[0]) + 0.1, at(c.roof[1]) - 0.1, -y1 + 0.08, y1 - 0.08, c.height), "car_paint")
    middle = (c.roof[0] + c.roof[1]) / 2
    s.loft((at(middle) - 0.07, at(middle) + 0.05, -y0 - 0.015, y0 + 0.015, c.belt - 0.02), (at(middle) - 0.05, at(middle) + 0.04, -y1 - 0.015, y1 + 0.015, top), "car_paint")
    for x in (c.axles[0], c.length - c.axles[1]):
        for side in (-1, 1):
            wheel(s, at(x), side * (w / 2 + 0.02), c.wheel, 0.22)
    for side in (-1, 1):
        s.box((half - 0.05, side * (w / 2 - 0.2), c.hood - 0.2), (0.14, 0.32, 0.13), "headlight")
        s.box((-half + 0.05, side * (w / 2 - 0.17), c.boot - 0.24), (0.14, 0.28, 0.16), "taillight")
        s.box((at(c.cabin[1] - 0.28), side * (w / 2 + 0.05), c.belt + 0.1), (0.12, 0.18, 0.13), "car_paint")
    s.box((half, 0, c.hood - 0.26), (0.06, w * 0.46, 0.16), "plastic_black").box((half - 0.02, 0, low + 0.14), (0.1, w * 0.9, 0.14), "plastic_black")
    s.panel((half + 0.03, 0, low + 0.2), (0.5, 0.12), "plate").panel((-half - 0.01, 0, c.boot - 0.34), (0.5, 0.12), "plate")
    return s.box((-half + 0.02, 0, low + 0.16), (0.1, w * 0.9, 0.14), "plastic_black")


SHAPES = {
    "sedan": CarShape(4.65, 1.82, 1.46, 0.82, 0.95, 0.98, (0.5, 3.5), (1.25, 2.75)),
    "hatchback": CarShape(4.05, 1.78, 1.48, 0.84, 0.95, 0.98, (0.06, 3.1), (0.45, 2.35)),
    "city car": CarShape(3.6, 1.68, 1.54, 0.88, 0.98, 1.0, (0.05, 2.95), (0.35, 2.2), 0.29, (0.5, 0.6)),
    "estate car": CarShape(4.75, 1.84, 1.5, 0.83, 0.95, 0.98, (0.08, 3.55), (0.55, 2.8)),
    "suv": CarShape(4.6, 1.92, 1.72, 1.0, 1.1, 1.12, (0.08, 3.45), (0.45, 2.75), 0.37, (0.85, 0.85), 0.26, 0.14),
    "off-road vehicle": CarShape(4.3, 1.9, 1.88, 1.12, 1.2, 1.2, (0.08, 3.0), (0.15, 2.75), 0.4, (0.8, 0.75), 0.32, 0.08),
    "minivan": CarShape(4.85, 1.92, 1.82, 0.96, 1.05, 1.08, (0.06, 4.15), (0.3, 3.1), 0.33, (0.85, 0.85), 0.2, 0.12),
    "coupe": CarShape(4.4, 1.84, 1.34, 0.8, 0.9, 0.95, (0.45, 3.2), (1.45, 2.45), 0.34, (0.8, 0.85), 0.17, 0.2),
    "sports car": CarShape(4.45, 1.94, 1.24, 0.74, 0.86, 0.94, (0.35, 3.35), (1.5, 2.35), 0.35, (0.8, 0.9), 0.14, 0.24),
    "limousine": CarShape(5.4, 1.9, 1.5, 0.86, 0.98, 1.0, (0.6, 4.2), (1.3, 3.4), 0.34, (0.95, 0.9)),
}  # fmt: skip


def taxi() -> Shape:
    s = car(SHAPES["sedan"])
    for side in (-1, 1):
        s.box((-0.1, side * 0.915, 0.74), (1.9, 0.02, 0.12), "hazard")
    return s.box((-0.2, 0, 1.5), (0.2, 0.5, 0.16), "lamp_amber")


def police_car() -> Shape:
    s = car(SHAPES["estate car"])
    for side in (-1, 1):
        s.box((-0.1, side * 0.925, 0.72), (2.6, 0.02, 0.2), "paint_blue")
        s.box((-0.2, side * 0.32, 1.54), (0.22, 0.5, 0.12), "paint_blue")
    return s


def convertible() -> Shape:
    c = CarShape(4.2, 1.8, 1.0, 0.84, 0.93, 0.98, (1.0, 2.9), (1.1, 2.8), 0.33)
    s = Shape()
    half = c.length / 2
    s.slab([(-half + 0.1, 0.18), (half - 0.15, 0.18), (half, 0.36), (half, 0.7), (half - 0.12, 0.84), (0.85, 0.95), (-1.1, 0.95), (-half + 0.1, 0.98), (-half, 0.8), (-half, 0.4)], c.width, "car_paint")
    s.hull([(0.85, y, 0.9) for y in (-0.75, 0.75)] + [(0.75, y, 0.9) for y in (-0.75, 0.75)] + [(0.4, y, 1.32) for y in (-0.62, 0.62)] + [(0.34, y, 1.3) for y in (-0.62, 0.62)], "glass")
    s.box((-0.25, 0, 0.95), (1.7, 1.5, 0.04), "leather")
    for side in (-0.38, 0.38):
        s.box((-0.1, side, 1.1), (0.16, 0.5, 0.4), "leather", tilt=(0, -12, 0)).box((-0.9, side, 1.06), (0.16, 0.6, 0.3), "leather", tilt=(0, -12, 0))
    for x in (-half + 0.8, half - 0.82):
        for side in (-1, 1):
            wheel(s, x, side * (c.width / 2 + 0.02), 0.33, 0.22)
    for side in (-1, 1):
        s.box((half - 0.05, side * 0.7, 0.66), (0.14, 0.3, 0.13), "headlight").box((-half + 0.05, side * 0.72, 0.76), (0.14, 0.28, 0.12), "taillight")
    s.panel((half + 0.01, 0, 0.36), (0.5, 0.12), "plate")
    return s.panel((-half - 0.01, 0, 0.6), (0.5, 0.12), "plate")


_WEIGHTS = {"sedan": 3.0, "hatchback": 3.0, "estate car": 2.0, "suv": 2.5, "limousine": 0.2, "sports car": 0.4, "off-road vehicle": 0.7}
for _name, _shape in SHAPES.items():
    add("car", _name, partial(car, _shape), palette=PAINTS, weight=_WEIGHTS.get(_name, 1.0))
add("car", "convertible", convertible, palette=PAINTS, weight=0.4)
add("car", "taxi", taxi, palette=((244, 190, 30), (240, 226, 196), (30, 30, 32)), weight=0.6)
add("car", "police car", police_car, palette=((240, 240, 240),), weight=0.25)
