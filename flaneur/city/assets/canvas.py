"""A square, tileable drawing surface in NumPy: what the material tiles are drawn with.

Coordinates run from 0 to 1, x right and y up, like UVs; the finished image has row 0 on top (v = 1).
Only arithmetic that rounds alike on every CPU is used (no transcendental functions), so equal seeds give equal bytes.
"""

from __future__ import annotations

import zlib

import numpy as np

Color = tuple[int, int, int]
OVERSAMPLING = 2  # drawn this much finer and averaged, against jagged edges


class Canvas:
    def __init__(self, name: str, size: int, color: Color):
        self.size = size * OVERSAMPLING
        self.random = np.random.default_rng(zlib.crc32(name.encode()))
        self.rgb = np.empty((self.size, self.size, 3))  # 0..255
        self.rgb[:] = color
        self.mask = np.zeros((self.size, self.size))  # 1 = glass or lamp
        at = (np.arange(self.size) + 0.5) / self.size
        self.x, self.y = np.broadcast_to(at[None, :], self.mask.shape), np.broadcast_to(at[::-1, None], self.mask.shape)

    def noise(self, cells: int | tuple[int, int], octaves: int = 1) -> np.ndarray:
        """Periodic value noise [S, S] in about -1..1; `cells` lattice points across (x, y), doubled per octave."""
        nx, ny = (cells, cells) if isinstance(cells, int) else cells
        total, weight = np.zeros_like(self.mask), 1.0
        for _ in range(octaves):
            lattice = self.random.random((ny, nx)) * 2 - 1
            u, v = self.x[0] * nx, self.y[:, 0] * ny
            i, j = np.floor(u).astype(int), np.floor(v).astype(int)
            fu, fv = u - i, v - j
            fu, fv = fu * fu * (3 - 2 * fu), (fv * fv * (3 - 2 * fv))[:, None]
            across = lattice[:, i % nx] * (1 - fu) + lattice[:, (i + 1) % nx] * fu  # [ny, S]
            total += weight * (across[j % ny] * (1 - fv) + across[(j + 1) % ny] * fv)
            nx, ny, weight = min(nx * 2, self.size), min(ny * 2, self.size), weight * 0.5
        return total

    def shade(self, amount: np.ndarray) -> Canvas:
        """Lighten (> 0) or darken (< 0) by a share [S, S]."""
        touched = np.flatnonzero(amount)
        if len(touched) < amount.size // 2:
            self.rgb.reshape(-1, 3)[touched] *= (1 + amount.reshape(-1)[touched])[:, None]
        else:
            self.rgb *= (1 + amount)[..., None]
        return self

    def grain(self, amount: float, cells: int | tuple[int, int] = 64, octaves: int = 2) -> Canvas:
        return self.shade(amount * self.noise(cells, octaves))

    def paint(self, where: np.ndarray, color: Color, glass: bool = False) -> Canvas:
        """Cover `where` [S, S] (bool or 0..1) with a colour."""
        if where.dtype == bool:
            self.rgb[where], self.mask[where] = color, float(glass)
            return self
        cover = np.clip(where, 0, 1)
        self.rgb = self.rgb * (1 - cover[..., None]) + np.array(color, float) * cover[..., None]
        self.mask = self.mask * (1 - cover) + (cover if glass else 0)
        return self

    def box(self, x0: float, y0: float, x1: float, y1: float) -> np.ndarray:
        return (self.x >= x0) & (self.x < x1) & (self.y >= y0) & (self.y < y1)

    def disc(self, x: float, y: float, radius: float, aspect: float = 1.0) -> np.ndarray:
        """A disc; `aspect` is the tile's width over its height in metres."""
        return ((self.x - x) * aspect) ** 2 + (self.y - y) ** 2 < radius * radius

    def bricks(self, columns: int, rows: int, joint: float, mortar: Color, variation: float, offset: float = 0.5) -> Canvas:
        """Courses of bricks or slabs, each with a tone of its own; `joint` is a share of the course's height."""
        row = np.floor(self.y * rows).astype(int)
        across = self.x * columns + (row % 2) * offset
        column = np.floor(across).astype(int) % columns
        tone = self.random.random((rows, columns)) * 2 - 1
        self.shade(variation * tone[row, column])
        fy, fx = self.y * rows - row, across - np.floor(across)
        self.shade(0.06 * ((fy > 1 - 2 * joint) & (fy < 1 - joint)))  # light on the upper edge
        width = joint * columns / rows
        return self.paint((fy > 1 - joint) | (fx > 1 - width), mortar)

    def leaves(self, count: int, radius: float, colors: list[Color]) -> Canvas:
        """Overlapping lit blobs, wrapped around the edges: foliage, gravel, cobbles."""
        n = self.size
        for k in range(count):
            cx, cy = self.random.random(2)
            r = radius * (0.6 + 0.8 * self.random.random())
            reach = np.arange(-int(r * n) - 1, int(r * n) + 2)
            columns, rows = int(cx * n) + reach, int(cy * n) + reach
            dx, dy = ((columns + 0.5) / n - cx)[None, :], (cy - (rows + 0.5) / n)[:, None]
            inside = dx * dx + dy * dy < r * r
            light = 1 + 0.22 * np.clip((dy - dx * 0.4) / r, -1, 1)
            patch = np.ix_(rows % n, columns % n)
            self.rgb[patch] = np.where(inside[..., None], np.array(colors[k % len(colors)], float) * light[..., None], self.rgb[patch])
        return self

    def image(self) -> np.ndarray:
        """[S, S, 4] u8: RGB and the mask."""
        full = np.concatenate([self.rgb, self.mask[..., None] * 255], -1)
        n, k = self.size // OVERSAMPLING, OVERSAMPLING
        mean = full.reshape(n, k, n, k, 4).mean((1, 3))
        return np.clip(np.rint(mean), 0, 255).astype(np.uint8)
