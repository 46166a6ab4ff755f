"""Tiles that cover one whole side of a vehicle: windows, lamps, grilles, wheels. What is white takes the paint's tint."""

from __future__ import annotations

import numpy as np

from flaneur.city.assets.canvas import Canvas, Color
from flaneur.city.assets.tiles import TILES

PAINT: Color = (238, 238, 238)
PANE: Color = (50, 60, 68)
DARK: Color = (36, 37, 39)
LAMP: Color = (240, 242, 244)
VEHICLE_TILES: dict[str, float] = {}  # name -> emission of its masked part at night
RED: Color = (176, 26, 28)
AMBER: Color = (248, 180, 44)


def _pane(c: Canvas, x0: float, y0: float, x1: float, y1: float) -> Canvas:
    inside = c.box(x0, y0, x1, y1)
    return c.paint(inside, PANE, glass=True).shade(np.where(inside, 0.4 * (c.y - y0) / (y1 - y0), 0))


def _lamp(c: Canvas, color: Color, x0: float, y0: float, x1: float, y1: float) -> Canvas:
    return c.paint(c.box(x0, y0, x1, y1), color, glass=True)


def _plate(c: Canvas, x0: float, y0: float, x1: float, y1: float) -> Canvas:
    """Masked, so that the paint's tint leaves it white."""
    _lamp(c, (226, 226, 220), x0, y0, x1, y1)
    inner = c.box(x0 + (x1 - x0) * 0.12, y0 + (y1 - y0) * 0.25, x1 - (x1 - x0) * 0.06, y1 - (y1 - y0) * 0.25)
    return c.paint(inner & ((c.x * 48) % 1 < 0.6), (30, 30, 34), glass=True)


def _grille(c: Canvas, x0: float, y0: float, x1: float, y1: float, bars: int = 24) -> Canvas:
    return c.paint(c.box(x0, y0, x1, y1), DARK).paint(c.box(x0 + 0.01, y0, x1 - 0.01, y1) & ((c.y * bars) % 1 > 0.7), (120, 122, 124))


def _car_front(c: Canvas) -> None:
    c.paint(c.y < 0.14, DARK)
    _grille(c, 0.3, 0.52, 0.7, 0.88)
    _grille(c, 0.2, 0.14, 0.8, 0.3)
    _plate(c, 0.37, 0.32, 0.63, 0.48)
    for x0 in (0.03, 0.76):
        _lamp(c, LAMP, x0, 0.58, x0 + 0.21, 0.88)


def _car_rear(c: Canvas) -> None:
    c.paint(c.y < 0.16, DARK).shade(-0.3 * ((np.abs(c.y - 0.42) < 0.012) & (c.x > 0.06) & (c.x < 0.94)))
    _plate(c, 0.36, 0.52, 0.64, 0.72)
    for x0 in (0.02, 0.82):
        _lamp(c, RED, x0, 0.56, x0 + 0.16, 0.9)


def _car_side(c: Canvas) -> None:
    c.paint(c.y < 0.08, DARK).shade(0.06 * (c.y > 0.72))
    seams = (np.abs(c.x - 0.3) < 0.005) | (np.abs(c.x - 0.5) < 0.005) | (np.abs(c.x - 0.7) < 0.005)
    c.shade(-0.5 * (seams & (c.y > 0.12))).paint((c.box(0.42, 0.78, 0.48, 0.83)) | c.box(0.52, 0.78, 0.58, 0.83), (150, 152, 154))


def _car_windows(c: Canvas) -> None:
    _pane(c, 0, 0.08, 1, 0.93)
    c.paint(c.box(0.47, 0, 0.53, 1), PAINT)


def _windscreen(c: Canvas) -> None:
    _pane(c, 0.04, 0.04, 0.96, 0.96)


def _wheel(c: Canvas, spokes: int = 5, rim: Color = (176, 180, 184), rim_radius: float = 0.33) -> None:
    c.paint(np.ones_like(c.x), (36, 36, 38)).paint(c.disc(0.5, 0.5, rim_radius), rim)
    for k in range(spokes):
        # The holes between the spokes, by fifths or eighths of a turn from a small table of directions.
        dx, dy = _DIRECTIONS[spokes][k]
        c.paint(c.disc(0.5 + 0.6 * rim_radius * dx, 0.5 + 0.6 * rim_radius * dy, rim_radius * 0.27), (52, 53, 56))
    c.paint(c.disc(0.5, 0.5, 0.06), (120, 122, 126))


_DIRECTIONS = {
    5: ((0.0, 1.0), (0.951, 0.309), (0.588, -0.809), (-0.588, -0.809), (-0.951, 0.309)),
    8: ((1.0, 0.0), (0.707, 0.707), (0.0, 1.0), (-0.707, 0.707), (-1.0, 0.0), (-0.707, -0.707), (0.0, -1.0), (0.707, -0.707)),
}


def _van_side(c: Canvas, mirrored: bool, rows: int = 0) -> None:
    """A van's flank with its nose at the tile's right (or left) edge; `rows` of passenger windows behind the door."""
    if mirrored:
        c.x = c.x[:, ::-1]
    c.paint(c.y < 0.1, DARK).shade(-0.35 * ((np.abs(c.x - 0.66) < 0.004) | (np.abs(c.x - 0.36) < 0.004) | ((np.abs(c.y - 0.46) < 0.006) & (c.x < 0.62))))
    c.paint(c.box(0.64, 0.46, 0.86, 0.9) & (c.y - 0.46 < (0.9 - c.x) * 2.6), PANE, glass=True).paint(c.box(0.67, 0.38, 0.71, 0.41), DARK)
    for k in range(rows):
        _pane(c, 0.04 + 0.58 * k / rows, 0.5, 0.02 + 0.58 * (k + 1) / rows, 0.86)


