"""Things built onto facades and roofs: balconies, bay windows, awnings, steps, columns, dormers, chimneys, stairheads.

Each is a closed shell that reaches 3 cm into the body it stands on. The model's budgets decide how many there are.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import shapely
from shapely.geometry import Polygon

from flaneur.city.assets.materials import MATERIALS
from flaneur.city.grammar.interpreter import Model, Point, Slope, Wall
from flaneur.city.grammar.solid import Mapping, Point3, Shell
from flaneur.city.grammar.styles import Style

INTO = 0.03  # metres that a detail reaches into its wall or roof


def prism(base: list[Point3], top: list[Point3], material: str) -> Shell:
    """A closed solid between two polygons (counter-clockwise from the top's side) with one skewed mapping for all faces, so that corners are shared."""
    w, h = MATERIALS[material].size
    mapping = Mapping((1 / w, 0.61 / w, 0.0), (0.0, 0.37 / h, 1 / h))
    shell = Shell()
    n = len(base)
    shell.add([base[::-1]], material, mapping)
    shell.add([top], material, mapping)
    for i in range(n):
        j = (i + 1) % n
        corners = [base[i], base[j], top[j], top[i]]
        corners = [c for k, c in enumerate(corners) if math.dist(c, corners[k - 1]) > 1e-9]
        if len(corners) >= 3:
            shell.add([corners], material, mapping)
    return shell


def wall_box(wall: Wall, x: float, y: float, width: float, height: float, depth: float, material: str) -> Shell:
    """A box on a wall: CGA's i("box") with its scope at (x, y) on the face."""
    base = [wall.point(x, y, -INTO), wall.point(x, y, depth), wall.point(x + width, y, depth), wall.point(x + width, y, -INTO)]
    return prism(base, [(a, b, c + height) for a, b, c in base], material)


def _slot(wall: Wall, share: float) -> bool:
    return bool(wall.rng.random() < share)


def on_storeys(wall: Wall, storeys: int, style: Style, family: str) -> None:
    """Balconies and bay windows over the storeys above the ground floor."""
    model, bays = wall.model, round(wall.bays)
    if wall.kind not in ("front", "court", "side") or abs(wall.bays - bays) > 1e-6 or bays < 2 or wall.height < 2.4:
        return
    width, storey = wall.width / bays, wall.height / storeys
    if storey > 5.0:
        return
    share = float(wall["balcony_share"])
    if "bay_window" in style.details and wall.kind == "front" and storeys >= 2 and bays >= 3 and _slot(wall, 0.45):
        _bay_window(wall, int(wall.rng.integers(0, bays)), width, storey, storeys, family)
    if "balcony" not in style.details or share <= 0:
        return
    columns = [k for k in range(bays) if _slot(wall, share)]
    material = (("iron", f"{family}_wall", "mesh") if style.lot != "slab" else ("concrete", "glass", f"{family}_wall"))[int(wall["choice"] * 3)]
    for k in columns:
        for level in range(0 if style.lot == "slab" else 1, storeys):
            shell = wall_box(wall, k * width + 0.12 * width, level * storey + 0.02, 0.76 * width, 1.0, 1.1, material)
            if not model.detail(shell, 12, 0.76 * width * 1.1 if level <= 1 else 0.0):
                return


def _bay_window(wall: Wall, column: int, width: float, storey: float, storeys: int, family: str) -> None:
    top = max(storeys - 1, 1)
    x, depth, height = column * width + 0.1 * width, 0.8, top * storey - 0.1
    box = wall_box(wall, x, 0.0, 0.8 * width, height, depth, f"{family}_wall")
    front = box.faces[3]  # base corners 1 and 2 are the outer ones
    ox, oy, oz = wall.point(x, 0.0, depth)
    du = (wall.x[0] / (0.8 * width), wall.x[1] / (0.8 * width), 0.0)
    front.material = f"{family}_window"
    front.mapping = Mapping(du, (0.0, 0.0, top / height), -ox * du[0] - oy * du[1], -oz * top / height)
    wall.model.detail(box, 12, 0.8 * width * depth)


def over_shops(wall: Wall, style: Style) -> None:
    """One awning over the widest row of shop fronts."""
    if "awning" not in style.details or wall.width < 2.0 or wall.height < 3.0 or not _slot(wall, 0.7):
        return
    depth, y = 1.1, min(0.72 * wall.height, 3.1)
    low, high = y, y + 0.45
    inset, width = 0.15, wall.width - 0.3
    base = [wall.point(inset, low, -INTO), wall.point(inset, low, depth), wall.point(inset + width, low, depth), wall.point(inset + width, low, -INTO)]
    top = [wall.point(inset, high, -INTO), wall.point(inset, low + 0.08, depth), wall.point(inset + width, low + 0.08, depth), wall.point(inset + width, high, -INTO)]
    shell = prism(base, top, "awning" if wall["choice"] < 0.5 else "awning_green")
    along = (wall.x[0], wall.x[1], 0.0)
    for face in shell.faces:
        face.mapping = Mapping(along, (0.0, 0.0, 1.0))
    wall.model.detail(shell, 12, width * depth)


def at_door(door: Wall, style: Style, shop: bool) -> None:
    middle, model = door.width / 2, door.model
    if "canopy" in style.details and door.height > 2.9:
        width = min(door.width * 0.9, 3.2)
        model.detail(wall_box(door, middle - width / 2, 2.6, width, 0.18, 1.3, style.trim), 12, width * 1.3)
    elif "porch" in style.details and not shop and _slot(door, 0.6) and model.budget >= 48:
        overhang = 2.0 * 1.4
        if model.detail(wall_box(door, middle - 1.0, 2.45, 2.0, 0.16, 1.4, style.trim), 12, overhang):
            model.detail(wall_box(door, middle - 1.0, 0.0, 2.0, 0.16, 1.4, "concrete"), 12)
            for x in (middle - 0.92, middle + 0.78):
                base = [door.point(x, 0.1, 1.16), door.point(x, 0.1, 1.3), door.point(x + 0.14, 0.1, 1.3), door.point(x + 0.14, 0.1, 1.16)]
                model.detail(prism(base, [(a, b, c + 2.4) for a, b, c in base], style.trim), 12)
    elif "steps" in style.details and not shop:
        model.detail(wall_box(door, middle - 0.7, 0.0, 1.4, 0.3, 0.8, "granite"), 12, 1.4 * 0.8)


def gates(wall: Wall, family: str) -> None:
    """Roller gates on halls: one face a hand's breadth before the wall."""
    bays = int(wall.bays + 1e-6)
    if bays < 2 or wall.height < 3.0 or wall.kind == "court":
        return
    width = wall.width / wall.bays
    for k in range(0, bays, 3):
        if _slot(wall, 0.6):
            wall.model.detail(wall_box(wall, k * width + 0.15 * width, 0.0, 0.7 * width, min(3.6, 0.8 * wall.height), 0.08, "corrugated"), 12, 0.06 * width)


def columns(wall: Wall, count: int, height: float, depth: float, material: str) -> None:
    """A row of six-sided columns before a wall."""
    step = wall.width / count
    for k in range(count):
        cx, cy, z = wall.point((k + 0.5) * step, 0.0, depth)
        ring: list[Point3] = [(cx + 0.42 * math.cos(a), cy + 0.42 * math.sin(a), z) for a in np.arange(6) * math.pi / 3]
        wall.model.detail(prism(ring, [(x, y, z + height) for x, y, z in ring], material), 20)


def posts(model: Model, height: float, outlines: list[Polygon]) -> None:
    """Four posts under a canopy roof, near the corners of its box."""
    for outline in outlines:
        room = outline.buffer(-0.35)
        if room.is_empty:
            continue
        for x, y in shapely.get_coordinates(room.minimum_rotated_rectangle)[:4].tolist():
            base: list[Point3] = [(x - 0.12, y - 0.12, 0.0), (x + 0.12, y - 0.12, 0.0), (x + 0.12, y + 0.12, 0.0), (x - 0.12, y + 0.12, 0.0)]
            if outline.contains(Polygon(base)):
                model.detail(prism(base, [(a, b, height + INTO) for a, b, _ in base], "steel"), 12)


def on_roof(model: Model, style: Style, rng: np.random.Generator, family: str) -> None:
    """Dormers, chimneys and stairheads where the roof has room for them."""
    slopes = sorted(model.slopes, key=lambda s: -s.polygon.area)
    if "dormer" in style.details:
        for slope in slopes[:2]:
            if slope.rise > 0.55:
                _dormers(model, slope, rng, family)
    if "chimney" in style.details:
        for slope in slopes[:2]:
            if rng.random() < 0.75:
                _chimney(model, slope, rng)
    if "stairhead" in style.details and model.flat_roofs:
        k = max(range(len(model.flat_roofs)), key=lambda i: model.flat_roofs[i][0].area)
        polygon, z = model.flat_roofs[k]
        room = polygon.buffer(-3.0)
        height = min(2.6, model.top - z)
        if not room.is_empty and height > 0.5 and polygon.area > 120:
            at = room.representative_point()
            angle = _direction(polygon)
            c, s = math.cos(angle), math.sin(angle)
            half = min(max(0.12 * math.sqrt(polygon.area), 1.4), 5.0)
            ring: list[Point3] = [(at.x + c * a - s * b, at.y + s * a + c * b, z - INTO) for a, b in ((-1.5 * half, -half), (1.5 * half, -half), (1.5 * half, half), (-1.5 * half, half))]
            if not polygon.contains(Polygon([p[:2] for p in ring])):
                return
            if model.detail(prism(ring, [(x, y, z + height) for x, y, _ in ring], f"{family}_wall"), 12):
                free = polygon.difference(Polygon([p[:2] for p in ring]).buffer(0.4, join_style="mitre"))
                model.flat_roofs[k] = (free if isinstance(free, Polygon) else polygon, z)


def _direction(polygon: Polygon) -> float:
    ring = list(polygon.exterior.coords)
    (ax, ay), (bx, by) = max(itertools.pairwise(ring), key=lambda e: math.dist(*e))
    return math.atan2(by - ay, bx - ax)


def _frame(start: Point, end: Point) -> tuple[Point, Point, float]:
    length = math.dist(start, end)
    along = ((end[0] - start[0]) / length, (end[1] - start[1]) / length)
    return along, (-along[1], along[0]), length


def _dormers(model: Model, slope: Slope, rng: np.random.Generator, family: str) -> None:
    along, inward, length = _frame(slope.start, slope.end)
    width, height, back = 1.5, 1.5, 0.7
    run = height / slope.rise
    count = min(int((length - 2.0) / 3.4), 4)
    for k in range(count):
        s = (k + 0.5) * length / count - width / 2

        def at(a: float, d: float) -> Point:
            return slope.start[0] + along[0] * a + inward[0] * d, slope.start[1] + along[1] * a + inward[1] * d

        foot = Polygon([at(s, back), at(s + width, back), at(s + width, back + run + 0.3), at(s, back + run + 0.3)])
        z = slope.z + slope.rise * back
        if not slope.polygon.contains(foot) or z + height > model.top:
            continue
        a, b, c, d = (*at(s, back), z - INTO), (*at(s + width, back), z - INTO), (*at(s + width, back), z + height), (*at(s, back), z + height)
        e, f = (*at(s + width, back + run), z + height - INTO), (*at(s, back + run), z + height - INTO)
        shell = Shell()
        du = (along[0] / width, along[1] / width, 0.0)
        shell.add([[a, b, c, d]], f"{family}_window", Mapping(du, (0.0, 0.0, 1 / height), -a[0] * du[0] - a[1] * du[1], -(z - INTO) / height))
        plain = Mapping((0.5, 0.3, 0.0), (0.0, 0.3, 0.5))
        shell.add([[b, e, c]], "roof_metal", plain)
        shell.add([[a, d, f]], "roof_metal", plain)
        shell.add([[d, c, e, f]], "roof_metal", plain)
        shell.add([[a, f, e, b]], "roof_metal", plain)
        model.detail(shell, 8)


def _chimney(model: Model, slope: Slope, rng: np.random.Generator) -> None:
    along, inward, length = _frame(slope.start, slope.end)
    reach = max(inward[0] * (x - slope.start[0]) + inward[1] * (y - slope.start[1]) for x, y in slope.polygon.exterior.coords)
    s, d = length * rng.uniform(0.25, 0.75), reach * 0.8
    ring2 = [(s - 0.35, d - 0.3), (s + 0.35, d - 0.3), (s + 0.35, d + 0.3), (s - 0.35, d + 0.3)]
    ring = [(slope.start[0] + along[0] * a + inward[0] * b, slope.start[1] + along[1] * a + inward[1] * b) for a, b in ring2]
    top = min(slope.z + slope.rise * reach + 0.8, model.top)
    low = slope.z + slope.rise * (d - 0.3) - 0.05
    if not slope.polygon.contains(Polygon(ring)) or top < slope.z + slope.rise * (d + 0.3) + 0.25:
        return
    model.detail(prism([(x, y, low) for x, y in ring], [(x, y, top) for x, y in ring], "brick_dark_wall"), 12)
