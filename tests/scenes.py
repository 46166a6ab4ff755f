"""A small made-up city for the tests: crossing roads, pavements, lawns, a pond, box buildings and simple street objects."""

from __future__ import annotations

import numpy as np

from flaneur.city.scene import QUANTUM, Instances, Prototype, Scene
from flaneur.classes import load_classes

SIZE = 200.0
MATERIALS = [
    "asphalt", "pavement_slab", "grass", "water", "stone_office_window", "plaster_perimeter_window", "glass_tower_window", "roof_gravel",
    "car_paint", "steel", "cloth", "wood", "leaves_oak", "glass", "lamp_glass", "concrete_wall",
]  # fmt: skip


def _round(a: np.ndarray) -> np.ndarray:
    return (np.rint(np.asarray(a, np.float64) / QUANTUM) * QUANTUM).astype(np.float32)


def prism(outline: np.ndarray, low: float, high: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A closed convex prism over a counter-clockwise outline [n, 2]: vertices, faces, uv in metres (own corners per side)."""
    n = len(outline)
    vertices, faces, uv = [], [], []
    along = 0.0
    for i in range(n):
        a, b = outline[i], outline[(i + 1) % n]
        length = float(np.hypot(*(b - a)))
        k = len(vertices)
        vertices += [(*a, low), (*b, low), (*b, high), (*a, high)]
        uv += [(along, low), (along + length, low), (along + length, high), (along, high)]
        faces += [(k, k + 1, k + 2), (k, k + 2, k + 3)]
        along += length
    for z, up in ((low, False), (high, True)):
        k = len(vertices)
        vertices += [(*p, z) for p in outline]
        uv += [tuple(p) for p in outline]
        faces += [(k, k + i, k + i + 1) if up else (k, k + i + 1, k + i) for i in range(1, n - 1)]
    return np.array(vertices), np.array(faces), np.array(uv)


def rectangle(width: float, depth: float, x: float = 0.0, y: float = 0.0) -> np.ndarray:
    return np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) * (width / 2, depth / 2) + (x, y)


def circle(radius: float, n: int = 8) -> np.ndarray:
    t = np.arange(n) * 2 * np.pi / n
    return np.stack([np.cos(t), np.sin(t)], -1) * radius


def ball(radius: float, z: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """An octahedron split once, pushed out to the sphere."""
    v = np.array([(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)], float)
    corners = [(0, 2, 4), (2, 1, 4), (1, 3, 4), (3, 0, 4), (2, 0, 5), (1, 2, 5), (3, 1, 5), (0, 3, 5)]
    triangles = []
    for i, j, k in corners:
        a, b, c = v[i], v[j], v[k]
        ab, bc, ca = ((p + q) / np.linalg.norm(p + q) for p, q in ((a, b), (b, c), (c, a)))
        triangles += [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
    points, inverse = np.unique(np.round(np.array(triangles).reshape(-1, 3), 9), axis=0, return_inverse=True)
    points = points * radius + (0, 0, z)
    return points, inverse.reshape(-1, 3), points[:, :2]


def _join(parts: list[tuple[tuple[np.ndarray, np.ndarray, np.ndarray], str]]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    vertices, faces, uv, materials, offset = [], [], [], [], 0
    for (v, f, t), material in parts:
        vertices.append(v)
        faces.append(f + offset)
        uv.append(t)
        materials.append(np.full(len(f), MATERIALS.index(material), np.uint16))
        offset += len(v)
    return np.concatenate(vertices), np.concatenate(faces), np.concatenate(uv), np.concatenate(materials)


def _volume(vertices: np.ndarray, faces: np.ndarray) -> float:
    a, b, c = (vertices[faces[:, i]].astype(np.float64) for i in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6)


def prototype(name: str, class_name: str, *parts: tuple[tuple[np.ndarray, np.ndarray, np.ndarray], str]) -> Prototype:
    classes = load_classes()
    v, f, uv, m = _join(list(parts))
    v = _round(v)
    volume = _volume(v, f) if classes[class_name].group != "background" else 0.0
    return Prototype(name, classes[class_name].id, name.replace("_", " "), v, f.astype(np.int32), _round(uv), m, volume)


def _ground() -> list[tuple[Prototype, list[tuple[float, float]]]]:
    """Surfaces with skirts, so that nothing shows between heights: prototype and where its middle lies."""

    def slab(w: float, d: float, top: float):
        return prism(rectangle(w, d), -0.45, top)

    arm = slab(95, 10, 0.0)
    strip = slab(92, 3, 0.12)
    turn = lambda part: (part[0][:, [1, 0, 2]] * (-1, 1, 1), part[1], part[2])  # noqa: E731
    quadrant = (46.0, 154.0)
    return [
        (prototype("road_junction", "road", (slab(10, 10, 0.0), "asphalt")), [(100, 100)]),
        (prototype("road_east_west", "road", (arm, "asphalt")), [(47.5, 100), (152.5, 100)]),
        (prototype("road_north_south", "road", (turn(arm), "asphalt")), [(100, 47.5), (100, 152.5)]),
        (prototype("pavement_east_west", "pavement", (strip, "pavement_slab")), [(46, 93.5), (46, 106.5), (154, 93.5), (154, 106.5)]),
        (prototype("pavement_north_south", "pavement", (turn(strip), "pavement_slab")), [(93.5, 46), (106.5, 46), (93.5, 154), (106.5, 154)]),
        (prototype("pavement_corner", "pavement", (slab(3, 3, 0.12), "pavement_slab")), [(x, y) for x in (93.5, 106.5) for y in (93.5, 106.5)]),
        (prototype("lawn", "terrain", (slab(92, 92, 0.1), "grass")), [(quadrant[0], quadrant[0]), (quadrant[1], quadrant[0]), (quadrant[0], quadrant[1])]),
        (prototype("lawn_edge_east_west", "terrain", (slab(92, 22, 0.1), "grass")), [(154, 119), (154, 189)]),
        (prototype("lawn_edge_north_south", "terrain", (slab(22, 48, 0.1), "grass")), [(119, 154), (189, 154)]),
        (prototype("pond", "water", (slab(48, 48, -0.3), "water")), [(154, 154)]),
    ]  # fmt: skip


def _objects(rng: np.random.Generator) -> list[tuple[Prototype, list[tuple[float, float]]]]:
    """Prototype and places. Lanes of places are kept apart so that nothing overlaps."""

    def along(n: int, offset: float, low: float = 6.0, high: float = 88.0) -> list[tuple[float, float]]:
        """n places beside the roads, `offset` metres from their middle line, over all four arms and both sides."""
        out = []
        per = -(-n // 8)
        for arm in range(8):
            steps = low + (np.arange(per) + rng.uniform(0.25, 0.75, per)) * (high - low) / per
            side = offset if arm % 2 else -offset
            for s in steps:
                s = s if arm % 4 < 2 else 200 - s
                out.append((s, 100 + side) if arm < 4 else (100 + side, s))
        return out[:n]

    lots = [(x, y) for x in (14, 38, 62, 162, 186) for y in (14, 38, 62)] + [(x, y) for x in (14, 38, 62) for y in (132, 156, 186)]
    order = rng.permutation(len(lots))
    solids: list[tuple[Prototype, list[tuple[float, float]]]] = [
        (prototype("person", "person", (prism(circle(0.2, 6), 0, 1.72), "cloth")), along(32, 6.0)),
        (prototype("hydrant", "fire_hydrant", (prism(circle(0.15), 0, 0.7), "steel")), along(8, 5.4, 20)),
        (prototype("lamp", "street_lamp", (prism(rectangle(0.14, 0.14), 0, 6.0), "steel"), (prism(rectangle(0.9, 0.3), 6.0, 6.2), "lamp_glass")), along(16, 5.3)),
        (prototype("bench", "bench", (prism(rectangle(0.45, 1.6), 0.35, 0.45), "wood"), (prism(rectangle(0.35, 0.1), 0.0, 0.35), "steel")), along(16, 7.5)),
        (prototype("car", "car", (prism(rectangle(4.3, 1.75), 0.15, 0.85), "car_paint"), (prism(rectangle(2.3, 1.5, -0.2), 0.85, 1.45), "glass")), along(32, 3.9)),
        (prototype("bus", "bus", (prism(rectangle(10.5, 2.4), 0.2, 3.1), "car_paint")), along(3, 1.4, 10, 80)),
        (prototype("tree", "tree", (prism(circle(0.15, 6), 0, 2.2), "wood"), (ball(2.1, 4.3), "leaves_oak")), along(64, 10.0)),
    ]  # fmt: skip
    for k in range(16):
        tall = k < 2
        w, d, h = rng.uniform(12, 18), rng.uniform(12, 18), rng.uniform(60, 95) if tall else rng.uniform(6, 26)
        walls, roof = ("glass_tower_window" if tall else ("stone_office_window", "plaster_perimeter_window")[k % 2]), "roof_gravel"
        v, f, uv = prism(rectangle(w, d), 0, h)
        sides = (v, f[:8], uv / 3.0)
        top = (v, f[8:], uv / 4.0)
        solids.append((prototype(f"building_{k}", "skyscraper" if tall else "building", (sides, walls), (top, roof)), [lots[order[k]]]))
    return solids


def tiny_scene(seed: int = 0) -> Scene:
    """About 220 instances of 33 prototypes in 200 x 200 m; another seed is another city."""
    rng = np.random.default_rng(seed)
    placed = _ground() + _objects(rng)
    classes = load_classes()
    rows = []
    for k, (p, places) in enumerate(placed):
        background = classes[p.class_id].group == "background"
        for x, y in places:
            on_road = abs(x - 100) < 5 or abs(y - 100) < 5
            on_pavement = not on_road and (abs(x - 100) < 8 or abs(y - 100) < 8)
            z = 0.0 if background or on_road else 0.12 if on_pavement else 0.1
            along_x = abs(y - 100) < 20
            yaw = 0.0 if background else (0.0 if along_x else np.pi / 2) + np.pi * rng.integers(0, 2)
            tint = np.full(3, 255) if background else rng.integers(90, 256, 3)
            rows.append((k, (x, y, z), yaw, tint))
    n = len(rows)
    instances = Instances(
        prototype=np.array([r[0] for r in rows], np.int32), position=_round(np.array([r[1] for r in rows])), yaw=_round(np.array([r[2] for r in rows])),
        scale=np.ones(n, np.float32), tint=np.array([r[3] for r in rows], np.uint8), block=np.full(n, -1, np.int32), rule=np.full(n, -1, np.int16),
        osm_id=np.zeros(n, np.int64), osm_type=np.zeros(n, np.uint8), clipped=np.zeros(n, bool),
    )  # fmt: skip
    return Scene(f"tiny-{seed}", [p for p, _ in placed], instances, list(MATERIALS), np.zeros((2, 2), np.float32), "town", seed, SIZE)
