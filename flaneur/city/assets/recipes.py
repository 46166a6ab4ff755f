"""The register of procedural assets: which class, under which fine name, made by which function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flaneur.city.assets.canvas import Color
from flaneur.city.assets.shapes import Shape

MOUNTS = ("ground", "roof", "wall")
WHITE: tuple[Color, ...] = ((255, 255, 255),)


@dataclass(frozen=True)
class Recipe:
    class_name: str
    fine_name: str
    make: Callable[[], Shape]
    mount: str = "ground"  # one of MOUNTS; what hangs on a wall has its back at -x
    palette: tuple[Color, ...] = WHITE  # believable tints
    weight: float = 1.0  # how common it is among its class


RECIPES: list[Recipe] = []


def recipe(class_name: str, fine_name: str, mount: str = "ground", palette: tuple[Color, ...] = WHITE, weight: float = 1.0) -> Callable[[Callable[[], Shape]], Callable[[], Shape]]:
    def register(make: Callable[[], Shape]) -> Callable[[], Shape]:
        RECIPES.append(Recipe(class_name, fine_name, make, mount, palette, weight))
        return make

    return register


def add(class_name: str, fine_name: str, make: Callable[[], Shape], mount: str = "ground", palette: tuple[Color, ...] = WHITE, weight: float = 1.0) -> None:
    RECIPES.append(Recipe(class_name, fine_name, make, mount, palette, weight))
