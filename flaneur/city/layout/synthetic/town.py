"""An old town: lanes that meet at a market square, a ring where the wall stood, or one widened market street."""

from __future__ import annotations

import math

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry
from shapely.ops import substring

from flaneur.city.layout import shapes
from flaneur.city.layout.streets import designed
from flaneur.city.layout.synthetic.names import NameGiver
from flaneur.city.layout.synthetic.plan import CENTRE, REACH, Place, StreetPlan, smooth, turned


def town_plan(rng: np.random.Generator, names: NameGiver) -> StreetPlan:
    return _ring_town(rng, names) if rng.random() < 0.6 else _street_town(rng, names)


def _lane(rng: np.random.Generator) -> tuple[str, float, float]:
    """Kind, width and pavement of a lane."""
    return (("residential", 5.5, 1.3), ("living_street", 4.5, 1.0), ("residential", 6.0, 1.5))[int(rng.integers(3))]


def _ring_town(rng: np.random.Generator, names: NameGiver) -> StreetPlan:
    plan = StreetPlan()
    heart = rng.uniform(-32, 32, 2)
    n = int(rng.integers(5, 8))
    bearings = (np.arange(n) + rng.uniform(-0.22, 0.22, n)) * 2 * math.pi / n + float(rng.uniform(0, 2 * math.pi))

    def at(bearing: float, radius: float) -> np.ndarray:
        return turned(heart + radius * np.array([math.cos(bearing), math.sin(bearing)]), 0.0)

    # The market square: an irregular quadrilateral, its edges are streets.
    square_radius = float(rng.uniform(24, 31))
    turn = float(rng.uniform(0, 2 * math.pi))
    corners = [at(turn + k * math.pi / 2 + float(rng.uniform(-0.25, 0.25)), square_radius * float(rng.uniform(0.85, 1.2))) for k in range(4)]
    market = shapely.Polygon(corners)
    name = names.place("square")
    plan.streets.append(designed("living_street", shapely.LineString(np.round([*corners, corners[0]], 2)), name, 5.0, False, 1.5, 1))
    plan.places.append(Place("square", market, "square", name))
    plan.landmarks.append(("townhall", tuple(corners[0] + (corners[0] - heart - CENTRE) * 0.5)))
    plan.landmarks.append(("church", tuple(corners[2] + (corners[2] - heart - CENTRE) * 0.5)))

    rings = [float(rng.uniform(58, 70)), float(rng.uniform(104, 122))]
    wobble = [r * (1 + rng.uniform(-0.09, 0.09, n)) for r in rings]
    for k, bearing in enumerate(bearings):
        bend = float(rng.uniform(-0.16, 0.16))
        start = market.exterior.interpolate(market.exterior.project(shapely.Point(at(bearing, 10))))
        inner, outer = wobble[0][k], wobble[1][k]
        points = [
            np.array([start.x, start.y]), at(bearing + bend * 0.5, (square_radius + inner) / 2), at(bearing, inner), at(bearing + bend, (inner + outer) / 2),
            at(bearing, outer), at(bearing + bend, REACH), at(bearing, REACH * 1.4),
        ]  # fmt: skip
        main = k % 3 == 0
        kind, width, pavement = ("tertiary", 7.0, 2.0) if main else _lane(rng)
        plan.streets.append(designed(kind, smooth(np.array(points)), names.street(kind), width, False, pavement))
    for r, ring in enumerate(wobble):
        kind, width, pavement = ("tertiary", 7.5, 2.2) if r else _lane(rng)
        plan.streets += _ring(ring, bearings, at, kind, width, pavement, names, rng, skip=0.0 if r else 0.18)
    _cross_lanes(plan, rng, names, bearings, wobble, at)
    return plan


def _ring(radii: np.ndarray, bearings: np.ndarray, at, kind: str, width: float, pavement: float, names: NameGiver, rng: np.random.Generator, skip: float) -> list:
    """One street per sector between neighbouring radials; an inner ring may have gaps."""
    out, name, n = [], names.street(kind), len(bearings)
    for k in range(n):
        nxt = bearings[(k + 1) % n] + (2 * math.pi if k == n - 1 else 0.0)
        bulge = float(rng.uniform(0.97, 1.07))
        if rng.random() < skip:
            continue
        steps = [at(bearings[k] + (nxt - bearings[k]) * t, (radii[k] * (1 - t) + radii[(k + 1) % n] * t) * (bulge if 0 < t < 1 else 1.0)) for t in (0.0, 0.33, 0.67, 1.0)]
        out.append(designed(kind, smooth(np.array(steps)), name, width, False, pavement))
    return out


