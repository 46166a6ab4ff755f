"""Tiles of ground, roofs, plants, signs and plain surfaces: one small function per tile."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from flaneur.city.assets.canvas import Canvas, Color

Tile = Callable[[Canvas], object]
TILES: dict[str, tuple[Color, Tile]] = {}  # name -> base colour, what is drawn on it
PLAIN: set[str] = {"glass"}  # tiles without a pattern: one UV for all corners keeps meshes small


def tile(name: str, color: Color) -> Callable[[Tile], Tile]:
    def register(draw: Tile) -> Tile:
        TILES[name] = (color, draw)
        return draw

    return register


def _plain(name: str, color: Color, grain: float = 0.04, cells: int | tuple[int, int] = 32) -> None:
    TILES[name] = (color, lambda c: c.grain(grain, cells))
    PLAIN.add(name)


def _lamp(name: str, color: Color) -> None:
    def draw(c: Canvas) -> None:
        d = (c.x - 0.5) ** 2 + (c.y - 0.5) ** 2
        c.paint(np.ones_like(c.x), color, glass=True).shade(0.25 - d)

    TILES[name] = (color, draw)
    PLAIN.add(name)


# Ground ---------------------------------------------------------------------------------------------------------
def _asphalt(c: Canvas, patches: float = 0.06) -> None:
    c.grain(patches, 4, 3).grain(0.12, 128, 1)


TILES["asphalt"] = ((78, 78, 80), _asphalt)
TILES["asphalt_light"] = ((108, 107, 105), _asphalt)


@tile("asphalt_worn", (88, 87, 86))
def _asphalt_worn(c: Canvas) -> None:
    _asphalt(c, 0.12)
    crack = np.abs(c.noise(5, 3)) < 0.02
    c.paint(crack * 0.6, (45, 45, 46)).paint(c.box(0.55, 0.15, 0.85, 0.6) * 0.5, (64, 64, 66))


def _marking(c: Canvas) -> None:
    c.grain(0.05, 16, 3).paint((c.noise(32, 2) > 1.05) * 0.5, (110, 108, 104))


TILES["marking_white"] = ((222, 221, 214), _marking)
TILES["marking_yellow"] = ((222, 176, 42), _marking)


@tile("kerb", (158, 155, 149))
def _kerb(c: Canvas) -> None:
    c.grain(0.07, 64, 2).paint(c.x > 0.98, (105, 102, 98))


@tile("pavement_slab", (164, 160, 152))
def _slabs(c: Canvas) -> None:
    c.grain(0.05, 64, 2).bricks(4, 4, 0.05, (118, 115, 108), 0.06)


@tile("pavement_brick", (150, 92, 74))
def _clinker(c: Canvas) -> None:
    c.grain(0.08, 64, 2).bricks(6, 12, 0.09, (120, 110, 100), 0.16)


@tile("cobbles", (90, 88, 86))
def _cobbles(c: Canvas) -> None:
    rows = 10
    row = np.floor(c.y * rows).astype(int)
    across = c.x * rows + (row % 2) * 0.5
    column = np.floor(across).astype(int) % rows
    dx, dy = across - np.floor(across) - 0.5, c.y * rows - row - 0.5
    dome = np.clip(1 - (dx**4 + dy**4) * 18, 0, 1)
    tone = c.random.random((rows, rows))[row, column]
    c.shade(0.9 * dome - 0.45 + 0.3 * (tone - 0.5)).grain(0.08, 64, 1)


def _grass(c: Canvas, streak: float = 0.22) -> None:
    c.grain(0.12, 4, 3).grain(streak, (128, 48), 1)


TILES["grass"] = ((92, 126, 58), _grass)
TILES["grass_dry"] = ((146, 142, 82), _grass)
TILES["meadow"] = ((104, 128, 56), lambda c: (_grass(c), c.paint(c.noise(48) > 0.86, (214, 196, 90))))
TILES["soil"] = ((112, 86, 62), lambda c: c.grain(0.16, 8, 4).grain(0.12, 96))
TILES["sand"] = ((202, 182, 140), lambda c: c.grain(0.05, 8, 4).grain(0.05, 128, 1))
TILES["gravel"] = ((134, 128, 120), lambda c: c.leaves(520, 0.022, [(150, 144, 136), (122, 116, 108), (170, 164, 154), (104, 100, 96)]))
TILES["playground"] = ((158, 74, 58), lambda c: c.grain(0.14, 128, 1))
TILES["concrete"] = ((152, 150, 145), lambda c: c.grain(0.07, 6, 4).paint((c.x > 0.99) | (c.y > 0.99), (118, 116, 112)))


@tile("field", (128, 106, 62))
def _field(c: Canvas) -> None:
    ridge = np.abs((c.y * 8) % 1 - 0.5) * 2
    c.grain(0.1, 32, 2).paint(np.clip(ridge * 1.6 - 0.5 + 0.3 * c.noise(32, 2), 0, 1), (112, 136, 54)).grain(0.1, 96)


@tile("water", (62, 92, 108))
def _water(c: Canvas) -> None:
    c.paint(np.ones_like(c.x), (62, 92, 108), glass=True).grain(0.12, (6, 14), 3)


# Plants ---------------------------------------------------------------------------------------------------------
def _foliage(name: str, color: Color, count: int = 900, radius: float = 0.03) -> None:
    r, g, b = color
    dark, light = (int(r * 0.66), int(g * 0.7), int(b * 0.66)), (min(255, int(r * 1.22)), min(255, int(g * 1.18)), int(b * 1.05))
    TILES[name] = (dark, lambda c: c.leaves(count, radius, [dark, color, light, color]))


for _name, _color in {
    "leaves_oak": (74, 104, 44), "leaves_linden": (104, 138, 58), "leaves_birch": (128, 152, 72), "leaves_dark": (44, 76, 46),
    "leaves_autumn": (176, 112, 44), "leaves_hedge": (62, 98, 44), "leaves_olive": (112, 122, 86),
}.items():  # fmt: skip
    _foliage(_name, _color)
_foliage("leaves_blossom", (216, 160, 176))
TILES["needles"] = ((40, 66, 44), lambda c: c.grain(0.3, (64, 24), 2))
TILES["flowers"] = ((70, 108, 48), lambda c: c.leaves(500, 0.032, [(66, 104, 46), (84, 122, 54)]).leaves(240, 0.024, [(206, 52, 70), (240, 200, 60), (232, 226, 222), (176, 80, 160)]))
TILES["bark"] = ((98, 78, 60), lambda c: c.grain(0.3, (24, 5), 3))
TILES["bark_birch"] = ((212, 208, 198), lambda c: c.grain(0.05, 16).paint(c.noise((5, 28), 2) > 0.62, (58, 54, 50)))
TILES["straw"] = ((196, 168, 96), lambda c: c.grain(0.22, (96, 12), 2))


# Roofs ----------------------------------------------------------------------------------------------------------
def _roof_tiles(c: Canvas) -> None:
    rows, columns = 8, 10
    row = np.floor(c.y * rows).astype(int)
    fx, fy = (c.x * columns) % 1, c.y * rows - row
    tone = c.random.random((rows, columns))[row, np.floor(c.x * columns).astype(int) % columns]
    c.shade(0.22 * (0.5 - np.abs(fx - 0.45)) + 0.2 * (tone - 0.5) - 0.35 * (fy > 0.86) - 0.25 * (fx > 0.9)).grain(0.06, 64)


TILES["roof_red"] = ((166, 78, 54), _roof_tiles)
TILES["roof_brown"] = ((112, 74, 58), _roof_tiles)
TILES["roof_slate"] = ((86, 90, 98), lambda c: c.grain(0.06, 64).bricks(8, 10, 0.1, (58, 60, 66), 0.12))
TILES["roof_bitumen"] = ((92, 90, 88), lambda c: c.grain(0.1, 96).grain(0.08, 4, 2).paint((c.x % 0.5) > 0.485, (66, 64, 63)))
TILES["roof_gravel"] = ((152, 148, 140), lambda c: c.grain(0.16, 128, 1).grain(0.06, 4, 2))
TILES["roof_green"] = ((104, 120, 66), lambda c: c.grain(0.18, 12, 4).paint(c.noise(24, 2) > 0.75, (150, 96, 84)))


def _seams(c: Canvas) -> None:
    f = (c.x * 4) % 1
    c.shade(0.18 * (f > 0.92) - 0.22 * ((f > 0.86) & (f < 0.92))).grain(0.03, (8, 4), 2)


TILES["roof_metal"] = ((142, 148, 152), _seams)
TILES["roof_copper"] = ((112, 156, 136), _seams)


@tile("roof_glass", (120, 150, 164))
def _roof_glass(c: Canvas) -> None:
    c.paint(np.ones_like(c.x), (116, 148, 164), glass=True).paint(((c.x * 4) % 1 > 0.92) | ((c.y * 2) % 1 > 0.95), (206, 208, 208))


# Things ---------------------------------------------------------------------------------------------------------
for _name, _color in {
    "car_paint": (235, 235, 235), "cloth": (232, 232, 232), "plastic": (228, 228, 228), "skin_light": (226, 182, 152), "skin_tan": (186, 134, 100), "skin_dark": (112, 74, 54),
    "hair_dark": (48, 38, 32), "hair_light": (170, 132, 84), "rubber": (38, 38, 40), "chrome": (196, 200, 204), "steel": (160, 164, 166), "iron": (56, 60, 60),
    "plastic_black": (52, 53, 56), "plastic_white": (226, 226, 222), "paint_red": (186, 40, 34), "paint_yellow": (236, 186, 30), "paint_blue": (38, 80, 156),
    "paint_green": (38, 98, 62), "paint_white": (232, 232, 228), "paint_orange": (230, 112, 30), "leather": (86, 58, 42), "brass": (178, 142, 72), "sign_back": (150, 152, 152),
}.items():  # fmt: skip
    _plain(_name, _color)
PLAIN.update(("denim", "suit", "trousers_tan", "granite"))
TILES["denim"] = ((66, 84, 122), lambda c: c.grain(0.12, (64, 128), 1))
TILES["suit"] = ((58, 60, 68), lambda c: c.grain(0.1, 96, 1))
TILES["trousers_tan"] = ((160, 140, 108), lambda c: c.grain(0.1, 96, 1))
TILES["terracotta"] = ((176, 104, 72), lambda c: c.grain(0.08, 16, 3))
TILES["granite"] = ((140, 136, 134), lambda c: c.grain(0.22, 128, 1))
TILES["rust"] = ((134, 82, 52), lambda c: c.grain(0.22, 8, 4))
TILES["wood"] = ((158, 114, 72), lambda c: c.grain(0.16, (4, 48), 3).paint((c.y * 4) % 1 > 0.93, (84, 58, 38)))
TILES["wood_dark"] = ((96, 66, 44), lambda c: c.grain(0.16, (4, 48), 3).paint((c.y * 4) % 1 > 0.93, (48, 34, 24)))
TILES["planks"] = ((150, 120, 88), lambda c: c.grain(0.16, (48, 4), 3).bricks(8, 1, 0.0, (0, 0, 0), 0.12).paint((c.x * 8) % 1 > 0.92, (78, 58, 42)))
TILES["corrugated"] = ((166, 172, 176), lambda c: c.shade(0.22 * (np.abs((c.x * 12) % 1 - 0.5) * 2 - 0.5)).grain(0.04, 8, 3))
TILES["corrugated_paint"] = ((232, 232, 232), TILES["corrugated"][1])
TILES["grille"] = ((208, 208, 204), lambda c: c.paint((c.y * 12) % 1 > 0.55, (92, 94, 96)))
TILES["fan"] = (
    (212, 212, 208),
    lambda c: (
        c.paint(c.disc(0.5, 0.5, 0.44), (58, 60, 62))
        .paint(c.disc(0.5, 0.5, 0.44) & (np.abs(((c.x - 0.5) ** 2 + (c.y - 0.5) ** 2) ** 0.5 * 14 % 1 - 0.5) < 0.14), (176, 178, 178))
        .paint(c.disc(0.5, 0.5, 0.1), (180, 180, 180))
    ),
)
TILES["mesh"] = ((150, 158, 152), lambda c: c.paint((((c.x + c.y) * 12) % 1 > 0.28) & (((c.x - c.y) * 12) % 1 > 0.28), (96, 108, 92)))
TILES["awning"] = ((226, 222, 212), lambda c: c.paint((c.x * 4) % 1 > 0.5, (176, 46, 44)).grain(0.03))
TILES["awning_green"] = ((230, 226, 214), lambda c: c.paint((c.x * 4) % 1 > 0.5, (44, 112, 80)).grain(0.03))
TILES["hazard"] = ((236, 190, 32), lambda c: c.paint(((c.x + c.y) * 4) % 1 > 0.5, (36, 36, 36)))
TILES["stripes_red"] = ((234, 232, 228), lambda c: c.paint((c.y * 2) % 1 > 0.5, (192, 38, 34)))
TILES["glass"] = ((52, 62, 70), lambda c: c.paint(np.ones_like(c.x), (52, 62, 70), glass=True).grain(0.05, 4, 2))


@tile("magazines", (60, 52, 48))
def _magazines(c: Canvas) -> None:
    rows, columns = 5, 9
    row, column = np.floor(c.y * rows).astype(int), np.floor(c.x * columns).astype(int)
    palette = np.array([(206, 60, 52), (232, 206, 90), (70, 120, 180), (228, 228, 220), (84, 150, 96), (214, 128, 60)], float)
    fx, fy = c.x * columns - column, c.y * rows - row
    inside = (fx > 0.08) & (fx < 0.92) & (fy > 0.08) & (fy < 0.88)
    pick = c.random.integers(0, len(palette), (rows, columns))[row, column]
    c.rgb[inside] = palette[pick][inside]
    c.paint(inside & (fy > 0.66) & (fy < 0.8), (245, 245, 240))


@tile("advert", (240, 238, 230))
def _advert(c: Canvas) -> None:
    c.paint(c.box(0.05, 0.3, 0.95, 0.95), (64, 130, 188)).paint(c.disc(0.6, 0.6, 0.2), (244, 196, 60)).paint(c.box(0.1, 0.34, 0.4, 0.7), (206, 62, 70))
    c.paint(c.box(0.1, 0.18, 0.8, 0.24), (40, 40, 44)).paint(c.box(0.1, 0.08, 0.55, 0.12), (110, 110, 114))


# Signs: one tile covers the face of the sign, edge to edge.
def _ring(c: Canvas, outer: Color, inner: Color) -> None:
    c.paint(c.disc(0.5, 0.5, 0.5), outer).paint(c.disc(0.5, 0.5, 0.36), inner)


TILES["sign_no_entry"] = ((190, 24, 28), lambda c: c.paint(c.box(0.16, 0.41, 0.84, 0.59), (240, 240, 236)))
TILES["sign_limit"] = (
    (238, 238, 234),
    lambda c: (
        _ring(c, (196, 26, 30), (240, 240, 236)),
        c.paint(c.box(0.3, 0.36, 0.46, 0.66) & ~c.box(0.3, 0.41, 0.41, 0.48) & ~c.box(0.3, 0.54, 0.41, 0.61), (26, 26, 28)),
        c.paint(c.box(0.54, 0.36, 0.72, 0.66) & ~c.box(0.59, 0.42, 0.67, 0.6), (26, 26, 28)),
    ),
)
_LETTERS = {"S": ("111", "100", "111", "001", "111"), "T": ("111", "010", "010", "010", "010"), "O": ("111", "101", "101", "101", "111"), "P": ("111", "101", "111", "100", "100")}


@tile("sign_stop", (190, 24, 28))
def _sign_stop(c: Canvas) -> None:
    for k, letter in enumerate("STOP"):
        for row, line in enumerate(_LETTERS[letter]):
            for column, dot in enumerate(line):
                if dot == "1":
                    x, y = 0.14 + 0.185 * k + 0.05 * column, 0.59 - 0.055 * row
                    c.paint(c.box(x, y, x + 0.05, y + 0.055), (242, 242, 238))


TILES["sign_warning"] = (
    (240, 240, 236),
    lambda c: c.paint((c.y < 0.08) | (c.y > 0.96 - 2 * np.abs(c.x - 0.5) * 0.9 - 0.14), (196, 26, 30)).paint(c.box(0.46, 0.28, 0.54, 0.56) | c.disc(0.5, 0.2, 0.045), (26, 26, 28)),
)
TILES["sign_blue"] = ((30, 84, 168), lambda c: c.paint(c.box(0.44, 0.2, 0.56, 0.6) | ((np.abs(c.x - 0.5) < 0.85 - c.y) & (c.y > 0.55) & (c.y < 0.85)), (240, 240, 236)))
TILES["sign_parking"] = ((30, 84, 168), lambda c: c.paint(c.box(0.32, 0.15, 0.44, 0.85) | (c.box(0.32, 0.45, 0.7, 0.85) & ~c.box(0.44, 0.56, 0.58, 0.74)), (240, 240, 236)))
TILES["sign_crossing"] = (
    (30, 84, 168),
    lambda c: c.paint((c.y > 0.12) & (np.abs(c.x - 0.5) < (0.92 - c.y) * 0.5), (240, 240, 236)).paint(
        c.disc(0.5, 0.58, 0.06) | c.box(0.46, 0.34, 0.54, 0.54) | c.box(0.36, 0.18, 0.45, 0.36) | c.box(0.55, 0.18, 0.64, 0.36), (26, 26, 28)
    ),
)
TILES["sign_name"] = ((28, 66, 128), lambda c: c.paint(~c.box(0.03, 0.08, 0.97, 0.92), (238, 238, 234)).paint(c.box(0.12, 0.36, 0.88, 0.64) & ((c.x * 14) % 1 < 0.7), (238, 238, 234)))
TILES["sign_direction"] = (
    (236, 192, 40),
    lambda c: (
        c.paint(~c.box(0.03, 0.06, 0.97, 0.94), (30, 30, 32))
        .paint((c.box(0.1, 0.56, 0.7, 0.76) | c.box(0.1, 0.24, 0.55, 0.44)) & ((c.x * 16) % 1 < 0.72), (30, 30, 32))
        .paint(c.box(0.78, 0.4, 0.92, 0.6), (30, 30, 32))
    ),
)
TILES["plate"] = ((238, 238, 232), lambda c: c.paint(c.box(0.16, 0.25, 0.92, 0.75) & ((c.x * 9) % 1 < 0.66), (30, 30, 34)).paint(c.x < 0.1, (30, 70, 160)))

# Lamps: the whole tile shines.
for _name, _color in {
    "lamp_red": (232, 48, 36),
    "lamp_amber": (246, 176, 44),
    "lamp_green": (52, 206, 120),
    "lamp_glass": (246, 238, 214),
    "headlight": (236, 240, 242),
    "taillight": (176, 30, 30),
    "screen": (96, 160, 214),
}.items():
    _lamp(_name, _color)
