"""A suburb: a curved collector, with cul-de-sacs, a crescent or a warped grid of quiet streets beside it."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import shapely

from flaneur.city.layout.streets import designed
from flaneur.city.layout.synthetic.names import NameGiver
from flaneur.city.layout.synthetic.plan import REACH, Place, StreetPlan, blob, quiet_place, smooth, turned

_HOME_WIDTH = 6.0  # metres of a quiet street
_PAVEMENT = 1.6


def suburb_plan(rng: np.random.Generator, names: NameGiver) -> StreetPlan:
    plan = StreetPlan()
    angle = math.radians(float(rng.uniform(0, 360)))
    axis = _collector(plan, rng, names, angle)
    pattern = rng.random()
    for side in (1, -1):
        if pattern < 0.45:
            _courts(plan, rng, names, angle, axis, side)
        elif pattern < 0.75:
            _crescent(plan, rng, names, angle, axis, side)
        else:
            _warped_grid(plan, rng, names, angle, axis, side)
    _green(plan, rng, names, angle, axis)
    return plan


def _collector(plan: StreetPlan, rng: np.random.Generator, names: NameGiver, angle: float) -> np.ndarray:  # [n, 2] unturned
    xs = np.linspace(-REACH * 1.1, REACH * 1.1, 7)
    phase, swing = float(rng.uniform(0, 2 * math.pi)), float(rng.uniform(6, 20))
    axis = np.stack([xs, float(rng.uniform(-35, 35)) + swing * np.sin(xs / 75 + phase)], 1)
    plan.streets.append(designed("tertiary", smooth(turned(axis, angle)), names.street("tertiary"), 8.0, False, 2.0))
    return axis


def _at(axis: np.ndarray, x: float) -> float:
    return float(np.interp(x, axis[:, 0], axis[:, 1]))


def _quiet(plan: StreetPlan, names: NameGiver, points: np.ndarray, angle: float, kind: str = "residential", name: str | None = None) -> None:
    plan.streets.append(designed(kind, smooth(turned(points, angle)), names.street(kind) if name is None else name, _HOME_WIDTH, False, _PAVEMENT))


def _courts(plan: StreetPlan, rng: np.random.Generator, names: NameGiver, angle: float, axis: np.ndarray, side: int) -> None:
    """Dead ends with turning circles, some with a side arm, now and then a footpath between two heads."""
    x = -REACH + float(rng.uniform(0, 60))
    before: np.ndarray | None = None
    while x < REACH:
        depth = float(rng.uniform(72, 118))
        lean = float(rng.uniform(-16, 16))
        start = np.array([x, _at(axis, x)])
        head = start + [lean, side * depth]
        bend = start + [lean * 0.2 + float(rng.uniform(-7, 7)), side * depth * 0.55]
        _quiet(plan, names, np.array([start, bend, head]), angle)
        plan.circles.append((*turned(head, angle).round(2).tolist(), 8.0))
        if depth > 100 and rng.random() < 0.5:
            arm = bend + [float(rng.choice([-1, 1])) * 30, side * 6]
            _quiet(plan, names, np.array([bend, (bend + arm) / 2 + [0, side * 3], arm]), angle, "living_street")
            plan.circles.append((*turned(arm, angle).round(2).tolist(), 7.0))
        if before is not None and rng.random() < 0.5:
            path = turned(np.array([before, (before + head) / 2 + [0, side * 5], head]), angle)
            plan.streets.append(designed("footway", shapely.LineString(np.round(path, 2)), "", 2.0))
        before = head
        x += float(rng.uniform(66, 84))
    far = np.stack([axis[:, 0], axis[:, 1] + side * float(rng.uniform(150, 165))], 1)
    _quiet(plan, names, far, angle)


def _crescent(plan: StreetPlan, rng: np.random.Generator, names: NameGiver, angle: float, axis: np.ndarray, side: int) -> None:
    """A horseshoe off the collector with a green or a court in its lap."""
    x = float(rng.uniform(-25, 25)) - float(rng.uniform(55, 70))
    wide, deep = float(rng.uniform(112, 138)), float(rng.uniform(64, 84))
    a, b = np.array([x, _at(axis, x)]), np.array([x + wide, _at(axis, x + wide)])
    up, top = [2, side * deep * 0.55], [wide * 0.2, side * deep * 0.92]
    down, back = [-up[0], up[1]], [-top[0], top[1]]
    _quiet(plan, names, np.array([a, a + up, a + top, (a + b) / 2 + [0, side * deep], b + back, b + down, b]), angle)
    if rng.random() < 0.6:
        start = (a + b) / 2 + [0, side * deep]
        head = start + [float(rng.uniform(-15, 15)), side * float(rng.uniform(55, 75))]
        _quiet(plan, names, np.array([start, (start + head) / 2 + [5, 0], head]), angle, "living_street")
        plan.circles.append((*turned(head, angle).round(2).tolist(), 8.0))
    for edge, step in ((a, -1), (b, 1)):
        start = np.array([edge[0] + step * float(rng.uniform(60, 74)), 0.0])
        start[1] = _at(axis, start[0])
        _quiet(plan, names, np.array([start, start + [step * 4, side * 60], start + [step * 12, side * 140]]), angle)


def _warped_grid(plan: StreetPlan, rng: np.random.Generator, names: NameGiver, angle: float, axis: np.ndarray, side: int) -> None:
    """Streets parallel to the collector and cross streets that do not line up."""
    offsets = [float(rng.uniform(62, 74)), float(rng.uniform(126, 146))]
    rows = [axis]
    for offset in offsets:
        row = np.stack([axis[:, 0], axis[:, 1] + side * (offset + 5 * np.sin(axis[:, 0] / 60 + offset))], 1)
        rows.append(row)
        _quiet(plan, names, row, angle)
    for low, high in pairwise(rows):
        x = -REACH + float(rng.uniform(0, 90))
        while x < REACH:
            to = x + float(rng.uniform(-12, 12))
            a, b = np.array([x, _at(low, x)]), np.array([to, _at(high, to)])
            _quiet(plan, names, np.array([a, (a + b) / 2 + [float(rng.uniform(-4, 4)), 0], b]), angle)
            x += float(rng.uniform(95, 150))


def _green(plan: StreetPlan, rng: np.random.Generator, names: NameGiver, angle: float, axis: np.ndarray) -> None:
    """A pocket park with a pond or a playground behind the houses, and one public building on the collector."""
    spot = quiet_place(plan.streets, 28.0, rng)
    if spot is not None and rng.random() < 0.8:
        centre, room = spot
        park = blob(centre, min(float(rng.uniform(18, 27)), room - 9.0), rng, 0.2)
        if rng.random() < 0.5:
            plan.places.append(Place("water", blob(centre, float(rng.uniform(5, 8)), rng, 0.2), None, names.place("water")))
        else:
            plan.places.append(Place("playground", shapely.Point(centre).buffer(7, quad_segs=4), None, names.place("playground")))
        plan.places.append(Place("park", park, None, names.place("park")))
        road = shapely.union_all([s.line for s in plan.streets if s.carriageway])
        plan.streets.append(designed("footway", shapely.shortest_line(park.boundary, road), "", 2.0))
    x = float(rng.uniform(-70, 70))
    side = 1 if rng.random() < 0.5 else -1
    plan.landmarks.append((str(rng.choice(["school", "retail", "church"])), tuple(turned(np.array([x, _at(axis, x) + side * 22]), angle))))
