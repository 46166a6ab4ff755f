"""What a finished building is: its mesh and what others need to know to place things on, at and around it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from shapely.geometry import Polygon

from flaneur.city.layout.graph import OsmRef
from flaneur.city.scene import Prototype

Point = tuple[float, float]


@dataclass(frozen=True)
class Facade:
    """A straight piece of outer wall, counter-clockwise around the building (the street is on its right)."""

    start: Point  # world metres
    end: Point
    height: float  # metres of wall above the ground
    exposed: bool = True  # False where a neighbour stands against it


@dataclass(frozen=True)
class BuiltBuilding:
    prototype: Prototype  # local frame around `position`; face materials index list(flaneur.city.assets.materials.MATERIALS)
    position: np.ndarray  # [3] f64 world metres; z = 0, the ground
    footprint: Polygon  # world metres, at the ground
    block: int  # Block.id
    rule: str  # Rule.name, empty where the plan names none
    style: str  # one of ARCHITECTURE_STYLES
    tint: np.ndarray  # [3] u8
    mapped: bool  # from the street map; False: designed on a lot
    clipped: bool = False
    osm: OsmRef | None = None
    name: str = ""
    entrances: list[tuple[float, float, float]] = field(default_factory=list)  # world x, y, and the yaw that leads out
    flat_roofs: list[tuple[Polygon, float]] = field(default_factory=list)  # world outline and height of flat roof surface
    obstacles: list[tuple[Polygon, float, float]] = field(default_factory=list)  # world outline, low and high (metres) of steps, awnings, balconies and detached parts outside the footprint
    facades: list[Facade] = field(default_factory=list)

    @property
    def fine_name(self) -> str:
        return self.prototype.fine_name
