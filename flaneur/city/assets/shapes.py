"""Low-polygon modelling: parts with a material each, united into one watertight mesh.

Manifold does the union and remembers which part every face came from; UVs are laid on afterwards. Local frame:
z up, the front looks along +x, so a car is long in x while a bench, a fence or a shop front is long in y.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from manifold3d import CrossSection, Manifold, Mesh, OpType

from flaneur.city.assets.materials import MATERIALS
from flaneur.city.assets.tiles import PLAIN
from flaneur.city.scene import QUANTUM, Prototype

MATERIAL_NAMES = list(MATERIALS)
MATERIAL_INDEX = {name: k for k, name in enumerate(MATERIAL_NAMES)}
GAP = 0.001  # metres
Vec = tuple[float, float, float]


Mapping = str | tuple[str, int, int]  # box: by the face's main axis, in metres; fit or (fit, nx, ny): the tile nx by ny times over each side; wrap: around z; disc: once on the two ends along y
Where = Callable[[np.ndarray, np.ndarray], np.ndarray]  # face centres [F, 3] and unit normals [F, 3] in the part's frame -> [F] bool
Rule = tuple[Where, str, Mapping]


def facing(axis: str, least: float = 0.8, low: float = -1e9, high: float = 1e9) -> Where:
    """Faces that look along "+x", "-y", ... and whose centre's z lies between low and high."""
    k, sign = "xyz".index(axis[1]), -1.0 if axis[0] == "-" else 1.0
    return lambda centre, normal: (sign * normal[:, k] > least) & (centre[:, 2] > low) & (centre[:, 2] < high)


@dataclass(frozen=True)
class Part:
    solid: Manifold
    material: str
    mapping: Mapping
    rules: tuple[Rule, ...] = ()  # faces with a material of their own; the last that fits wins
    turn: float = 0.0  # degrees about z, then
    offset: Vec = (0.0, 0.0, 0.0)  # metres: from the frame the part was modelled in to the shape's


