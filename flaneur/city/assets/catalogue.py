"""The catalogue: every procedural variant of every street object, built once per process."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from flaneur.city.assets import cars, fences, furniture, lights_signs, people, small_buildings, trucks, two_wheelers, vegetation  # noqa: F401  (they fill RECIPES)
from flaneur.city.assets.canvas import Color
from flaneur.city.assets.recipes import RECIPES, WHITE
from flaneur.city.assets.shapes import MATERIAL_NAMES
from flaneur.city.scene import Prototype
from flaneur.classes import load_classes


@dataclass(frozen=True)
class Variant:
    prototype: Prototype  # materials index Catalogue.material_names; box centred on the origin, standing on z = 0
    mount: str = "ground"  # ground, roof or wall (then the back is the box's -x side)
    palette: tuple[Color, ...] = WHITE  # tints that suit it
    weight: float = 1.0  # how common it is among its class

    @property
    def size(self) -> tuple[float, float, float]:
        """Extent in metres along local x, y, z; the front is +x."""
        x, y, z = (self.prototype.vertices.max(0) - self.prototype.vertices.min(0)).tolist()
        return x, y, z

    @property
    def footprint(self) -> tuple[float, float]:
        return self.size[:2]

    @property
    def radius(self) -> float:
        """Of the circle around the footprint, metres."""
        return math.hypot(*self.footprint) / 2

    @property
    def scale_range(self) -> tuple[float, float]:
        """Uniform scales that keep the volume inside its class's range."""
        low, high = load_classes()[self.prototype.class_id].volume_m3
        volume = self.prototype.volume
        return ((low / volume) ** (1 / 3) + 1e-6, (high / volume) ** (1 / 3) - 1e-6 if math.isfinite(high) else math.inf)


@dataclass(frozen=True)
class Catalogue:
    variants: dict[str, list[Variant]]  # class name -> variants
    material_names: list[str]

    def __getitem__(self, class_name: str) -> list[Variant]:
        return self.variants[class_name]

    def on(self, class_name: str, mount: str) -> list[Variant]:
        """The variants of a class that stand on the ground, on a roof or hang on a wall."""
        return [v for v in self.variants[class_name] if v.mount == mount]

    def radius(self, class_name: str) -> float:
        """Placement radius: the widest variant's circle, metres."""
        return max(v.radius for v in self.variants[class_name])

    def fine_names(self) -> list[str]:
        return [v.prototype.fine_name for group in self.variants.values() for v in group]


@lru_cache(maxsize=1)
def load_catalogue() -> Catalogue:
    """Build all variants; the same arrays on every call of one process."""
    classes = load_classes()
    variants: dict[str, list[Variant]] = {}
    for r in RECIPES:
        name = f"{r.class_name}/{r.fine_name.replace(' ', '_')}"
        prototype = r.make().build(name, classes[r.class_name].id, r.fine_name)
        for array in (prototype.vertices, prototype.faces, prototype.uv, prototype.materials):
            array.setflags(write=False)
        variants.setdefault(r.class_name, []).append(Variant(prototype, r.mount, r.palette, r.weight))
    ordered = {c.name: variants[c.name] for c in classes if c.name in variants}
    return Catalogue(ordered, MATERIAL_NAMES)


def material_indices(names: list[str], catalogue: Catalogue) -> np.ndarray:
    """[len(catalogue.material_names)] u16: where each material of the catalogue stands in a scene's own list."""
    at = {name: k for k, name in enumerate(names)}
    return np.array([at.get(name, 0) for name in catalogue.material_names], np.uint16)