def _cross_lanes(plan: StreetPlan, rng: np.random.Generator, names: NameGiver, bearings: np.ndarray, wobble: list[np.ndarray], at) -> None:
    """Narrow lanes that split the wider sectors between the rings and outside them."""
    n = len(bearings)
    for k in range(n):
        nxt = bearings[(k + 1) % n] + (2 * math.pi if k == n - 1 else 0.0)
        t = float(rng.uniform(0.38, 0.62))
        middle = bearings[k] + (nxt - bearings[k]) * t
        inner, outer = (float(np.mean([w[k], w[(k + 1) % n]])) for w in wobble)
        wide = (nxt - bearings[k]) * (inner + outer) / 2
        if rng.random() < (0.9 if wide > 90 else 0.45):
            lane = smooth(np.array([at(middle, inner - 8), at(middle + 0.05, (inner + outer) / 2), at(middle, outer + 9)]))
            plan.streets.append(designed("living_street", lane, names.street("living_street"), 4.0, False, 0.8, 1))
        if rng.random() < 0.5:
            radius = outer + float(rng.uniform(38, 52))
            arc = smooth(np.array([at(bearings[k] - 0.05, radius), at(middle, radius * 1.05), at(nxt + 0.05, radius * 0.98)]))
            plan.streets.append(designed("residential", arc, names.street("residential"), 5.5, False, 1.5))


def _street_town(rng: np.random.Generator, names: NameGiver) -> StreetPlan:
    """A market town on one long street that widens to a spindle-shaped market, with back lanes behind the burgage plots."""
    plan = StreetPlan()
    angle = math.radians(float(rng.uniform(0, 180)))
    sway = rng.uniform(-14, 14, 5)
    xs = np.array([-REACH * 1.2, -70.0, float(rng.uniform(-10, 10)), 70.0, REACH * 1.2])
    offset = float(rng.uniform(-28, 28))
    axis = np.stack([xs, sway + offset], 1)
    half = float(rng.uniform(9, 14))
    length = float(rng.uniform(48, 66))
    high = names.street("secondary")
    west, east = axis[2] + [-length, 0], axis[2] + [length, 0]
    plan.streets.append(designed("secondary", smooth(turned(np.array([axis[0], axis[1] - [40, 0], west]), angle)), high, 7.5, False, 2.5))
    plan.streets.append(designed("secondary", smooth(turned(np.array([east, axis[3] + [40, 0], axis[4]]), angle)), high, 7.5, False, 2.5))
    sides = [smooth(turned(np.array([west, axis[2] + [-length * 0.4, s * half], axis[2] + [length * 0.4, s * half], east]), angle)) for s in (1, -1)]
    for side in sides:
        plan.streets.append(designed("tertiary", side, high, 6.0, False, 2.5))
    market = shapely.Polygon([*sides[0].coords, *reversed(sides[1].coords)]).buffer(0)
    name = names.place("square")
    plan.places.append(Place("square", market, "square", name))
    plan.landmarks.append(("townhall", tuple(turned(axis[2] + [0, half + 14], angle))))
    plan.landmarks.append(("church", tuple(turned(axis[2] + [length * 0.8, -half - 18], angle))))
    for s in (1, -1):
        front = shapely.union_all([p.line for p in plan.streets[:2]] + [sides[0 if s > 0 else 1]])
        kind, width, pavement = _lane(rng)
        y = [offset + s * float(rng.uniform(56, 74)) for _ in range(4)]
        back = smooth(turned(np.stack([np.array([-REACH * 1.2, -60, 60, REACH * 1.2]), np.array(y)], 1), angle))
        plan.streets.append(designed(kind, back, names.street(kind), width, False, pavement))
        far = smooth(turned(np.stack([np.array([-REACH * 1.2, -50, 50, REACH * 1.2]), np.array(y) + s * rng.uniform(46, 66, 4)], 1), angle))
        plan.streets.append(designed("residential", far, names.street("residential"), 5.5, False, 1.5))
        x = -REACH + float(rng.uniform(0, 40))
        while x < REACH:
            kind, width, pavement = _lane(rng)
            lean = float(rng.uniform(-10, 10))
            centre = float(np.interp(x, axis[:, 0], axis[:, 1]))
            course = np.array([[x + lean * 1.5, y[1] + s * 75], [x + lean, y[1] + s * 4], [x + lean * 0.6, (centre + y[1]) / 2], [x, centre - s * 40]])
            lane = _until(smooth(turned(course, angle)), front)
            plan.streets.append(designed(kind, lane, names.street(kind), width, False, pavement))
            x += float(rng.uniform(42, 78))
    return plan


def _until(lane: shapely.LineString, front: BaseGeometry) -> shapely.LineString:
    """The lane up to where it first meets `front`."""
    hits = shapely.get_parts(shapely.get_parts(lane.intersection(front)))
    stops = [lane.project(shapely.Point(p.coords[0])) for p in hits.tolist() if not p.is_empty]
    return shapes.lines(substring(lane, 0.0, min(stops)))[0] if stops else lane
