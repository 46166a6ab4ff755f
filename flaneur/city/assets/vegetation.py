"""Trees and shrubs: a trunk and a crown of several irregular lobes, solid throughout."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from flaneur.city.assets.recipes import add
from flaneur.city.assets.shapes import Shape, Vec


def lobe(s: Shape, random: np.random.Generator, centre: Vec, radii: Vec, material: str, points: int = 16, roughness: float = 0.16) -> Shape:
    """A lump of foliage: the hull of scattered points of an ellipsoid, 2 x points - 4 triangles."""
    golden = math.pi * (3 - math.sqrt(5))
    start, cloud = random.random() * 2 * math.pi, []
    for k in range(points):
        z = 1 - 2 * (k + 0.5) / points
        r, a = math.sqrt(1 - z * z), start + golden * k
        swell = 1 + roughness * (2 * random.random() - 1)
        cloud.append((centre[0] + radii[0] * r * math.cos(a) * swell, centre[1] + radii[1] * r * math.sin(a) * swell, centre[2] + radii[2] * z * swell))
    return s.hull(cloud, material)


@dataclass(frozen=True)
class TreeShape:
    height: float
    spread: float  # crown radius
    clear: float  # height of the lowest leaves
    leaves: str
    bark: str = "bark"
    trunk: float = 0.16
    lobes: int = 5
    lobe_size: float = 0.62  # share of the spread


def broadleaf(t: TreeShape, name: str) -> Shape:
    """A round crown: a core and a wreath of lobes at different heights."""
    random, s = np.random.default_rng(zlib.crc32(name.encode())), Shape()
    crown = t.height - t.clear
    s.rod((0, 0, 0), (0, 0, t.clear + 0.4 * crown), t.trunk * 1.15, t.bark, t.trunk * 0.7, sides=5)
    s.rod((0, 0, t.clear * 0.75), (t.spread * 0.5, t.spread * 0.2, t.clear + 0.3 * crown), t.trunk * 0.6, t.bark, t.trunk * 0.4, sides=3)
    lobe(s, random, (0, 0, t.clear + 0.64 * crown), (t.spread * 0.66, t.spread * 0.66, crown * 0.38), t.leaves, 12)
    for k in range(t.lobes):
        a = 2 * math.pi * (k + 0.3 * random.random()) / t.lobes
        r = t.spread * (1 - t.lobe_size) * (0.9 + 0.2 * random.random())
        z = t.clear + crown * (0.36 + 0.22 * (k % 2) + 0.06 * random.random())
        size = t.spread * t.lobe_size * (0.9 + 0.2 * random.random())
        lobe(s, random, (r * math.cos(a), r * math.sin(a), z), (size, size, min(crown * 0.36, size * 1.2)), t.leaves, 10)
    return s


def column(t: TreeShape, name: str) -> Shape:
    """A narrow crown: lobes stacked along the trunk."""
    random, s = np.random.default_rng(zlib.crc32(name.encode())), Shape()
    crown = t.height - t.clear
    s.rod((0, 0, 0), (0, 0, t.clear + 0.5 * crown), t.trunk, t.bark, t.trunk * 0.6, sides=5)
    for k in range(t.lobes):
        f = (k + 0.5) / t.lobes
        width = t.spread * (0.78 + 0.5 * f * (1 - f) - 0.32 * max(0.0, f - 0.55))
        a = random.random() * 2 * math.pi
        lobe(s, random, (0.12 * t.spread * math.cos(a), 0.12 * t.spread * math.sin(a), t.clear + crown * (0.1 + 0.8 * f)), (width, width, crown / t.lobes * 0.95), t.leaves, 11, 0.12)
    return s


def conifer(t: TreeShape, name: str) -> Shape:
    """Tiers of drooping branches, each a cone with a scalloped rim."""
    random, s = np.random.default_rng(zlib.crc32(name.encode())), Shape()
    crown = t.height - t.clear
    s.rod((0, 0, 0), (0, 0, t.clear + 0.3 * crown), t.trunk, t.bark, sides=5)
    for k in range(t.lobes):
        f = k / t.lobes
        radius, low = t.spread * (1 - 0.82 * f), t.clear + crown * f * 0.86
        top = min(t.height, low + crown * (0.36 if k < t.lobes - 1 else 0.3))
        start, rim = random.random(), []
        for i in range(9):
            a, out = 2 * math.pi * (i + start) / 9, 1 - 0.17 * (i % 2) - 0.06 * random.random()
            rim.append((radius * out * math.cos(a), radius * out * math.sin(a), low + 0.05 * crown * (i % 2)))
        s.hull([*rim, (0, 0, top), (0, 0, low + 0.06 * crown)], t.leaves)
    return s


def weeping(t: TreeShape, name: str) -> Shape:
    """A dome with hanging curtains: a willow."""
    random, s = np.random.default_rng(zlib.crc32(name.encode())), Shape()
    s.rod((0, 0, 0), (0, 0, t.height * 0.7), t.trunk, t.bark, t.trunk * 0.7, sides=6)
    lobe(s, random, (0, 0, t.height * 0.76), (t.spread * 0.75, t.spread * 0.75, t.height * 0.24), t.leaves, 14)
    for k in range(t.lobes):
        a = 2 * math.pi * (k + 0.3 * random.random()) / t.lobes
        x, y = t.spread * 0.68 * math.cos(a), t.spread * 0.68 * math.sin(a)
        low = t.clear * (0.8 + 0.6 * random.random())
        s.hull([(x + dx, y + dy, z) for dx, dy in ((0.6, 0), (-0.45, 0.6), (-0.45, -0.6)) for z in (low, t.height * 0.74)] + [(x * 0.6, y * 0.6, t.height * 0.9)], t.leaves)
    return s


def palm(t: TreeShape, name: str) -> Shape:
    """A slim trunk, a heart of leaves, arching fronds."""
    random, s = np.random.default_rng(zlib.crc32(name.encode())), Shape()
    s.rod((0, 0, 0), (0.15, 0, t.height - 1.2), t.trunk, t.bark, t.trunk * 0.75, sides=8)
    top = (0.15, 0.0, t.height - 1.1)
    lobe(s, random, top, (0.8, 0.8, 0.9), t.leaves, 10)
    for k in range(t.lobes):
        a = 2 * math.pi * (k + 0.3 * random.random()) / t.lobes
        c, n, r = math.cos(a), math.sin(a), t.spread
        lift = 0.75 - 0.6 * (k % 2)
        path = ((0.15, 0.2, 0.3), (0.6, lift, 0.56), (1.0, lift - 1.0, 0.16))
        for (d0, z0, w0), (d1, z1, w1) in pairwise(path):
            s.hull([(top[0] + r * d * c - n * w * e, top[1] + r * d * n + c * w * e, top[2] + z - dz) for d, z, w in ((d0, z0, w0), (d1, z1, w1)) for e in (-1, 1) for dz in (0.0, 0.3)], t.leaves)
    return s


TREES = {
    "oak tree": (broadleaf, TreeShape(7.6, 2.7, 2.3, "leaves_oak", trunk=0.26), 1.5),
    "linden tree": (broadleaf, TreeShape(7.2, 2.0, 2.2, "leaves_linden", trunk=0.2), 2.0),
    "plane tree": (broadleaf, TreeShape(8.2, 2.5, 3.0, "leaves_linden", "bark_birch", 0.24, 5), 1.5),
    "maple tree": (broadleaf, TreeShape(6.4, 2.0, 2.0, "leaves_oak", trunk=0.18), 1.5),
    "autumn maple tree": (broadleaf, TreeShape(6.0, 1.9, 1.9, "leaves_autumn", trunk=0.18), 0.4),
    "chestnut tree": (broadleaf, TreeShape(7.8, 2.4, 2.2, "leaves_dark", trunk=0.26), 1.0),
    "cherry tree": (broadleaf, TreeShape(4.6, 1.6, 1.7, "leaves_blossom", trunk=0.13), 0.6),
    "apple tree": (broadleaf, TreeShape(4.2, 1.55, 1.4, "leaves_oak", trunk=0.13, lobes=4), 0.8),
    "olive tree": (broadleaf, TreeShape(4.4, 1.6, 1.4, "leaves_olive", trunk=0.22, lobes=4), 0.5),
    "young street tree": (broadleaf, TreeShape(5.0, 1.3, 2.0, "leaves_linden", trunk=0.09, lobes=4, lobe_size=0.66), 1.5),
    "birch tree": (column, TreeShape(7.8, 1.15, 1.9, "leaves_birch", "bark_birch", 0.13, 4), 1.2),
    "hornbeam": (column, TreeShape(6.2, 1.05, 1.6, "leaves_linden", trunk=0.13, lobes=4), 1.2),
    "poplar": (column, TreeShape(9.5, 0.95, 1.2, "leaves_dark", trunk=0.17, lobes=5), 1.0),
    "cypress": (column, TreeShape(7.2, 0.84, 0.3, "needles", trunk=0.12, lobes=4), 0.7),
    "spruce": (conifer, TreeShape(8.8, 1.9, 0.9, "needles", trunk=0.17, lobes=5), 1.0),
    "fir tree": (conifer, TreeShape(6.6, 1.6, 0.6, "leaves_dark", trunk=0.14, lobes=4), 0.8),
    "pine tree": (broadleaf, TreeShape(8.0, 2.0, 4.6, "needles", trunk=0.2, lobes=4), 0.8),
    "willow": (weeping, TreeShape(6.6, 2.3, 1.0, "leaves_birch", trunk=0.26, lobes=6), 0.4),
    "palm tree": (palm, TreeShape(7.5, 2.4, 0.0, "leaves_oak", trunk=0.23, lobes=8), 0.3),
}  # fmt: skip
for _name, (_make, _shape, _weight) in TREES.items():
    add("tree", _name, partial(_make, _shape, _name), weight=_weight)


def bush(name: str, radii: Vec, material: str, lobes: int = 3, flowers: str | None = None) -> Shape:
    random, s = np.random.default_rng(zlib.crc32(name.encode())), Shape()
    rx, ry, rz = radii
    lobe(s, random, (0, 0, rz * 0.85), (rx * 0.8, ry * 0.8, rz), material, 14)
    for k in range(lobes):
        a = 2 * math.pi * (k + 0.4 * random.random()) / lobes
        size = 0.55 + 0.15 * random.random()
        lobe(s, random, (rx * 0.5 * math.cos(a), ry * 0.5 * math.sin(a), rz * size), (rx * size, ry * size, rz * size), flowers if flowers and k % 2 else material, 10)
    return s


def hedge(length: float, depth: float, height: float, material: str = "leaves_hedge") -> Shape:
    """A clipped hedge, long in y, with a slightly uneven top."""
    random, s = np.random.default_rng(zlib.crc32(f"hedge {length}".encode())), Shape()
    n = max(3, round(length / 0.7))
    for k in range(n):
        y0, y1 = -length / 2 + length * k / n - 0.02, -length / 2 + length * (k + 1) / n + 0.02
        y0, y1 = max(y0, -length / 2), min(y1, length / 2)
        top, out = height * (0.95 + 0.05 * random.random()), depth / 2 * (0.94 + 0.06 * random.random())
        s.hull([(x, y, z) for y in (y0, y1) for x, z in ((-out, 0), (out, 0), (-out, top * 0.88), (out, top * 0.88), (-out * 0.8, top), (out * 0.8, top))], material)
    return s


def topiary() -> Shape:
    random, s = np.random.default_rng(11), Shape()
    s.rod((0, 0, 0), (0, 0, 1.5), 0.05, "bark", sides=5)
    lobe(s, random, (0, 0, 0.42), (0.42, 0.42, 0.42), "leaves_hedge", 22, 0.04)
    return lobe(s, random, (0, 0, 1.25), (0.3, 0.3, 0.3), "leaves_hedge", 20, 0.04)


def grass_tuft() -> Shape:
    random, s = np.random.default_rng(5), Shape()
    for k in range(7):
        a, lean, top = 2 * math.pi * k / 7, 0.18 + 0.2 * random.random(), 0.7 + 0.5 * random.random()
        x, y = math.cos(a), math.sin(a)
        s.hull(
            [
                (x * 0.06 - y * 0.09, y * 0.06 + x * 0.09, 0),
                (x * 0.06 + y * 0.09, y * 0.06 - x * 0.09, 0),
                (-x * 0.04, -y * 0.04, 0),
                (x * lean, y * lean, top),
                (x * lean * 0.5, y * lean * 0.5, top * 0.9),
            ],
            "straw" if k % 3 == 0 else "leaves_olive",
        )
    return s


add("shrub", "boxwood ball", lambda: lobe(Shape(), np.random.default_rng(3), (0, 0, 0.45), (0.5, 0.5, 0.46), "leaves_hedge", 26, 0.04))
add("shrub", "laurel bush", partial(bush, "laurel bush", (0.8, 0.7, 0.75), "leaves_dark"), weight=1.5)
add("shrub", "rose bush", partial(bush, "rose bush", (0.55, 0.55, 0.5), "leaves_oak", 4, "flowers"))
add("shrub", "hydrangea", partial(bush, "hydrangea", (0.7, 0.65, 0.55), "leaves_linden", 5, "leaves_blossom"))
add("shrub", "rhododendron", partial(bush, "rhododendron", (1.0, 0.9, 0.95), "leaves_dark", 4, "leaves_blossom"))
add("shrub", "forsythia", partial(bush, "forsythia", (0.8, 0.8, 0.8), "leaves_autumn", 4))
add("shrub", "juniper", partial(bush, "juniper", (0.95, 0.6, 0.35), "needles", 4))
add("shrub", "lilac", partial(bush, "lilac", (0.85, 0.8, 1.0), "leaves_linden", 4, "leaves_blossom"))
add("shrub", "lavender", partial(bush, "lavender", (0.4, 0.35, 0.32), "leaves_olive", 3))
add("shrub", "ornamental grass", grass_tuft)
add("shrub", "topiary", topiary, weight=0.4)
add("shrub", "short hedge", partial(hedge, 1.6, 0.5, 0.9), weight=1.5)
add("shrub", "low hedge", partial(hedge, 2.4, 0.5, 0.6), weight=1.5)
add("shrub", "tall hedge", partial(hedge, 2.8, 0.6, 1.6, "leaves_dark"), weight=1.0)
