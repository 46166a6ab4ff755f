"""Roofs over a flat lot: flat with parapet and cornice, gabled, hipped, pyramidal, skillion, mansard, gambrel, dome, onion."""

from __future__ import annotations

import math
from dataclasses import dataclass

import manifold3d
import numpy as np
from shapely.geometry import Polygon

from flaneur.city.assets.materials import MATERIALS
from flaneur.city.grammar.interpreter import Lot, Point, Slope
from flaneur.city.grammar.outlines import inner_depth, is_star_shaped, largest, shifted
from flaneur.city.grammar.skeleton import Skeleton, straight_skeleton
from flaneur.city.grammar.solid import Mapping, Point3, Shell

ROOF_SHAPES = ("flat", "gabled", "hipped", "pyramidal", "skillion", "mansard", "gambrel", "dome", "onion")
DOME = ((0.0, 0.0), (0.9, 0.44), (0.62, 0.79), (0.3, 0.955))  # scale of the outline, share of the height; the first is the base
ONION = ((0.0, 0.0), (0.82, 0.03), (1.0, 0.28), (0.66, 0.56), (0.2, 0.8))
# share of the way to the ridge, share of the height
PROFILES = {"mansard": ((0.28, 0.72), (1.0, 1.0)), "gambrel": ((0.5, 0.72), (1.0, 1.0))}


@dataclass(frozen=True)
class Crown:
    """How walls end under a flat roof, metres."""

    overhang: float = 0.0
    cornice: float = 0.0
    parapet: float = 0.5
    thickness: float = 0.3
    material: str = "concrete"


def quad(shell: Shell, a: Point3, b: Point3, c: Point3, d: Point3, material: str, tiles: tuple[float, float] | None = None) -> None:
    """Four corners, counter-clockwise; u runs along a to b, v away from it; `tiles` fixes how many fit."""
    e = np.subtract(b, a)
    width = float(np.linalg.norm(e))
    if width < 1e-6:
        return
    e = e / width
    # Either side may run along the edge where its corner hardly moved; the other one then tells the direction.
    sides = [f - e * float(f @ e) for f in (np.subtract(d, a), np.subtract(c, b))]
    f = max(sides, key=lambda side: float(side @ side))
    height = float(np.linalg.norm(f))
    if height < 1e-6:
        return
    w, h = MATERIALS[material].size if tiles is None else (width / tiles[0], height / tiles[1])
    du, dv = e / w, f / height / h
    shell.add([[a, b, c, d]], material, Mapping(tuple(du), tuple(dv), -float(du @ np.array(a)), -float(dv @ np.array(a))))


def sweep(shell: Shell, low: list[list[Point]], z_low: float, high: list[list[Point]], z_high: float, material: str) -> None:
    """Faces between two outlines that have the same corners."""
    for ring_low, ring_high in zip(low, high, strict=True):
        for i in range(len(ring_low)):
            j = (i + 1) % len(ring_low)
            quad(shell, (*ring_low[i], z_low), (*ring_low[j], z_low), (*ring_high[j], z_high), (*ring_high[i], z_high), material)


def flat(top: Lot, material: str, crown: Crown | None = None) -> None:
    """Terminal: cornice outwards, parapet, roof surface. Rings that would fold are left out."""
    rings, z, shell = top.rings, top.z, top.shell
    surface = top
    if crown is not None:
        outer = rings
        if crown.cornice > 0 and crown.overhang >= 0.03:
            # Nothing leans out over a neighbour: party walls keep their plane.
            grown = shifted(rings, [[0.0 if kind == "party" else crown.overhang for kind in kinds] for kinds in top.kinds])
            if grown is not None:
                sweep(shell, rings, z, grown, z, crown.material)
                outer = grown
        if crown.cornice > 0:
            sweep(shell, outer, z, outer, z + crown.cornice, crown.material)
            z += crown.cornice
        inner = shifted(rings, [[-crown.thickness] * len(ring) for ring in rings]) if crown.parapet > 0 else None
        if inner is not None:
            sweep(shell, outer, z, inner, z, crown.material)
            sweep(shell, inner, z, inner, z - crown.parapet, crown.material)
            z -= crown.parapet
            surface = top.within(_polygon(inner))
        elif outer is not rings:
            surface = top.within(_polygon(outer))
    surface = surface.at(z)
    surface.texture(material, MATERIALS[material].size)
    top.model.flat_roofs.append((surface.polygon, z))


