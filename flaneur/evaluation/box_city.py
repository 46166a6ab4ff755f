"""An invented city of boxes, built in milliseconds: what `--budget smoke` flies through. No benchmark, and never called one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flaneur.city.scene import QUANTUM, Instances, Prototype, Scene
from flaneur.classes import load_classes

SIZE = 200.0
MATERIALS = ["asphalt", "pavement_slab", "grass", "water", "car_paint", "steel", "leaves_oak", "plaster_perimeter_window"]
KERB = 0.12

# class, width, depth, height in metres, material, how many
OBJECTS = (
    ("bench", 1.6, 0.5, 0.5, "steel", 14), ("waste_bin", 0.5, 0.5, 1.0, "steel", 16), ("street_lamp", 0.3, 0.3, 5.0, "steel", 14), ("fire_hydrant", 0.4, 0.4, 0.8, "car_paint", 8),
    ("car", 4.3, 1.8, 1.5, "car_paint", 24), ("bus", 10.5, 2.4, 3.0, "car_paint", 3), ("tree", 3.5, 3.5, 5.0, "leaves_oak", 30),
    ("building", 13.0, 12.0, 9.0, "plaster_perimeter_window", 7), ("building", 15.0, 14.0, 24.0, "plaster_perimeter_window", 5), ("skyscraper", 16.0, 16.0, 82.0, "plaster_perimeter_window", 1),
)  # fmt: skip


def box(width: float, depth: float, low: float, high: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vertices [24, 3], faces [12, 3] seen from outside, uv [24, 2] in metres; each side owns its corners."""
    vertices, uv = [], []
    half = np.array([width / 2, depth / 2, (high - low) / 2])
    for axis in range(3):
        for sign in (-1.0, 1.0):
            u, v = (axis + 1) % 3, (axis + 2) % 3
            for a, b in ((-1, -1), (sign, -sign), (1, 1), (-sign, sign)):
                point = np.zeros(3)
                point[axis], point[u], point[v] = sign, a, b
                vertices.append(point * half + (0, 0, (low + high) / 2))
                uv.append((a * half[u], b * half[v]))
    faces = [(4 * k + i, 4 * k + j, 4 * k + m) for k in range(6) for i, j, m in ((0, 1, 2), (0, 2, 3))]
    return np.array(vertices), np.array(faces, np.int32), np.array(uv) / 3.0


def box_city(seed: int = 0) -> Scene:
    """About 140 objects of 10 prototypes in 200 x 200 m: a crossing of two streets, lawns, a pond; another seed is another city."""
    rng = np.random.default_rng([seed, 0xB0])
    classes = load_classes()
    prototypes: list[Prototype] = []
    rows: list[tuple[int, float, float, float, float]] = []  # prototype, x, y, z, yaw

    def add(name: str, cls: str, material: str, size: tuple[float, float, float, float], places: Sequence[tuple[float, float, float, float]]) -> None:
        vertices, faces, uv = box(*size)
        vertices, uv = (_round(a) for a in (vertices, uv))
        volume = 0.0 if classes[cls].group == "background" else size[0] * size[1] * (size[3] - size[2])
        number = np.full(len(faces), MATERIALS.index(material), np.uint16)
        prototypes.append(Prototype(name, classes[cls].id, cls.replace("_", " "), vertices, faces, uv, number, volume))
        rows.extend((len(prototypes) - 1, *p) for p in places)

    add("street_x", "road", "asphalt", (200, 10, -0.45, 0.0), [(100, 100, 0, 0)])
    add("street_y", "road", "asphalt", (10, 95, -0.45, 0.0), [(100, y, 0, 0) for y in (47.5, 152.5)])
    add("pavement", "pavement", "pavement_slab", (95, 5, -0.45, KERB), [(x, y, 0, 0) for x in (47.5, 152.5) for y in (92.5, 107.5)])
    add("lawn", "terrain", "grass", (95, 90, -0.45, 0.1), [(x, y, 0, 0) for x, y in ((47.5, 45.0), (152.5, 45.0), (47.5, 155.0))])
    add("pond", "water", "water", (95, 90, -0.45, -0.3), [(152.5, 155, 0, 0)])
    lots = [(x, y) for qx, qy in ((0, 0), (105, 0), (0, 110)) for x in (18 + qx, 47 + qx, 76 + qx) for y in (16 + qy, 45 + qy, 72 + qy)]
    rng.shuffle(lots)
    for k, (cls, w, d, h, material, count) in enumerate(OBJECTS):
        if h > 6:
            places = [(*lots.pop(), 0.1, 0.0) for _ in range(count)]
        elif cls in ("car", "bus"):
            lane = 97.0 if cls == "car" else 103.0
            places = [(float(x), lane, 0.0, 0.0) for x in np.linspace(8, 192, count) + rng.uniform(-1, 1, count)]
        else:  # along the pavements, each class on a line of its own
            side = rng.integers(0, 2, count)
            near = 91.0 + 0.45 * k
            places = [(float(x), near if s else 200 - near, KERB, 0.0) for x, s in zip(np.linspace(6, 93, count) + rng.uniform(-1, 1, count) + 101.0 * rng.integers(0, 2, count), side, strict=True)]
        add(f"{cls}_{k}", cls, material, (w, d, 0.0, h), places)
    rows.sort(key=lambda r: r[0])
    n = len(rows)
    table = np.array(rows)
    instances = Instances(
        prototype=table[:, 0].astype(np.int32), position=_round(table[:, 1:4]), yaw=table[:, 4].astype(np.float32), scale=np.ones(n, np.float32),
        tint=rng.integers(90, 256, (n, 3)).astype(np.uint8), block=np.full(n, -1, np.int32), rule=np.full(n, -1, np.int16), osm_id=np.zeros(n, np.int64),
        osm_type=np.zeros(n, np.uint8), clipped=np.zeros(n, bool),
    )  # fmt: skip
    return Scene(f"boxes-{seed}", prototypes, instances, list(MATERIALS), np.zeros((2, 2), np.float32), "town", seed, SIZE)


def _round(a: np.ndarray) -> np.ndarray:
    return (np.rint(np.asarray(a, np.float64) / QUANTUM) * QUANTUM).astype(np.float32)
