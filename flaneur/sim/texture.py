"""The material tiles as one packed table with mip levels, and how kernels sample it."""

# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false, reportOperatorIssue=false, reportCallIssue=false, reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false, reportAssignmentType=false, reportReturnType=false
# (Warp compiles kernels from their syntax; Python's types do not describe them.)
from __future__ import annotations

import hashlib
import inspect
import os
import tempfile
from pathlib import Path

import numpy as np
import warp as wp

from flaneur.city.assets.materials import MATERIALS, TILE_SIZE, drawing_digest, tile_image

wp.set_module_options({"enable_backward": False})

SIZE = wp.constant(TILE_SIZE)
LEVELS = wp.constant(TILE_SIZE.bit_length())  # 128, 64, ..., 1
CACHE_VARIABLE = "FLANEUR_CACHE"


@wp.struct
class TextureTable:
    """Row m of every array but `texels` is material m in the order of MATERIALS."""

    texels: wp.array(dtype=wp.uint32)  # tile after tile, level after level, row 0 on top: R, G, B as square roots of linear light, mask
    level_start: wp.array(dtype=wp.int32)  # [LEVELS] first texel of a level within a tile
    tile_texels: wp.int32
    reflectivity: wp.array(dtype=wp.float32)
    roughness: wp.array(dtype=wp.float32)
    emission: wp.array(dtype=wp.float32)
    tinted: wp.array(dtype=wp.uint8)


def linear_from_srgb(srgb: np.ndarray) -> np.ndarray:
    """[0, 1] sRGB to linear light."""
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def _levels(tile: str) -> np.ndarray:
    """All mip levels of one tile [texels] u32. Averages are taken in linear light."""
    image = tile_image(tile).astype(np.float64) / 255
    image[..., :3] = linear_from_srgb(image[..., :3])
    out = []
    while True:
        coded = np.concatenate([np.sqrt(image[..., :3]), image[..., 3:]], -1)
        out.append(np.rint(coded * 255).astype(np.uint8).reshape(-1, 4).view("<u4")[:, 0])
        if image.shape[0] == 1:
            return np.concatenate(out)
        image = (image[0::2, 0::2] + image[1::2, 0::2] + image[0::2, 1::2] + image[1::2, 1::2]) / 4


def _cache_file() -> Path:
    """Drawing 157 tiles takes seconds, so the packed table is kept, under a name that changes with the code that draws it."""
    source = drawing_digest() + inspect.getsource(_levels)
    root = os.environ.get(CACHE_VARIABLE) or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "flaneur"
    return Path(root) / f"tiles-{hashlib.sha256(source.encode()).hexdigest()[:16]}.npy"


def packed_tiles() -> np.ndarray:
    """Texels of every material [M, texels] u32, in the order of MATERIALS."""
    path = _cache_file()
    expected = (len(MATERIALS), sum(4**k for k in range(TILE_SIZE.bit_length())))
    try:
        kept = np.load(path, allow_pickle=False)
        if kept.shape == expected and kept.dtype == np.uint32:
            return kept
    except (OSError, ValueError, EOFError):
        pass  # absent or damaged: drawn again below
    texels = np.stack([_levels(m.tile) for m in MATERIALS.values()])
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".npy", delete=False) as file:
            np.save(file, texels)
        os.replace(file.name, path)
    except OSError:
        pass  # a read-only home costs time, nothing else
    return texels


def texture_table(device: wp.Device) -> TextureTable:
    texels = packed_tiles()
    table = TextureTable()
    table.texels = wp.array(texels.reshape(-1), dtype=wp.uint32, device=device)
    sizes = [4**k for k in range(TILE_SIZE.bit_length() - 1, -1, -1)]
    table.level_start = wp.array(np.cumsum([0, *sizes[:-1]]).astype(np.int32), dtype=wp.int32, device=device)
    table.tile_texels = texels.shape[1]
    for name in ("reflectivity", "roughness", "emission"):
        setattr(table, name, wp.array(np.array([getattr(m, name) for m in MATERIALS.values()], np.float32), dtype=wp.float32, device=device))
    table.tinted = wp.array(np.array([m.tinted for m in MATERIALS.values()], np.uint8), dtype=wp.uint8, device=device)
    return table


@wp.func
def texel(table: TextureTable, start: int, size: int, row: int, column: int) -> wp.vec4:
    """One texel, coordinates wrapped (size is a power of two)."""
    word = table.texels[start + (row & (size - 1)) * size + (column & (size - 1))]
    r = float(word & wp.uint32(255))
    g = float((word >> wp.uint32(8)) & wp.uint32(255))
    b = float((word >> wp.uint32(16)) & wp.uint32(255))
    a = float(word >> wp.uint32(24))
    k = 1.0 / 65025.0
    return wp.vec4(r * r * k, g * g * k, b * b * k, a / 255.0)


@wp.func
def bilinear(table: TextureTable, material: int, uv: wp.vec2, level: int) -> wp.vec4:
    size = SIZE >> level
    start = material * table.tile_texels + table.level_start[level]
    x = (uv[0] - wp.floor(uv[0])) * float(size) - 0.5
    y = (1.0 - (uv[1] - wp.floor(uv[1]))) * float(size) - 0.5
    column = int(wp.floor(x))
    row = int(wp.floor(y))
    fx = x - float(column)
    fy = y - float(row)
    top = texel(table, start, size, row, column) * (1.0 - fx) + texel(table, start, size, row, column + 1) * fx
    bottom = texel(table, start, size, row + 1, column) * (1.0 - fx) + texel(table, start, size, row + 1, column + 1) * fx
    return top * (1.0 - fy) + bottom * fy


@wp.func
def sample_texture(table: TextureTable, material: int, uv: wp.vec2, footprint: float) -> wp.vec4:
    """Linear RGB and mask, averaged over `footprint` (in tiles): a blend of the two mip levels around it."""
    lod = wp.clamp(wp.log2(wp.max(footprint * float(SIZE), 1.0)), 0.0, float(LEVELS - 1))
    level = int(lod)
    fraction = lod - float(level)
    fine = bilinear(table, material, uv, level)
    if fraction < 0.02 or level + 1 >= LEVELS:
        return fine
    return fine * (1.0 - fraction) + bilinear(table, material, uv, level + 1) * fraction