def _polygon(rings: list[list[Point]]) -> Polygon:
    return Polygon(rings[0], rings[1:])


def pitched(top: Lot, shape: str, height: float, material: str, gable: str, eaves: float = 0.0, ridge: str = "long") -> None:
    """Terminal: a roof of `height` metres over the lot. `gable` is the wall under gables; `ridge` is "long" or "street"."""
    if height < 0.1:
        return flat(top, material)
    rings = top.rings
    if shape == "skillion":
        return _skillion(top, height, material, gable)
    if shape in ("dome", "onion") and len(rings) == 1 and _revolved(top, height, material, DOME if shape == "dome" else ONION):
        return None
    if shape == "pyramidal" and len(rings) == 1 and _pyramid(top, height, material):
        return None
    gabled = shape in ("gabled", "gambrel")
    skeleton = _gabled_quad(top, ridge) if gabled and len(rings) == 1 and len(rings[0]) == 4 else None
    if skeleton is None and (skeleton := straight_skeleton(rings)) is not None:
        _raise_gables(skeleton, [k for kinds in top.kinds for k in kinds], all_ends=gabled)
    if skeleton is None:
        return _bevelled(top, height, material, gable)
    if eaves >= 0.05:
        spread = _eaves(top, skeleton, eaves)
        if spread is not None:
            sweep(top.shell, rings, top.z, spread, top.z, "paint_white")
            top = top.within(_polygon(spread), top.kinds)
            again = _gabled_quad(top, ridge) if gabled and len(spread[0]) == 4 and len(spread) == 1 else straight_skeleton(spread)
            if again is None:
                return _bevelled(top, height, material, gable)
            if not (gabled and len(spread[0]) == 4 and len(spread) == 1):
                _raise_gables(again, [k for kinds in top.kinds for k in kinds], all_ends=gabled)
            skeleton = again
    _planes(top, skeleton, height, material, gable, PROFILES.get(shape, ((1.0, 1.0),)))
    return None


def _eaves(top: Lot, skeleton: Skeleton, eaves: float) -> list[list[Point]] | None:
    """The outline with eaves; gable ends and party walls stay nearly flush."""
    distances, k = [], 0
    for kinds in top.kinds:
        row = []
        for kind in kinds:
            row.append(0.0 if kind == "party" else 0.12 if len(skeleton.faces[k]) == 3 else eaves)
            k += 1
        distances.append(row)
    return shifted(top.rings, distances)


def _gabled_quad(top: Lot, ridge: str) -> Skeleton | None:
    ring, kinds = top.rings[0], top.kinds[0]
    lengths = [math.dist(ring[i], ring[(i + 1) % 4]) for i in range(4)]
    first = 0 if lengths[0] + lengths[2] < lengths[1] + lengths[3] else 1  # gables on the short sides
    if "party" in kinds and kinds.count("party") <= 2:
        party = kinds.index("party")
        first = party % 2
    elif ridge == "street" and "front" in kinds:
        first = (kinds.index("front") + 1) % 2
    corners = [(x, y, 0.0) for x, y in ring]
    middle = []
    for i in (first, first + 2):
        (ax, ay), (bx, by) = ring[i % 4], ring[(i + 1) % 4]
        middle.append(((ax + bx) / 2, (ay + by) / 2, 1.0))
    faces: list[list[int]] = [[], [], [], []]
    faces[first] = [first, (first + 1) % 4, 4]
    faces[(first + 1) % 4] = [(first + 1) % 4, (first + 2) % 4, 5, 4]
    faces[(first + 2) % 4] = [(first + 2) % 4, (first + 3) % 4, 5]
    faces[(first + 3) % 4] = [(first + 3) % 4, first, 4, 5]
    return Skeleton([*corners, *middle], faces)