class Shape:
    """Collects parts; every method returns the shape, so calls chain.

    Parts that overlap cost triangles along their seam; parts set a millimetre apart (`GAP`) do not, and look the same.
    """

    def __init__(self) -> None:
        self.parts: list[Part] = []

    def add(self, solid: Manifold, material: str, mapping: Mapping = "box") -> Shape:
        if material not in MATERIAL_INDEX:
            raise KeyError(f"no material '{material}'")
        self.parts.append(Part(solid.as_original(), material, mapping))
        return self

    def painted(self, *rules: Rule) -> Shape:
        """Give faces of the part added last another material."""
        self.parts[-1] = replace(self.parts[-1], rules=rules)
        return self

    def box(self, centre: Vec, size: Vec, material: str, mapping: Mapping = "box", tilt: Vec = (0, 0, 0)) -> Shape:
        """A cuboid around its centre, turned by `tilt` degrees about x, y, z."""
        solid = Manifold.cube(size, True)
        if any(tilt):
            solid = solid.rotate(tilt)
        return self.add(solid.translate(centre), material, mapping)

    def rod(self, start: Vec, end: Vec, radius: float, material: str, end_radius: float | None = None, sides: int = 6, mapping: Mapping = "box") -> Shape:
        """A prism or cone frustum between two points; `radius` is that of a circle of equal area."""
        a, b = np.array(start, float), np.array(end, float)
        length = float(np.linalg.norm(b - a))
        solid = Manifold.cylinder(length, _corner(radius, sides), _corner(radius if end_radius is None else end_radius, sides), sides)
        if sides == 4:
            solid = solid.rotate((0, 0, 45))
        return self.add(solid.transform(_along((b - a) / length, a)), material, mapping)

    def ball(self, centre: Vec, radii: Vec | float, material: str, segments: int = 8, mapping: Mapping = "box") -> Shape:
        """An ellipsoid of `segments` around (a multiple of 4): 8 gives 32 triangles, 12 gives 72."""
        rx, ry, rz = (radii, radii, radii) if isinstance(radii, (int, float)) else radii
        return self.add(Manifold.sphere(1.0, segments).scale((rx, ry, rz)).translate(centre), material, mapping)

    def slab(self, outline: list[tuple[float, float]], width: float, material: str, y: float = 0.0, mapping: Mapping = "box") -> Shape:
        """A side view (x, z) extruded across y, centred on `y`."""
        solid = Manifold.extrude(_section(outline), width).rotate((90, 0, 0)).translate((0, y + width / 2, 0))
        return self.add(solid, material, mapping)

    def plan(self, outline: list[tuple[float, float]], low: float, high: float, material: str, taper: float = 1.0, mapping: Mapping = "box") -> Shape:
        """A plan view (x, y) extruded from `low` to `high`; `taper` scales the top."""
        solid = Manifold.extrude(_section(outline), high - low, 0, 0.0, (taper, taper)).translate((0, 0, low))
        return self.add(solid, material, mapping)

    def lathe(self, profile: list[tuple[float, float]], material: str, at: Vec = (0, 0, 0), sides: int = 8, mapping: Mapping = "wrap") -> Shape:
        """A profile (radius, z) from bottom to top, turned around the vertical axis."""
        closed = [(0.0, profile[0][1]), *profile, (0.0, profile[-1][1])]
        return self.add(Manifold.revolve(_section(closed), sides).translate(at), material, mapping)

    def ring(self, centre: Vec, radius: float, thickness: float, material: str, axis: str = "y", segments: int = 12, sides: int = 3) -> Shape:
        """A torus with a coarse section: a tyre (axis y) or a hoop (axis z)."""
        section = CrossSection.circle(_corner(thickness, sides), sides).translate((radius, 0))
        solid = Manifold.revolve(section, segments)
        turn = {"x": (0, 90, 0), "y": (90, 0, 0), "z": (0, 0, 0)}[axis]
        return self.add(solid.rotate(turn).translate(centre), material)

    def hull(self, points: list[Vec], material: str, mapping: Mapping = "box") -> Shape:
        return self.add(Manifold.hull_points(np.array(points, float)), material, mapping)

    def loft(self, low: tuple[float, float, float, float, float], high: tuple[float, float, float, float, float], material: str) -> Shape:
        """The hull of two rectangles (x0, x1, y0, y1, z): a car's cabin, a tapering post."""
        return self.hull([(x, y, r[4]) for r in (low, high) for x in r[:2] for y in r[2:4]], material)

    def tube(
        self, rings: list[tuple[Vec, float, float]], material: str, sides: int = 4, spin: float = 0.0, paints: dict[int, str] | None = None, axis: str = "path", level_start: bool = False
    ) -> Shape:
        """A limb through rings (centre, half width along its own x, half width across), bent at mitred joints.

        `paints` gives segments (0 is the first) a material of their own. With axis "z" the rings stay level, with
        `level_start` the first one.
        """
        centres = np.array([r[0] for r in rings], float)
        steps = np.diff(centres, axis=0)
        steps /= np.linalg.norm(steps, axis=1, keepdims=True)
        points = []
        for k, (centre, a, b) in enumerate(rings):
            level = axis == "z" or (level_start and k == 0)
            normal = np.array([0.0, 0.0, math.copysign(1.0, steps[0][2])]) if level else steps[max(k - 1, 0)] + steps[min(k, len(steps) - 1)]
            side = np.array([0.0, 1.0, 0.0]) - normal * normal[1] / float(normal @ normal)
            side /= np.linalg.norm(side)
            front = np.cross(side, normal / np.linalg.norm(normal))
            angles = [2 * math.pi * (i + spin) / sides for i in range(sides)]
            points += [np.array(centre) + a * math.cos(t) * front + b * math.sin(t) * side for t in angles]
        n, faces = len(rings), []
        for k in range(n - 1):
            for i in range(sides):
                j, lo, hi = (i + 1) % sides, k * sides, (k + 1) * sides
                faces += [(lo + i, lo + j, hi + j), (lo + i, hi + j, hi + i)]
        faces += [(0, i + 1, i) for i in range(1, sides - 1)] + [((n - 1) * sides, (n - 1) * sides + i, (n - 1) * sides + i + 1) for i in range(1, sides - 1)]
        solid = Manifold(Mesh(np.array(points, np.float32), np.array(faces, np.uint32)))
        if solid.volume() < 0:
            solid = Manifold(Mesh(np.array(points, np.float32), np.array(faces, np.uint32)[:, ::-1].copy()))
        if solid.is_empty():
            raise ValueError(f"tube through {rings} is not a solid: {solid.status()}")
        self.add(solid, material)
        middles = (centres[1:] + centres[:-1]) / 2

        def segment(k: int) -> Where:
            return lambda centre, normal: np.argmin(((centre[:, None] - middles) ** 2).sum(-1), 1) == k

        return self.painted(*((segment(k), m, "box") for k, m in (paints or {}).items()))

    def panel(self, centre: Vec, size: tuple[float, float], material: str, facing: str = "x", depth: float = 0.02, mapping: Mapping = "fit") -> Shape:
        """A thin plate (width, height) whose face looks along an axis."""
        w, h = size
        return self.box(centre, {"x": (depth, w, h), "y": (w, depth, h), "z": (w, h, depth)}[facing], material, mapping)

    def turned(self, degrees: float) -> Shape:
        out, c, n = Shape(), math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
        for p in self.parts:
            x, y, z = p.offset
            out.parts.append(replace(p, solid=p.solid.rotate((0, 0, degrees)), turn=p.turn + degrees, offset=(c * x - n * y, n * x + c * y, z)))
        return out

    def moved(self, by: Vec) -> Shape:
        out = Shape()
        for p in self.parts:
            out.parts.append(replace(p, solid=p.solid.translate(by), offset=(p.offset[0] + by[0], p.offset[1] + by[1], p.offset[2] + by[2])))
        return out

    def join(self, other: Shape) -> Shape:
        self.parts.extend(other.parts)
        return self

    def build(self, name: str, class_id: int, fine_name: str) -> Prototype:
        """One watertight mesh: all parts united, standing on z = 0, its box centred on the origin."""
        originals = [replace(p, solid=p.solid.as_original()) for p in self.parts]
        by_id = {p.solid.original_id(): p for p in originals}
        mesh = Manifold.batch_boolean([p.solid for p in originals], OpType.Add).simplify(4 * QUANTUM).to_mesh64()
        points, faces = np.asarray(mesh.vert_properties, np.float64)[:, :3], np.asarray(mesh.tri_verts, np.int64)
        runs = np.diff(np.asarray(mesh.run_index)) // 3
        owner = np.repeat(np.asarray(mesh.run_original_id), runs)
        low, high = points.min(0), points.max(0)
        shift = np.array([(low[0] + high[0]) / 2, (low[1] + high[1]) / 2, low[2]])
        points = np.rint((points - shift) / QUANTUM)
        points, faces, kept = _weld(points, faces)
        points, owner = points * QUANTUM, owner[kept]
        uv, materials = np.zeros((len(faces), 3, 2)), np.zeros(len(faces), np.uint16)
        for original in np.unique(owner):
            mine = np.flatnonzero(owner == original)
            materials[mine], uv[mine] = _finish(by_id[int(original)], points[faces[mine]] + shift)
        return assemble(name, class_id, fine_name, points, faces, uv, materials)


