"""Materials as image files: the same tiles the simulator samples, written as PNG.

One difference remains: a tint multiplies the whole texture here, glass included; the simulator leaves the glass out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO

import numpy as np

from flaneur.city.assets.materials import MATERIALS, Material, tile_image
from flaneur.city.scene import Scene
from flaneur.errors import UserError

TILE_PIXELS = 128
MANY_LOOKS = 1500  # beyond this many pairs of prototype and tint, tints are rounded to 16 levels a channel
TINT_STEP = 17
GLASS_ROUGHNESS = 0.08
LIT = ("dusk", "night")


@dataclass(frozen=True)
class Images:
    """One material's images as PNG bytes; `surface` and `glow` only where the tile has glass or lamps."""

    albedo: bytes  # sRGB
    surface: bytes | None  # glTF's packing: red occlusion, green roughness, blue metalness
    glow: bytes | None  # sRGB, what shines at night


def material(name: str) -> Material:
    if name not in MATERIALS:
        raise UserError(f"scene, field 'materials': '{name}' is unknown to this version; build the scene again")
    return MATERIALS[name]


@lru_cache(maxsize=256)
def images(name: str) -> Images:
    m = material(name)
    tile = tile_image(m.tile, TILE_PIXELS)
    albedo = tile[..., :3]
    mask = tile[..., 3].astype(np.float64) / 255
    if not mask.any():
        return Images(png(albedo), None, None)
    surface = np.zeros(albedo.shape, np.uint8)
    surface[..., 0] = 255
    surface[..., 1] = np.rint(255 * (m.roughness + mask * (min(GLASS_ROUGHNESS, m.roughness) - m.roughness)))
    glow = np.rint(mask[..., None] * (255, 214, 150)).astype(np.uint8) if m.emission > 0 else None
    return Images(png(albedo), png(surface), None if glow is None else png(glow))


def png(pixels: np.ndarray) -> bytes:  # [H, W, 3] u8
    from PIL import Image

    out = BytesIO()
    Image.fromarray(pixels).save(out, "PNG", compress_level=4)
    return out.getvalue()


def linear(srgb: np.ndarray) -> np.ndarray:
    """Linear light [...] of sRGB bytes."""
    x = np.asarray(srgb, np.float64) / 255
    return np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)


def looks(scene: Scene) -> tuple[np.ndarray, np.ndarray]:
    """The distinct pairs of prototype and tint, [L, 4] i64 (prototype, red, green, blue), and every instance's row in them [N].

    Prototypes without a tinted material have one look, white.
    """
    tinted = np.array([any(material(scene.materials[m]).tinted for m in np.unique(p.materials)) for p in scene.prototypes], bool)
    tint = scene.instances.tint.astype(np.int64)
    tint[~tinted[scene.instances.prototype]] = 255
    keys = np.concatenate([scene.instances.prototype.astype(np.int64)[:, None], tint], 1)
    distinct, inverse = np.unique(keys, axis=0, return_inverse=True)
    if len(distinct) > MANY_LOOKS:
        keys[:, 1:] = np.rint(tint / TINT_STEP).astype(np.int64) * TINT_STEP
        distinct, inverse = np.unique(keys, axis=0, return_inverse=True)
    return distinct, inverse.reshape(-1)