def _raise_gables(skeleton: Skeleton, kinds: list[str], all_ends: bool) -> None:
    """Turn hipped ends (triangles) into gables: their apex moves along the ridge to above the wall."""
    nodes, faces = skeleton.nodes, skeleton.faces
    touching: dict[int, list[int]] = {}
    for k, face in enumerate(faces):
        for node in face[2:]:
            touching.setdefault(node, []).append(k)
    for k, face in enumerate(faces):
        if len(face) != 3 or not (all_ends or kinds[k] == "party"):
            continue
        (ax, ay, _), (bx, by, _), (px, py, pt) = (nodes[i] for i in face)
        around = [j for j in touching[face[2]] if j != k]
        if len(around) != 2:
            continue
        ends = [{faces[j][i - 1] for i, n in enumerate(faces[j]) if n == face[2]} | {faces[j][(i + 1) % len(faces[j])] for i, n in enumerate(faces[j]) if n == face[2]} for j in around]
        shared = (ends[0] & ends[1]) - set(face)
        if len(shared) != 1:
            continue
        mx, my, mt = nodes[shared.pop()]
        rx, ry, ex, ey = px - mx, py - my, bx - ax, by - ay
        determinant = rx * ey - ry * ex
        if abs(determinant) < 1e-6:
            continue
        along = ((ax - mx) * ey - (ay - my) * ex) / determinant  # 1 is the apex
        at = ((ax - mx) * ry - (ay - my) * rx) / determinant
        if along > 1.0 and 0.15 < at < 0.85:
            nodes[face[2]] = (ax + ex * at, ay + ey * at, max(mt + (pt - mt) * along, 0.3 * pt))


def _planes(top: Lot, skeleton: Skeleton, height: float, material: str, gable: str, profile: tuple[tuple[float, float], ...]) -> None:
    """The skeleton's faces, lifted by a height profile over the distance from the outline."""
    deepest = max(t for _, _, t in skeleton.nodes)
    share = [(x, y, t / deepest) for x, y, t in skeleton.nodes]
    for face in skeleton.faces:
        (ax, ay, _), (bx, by, _) = share[face[0]], share[face[1]]
        ring = [(*share[i], i) for i in face]
        reach = max(abs((bx - ax) * (y - ay) - (by - ay) * (x - ax)) for x, y, _, _ in ring) / math.hypot(bx - ax, by - ay)
        low_share, low_z = 0.0, 0.0
        for high_share, high_z in profile:
            piece = _band(ring, low_share, high_share)
            lift = [(x, y, top.z + height * (low_z + (high_z - low_z) * (s - low_share) / (high_share - low_share))) for x, y, s in piece]
            if len(lift) >= 3:
                _slope(top, lift, (bx - ax, by - ay), gable if reach < 0.02 else material)
                if reach > 1.0 and low_share == 0.0:
                    outline = Polygon([(x, y) for x, y, _ in piece])
                    if outline.is_valid:
                        top.model.slopes.append(Slope(outline, (ax, ay), (bx, by), top.z, height * high_z / (reach * high_share)))
            low_share, low_z = high_share, high_z


def _band(ring: list[tuple[float, float, float, int]], low: float, high: float) -> list[tuple[float, float, float]]:
    """The part of a roof plane between two shares; cuts are computed alike from both sides of an edge."""
    out: list[tuple[float, float, float]] = []
    for i, (x, y, s, node) in enumerate(ring):
        qx, qy, qs, other = ring[i - 1]
        a, b = ((qx, qy, qs), (x, y, s)) if other < node else ((x, y, s), (qx, qy, qs))
        cuts = [limit for limit in (low, high) if min(s, qs) < limit - 1e-9 and max(s, qs) > limit + 1e-9]
        for limit in sorted(cuts, reverse=qs > s):
            t = (limit - a[2]) / (b[2] - a[2])
            out.append((a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t, limit))
        if low - 1e-9 <= s <= high + 1e-9:
            out.append((x, y, min(max(s, low), high)))
    return out


def _slope(top: Lot, ring: list[Point3], along: Point, material: str) -> None:
    length = math.hypot(*along)
    cx, cy = along[0] / length, along[1] / length
    depth = [(-cy * x + cx * y, z) for x, y, z in ring]
    (d0, z0), (d1, z1) = min(depth, key=lambda p: p[1]), max(depth, key=lambda p: p[1])
    run, rise = abs(d1 - d0), z1 - z0
    w, h = MATERIALS[material].size
    slant = math.hypot(run, rise) or 1.0
    dv = (-cy * run / slant / h, cx * run / slant / h, rise / slant / h)
    x, y, z = ring[0]
    du = (cx / w, cy / w, 0.0)
    top.shell.add([ring], material, Mapping(du, dv, -x * du[0] - y * du[1], -x * dv[0] - y * dv[1] - z * dv[2]))