def _van_rear(c: Canvas) -> None:
    c.paint(c.y < 0.1, DARK).shade(-0.5 * (np.abs(c.x - 0.5) < 0.006))
    for x0 in (0.12, 0.55):
        _pane(c, x0, 0.58, x0 + 0.33, 0.86)
    for x0 in (0.02, 0.92):
        _lamp(c, RED, x0, 0.2, x0 + 0.06, 0.44)
    _plate(c, 0.38, 0.16, 0.62, 0.24)


def _truck_front(c: Canvas) -> None:
    c.paint(c.y < 0.14, DARK)
    _pane(c, 0.06, 0.52, 0.94, 0.86)
    _grille(c, 0.16, 0.24, 0.84, 0.44, 40)
    for x0 in (0.03, 0.83):
        _lamp(c, LAMP, x0, 0.16, x0 + 0.14, 0.24)
    _plate(c, 0.38, 0.04, 0.62, 0.11)


def _truck_side(c: Canvas) -> None:
    c.paint(c.y < 0.08, DARK).shade(-0.4 * ((np.abs(c.x - 0.14) < 0.008) | (np.abs(c.x - 0.86) < 0.008)))
    _pane(c, 0.2, 0.52, 0.8, 0.84)
    c.paint(c.box(0.44, 0.42, 0.56, 0.45), DARK)


def _truck_rear(c: Canvas) -> None:
    c.shade(-0.5 * (np.abs(c.x - 0.5) < 0.006)).paint(c.box(0.3, 0.1, 0.32, 0.9) | c.box(0.68, 0.1, 0.7, 0.9), (130, 132, 134))
    for x0 in (0.03, 0.85):
        _lamp(c, RED, x0, 0.02, x0 + 0.12, 0.07)


def _bus_side(c: Canvas) -> None:
    c.paint(c.y < 0.06, DARK).shade(-0.25 * (np.abs(c.y - 0.34) < 0.008))
    _pane(c, 0.03, 0.42, 0.97, 0.82)


def _bus_front(c: Canvas) -> None:
    c.paint(c.y < 0.09, DARK)
    _pane(c, 0.05, 0.32, 0.95, 0.82)
    c.paint(c.box(0.05, 0.83, 0.95, 0.97), DARK)
    _lamp(c, AMBER, 0.16, 0.86, 0.84, 0.94)
    for x0 in (0.05, 0.79):
        _lamp(c, LAMP, x0, 0.14, x0 + 0.16, 0.21)
    _plate(c, 0.4, 0.11, 0.6, 0.16)


def _bus_rear(c: Canvas) -> None:
    c.paint(c.y < 0.09, DARK)
    _pane(c, 0.12, 0.56, 0.88, 0.84)
    _grille(c, 0.2, 0.14, 0.8, 0.34, 30)
    for x0 in (0.02, 0.9):
        _lamp(c, RED, x0, 0.2, x0 + 0.08, 0.42)


def _double_decker_front(c: Canvas) -> None:
    c.paint(c.y < 0.05, DARK)
    _pane(c, 0.05, 0.17, 0.95, 0.42)
    _pane(c, 0.05, 0.62, 0.95, 0.88)
    c.paint(c.box(0.1, 0.46, 0.9, 0.57), DARK)
    _lamp(c, AMBER, 0.16, 0.48, 0.84, 0.55)
    for x0 in (0.05, 0.79):
        _lamp(c, LAMP, x0, 0.08, x0 + 0.16, 0.12)
    _plate(c, 0.4, 0.06, 0.6, 0.09)


def _double_decker_rear(c: Canvas) -> None:
    c.paint(c.y < 0.05, DARK)
    _pane(c, 0.12, 0.64, 0.88, 0.86)
    _grille(c, 0.2, 0.1, 0.8, 0.24, 30)
    for x0 in (0.02, 0.9):
        _lamp(c, RED, x0, 0.1, x0 + 0.08, 0.24)


def _bus_door(c: Canvas) -> None:
    c.paint(np.ones_like(c.x), DARK)
    for x0 in (0.06, 0.54):
        _pane(c, x0, 0.08, x0 + 0.4, 0.94)


def _nose(c: Canvas) -> None:
    """The bonnet of a school bus."""
    _grille(c, 0.3, 0.25, 0.7, 0.85, 20)
    for x0 in (0.05, 0.77):
        _lamp(c, LAMP, x0, 0.5, x0 + 0.18, 0.75)


for _name, _draw in {
    "car_front": _car_front, "car_rear": _car_rear, "car_side": _car_side, "car_windows": _car_windows, "windscreen": _windscreen, "wheel": _wheel,
    "wheel_heavy": lambda c: _wheel(c, 8, (150, 152, 154), 0.29), "van_side_r": lambda c: _van_side(c, False), "van_side_l": lambda c: _van_side(c, True),
    "camper_side_r": lambda c: _van_side(c, False, 2), "camper_side_l": lambda c: _van_side(c, True, 2), "van_rear": _van_rear,
    "truck_front": _truck_front, "truck_side": _truck_side, "truck_rear": _truck_rear,
    "bus_side": _bus_side, "bus_front": _bus_front, "bus_rear": _bus_rear,
    "double_decker_front": _double_decker_front, "double_decker_rear": _double_decker_rear, "bus_door": _bus_door, "bus_nose": _nose,
}.items():  # fmt: skip
    TILES[_name] = (PAINT, _draw)
    # Lamps and lit saloons shine at night, windows of parked cars do not.
    VEHICLE_TILES[_name] = 0.6 if _name.startswith(("bus", "double")) else 0.3 if _name in ("car_front", "truck_front") else 0.0
