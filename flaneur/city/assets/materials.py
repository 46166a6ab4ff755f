"""The materials of a city: one table that the simulator samples and the exporters write as PNG.

A material's albedo is its tile's RGB (`tile_image`), times the instance's tint where `tinted` and the tile's mask is 0.
The mask (alpha channel, 255 = glass or lamp) marks what reflects the sky by day and may be lit at night.
UVs count tiles: (0, 0) is a tile's lower left corner, v points up, image row 0 is the top (v = 1); tiles repeat.
Facade tiles are one bay by one storey; `facade_materials(style)` names a style's four.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from flaneur.city.assets.canvas import Canvas, Color
from flaneur.city.assets.facades import FACADES, KINDS
from flaneur.city.assets.tiles import TILES
from flaneur.city.assets.vehicle_tiles import VEHICLE_TILES
from flaneur.errors import UserError

TILE_SIZE = 128  # pixels


@dataclass(frozen=True)
class Material:
    name: str
    color: Color  # sRGB, for what draws no texture
    tile: str  # key for tile_image
    size: tuple[float, float]  # metres that one repeat of the tile covers
    roughness: float  # 0 mirror .. 1 matt
    reflectivity: float  # share of sky reflection where the tile's mask is glass
    emission: float  # share of white that the masked part sends out when lit at night
    tinted: bool  # multiplied by the instance's tint outside the mask


# name: (metres of one repeat, roughness, reflectivity, emission, tinted); what is not named here is _DEFAULT.
_DEFAULT = ((1.0, 1.0), 0.85, 0.0, 0.0, False)
_SPECIAL: dict[str, tuple[tuple[float, float], float, float, float, bool]] = {
    "asphalt": ((8.0, 8.0), 0.95, 0.0, 0.0, False),
    "asphalt_light": ((8.0, 8.0), 0.95, 0.0, 0.0, False),
    "asphalt_worn": ((8.0, 8.0), 0.95, 0.0, 0.0, False),
    "marking_white": ((2.0, 2.0), 0.9, 0.0, 0.0, False),
    "marking_yellow": ((2.0, 2.0), 0.9, 0.0, 0.0, False),
    "pavement_slab": ((2.0, 2.0), 0.9, 0.0, 0.0, False),
    "pavement_brick": ((1.5, 1.5), 0.9, 0.0, 0.0, False),
    "cobbles": ((1.5, 1.5), 0.9, 0.0, 0.0, False),
    "grass": ((4.0, 4.0), 1.0, 0.0, 0.0, False),
    "grass_dry": ((4.0, 4.0), 1.0, 0.0, 0.0, False),
    "meadow": ((4.0, 4.0), 1.0, 0.0, 0.0, False),
    "soil": ((3.0, 3.0), 1.0, 0.0, 0.0, False),
    "sand": ((3.0, 3.0), 1.0, 0.0, 0.0, False),
    "gravel": ((2.0, 2.0), 1.0, 0.0, 0.0, False),
    "playground": ((3.0, 3.0), 1.0, 0.0, 0.0, False),
    "concrete": ((3.0, 3.0), 0.9, 0.0, 0.0, False),
    "field": ((6.0, 6.0), 1.0, 0.0, 0.0, False),
    "water": ((8.0, 8.0), 0.1, 0.6, 0.0, False),
    "roof_red": ((2.5, 2.5), 0.85, 0.0, 0.0, False),
    "roof_brown": ((2.5, 2.5), 0.85, 0.0, 0.0, False),
    "roof_slate": ((2.5, 2.5), 0.7, 0.0, 0.0, False),
    "roof_bitumen": ((4.0, 4.0), 0.95, 0.0, 0.0, False),
    "roof_gravel": ((3.0, 3.0), 1.0, 0.0, 0.0, False),
    "roof_green": ((4.0, 4.0), 1.0, 0.0, 0.0, False),
    "roof_metal": ((2.0, 2.0), 0.45, 0.0, 0.0, False),
    "roof_copper": ((2.0, 2.0), 0.6, 0.0, 0.0, False),
    "roof_glass": ((3.0, 3.0), 0.1, 0.5, 0.3, False),
    "car_paint": ((1.0, 1.0), 0.3, 0.0, 0.0, True),
    "cloth": ((0.5, 0.5), 0.95, 0.0, 0.0, True),
    "plastic": ((1.0, 1.0), 0.5, 0.0, 0.0, True),
    "corrugated": ((2.0, 2.0), 0.5, 0.0, 0.0, False),
    "corrugated_paint": ((2.0, 2.0), 0.5, 0.0, 0.0, True),
    "glass": ((1.0, 1.0), 0.05, 0.45, 0.0, False),
    "chrome": ((1.0, 1.0), 0.2, 0.0, 0.0, False),
    "steel": ((1.0, 1.0), 0.45, 0.0, 0.0, False),
    "lamp_red": ((0.2, 0.2), 0.4, 0.1, 0.9, False),
    "lamp_amber": ((0.2, 0.2), 0.4, 0.1, 0.9, False),
    "lamp_green": ((0.2, 0.2), 0.4, 0.1, 0.9, False),
    "lamp_glass": ((0.4, 0.4), 0.3, 0.1, 1.0, False),
    "headlight": ((0.3, 0.3), 0.2, 0.2, 0.8, False),
    "taillight": ((0.3, 0.3), 0.3, 0.1, 0.5, False),
    "screen": ((1.0, 1.0), 0.2, 0.1, 0.6, False),
}
_TINTED_STYLES = ("plaster_perimeter", "modern_apartment", "shop_house", "detached_house", "timber_house", "industrial")
_BAY = {"glass_tower": (3.0, 3.6), "stone_office": (3.2, 3.8), "civic": (3.6, 4.2), "industrial": (5.0, 4.5), "detached_house": (3.0, 2.8), "timber_house": (2.8, 2.8), "farm": (2.8, 2.8)}


def _material(name: str) -> Material:
    red, green, blue = np.rint(tile_image(name, 16)[..., :3].mean((0, 1))).astype(int).tolist()
    color: Color = (red, green, blue)
    style, _, kind = name.rpartition("_")
    if kind in KINDS and style in FACADES:
        reflectivity = 0.5 if FACADES[style].curtain else 0.35
        return Material(name, color, name, _BAY.get(style, (3.0, 3.2)), 0.85, reflectivity, 0.8, style in _TINTED_STYLES)
    if name in VEHICLE_TILES:
        return Material(name, color, name, (1.0, 1.0), 0.3, 0.4, VEHICLE_TILES[name], not name.startswith("wheel"))
    return Material(name, color, name, *_SPECIAL.get(name, _DEFAULT))


@lru_cache(maxsize=512)
def tile_image(tile: str, size: int = TILE_SIZE) -> np.ndarray:
    """[size, size, 4] u8, read-only: sRGB albedo and mask (255 = glass or lamp)."""
    if tile not in TILES:
        raise UserError(f"unknown tile '{tile}': known are {', '.join(sorted(TILES))}")
    color, draw = TILES[tile]
    canvas = Canvas(tile, size, color)
    draw(canvas)
    image = canvas.image()
    image.setflags(write=False)
    return image


def facade_materials(style: str) -> dict[str, str]:
    """Material names of a style's bay: window, wall, door, shop."""
    if style not in FACADES:
        raise UserError(f"unknown architecture style '{style}': known are {', '.join(FACADES)}")
    return {kind: f"{style}_{kind}" for kind in KINDS}


def drawing_digest() -> str:
    """Changes whenever the code that draws the tiles does: a key for caches of drawn tiles."""
    folder = Path(__file__).parent
    source = b"".join((folder / name).read_bytes() for name in ("canvas.py", "facades.py", "materials.py", "tiles.py", "vehicle_tiles.py"))
    return hashlib.sha256(source + np.__version__.encode()).hexdigest()


MATERIALS: dict[str, Material] = {name: _material(name) for name in TILES}