def assemble(name: str, class_id: int, fine_name: str, points: np.ndarray, faces: np.ndarray, uv: np.ndarray, materials: np.ndarray) -> Prototype:
    """A prototype of points [V, 3], faces [F, 3], UVs per corner [F, 3, 2]: vertices are split along UV seams alone."""
    corners = np.concatenate([faces.reshape(-1, 1), np.rint(uv.reshape(-1, 2) / QUANTUM)], 1).astype(np.int64)
    unique, inverse = np.unique(corners, axis=0, return_inverse=True)
    # Each face starts at its lowest vertex and faces are sorted: files are a sixth smaller.
    corners_of = inverse.reshape(-1, 3)
    start = np.argmin(corners_of, 1)[:, None]
    corners_of = np.take_along_axis(corners_of, (start + np.arange(3)) % 3, 1)
    order = np.lexsort(corners_of.T[::-1])
    volume = float(np.einsum("fi,fi->f", points[faces[:, 0]], np.cross(points[faces[:, 1]], points[faces[:, 2]])).sum() / 6)
    return Prototype(
        name, class_id, fine_name, points[unique[:, 0]].astype(np.float32), corners_of[order].astype(np.int32),
        (unique[:, 1:] * QUANTUM).astype(np.float32), materials[order].astype(np.uint16), round(volume, 6),
    )  # fmt: skip


def _corner(radius: float, sides: int) -> float:
    """Circumradius of the regular polygon whose area equals the circle's."""
    return radius * math.sqrt(math.pi / (sides / 2 * math.sin(2 * math.pi / sides)))


