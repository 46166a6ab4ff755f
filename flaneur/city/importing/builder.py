"""Collects the things of an imported window and makes the Scene: volumes held to their class, the rest counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from manifold3d import Manifold

from flaneur import __version__
from flaneur.city.assets.materials import MATERIALS
from flaneur.city.scene import QUANTUM, Instances, Prototype, Scene
from flaneur.classes import load_classes

NAMES = list(MATERIALS)
INDEX = {name: k for k, name in enumerate(NAMES)}
CHAINS = {  # what an object becomes when its volume is none of its class's
    "building": ("building", "shed"), "skyscraper": ("skyscraper", "shed"), "shed": ("shed", "building"), "car": ("car", "truck", "bus"), "truck": ("truck", "car", "bus"),
    "bus": ("bus", "truck", "car"), "tree": ("tree", "shrub"), "shrub": ("shrub", "tree"),
}  # fmt: skip
Color = tuple[int, int, int]
WHITE = (255, 255, 255)
Paint = Callable[[np.ndarray, np.ndarray], np.ndarray]  # face centres [F, 3] and unit normals [F, 3] -> material index [F]


class SceneBuilder:
    def __init__(self) -> None:
        self.classes = load_classes()
        self.prototypes: list[Prototype] = []
        self.rows: list[dict[str, Any]] = []
        self.counts: Counter[str] = Counter()  # of things left out or made into something else

    def solid(self, class_name: str, solid: Manifold, paint: Paint, tint: Color = WHITE, clipped: bool = False, fine_name: str = "") -> str | None:
        """Add an object; its class after the volume check, or None when it fits none."""
        mesh = solid.to_mesh()
        vertices, faces = np.asarray(mesh.vert_properties)[:, :3].astype(np.float64), np.asarray(mesh.tri_verts).astype(np.int64)
        return self.closed(class_name, vertices, faces, float(solid.volume()), paint, tint, clipped, fine_name)

    def closed(self, class_name: str, vertices: np.ndarray, faces: np.ndarray, volume: float, paint: Paint, tint: Color = WHITE, clipped: bool = False, fine_name: str = "") -> str | None:
        fitting = [c for c in CHAINS.get(class_name, (class_name,)) if self.classes[c].volume_m3[0] <= volume < self.classes[c].volume_m3[1]]
        if not fitting:
            self.counts[f"{class_name} of an unfit volume, left out"] += 1
            return None
        if fitting[0] != class_name:
            self.counts[f"{class_name} made {fitting[0]} by its volume"] += 1
        self._add(fitting[0], vertices, faces, volume, paint, tint, clipped, fine_name or fitting[0].replace("_", " "))
        return fitting[0]

    def surface(self, class_name: str, vertices: np.ndarray, faces: np.ndarray, paint: Paint) -> None:
        """Add a piece of background: vertices [V, 3], faces [F, 3]."""
        if len(faces):
            self._add(class_name, vertices, faces, 0.0, paint, WHITE, False, class_name)

    def _add(self, class_name: str, vertices: np.ndarray, faces: np.ndarray, volume: float, paint: Paint, tint: Color, clipped: bool, fine_name: str) -> None:
        middle = (vertices.min(0) + vertices.max(0)) / 2
        place = np.rint(np.array([middle[0], middle[1], vertices[:, 2].min()]) / QUANTUM) * QUANTUM
        local = np.rint((vertices[faces] - place) / QUANTUM) * QUANTUM  # [F, 3, 3]
        # Only faces whose corners fell together are dropped: without its slivers a solid is not closed.
        local = local[(local != np.roll(local, 1, 1)).any(2).all(1)]
        normal = np.cross(local[:, 1] - local[:, 0], local[:, 2] - local[:, 0])
        normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)
        if not len(local):
            self.counts[f"{class_name} without area, left out"] += 1
            return
        material = paint(local.mean(1) + place, normal).astype(np.uint16)
        uv = _texture(local, normal, material)
        together = np.concatenate([np.rint(local.reshape(-1, 3) / QUANTUM), np.rint(uv.reshape(-1, 2) / QUANTUM)], 1)
        unique, inverse = np.unique(together, axis=0, return_inverse=True)
        self.rows.append({"position": place, "tint": tint, "clipped": clipped})
        unique = (unique * QUANTUM).astype(np.float32)
        name = f"{class_name}_{len(self.prototypes)}"
        self.prototypes.append(Prototype(name, self.classes[class_name].id, fine_name, unique[:, :3], inverse.reshape(-1, 3).astype(np.int32), unique[:, 3:], material, volume))

    def finish(self, name: str, ground: np.ndarray, origin: dict[str, Any], provenance: dict[str, Any], licence: str = "", size: float = 200.0) -> Scene:
        n = len(self.rows)
        instances = Instances(
            prototype=np.arange(n, dtype=np.int32),
            position=np.array([r["position"] for r in self.rows], np.float32).reshape(-1, 3),
            yaw=np.zeros(n, np.float32),
            scale=np.ones(n, np.float32),
            tint=np.array([r["tint"] for r in self.rows], np.uint8).reshape(-1, 3),
            block=np.full(n, -1, np.int32),
            rule=np.full(n, -1, np.int16),
            osm_id=np.zeros(n, np.int64),
            osm_type=np.zeros(n, np.uint8),
            clipped=np.array([r["clipped"] for r in self.rows], bool),
        )
        used = sorted({int(m) for p in self.prototypes for m in np.unique(p.materials)})
        lookup = np.zeros(len(NAMES), np.uint16)
        lookup[used] = np.arange(len(used))
        prototypes = [Prototype(p.name, p.class_id, p.fine_name, p.vertices, p.faces, p.uv, lookup[p.materials], p.volume) for p in self.prototypes]
        share = sum(float(p.volume) for p in prototypes) / size**2  # m3 of built and grown things on a square metre
        place_type = "cbd" if share > 8 else "town" if share > 2 else "suburb" if share > 0.5 else "rural"
        notes = {"generator": f"flaneur {__version__}", **provenance, "left_out": dict(sorted(self.counts.items()))}
        return Scene(name, prototypes, instances, [NAMES[k] for k in used], ground.astype(np.float32), place_type, 0, size=size, origin=origin, licence=licence, provenance=notes)


def plain(material: str) -> Paint:
    return lambda centre, normal: np.full(len(centre), INDEX[material])


def roofed(wall: str, roof: str) -> Paint:
    """Facade on what stands, roof on what lies."""
    return lambda centre, normal: np.where(np.abs(normal[:, 2]) > 0.35, INDEX[roof], INDEX[wall])


def nearest_material(candidates: tuple[str, ...], color: np.ndarray) -> np.ndarray:
    """[...] material index whose mean colour is nearest to `color` [..., 3], lightness counting half: it is the light's."""
    known = np.array([MATERIALS[c].color for c in candidates], float)

    def features(c: np.ndarray) -> np.ndarray:
        grey = c.mean(-1, keepdims=True)
        return np.concatenate([c - grey, grey * 0.5], -1)

    distance = ((features(color.astype(float))[..., None, :] - features(known)) ** 2).sum(-1)
    return np.array([INDEX[c] for c in candidates])[distance.argmin(-1)]


def _texture(corners: np.ndarray, normal: np.ndarray, material: np.ndarray) -> np.ndarray:
    """uv [F, 3, 2] in tiles: along the wall and up it, or across the ground."""
    size = np.array([MATERIALS[name].size for name in NAMES])[material]  # [F, 2]
    flat = np.abs(normal[:, 2]) > 0.7
    level = np.stack([-normal[:, 1], normal[:, 0]], 1)
    level /= np.maximum(np.linalg.norm(level, axis=1, keepdims=True), 1e-9)
    along = np.where(flat[:, None], corners[..., 0], (corners[..., :2] * level[:, None]).sum(-1))
    up = np.where(flat[:, None], corners[..., 1], corners[..., 2])
    return np.stack([along / size[:, :1], up / size[:, 1:]], -1)
