"""The country: one main road, farms, fields and a wood; half the time a hamlet strung along the road."""

from __future__ import annotations

import math

import numpy as np
import shapely
from shapely import affinity

from flaneur.city.layout import shapes
from flaneur.city.layout.streets import designed
from flaneur.city.layout.synthetic.names import NameGiver
from flaneur.city.layout.synthetic.plan import REACH, Place, StreetPlan, Yard, blob, quiet_place, smooth, turned

_FIELD_KINDS = ("farmland", "farmland", "farmland", "meadow", "meadow", "orchard")


def rural_plan(rng: np.random.Generator, names: NameGiver) -> StreetPlan:
    plan = StreetPlan()
    angle = math.radians(float(rng.uniform(0, 360)))
    xs = np.linspace(-REACH * 1.1, REACH * 1.1, 6)
    axis = np.stack([xs, float(rng.uniform(-40, 40)) + float(rng.uniform(5, 22)) * np.sin(xs / 90 + float(rng.uniform(0, 6.28)))], 1)
    kind, width = (("tertiary", 6.5), ("secondary", 7.0), ("unclassified", 5.5))[int(rng.integers(3))]
    plan.streets.append(designed(kind, smooth(turned(axis, angle)), names.street("unclassified"), width, False, 0.0))
    tracks = _tracks(plan, rng, names, angle, axis)
    hamlet = bool(rng.random() < 0.5)
    taken = _farms(plan, rng, names, angle, tracks, 1 if hamlet else int(rng.integers(2, 4)))
    taken += _houses(plan, rng, angle, axis, taken, int(rng.integers(7, 12)) if hamlet else int(rng.integers(1, 4)))
    if hamlet and rng.random() < 0.6:
        x = float(rng.uniform(-40, 40))
        plan.landmarks.append(("church", tuple(turned(np.array([x, _at(axis, x) + 20]), angle))))
    _nature(plan, rng, names, angle)
    _fields(plan, rng, angle)
    return plan


def _at(axis: np.ndarray, x: float) -> float:
    return float(np.interp(x, axis[:, 0], axis[:, 1]))


def _tracks(plan: StreetPlan, rng: np.random.Generator, names: NameGiver, angle: float, axis: np.ndarray) -> list[tuple[np.ndarray, int]]:
    """Side roads and tracks; returns where each meets the main road and on which side it leaves."""
    out = []
    sides = [1, -1] if rng.random() < 0.8 else [1]
    for k, side in enumerate(sides + ([int(rng.choice([1, -1]))] if rng.random() < 0.6 else [])):
        x = float(rng.uniform(-75, 75)) if k else float(rng.uniform(-45, 45))
        start = np.array([x, _at(axis, x)])
        lean = float(rng.uniform(-40, 40))
        kind = "unclassified" if k == 0 and rng.random() < 0.5 else "track"
        points = np.array([start, start + [lean * 0.2, side * 45], start + [lean * 0.7 + float(rng.uniform(-12, 12)), side * 100], start + [lean * 1.6, side * 230]])
        plan.streets.append(designed(kind, smooth(turned(points, angle)), names.street(kind) if kind != "track" else "", 4.5 if kind == "unclassified" else 2.8, False, 0.0))
        out.append((start, side))
    return out


def _farms(plan: StreetPlan, rng: np.random.Generator, names: NameGiver, angle: float, tracks: list[tuple[np.ndarray, int]], n: int) -> list[shapely.Polygon]:
    """Farmsteads: a yard beside a track with room for a house, a barn and sheds, reached by a short drive."""
    taken: list[shapely.Polygon] = []
    for k in range(n):
        start, side = tracks[k % len(tracks)]
        centre = turned(start + [float(rng.choice([-1, 1])) * float(rng.uniform(30, 42)), side * float(rng.uniform(30, 58))], angle)
        turn = float(rng.uniform(0, 360))
        yard = affinity.rotate(shapely.box(*(centre - 21), *(centre + 21)), turn)
        roads = shapely.union_all([s.line.buffer(s.width / 2 + 1.5) for s in plan.streets])
        if any(yard.intersects(t) for t in taken) or yard.intersects(roads) or not shapely.box(4, 4, 196, 196).contains(yard):
            continue
        taken.append(yard.buffer(3))
        road = min((s.line for s in plan.streets), key=lambda g: g.distance(shapely.Point(centre)))
        drive = shapely.shortest_line(shapely.Point(centre), road)
        plan.streets.append(designed("service", drive, "", 3.5, False, 0.0, 1))
        name = names.place("farm")
        local = [("farm", (-19, -19, -5, -3)), ("barn", (5, 2, 20, 20)), ("barn", (-20, 5, -6, 19)), ("shed", (8, -19, 19, -8))]
        for use, (x0, y0, x1, y1) in local[: 4 if rng.random() < 0.6 else 3]:
            lot = affinity.rotate(shapely.box(centre[0] + x0, centre[1] + y0, centre[0] + x1, centre[1] + y1), turn, origin=tuple(centre))
            # A building that would stand in the drive is left out.
            if not lot.intersects(drive.buffer(2.6)):
                plan.yards.append(Yard(use, lot, name if use == "farm" else ""))
        plan.places.append(Place("farmyard", yard, None, name))
    return taken