def _section(outline: list[tuple[float, float]]) -> CrossSection:
    area = sum(a[0] * b[1] - b[0] * a[1] for a, b in pairwise([*outline, outline[0]]))
    return CrossSection([np.array(outline if area > 0 else outline[::-1], np.float64)])


def _along(direction: np.ndarray, origin: np.ndarray) -> np.ndarray:
    """[3, 4] transform that turns +z into `direction`."""
    helper = np.array([0.0, 1.0, 0.0]) if abs(direction[1]) < 0.9 else np.array([1.0, 0.0, 0.0])
    x = np.cross(helper, direction)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(direction, x), direction, origin], 1)


def _weld(points: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Merge vertices that rounding brought together and drop the faces that vanish."""
    unique, inverse = np.unique(points, axis=0, return_inverse=True)
    faces = inverse.reshape(-1)[faces]
    kept = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
    return unique, faces[kept], kept


def _finish(part: Part, corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Material [F] and UVs [F, 3, 2] of a part's faces [F, 3, 3], looked at in the frame the part was modelled in."""
    c, n = math.cos(math.radians(part.turn)), math.sin(math.radians(part.turn))
    corners = (corners - np.array(part.offset)) @ np.array([[c, -n, 0], [n, c, 0], [0, 0, 1.0]])
    normal = _normals(corners)
    chosen = np.full(len(corners), -1)
    for k, (where, _, _) in enumerate(part.rules):
        chosen[where(corners.mean(1), normal)] = k
    materials, uv = np.zeros(len(corners), np.uint16), np.zeros((len(corners), 3, 2))
    for k in np.unique(chosen):
        rows = chosen == k
        material, mapping = (part.material, part.mapping) if k < 0 else part.rules[k][1:]
        materials[rows] = MATERIAL_INDEX[material]
        uv[rows] = _map(material, mapping, corners[rows], normal[rows])
    return materials, uv


def map_faces(material: str, mapping: Mapping, corners: np.ndarray) -> np.ndarray:
    """UVs [F, 3, 2] of faces [F, 3, 3]."""
    return _map(material, mapping, corners, _normals(corners))


def _normals(corners: np.ndarray) -> np.ndarray:
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)


def _map(material: str, mapping: Mapping, corners: np.ndarray, normal: np.ndarray) -> np.ndarray:
    if material in PLAIN:
        return np.full((*corners.shape[:2], 2), 0.5)
    kind, nx, ny = (mapping, 1, 1) if isinstance(mapping, str) else mapping
    axis = np.argmax(np.abs(normal), 1)
    sign = np.sign(np.take_along_axis(normal, axis[:, None], 1))  # [F, 1]
    x, y, z = corners[..., 0], corners[..., 1], corners[..., 2]
    size = np.array(MATERIALS[material].size)
    if kind == "wrap":
        return _wrap(corners, axis, size)
    side = axis[:, None]
    uv = np.stack([np.where(side == 0, sign * y, np.where(side == 1, -sign * x, x)), np.where(side == 2, y, z)], -1)
    if kind == "box":
        return uv / size
    for a in range(3):  # every side of the part shows the tile
        for s in (-1, 1):
            rows = (axis == a) & (sign[:, 0] == s)
            if rows.any():
                low, high = uv[rows].min((0, 1)), uv[rows].max((0, 1))
                uv[rows] = (uv[rows] - low) / np.maximum(high - low, 1e-9) * (nx, ny) if kind == "fit" or a == 1 else 0.02
    return uv


def _wrap(corners: np.ndarray, axis: np.ndarray, size: np.ndarray) -> np.ndarray:
    low, high = corners.min((0, 1)), corners.max((0, 1))
    centre, radius = (low + high) / 2, float((high - low)[:2].max() / 2)
    turn = np.arctan2(corners[..., 1] - centre[1], corners[..., 0] - centre[0]) / (2 * np.pi)
    turn = np.where(turn - turn[:, :1] > 0.5, turn - 1, np.where(turn - turn[:, :1] < -0.5, turn + 1, turn))  # no face spans the seam
    uv = np.stack([turn * max(1, round(2 * np.pi * radius / size[0])), corners[..., 2] / size[1]], -1)
    flat = axis == 2
    uv[flat] = corners[flat][..., :2] / size
    return uv
