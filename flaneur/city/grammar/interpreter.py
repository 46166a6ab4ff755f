"""A small shape grammar in the manner of CityEngine's CGA, executed in Python.

A rule is a function of a `Shape`; calling another rule on a result is CGA's arrow. The operations carry CGA's names:

    CGA                                                  here
    Lot --> extrude(12) Mass                             mass = lot.extrude(12.0)
    comp(f) { front: Front | side: Side | top: Roof }    for kind, face in mass.comp(): ...
    split(y) { 4: Ground | { ~3: Floor }* | 0.5: Top }   ground, *floors, top = face.split("y", "4 | {~3}* | 0.5")
    repeat / { ~3: Bay }*                                for bay in floor.split("x", "{~3}*"): ...
    setback(2) { remainder: Ledge | inner: Tower }       ledge, tower = lot.setback(2.0)
    offset(-2)                                           yard = lot.offset(-2.0)
    i("box") with s(2, 1, 1)                             bay.insert(box, width=2, depth=1, height=1, ...)
    texture(...)                                         face.texture("brick_row_window", bays=3, storeys=4)
    attr / case                                          shape.attributes, Python's if; shape.rng.choice(...)

Sizes are absolute (`4`), relative (`'0.3`) or floating (`~3`), and `{...}*` repeats its group as often as fits, with
floating sizes stretched to fill, as in CGA. What reaches `texture` is a terminal: it becomes a polygon of the mesh.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from shapely.geometry import MultiPoint, Polygon
from shapely.geometry.polygon import orient

from flaneur.city.grammar.solid import Mapping, Point3, Shell

Point = tuple[float, float]


def split_sizes(total: float, pattern: str) -> list[float]:
    """Lengths that `pattern` cuts `total` into; what does not fit is cut off."""
    items = _parse(pattern)
    fixed = sum(size * (total if kind == "'" else 1.0) for kind, size, group in items if kind != "~" and not group)
    floating = sum(size for kind, size, group in items if kind == "~" and not group)
    sizes: list[float] = []
    repeats = {group: 0 for _, _, group in items if group}
    for group in repeats:
        members = [(kind, size) for kind, size, g in items if g == group]
        length = sum(size * (total if kind == "'" else 1.0) for kind, size in members)
        count = max((total - fixed - floating) / length / len(repeats), 0.0)
        repeats[group] = max(1, round(count)) if any(kind == "~" for kind, _ in members) else int(count + 1e-9)
        fixed += repeats[group] * sum(size * (total if kind == "'" else 1.0) for kind, size in members if kind != "~")
        floating += repeats[group] * sum(size for kind, size in members if kind == "~")
    stretch = max(total - fixed, 0.0) / floating if floating > 0 else 0.0
    k = 0
    while k < len(items):
        group = items[k][2]
        members = [items[k]] if not group else [m for m in items if m[2] == group]
        for _ in range(repeats[group] if group else 1):
            sizes += [size * (stretch if kind == "~" else total if kind == "'" else 1.0) for kind, size, _ in members]
        k += len(members)
    at, kept = 0.0, []
    for size in sizes:
        size = min(size, total - at)
        kept.append(max(size, 0.0))
        at += size
    return kept


def _parse(pattern: str) -> list[tuple[str, float, int]]:
    """(kind, size, number of the repeated group or 0) for each size of the pattern."""
    items, group, inside = [], 0, False
    for part in pattern.split("|"):
        part = part.strip()
        if part.startswith("{"):
            group, inside, part = group + 1, True, part[1:].strip()
        last = part.endswith("}*")
        part = part.removesuffix("}*").strip()
        kind = part[0] if part[0] in "~'" else ""
        items.append((kind, float(part.removeprefix(kind)), group if inside else 0))
        inside = inside and not last
    return items


@dataclass(frozen=True)
class Slope:
    """A roof plane: where dormers and chimneys stand."""

    polygon: Polygon
    start: Point  # its eave
    end: Point
    z: float  # metres at the eave
    rise: float  # metres up per metre in


@dataclass
class Model:
    """What a derivation makes: the main shell, further solids to be united with it, and details that only touch it."""

    main: Shell = field(default_factory=Shell)
    solids: list[Shell] = field(default_factory=list)
    details: list[Shell] = field(default_factory=list)
    budget: int = 150  # triangles that details may take
    silhouette: float = math.inf  # m2 by which details may still enlarge the outline seen from above
    top: float = math.inf  # metres that nothing may stand above
    flat_roofs: list[tuple[Polygon, float]] = field(default_factory=list)  # outline and height of walkable roof
    slopes: list[Slope] = field(default_factory=list)
    ground: list[Polygon] = field(default_factory=list)  # outlines of the other masses that stand on the ground
    obstacles: list[tuple[Any, float, float]] = field(default_factory=list)  # outline, low and high of what sticks out
    doors: list[tuple[Point, Point]] = field(default_factory=list)  # place of a door and the direction out of it

    def detail(self, shell: Shell, triangles: int, overhang: float = 0.0) -> bool:
        """Keep a detail if the budgets allow it."""
        if triangles > self.budget or overhang > self.silhouette:
            return False
        self.budget -= triangles
        self.silhouette -= overhang
        if overhang > 0:
            points = [p for face in shell.faces for p in face.rings[0]]
            self.obstacles.append((MultiPoint([p[:2] for p in points]).convex_hull, min(p[2] for p in points), max(p[2] for p in points)))
        self.details.append(shell)
        return True


@dataclass
class Shape:
    """Geometry with a scope: a flat polygon on the ground or a roof (`Lot`), or an upright face (`Wall`)."""

    model: Model
    shell: Shell
    rng: np.random.Generator
    attributes: dict[str, Any]  # inherited by every successor

    def __getitem__(self, name: str) -> Any:
        return self.attributes[name]


@dataclass
class Wall(Shape):
    """An upright face: scope x along the wall, y up, z out."""

    ring: list[Point3] = field(default_factory=list)  # convex, counter-clockwise from outside
    origin: Point3 = (0.0, 0.0, 0.0)
    x: Point = (1.0, 0.0)
    width: float = 0.0
    height: float = 0.0
    kind: str = "side"  # front, side, court, party, abutting
    u0: float = 0.0  # bays before this wall on the same facade
    bays: float = 1.0  # bays that it carries; a fraction where a facade runs over several walls

    @property
    def out(self) -> Point:
        return self.x[1], -self.x[0]

    def split(self, axis: str, pattern: str) -> list[Wall]:
        sizes = split_sizes(self.width if axis == "x" else self.height, pattern)
        pieces, at = [], 0.0
        for size in sizes:
            pieces.append(self._piece(axis, at, at + size))
            at += size
        return pieces

    def _piece(self, axis: str, low: float, high: float) -> Wall:
        (ox, oy, oz), (ux, uy) = self.origin, self.x
        direction = (ux, uy, 0.0) if axis == "x" else (0.0, 0.0, 1.0)
        base = ox * direction[0] + oy * direction[1] + oz * direction[2]
        ring = _clip(_clip(self.ring, direction, base + low, 1.0), direction, base + high, -1.0)
        origin = (ox + direction[0] * low, oy + direction[1] * low, oz + direction[2] * low)
        share = (high - low) / self.width if axis == "x" and self.width else 1.0
        return Wall(
            self.model, self.shell, self.rng, self.attributes, ring, origin, self.x, high - low if axis == "x" else self.width,
            high - low if axis == "y" else self.height, self.kind, self.u0 + (low / self.width * self.bays if axis == "x" and self.width else 0.0), self.bays * share,
        )  # fmt: skip

    def texture(self, material: str, bays: float | None = None, storeys: float = 1.0) -> None:
        """Terminal: the face, with `bays` x `storeys` tiles over its scope."""
        if len(self.ring) < 3 or self.width < 1e-6 or self.height < 1e-6:
            return
        u0, count = (self.u0, self.bays) if bays is None else (0.0, bays)
        du, dv = count / self.width, storeys / self.height
        ox, oy, oz = self.origin
        along = (self.x[0] * du, self.x[1] * du, 0.0)
        self.shell.add([self.ring], material, Mapping(along, (0.0, 0.0, dv), u0 - ox * along[0] - oy * along[1], -oz * dv))

    def point(self, x: float, y: float, out: float = 0.0) -> Point3:
        (ox, oy, oz), (ux, uy), (nx, ny) = self.origin, self.x, self.out
        return ox + ux * x + nx * out, oy + uy * x + ny * out, oz + y


def _clip(ring: list[Point3], direction: Point3, limit: float, side: float) -> list[Point3]:
    """The part of a convex ring where side * (p . direction - limit) >= 0."""
    distance = [side * (p[0] * direction[0] + p[1] * direction[1] + p[2] * direction[2] - limit) for p in ring]
    if all(d >= -1e-7 for d in distance):
        return ring
    out: list[Point3] = []
    for i, (p, d) in enumerate(zip(ring, distance, strict=True)):
        q, e = ring[i - 1], distance[i - 1]
        if (d < -1e-7) != (e < -1e-7):
            t = e / (e - d)
            out.append((q[0] + (p[0] - q[0]) * t, q[1] + (p[1] - q[1]) * t, q[2] + (p[2] - q[2]) * t))
        if d >= -1e-7:
            out.append(p)
    return out


@dataclass
class Mass:
    """An extruded lot: CGA's `comp(f)` takes it apart."""

    walls: list[Wall]
    top: Lot
    bottom: Lot

    def comp(self) -> Iterable[tuple[str, Shape]]:
        yield "bottom", self.bottom
        for wall in self.walls:
            yield wall.kind, wall
        yield "top", self.top


