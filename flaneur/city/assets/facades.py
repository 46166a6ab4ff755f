"""Facade tiles: one bay by one storey of wall, window, door or shop front for each architecture style."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from flaneur.city.assets.canvas import Canvas, Color
from flaneur.city.assets.tiles import TILES

GLASS: Color = (66, 80, 92)
KINDS = ("window", "wall", "door", "shop")


@dataclass(frozen=True)
class Window:
    box: tuple[float, float, float, float]  # x0, y0, x1, y1 in the bay
    frame: Color
    panes: tuple[int, int] = (2, 2)
    surround: Color | None = None
    sill: Color | None = None
    shutters: Color | None = None
    arched: bool = False
    frame_width: float = 0.018


@dataclass(frozen=True)
class Facade:
    wall: Color
    surface: Callable[[Canvas], object]
    window: Window
    door: Color
    fascia: Color  # sign board above the shop
    band: Color | None = None  # string course between storeys
    piers: Color | None = None  # at the bay's edges
    curtain: bool = False  # glass from floor to floor


def _brick(c: Canvas) -> None:
    c.grain(0.06, 64).bricks(12, 36, 0.16, (176, 166, 152), 0.16)


def _plaster(c: Canvas) -> None:
    c.grain(0.035, 6, 4).shade(-0.05 * np.clip(0.2 - c.y, 0, 1) * 5 * np.abs(c.noise((12, 2))))


def _ashlar(c: Canvas) -> None:
    c.grain(0.05, 32, 3).bricks(3, 8, 0.05, (150, 142, 126), 0.05)


def _rubble(c: Canvas) -> None:
    c.grain(0.1, 32, 3).bricks(7, 11, 0.12, (176, 168, 150), 0.2)


def _concrete(c: Canvas) -> None:
    c.grain(0.05, 5, 4).paint((c.y > 0.985) | (c.x > 0.99), (116, 114, 110))


def _clapboard(c: Canvas) -> None:
    f = (c.y * 16) % 1
    c.grain(0.04, (8, 64), 2).shade(0.08 * f - 0.3 * (f < 0.14))


def _half_timber(c: Canvas) -> None:
    beam = (c.x < 0.05) | (c.x > 0.95) | (c.y > 0.92) | (c.y < 0.06) | (np.abs(c.y - 0.45) < 0.035)
    brace = (np.abs(c.x - 0.05 - (0.45 - c.y) * 0.5) < 0.03) & (c.y < 0.45)
    c.grain(0.04, 12, 3).paint(beam | brace, (84, 58, 40))


def _corrugated(c: Canvas) -> None:
    c.shade(0.2 * (np.abs((c.x * 20) % 1 - 0.5) * 2 - 0.5)).grain(0.05, 6, 3)


def _panels(c: Canvas) -> None:
    c.grain(0.02, 8, 2).paint((c.y > 0.985) | ((c.x * 2) % 1 > 0.985), (120, 120, 120))


_STONE: Color = (206, 196, 174)
_WHITE: Color = (240, 239, 234)
FACADES: dict[str, Facade] = {
    "glass_tower": Facade((176, 184, 190), _panels, Window((0.0, 0.2, 1.0, 0.97), (150, 158, 164), (2, 1)), (60, 66, 72), (44, 50, 56), curtain=True),
    "stone_office": Facade(
        (198, 186, 162), _ashlar, Window((0.2, 0.14, 0.8, 0.86), (60, 62, 60), (2, 3), (216, 206, 184), (178, 168, 148)),
        (72, 54, 40), (40, 58, 52), (184, 174, 152), (208, 197, 174),
    ),
    "plaster_perimeter": Facade((236, 226, 206), _plaster, Window((0.28, 0.2, 0.72, 0.84), _WHITE, (2, 3), (246, 242, 232), (222, 216, 204)), (92, 58, 38), (122, 40, 44), (244, 240, 230)),
    "brick_row": Facade((150, 78, 58), _brick, Window((0.28, 0.2, 0.72, 0.8), _WHITE, (2, 2), None, (214, 206, 190)), (38, 74, 68), (34, 44, 66)),
    "modern_apartment": Facade((228, 228, 224), _panels, Window((0.14, 0.04, 0.86, 0.82), (58, 60, 64), (3, 1)), (70, 72, 76), (74, 76, 80), (196, 196, 192)),
    "shop_house": Facade((238, 216, 170), _plaster, Window((0.3, 0.16, 0.7, 0.82), _WHITE, (2, 3), (250, 244, 226), (210, 200, 182), (70, 108, 92)), (84, 52, 36), (152, 50, 40), (226, 202, 156)),
    "detached_house": Facade((240, 238, 230), _plaster, Window((0.22, 0.26, 0.78, 0.78), _WHITE, (2, 1), (200, 196, 188), (178, 174, 166)), (120, 58, 40), (90, 96, 100)),
    "timber_house": Facade((206, 214, 218), _clapboard, Window((0.28, 0.24, 0.72, 0.8), _WHITE, (2, 2), _WHITE, _WHITE), (150, 46, 42), (88, 66, 50)),
    "farm": Facade((228, 218, 198), _half_timber, Window((0.3, 0.52, 0.7, 0.88), _WHITE, (2, 2), (84, 58, 40), None, (58, 92, 62)), (98, 68, 44), (98, 68, 44)),
    "industrial": Facade((164, 172, 178), _corrugated, Window((0.06, 0.6, 0.94, 0.86), (90, 94, 98), (5, 1)), (60, 88, 124), (60, 88, 124)),
    "civic": Facade(
        (216, 208, 190), _ashlar, Window((0.28, 0.12, 0.72, 0.72), (108, 84, 58), (2, 4), (230, 223, 206), (196, 188, 170), arched=True),
        (88, 60, 38), (70, 60, 52), (228, 221, 204), (224, 216, 199),
    ),
}  # fmt: skip
# Walls that no style uses by itself: warehouses, car parks, old garden walls.
FACADES["brick_dark"] = Facade((104, 66, 56), _brick, Window((0.16, 0.16, 0.84, 0.84), (50, 52, 54), (4, 4), None, (150, 146, 138)), (50, 52, 54), (40, 40, 42))
FACADES["concrete"] = Facade((170, 168, 162), _concrete, Window((0.1, 0.34, 0.9, 0.84), (84, 88, 90), (3, 1), None, (144, 142, 136)), (70, 90, 110), (70, 90, 110))
FACADES["rubble"] = Facade((168, 158, 138), _rubble, Window((0.34, 0.3, 0.66, 0.74), (110, 76, 50), (2, 2), (190, 180, 160)), (98, 68, 44), (98, 68, 44))


def _wall(c: Canvas, f: Facade, base: bool = False) -> None:
    f.surface(c)
    if f.piers:
        c.paint((c.x < 0.07) | (c.x > 0.93), f.piers).shade(-0.18 * ((np.abs(c.x - 0.07) < 0.008) | (np.abs(c.x - 0.93) < 0.008)))
    if f.band:
        c.paint(c.y > 0.94, f.band).shade(-0.3 * ((c.y > 0.925) & (c.y < 0.94)))
    if base:
        c.shade(-0.14 * (c.y < 0.1))


def _glazing(c: Canvas, x0: float, y0: float, x1: float, y1: float, color: Color = GLASS) -> None:
    """A pane with a lighter upper half (sky) and a blind drawn here and there."""
    inside = c.box(x0, y0, x1, y1)
    c.paint(inside, color, glass=True)
    c.shade(np.where(inside, 0.5 * (c.y - y0) / (y1 - y0) - 0.15, 0))


def _opening(c: Canvas, w: Window) -> None:
    x0, y0, x1, y1 = w.box
    top = y1
    outside = c.box(x0, y0, x1, y1)
    if w.arched:
        aspect, radius = 1.1, (x1 - x0) / 2 * 1.1
        top = y1 + radius * 0.9
        outside = outside | (c.disc((x0 + x1) / 2, y1, radius, aspect) & (c.y >= y1))
        if w.surround:
            c.paint(c.disc((x0 + x1) / 2, y1, radius + 0.05, aspect) & (c.y >= y1), w.surround)
    if w.surround:
        c.paint(c.box(x0 - 0.045, y0 - 0.03, x1 + 0.045, y1 + (0 if w.arched else 0.06)), w.surround)
        c.shade(-0.2 * (c.box(x0 - 0.055, y1 + 0.06, x1 + 0.055, y1 + 0.075) & (not w.arched)))
    else:
        c.shade(-0.25 * c.box(x0, y1, x1, y1 + 0.05))
    if w.shutters:
        for a, b in ((x0 - 0.2, x0 - 0.01), (x1 + 0.01, x1 + 0.2)):
            c.paint(c.box(a, y0, b, y1), w.shutters).shade(-0.2 * (c.box(a, y0, b, y1) & ((c.y * 28) % 1 > 0.6)))
    c.paint(outside, w.frame)
    nx, ny = w.panes
    fw = w.frame_width
    for i in range(nx):
        for j in range(ny):
            a, b = x0 + fw + i * (x1 - x0 - fw) / nx, x0 + (i + 1) * (x1 - x0 - fw) / nx
            lo, hi = y0 + fw + j * (top - y0 - fw) / ny, y0 + (j + 1) * (top - y0 - fw) / ny
            pane = c.box(a, lo, b, hi) & outside
            c.paint(pane, GLASS, glass=True).shade(np.where(pane, 0.5 * (c.y - y0) / (top - y0) - 0.15, 0))
    c.shade(-0.35 * (c.box(x0, top - 0.03, x1, top) & outside))  # the reveal's shadow
    if w.sill:
        c.paint(c.box(x0 - 0.06, y0 - 0.05, x1 + 0.06, y0), w.sill).shade(-0.3 * c.box(x0 - 0.05, y0 - 0.075, x1 + 0.05, y0 - 0.05))


def _curtain(c: Canvas, f: Facade) -> None:
    """Glass from floor to floor: vision pane, spandrel, mullions."""
    c.paint(c.y < 0.2, (88, 104, 116)).grain(0.03)
    _glazing(c, 0, 0.2, 1, 1, (92, 122, 142))
    c.paint(((c.x * 2) % 1 > 0.955) | (np.abs(c.y - 0.2) < 0.012) | (c.y > 0.985), f.window.frame)


def _draw_window(f: Facade) -> Callable[[Canvas], None]:
    def draw(c: Canvas) -> None:
        if f.curtain:
            return _curtain(c, f)
        _wall(c, f)
        _opening(c, f.window)

    return draw


def _draw_wall(f: Facade) -> Callable[[Canvas], None]:
    return lambda c: _wall(c, f)


def _draw_door(f: Facade) -> Callable[[Canvas], None]:
    def draw(c: Canvas) -> None:
        if f.curtain:
            _curtain(c, f)
        else:
            _wall(c, f, base=True)
        c.paint(c.box(0.27, 0, 0.73, 0.84), f.window.surround or f.window.frame).paint(c.box(0.32, 0, 0.68, 0.8), f.door)
        _glazing(c, 0.34, 0.68, 0.66, 0.78)
        for x0, x1 in ((0.36, 0.48), (0.52, 0.64)):
            c.shade(-0.22 * c.box(x0, 0.08, x1, 0.3)).shade(-0.22 * c.box(x0, 0.36, x1, 0.62))
        if f.curtain:
            _glazing(c, 0.34, 0.03, 0.495, 0.66)
            _glazing(c, 0.505, 0.03, 0.66, 0.66)
        c.paint(c.box(0.49, 0, 0.5, 0.66), (30, 28, 26)).paint(c.box(0.515, 0.34, 0.53, 0.42), (206, 184, 110)).paint(c.box(0.25, 0, 0.75, 0.025), (150, 146, 140))

    return draw


def _draw_shop(f: Facade) -> Callable[[Canvas], None]:
    def draw(c: Canvas) -> None:
        _wall(c, f, base=True)
        c.paint(c.box(0.05, 0.0, 0.95, 0.9), f.fascia)
        _glazing(c, 0.08, 0.14, 0.92, 0.7, (112, 116, 112))
        goods = c.box(0.1, 0.15, 0.9, 0.36) & (c.noise((14, 8)) > 0.1)
        c.shade(np.where(goods, 0.45 * c.noise((20, 9)), 0))
        c.paint(c.box(0.62, 0.14, 0.64, 0.7) | c.box(0.08, 0.58, 0.92, 0.6), f.fascia)
        lettering = c.box(0.2, 0.77, 0.8, 0.85) & ((c.x * 14) % 1 < 0.62)
        c.paint(lettering, (240, 232, 206)).shade(-0.25 * c.box(0.05, 0.7, 0.95, 0.72)).paint(c.y < 0.02, (120, 116, 110))

    return draw


for _name, _facade in FACADES.items():
    for _kind, _draw in {"window": _draw_window, "wall": _draw_wall, "door": _draw_door, "shop": _draw_shop}.items():
        TILES[f"{_name}_{_kind}"] = (_facade.wall, _draw(_facade))