def _skillion(top: Lot, height: float, material: str, gable: str) -> None:
    """One plane that rises away from the front (else across the short side); walls grow up to it."""
    ring, kinds = top.rings[0], top.kinds[0]
    edges = [(math.dist(ring[i], ring[(i + 1) % len(ring)]), i) for i in range(len(ring))]
    fronts = [e for e in edges if kinds[e[1]] == "front"]
    _, i = max(fronts or edges)
    (ax, ay), (bx, by) = ring[i], ring[(i + 1) % len(ring)]
    length = math.hypot(bx - ax, by - ay)
    nx, ny = -(by - ay) / length, (bx - ax) / length
    depths = [[nx * x + ny * y for x, y in r] for r in top.rings]
    low = min(map(min, depths))
    span = max(map(max, depths)) - low

    def lifted(x: float, y: float) -> Point3:
        return x, y, top.z + height * (nx * x + ny * y - low) / span

    for r in top.rings:
        for k, (px, py) in enumerate(r):
            qx, qy = r[(k + 1) % len(r)]
            p, q = lifted(px, py), lifted(qx, qy)
            corners = [(px, py, top.z), (qx, qy, top.z), q, p]
            corners = [c for j, c in enumerate(corners) if math.dist(c, corners[j - 1]) > 0.005]
            if len(corners) >= 3:
                w, h = MATERIALS[gable].size
                step = math.hypot(qx - px, qy - py) * w
                du = ((qx - px) / step, (qy - py) / step, 0.0)
                top.shell.add([corners], gable, Mapping(du, (0.0, 0.0, 1 / h), -px * du[0] - py * du[1], -top.z / h))
    rings = [[lifted(x, y) for x, y in r] for r in top.rings]
    w, h = MATERIALS[material].size
    top.shell.add(rings, material, Mapping(((bx - ax) / length / w, (by - ay) / length / w, 0.0), (nx / h, ny / h, 0.0)))


def _pyramid(top: Lot, height: float, material: str) -> bool:
    ring, centre = top.rings[0], top.polygon.centroid
    if not is_star_shaped(ring, (centre.x, centre.y)):
        return False
    apex = (centre.x, centre.y, top.z + height)
    for i, (ax, ay) in enumerate(ring):
        bx, by = ring[(i + 1) % len(ring)]
        _slope(top, [(ax, ay, top.z), (bx, by, top.z), apex], (bx - ax, by - ay), material)
    return True


def _revolved(top: Lot, height: float, material: str, profile: tuple[tuple[float, float], ...]) -> bool:
    """Dome and onion: the outline scaled about its middle, ring by ring."""
    ring, centre = top.rings[0], top.polygon.centroid
    if not is_star_shaped(ring, (centre.x, centre.y)):
        return False
    before, z_before = ring, top.z
    for scale, share in profile[1:]:
        after = [(centre.x + (x - centre.x) * scale, centre.y + (y - centre.y) * scale) for x, y in ring]
        sweep(top.shell, [before], z_before, [after], top.z + height * share, material)
        before, z_before = after, top.z + height * share
    apex = (centre.x, centre.y, top.z + height)
    for i, (ax, ay) in enumerate(before):
        bx, by = before[(i + 1) % len(before)]
        _slope(top, [(ax, ay, z_before), (bx, by, z_before), apex], (bx - ax, by - ay), material)
    return True


def _bevelled(top: Lot, height: float, material: str, gable: str) -> None:
    """For outlines too intricate for planes: slopes up to an inner outline and a flat top."""
    depth = inner_depth(top.polygon)
    inner = largest(top.polygon.buffer(-0.55 * depth, join_style="mitre").simplify(0.05)) if depth > 0.3 else None
    if inner is None or inner.is_empty:
        mass = top.extrude(height)
        for wall in mass.walls:
            wall.texture(gable, wall.width / MATERIALS[gable].size[0], height / MATERIALS[gable].size[1])
        return flat(mass.top, material)
    raised = top.within(inner).at(top.z + height)
    raised.texture(material, MATERIALS[material].size)
    z = [top.z] * len(top.rings) + [raised.z] * len(raised.rings)
    rings = [*top.rings, *(ring[::-1] for ring in raised.rings)]
    points = [(x, y, level) for ring, level in zip(rings, z, strict=True) for x, y in ring]
    w, h = MATERIALS[material].size
    for a, b, c in manifold3d.triangulate([np.array(ring) for ring in rings], 0.005).tolist():
        top.shell.add([[points[a], points[b], points[c]]], material, Mapping((1 / w, 0.0, 0.0), (0.0, 1 / h, 0.0)))
    return None
