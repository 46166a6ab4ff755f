"""What a street plan hands over: lines, reserved places and how its land is divided."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import shapely
from shapely import affinity
from shapely.geometry.base import BaseGeometry

from flaneur.city.layout.graph import BlockType
from flaneur.city.layout.streets import StreetLine

SIZE = 200.0  # metres
CENTRE = np.array([SIZE / 2, SIZE / 2])
REACH = 190.0  # metres from the centre to which streets are drawn, so that a turned plan still fills the window


@dataclass(frozen=True)
class Place:
    """Ground that the plan reserves: a square, a park, a pond, a field."""

    kind: str  # Area.kind
    shape: BaseGeometry
    block: BlockType | None = None  # the type of the block that it mostly fills
    name: str = ""


@dataclass(frozen=True)
class Yard:
    """A lot that the plan draws itself."""

    use: str  # Lot.use
    shape: BaseGeometry
    name: str = ""


@dataclass
class StreetPlan:
    streets: list[StreetLine] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    circles: list[tuple[float, float, float]] = field(default_factory=list)  # turning circles: x, y, radius
    landmarks: list[tuple[str, tuple[float, float]]] = field(default_factory=list)  # use of the lot nearest to a point: church, townhall, school
    yards: list[Yard] = field(default_factory=list)
    hedges: list[shapely.LineString] = field(default_factory=list)  # field boundaries


def turned(xy: np.ndarray, angle: float) -> np.ndarray:  # [..., 2] metres about the window's centre
    c, s = math.cos(angle), math.sin(angle)
    return np.asarray(xy) @ np.array([[c, s], [-s, c]]) + CENTRE


def line(*points: np.ndarray | tuple[float, float]) -> shapely.LineString:
    return shapely.LineString([tuple(np.round(p, 2)) for p in points])


def smooth(points: np.ndarray, step: float = 4.0, closed: bool = False) -> shapely.LineString:
    """A Catmull-Rom curve through the points [n, 2], one vertex every `step` metres or so."""
    p = np.asarray(points, float)
    q = np.concatenate([p[-1:], p, p[:2]]) if closed else np.concatenate([2 * p[:1] - p[1:2], p, 2 * p[-1:] - p[-2:-1]])
    out = []
    for a, b, c, d in zip(q, q[1:], q[2:], q[3:], strict=False):
        n = max(2, int(np.hypot(*(c - b)) / step))
        t = np.arange(n)[:, None] / n
        out.append(0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2 + (3 * b - a - 3 * c + d) * t**3))
    out.append(q[-2:-1] if not closed else p[:1])
    xy = shapely.LineString(np.round(np.concatenate(out), 2)).simplify(0.05)
    return shapely.LineString(xy.coords)


def quiet_place(streets: list[StreetLine], least: float, rng: np.random.Generator, tries: int = 60) -> tuple[np.ndarray, float] | None:
    """The place farthest from all streets among random ones, and its distance to them; None when all are nearer than `least`."""
    network = shapely.union_all([s.line for s in streets])
    xy = rng.uniform(25, SIZE - 25, (tries, 2))
    distance = np.asarray(shapely.distance(shapely.points(xy), network))
    best = int(np.argmax(np.round(distance, 3)))
    room = float(np.max(distance))
    return (xy[best], room) if room >= least else None


def blob(centre: np.ndarray, radius: float, rng: np.random.Generator, irregularity: float = 0.25, points: int = 9) -> shapely.Polygon:
    """A rounded irregular patch, such as a pond or a wood."""
    angles = np.arange(points) * 2 * math.pi / points
    radii = radius * (1 + irregularity * rng.uniform(-1, 1, points))
    ring = smooth(centre + radii[:, None] * np.stack([np.cos(angles), np.sin(angles)], 1), step=2.5, closed=True)
    return affinity.rotate(shapely.Polygon(ring.coords), float(rng.uniform(0, 360)))