def _houses(plan: StreetPlan, rng: np.random.Generator, angle: float, axis: np.ndarray, taken: list[shapely.Polygon], n: int) -> list[shapely.Polygon]:
    """Cottages with gardens along the main road."""
    roads = shapely.union_all([s.line.buffer(s.width / 2 + 0.8) for s in plan.streets])
    out: list[shapely.Polygon] = []
    middle = float(rng.uniform(-40, 40))
    for _ in range(n * 6):
        if len(out) >= n:
            break
        x, side = middle + float(rng.normal(0, 55)), float(rng.choice([1, -1]))
        slope = math.degrees(math.atan2(_at(axis, x + 5) - _at(axis, x - 5), 10))
        wide, deep = float(rng.uniform(18, 26)), float(rng.uniform(26, 36))
        local = affinity.rotate(shapely.box(x - wide / 2, 0, x + wide / 2, deep), slope if side > 0 else slope + 180, origin=(x, 0))
        ring = np.asarray(local.exterior.coords) + [0, _at(axis, x) + side * (plan.streets[0].width / 2 + 1.2)]
        lot = shapely.Polygon(turned(ring, angle))
        if lot.intersects(roads) or any(lot.intersects(t) for t in taken + out) or not shapely.box(3, 3, 197, 197).contains(lot):
            continue
        out.append(lot)
        plan.yards.append(Yard("house", lot))
        plan.places.append(Place("garden", lot, None))
    return out


def _nature(plan: StreetPlan, rng: np.random.Generator, names: NameGiver, angle: float) -> None:
    """A wood, and a pond or a stream."""
    side = float(rng.choice([1, -1]))
    homes = shapes.union([y.shape.buffer(4) for y in plan.yards] + [p.shape for p in plan.places if p.kind == "farmyard"])
    wood = blob(turned(np.array([float(rng.uniform(-80, 80)), side * float(rng.uniform(60, 95))]), angle), float(rng.uniform(32, 58)), rng, 0.3)
    plan.places.append(Place("forest", wood.difference(homes), None, names.place("forest")))
    radius = float(rng.uniform(8, 15))
    spot = quiet_place(plan.streets, radius + 8, rng) if rng.random() < 0.55 else None
    if spot is not None:
        plan.places.insert(0, Place("water", blob(spot[0], radius, rng, 0.25).difference(homes), None, names.place("water")))
    else:
        ys = float(rng.uniform(50, 80)) * -side
        xs = np.linspace(-REACH, REACH, 7)
        stream = smooth(turned(np.stack([xs, ys + rng.uniform(-12, 12, 7)], 1), angle))
        plan.places.insert(0, Place("water", stream.buffer(float(rng.uniform(1.2, 2.2)), quad_segs=4).difference(homes), None, names.place("water")))


def _fields(plan: StreetPlan, rng: np.random.Generator, angle: float) -> None:
    """A patchwork: the window is cut by lines roughly along and across the valley."""
    whole = shapely.box(0, 0, 200, 200)
    cuts = []
    tilt = angle + math.radians(float(rng.uniform(-15, 15)))
    for direction in (0, 1):
        at = -REACH + float(rng.uniform(0, 50))
        while at < REACH:
            lean = float(rng.uniform(-12, 12))
            ends = np.array([[at - lean, -REACH], [at + lean, REACH]])
            cuts.append(shapely.LineString(turned(ends if direction == 0 else ends[:, ::-1], tilt)))
            at += float(rng.uniform(55, 95))
    faces = [f for f in shapely.get_parts(shapely.polygonize(shapes.lines(shapely.union_all([*cuts, whole.exterior])))).tolist() if f.area > 30 and whole.contains(f.representative_point())]
    for face in sorted(faces, key=lambda f: f.bounds):
        kind = _FIELD_KINDS[int(rng.integers(len(_FIELD_KINDS)))]
        plan.places.append(Place(kind, face.buffer(-1.2, join_style="mitre"), None))
    plan.hedges += [c for c in cuts if rng.random() < 0.6]
