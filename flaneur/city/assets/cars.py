"""Cars: a side profile, a glass cabin under a painted roof, wheels, lamps, plates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from manifold3d import Manifold

from flaneur.city.assets.canvas import Color
from flaneur.city.assets.recipes import add
from flaneur.city.assets.shapes import Shape, facing

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


def axle(s: Shape, x: float, width: float, radius: float, tile: str = "wheel", sides: int = 9) -> Shape:
    """Both wheels of an axle as one drum: between them it is dark anyway, and it costs half the triangles."""
    solid = Manifold.cylinder(width, radius, radius, sides, True).rotate((90, 0, 0)).rotate((0, 90, 0))
    return s.add(solid.translate((x, 0, radius)), "rubber", "disc").painted((facing("+y"), tile, "disc"), (facing("-y"), tile, "disc"))


def car(c: CarShape) -> Shape:
    s = Shape()
    half, w = c.length / 2, c.width

    def at(x: float) -> float:
        return x - half

    low = c.clearance
    s.slab(
        [
            (at(0.12), low), (at(c.length - 0.12), low), (half, low + 0.12), (half, c.hood - 0.1), (at(c.length - 0.14), c.hood),
            (at(c.cabin[1]), c.belt), (at(c.cabin[0]), c.belt), (at(0.08), c.boot), (-half, c.boot - 0.1), (-half, low + 0.14),
        ], w, "car_paint",
    )  # fmt: skip
    s.painted((facing("+x", 0.9), "car_front", "fit"), (facing("-x", 0.9), "car_rear", "fit"), (facing("+y"), "car_side", "fit"), (facing("-y"), "car_side", "fit"))
    y0, y1 = w / 2 - 0.03, w / 2 - c.narrowing
    glass = [(facing(a, 0.3, c.belt), "windscreen", "fit") for a in ("+x", "-x")] + [(facing(a, 0.6), "car_windows", "fit") for a in ("+y", "-y")]
    s.loft((at(c.cabin[0]), at(c.cabin[1]), -y0, y0, c.belt - 0.05), (at(c.roof[0]), at(c.roof[1]), -y1, y1, c.height), "car_paint").painted(*glass)
    for x in (c.axles[0], c.length - c.axles[1]):
        axle(s, at(x), w + 0.05, c.wheel)
    for side in (-1, 1):
        s.hull(
            [
                (at(c.cabin[1] - 0.3) + x, side * y, c.belt + z)
                for x, y, z in ((0, w / 2 - 0.1, 0), (-0.06, w / 2 + 0.12, 0.04), (0.1, w / 2 - 0.1, 0.02), (0, w / 2 - 0.1, 0.14), (-0.04, w / 2 + 0.12, 0.18), (0.06, w / 2 + 0.1, 0.06))
            ],
            "car_paint",
        )
    return s


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
    return car(SHAPES["sedan"]).box((0, 0, 0.72), (1.9, 1.85, 0.1), "hazard").box((-0.3, 0, 1.51), (0.2, 0.5, 0.16), "lamp_amber")


def police_car() -> Shape:
    return car(SHAPES["estate car"]).box((-0.1, 0, 0.72), (2.7, 1.87, 0.2), "paint_blue").box((-0.2, 0, 1.55), (0.2, 1.1, 0.14), "paint_blue")


def convertible() -> Shape:
    c = CarShape(4.4, 1.82, 1.0, 0.84, 0.93, 0.98, (1.0, 2.9), (1.1, 2.8), 0.33)
    s, half = Shape(), c.length / 2
    s.slab(
        [(-half + 0.1, 0.16), (half - 0.12, 0.16), (half, 0.28), (half, 0.74), (half - 0.14, 0.84), (0.85, 0.97), (-1.2, 0.97), (-half + 0.1, 1.0), (-half, 0.88), (-half, 0.3)], c.width, "car_paint"
    )
    s.painted((facing("+x", 0.9), "car_front", "fit"), (facing("-x", 0.9), "car_rear", "fit"), (facing("+y"), "car_side", "fit"), (facing("-y"), "car_side", "fit"))
    s.hull([(x, y, 0.92) for x in (0.85, 0.75) for y in (-0.78, 0.78)] + [(x, y, 1.34) for x in (0.4, 0.34) for y in (-0.62, 0.62)], "glass")
    s.box((-0.25, 0, 0.95), (1.7, 1.5, 0.06), "leather")
    for x, z in ((-0.15, 1.12), (-0.95, 1.08)):
        for side in (-0.38, 0.38):
            s.box((x, side, z), (0.16, 0.5, 0.36), "leather", tilt=(0, -12, 0))
    for x in (-half + 0.8, half - 0.82):
        axle(s, x, c.width + 0.05, 0.33)
    return s


_WEIGHTS = {"sedan": 3.0, "hatchback": 3.0, "estate car": 2.0, "suv": 2.5, "limousine": 0.2, "sports car": 0.4, "off-road vehicle": 0.7}
for _name, _shape in SHAPES.items():
    add("car", _name, partial(car, _shape), palette=PAINTS, weight=_WEIGHTS.get(_name, 1.0))
add("car", "convertible", convertible, palette=PAINTS, weight=0.4)
add("car", "taxi", taxi, palette=((244, 190, 30), (240, 226, 196), (30, 30, 32)), weight=0.6)
add("car", "police car", police_car, palette=((240, 240, 240),), weight=0.25)