@dataclass
class Lot(Shape):
    """A flat polygon at height z, seen from above."""

    polygon: Polygon = field(default_factory=Polygon)
    z: float = 0.0
    kinds: list[list[str]] = field(default_factory=list)  # per ring, per edge: front, side, court, party

    @property
    def rings(self) -> list[list[Point]]:
        """Outer counter-clockwise, holes clockwise; not closed."""
        return [[(x, y) for x, y in ring.coords[:-1]] for ring in (self.polygon.exterior, *self.polygon.interiors)]

    def at(self, z: float) -> Lot:
        return Lot(self.model, self.shell, self.rng, self.attributes, self.polygon, z, self.kinds)

    def within(self, polygon: Polygon, kinds: list[list[str]] | None = None) -> Lot:
        polygon = orient(polygon)
        if kinds is None:
            kinds = [["side"] * (len(polygon.exterior.coords) - 1)] + [["court"] * (len(r.coords) - 1) for r in polygon.interiors]
        return Lot(self.model, self.shell, self.rng, self.attributes, polygon, self.z, kinds)

    def offset(self, distance: float) -> Lot | None:
        """CGA's offset: outwards where positive; None where nothing or several pieces remain."""
        grown = self.polygon.buffer(distance, join_style="mitre", mitre_limit=3.0).simplify(0.02)
        return self.within(grown) if isinstance(grown, Polygon) and not grown.is_empty else None

    def setback(self, distance: float) -> tuple[Lot, Lot] | None:
        """The ledge all around, and what lies inside it."""
        inner = self.offset(-distance)
        if inner is None:
            return None
        ledge = self.polygon.difference(inner.polygon)
        return (self.within(ledge), inner) if isinstance(ledge, Polygon) else None

    def extrude(self, height: float) -> Mass:
        walls = []
        for ring, kinds in zip(self.rings, self.kinds, strict=True):
            for i, ((ax, ay), kind) in enumerate(zip(ring, kinds, strict=True)):
                bx, by = ring[(i + 1) % len(ring)]
                width = math.hypot(bx - ax, by - ay)
                low, high = self.z, self.z + height
                face: list[Point3] = [(ax, ay, low), (bx, by, low), (bx, by, high), (ax, ay, high)]
                walls.append(Wall(self.model, self.shell, self.rng, self.attributes, face, (ax, ay, low), ((bx - ax) / width, (by - ay) / width), width, height, kind))
        return Mass(walls, self.at(self.z + height), self)

    def texture(self, material: str, size: tuple[float, float] = (1.0, 1.0), down: bool = False) -> None:
        """Terminal: the polygon itself, one tile per `size` metres; `down` turns its face to the ground."""
        rings = [[(x, y, self.z) for x, y in (ring[::-1] if down else ring)] for ring in self.rings]
        (ax, ay), (bx, by) = max(zip(self.rings[0], self.rings[0][1:] + self.rings[0][:1], strict=True), key=lambda e: math.dist(*e))
        length = math.hypot(bx - ax, by - ay)
        cx, cy = (bx - ax) / length, (by - ay) / length
        self.shell.add(rings, material, Mapping((cx / size[0], cy / size[0], 0.0), (-cy / size[1], cx / size[1], 0.0)))  # type: ignore[arg-type]
