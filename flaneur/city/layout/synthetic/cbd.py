"""A business district: a grid with avenues, some blocks joined, alleys, a plaza and sometimes a diagonal."""

from __future__ import annotations

import math

import numpy as np
import shapely

from flaneur.city.layout.streets import designed
from flaneur.city.layout.synthetic.names import NameGiver
from flaneur.city.layout.synthetic.plan import REACH, Place, StreetPlan, line, turned


def cbd_plan(rng: np.random.Generator, names: NameGiver) -> StreetPlan:
    plan = StreetPlan()
    angle = math.radians(float(rng.uniform(-28, 28)))
    along, across = _positions(rng, rng.uniform(58, 92)), _positions(rng, rng.uniform(48, 74))
    avenues = {int(np.argmin(np.abs(along))): "primary"}
    if rng.random() < 0.6:
        avenues[int(rng.integers(len(along)))] = "primary"
    cross_avenue = int(np.argmin(np.abs(across + rng.uniform(-60, 60))))
    oneways = bool(rng.random() < 0.6)
    gap = None
    if rng.random() < 0.7:  # two blocks joined: one stretch of a minor street is missing
        minor = [j for j in range(1, len(across) - 1) if j != cross_avenue]
        j, i = int(rng.choice(minor)), int(rng.integers(len(along) - 1))
        gap = (j, i)
    for i, x in enumerate(along):
        kind = avenues.get(i, "tertiary")
        avenue = kind == "primary"
        width, lanes = (float(rng.choice([13.0, 16.0, 19.0])), 4) if avenue else (float(rng.choice([8.5, 9.5, 10.5])), 2)
        course = line(turned(np.array([x, -REACH]), angle), turned(np.array([x, REACH]), angle))
        plan.streets.append(designed(kind, course, names.street(kind), width, oneways and not avenue, 4.5 if avenue else 3.0, lanes))
    for j, y in enumerate(across):
        kind = "secondary" if j == cross_avenue else "tertiary"
        width, lanes = (12.5, 4) if kind == "secondary" else (float(rng.choice([8.0, 9.0])), 2)
        name = names.street(kind)
        pieces = [(-REACH, REACH)] if gap is None or gap[0] != j else [(-REACH, along[gap[1]]), (along[gap[1] + 1], REACH)]
        for a, b in pieces:
            ends = (turned(np.array([a, y]), angle), turned(np.array([b, y]), angle))
            plan.streets.append(designed(kind, line(*(ends if j % 2 else ends[::-1])), name, width, oneways and kind == "tertiary", 3.5 if kind == "secondary" else 2.5, lanes))
    if rng.random() < 0.3:
        slope = math.radians(float(rng.uniform(25, 65)) * (1 if rng.random() < 0.5 else -1))
        offset, step = rng.uniform(-50, 50, 2), REACH * np.array([math.cos(slope), math.sin(slope)])
        plan.streets.append(designed("secondary", line(turned(offset - step, angle), turned(offset + step, angle)), names.street("secondary"), 12.0, False, 4.0, 3))
    for use in rng.permutation(["tower", "tower", "hotel", "museum", "station"])[: int(rng.integers(2, 5))]:
        plan.landmarks.append((str(use), tuple(rng.uniform(35, 165, 2))))
    _alleys(plan, rng, names, along, across, gap, angle)
    _plaza(plan, rng, names, along, across, gap, angle)
    return plan


def _positions(rng: np.random.Generator, spacing: float) -> np.ndarray:  # [n] metres, increasing
    """Street positions across the whole reach with uneven gaps, cut anywhere in the period."""
    out = [-REACH + float(rng.uniform(0, spacing))]
    while out[-1] < REACH:
        out.append(out[-1] + spacing * float(rng.uniform(0.78, 1.25)))
    return np.array(out[:-1])


def _alleys(plan: StreetPlan, rng: np.random.Generator, names: NameGiver, along: np.ndarray, across: np.ndarray, gap: tuple[int, int] | None, angle: float) -> None:
    for i in range(len(along) - 1):
        for j in range(len(across) - 1):
            if rng.random() < 0.22 and (gap is None or gap[1] != i or j not in (gap[0], gap[0] - 1)):
                x = along[i] + (along[i + 1] - along[i]) * float(rng.uniform(0.42, 0.58))
                a, b = (turned(np.array([x, y]), angle) for y in (across[j], across[j + 1]))
                plan.streets.append(designed("service", line(a, b), names.street("service") if rng.random() < 0.4 else "", 4.0, True, 0.0, 1))


def _plaza(plan: StreetPlan, rng: np.random.Generator, names: NameGiver, along: np.ndarray, across: np.ndarray, gap: tuple[int, int] | None, angle: float) -> None:
    """Two of the blocks near the middle: one a paved plaza, sometimes one a park with a pond."""
    free = [(i, j) for i in range(len(along) - 1) for j in range(len(across) - 1) if gap is None or gap[1] != i or j not in (gap[0], gap[0] - 1)]
    cells = sorted((abs(along[i] + along[i + 1]) + abs(across[j] + across[j + 1]), i, j) for i, j in free)[:5]
    order = rng.permutation(len(cells))
    _, i, j = cells[int(order[0])]
    corners = _corners(along, across, i, j, angle)
    whole = shapely.Polygon(corners)
    if rng.random() < 0.5:  # half a block, the other half keeps its towers
        c = [np.array(p) for p in corners]
        whole = shapely.Polygon([c[0], (c[0] + c[1]) / 2, (c[3] + c[2]) / 2, c[3]])
        plan.places.append(Place("square", whole, None, names.place("square")))
    else:
        plan.places.append(Place("square", whole, "square", names.place("square")))
    if rng.random() < 0.45 and len(cells) > 1:
        _, i, j = cells[int(order[1])]
        park = shapely.Polygon(_corners(along, across, i, j, angle))
        if rng.random() < 0.5:
            plan.places.append(Place("water", park.centroid.buffer(float(rng.uniform(6, 9)), quad_segs=6), None, names.place("water")))
        plan.places.append(Place("park", park, "park", names.place("park")))


def _corners(along: np.ndarray, across: np.ndarray, i: int, j: int, angle: float) -> list[np.ndarray]:
    """The four corners of one cell of the grid."""
    x0, x1, y0, y1 = along[i], along[i + 1], across[j], across[j + 1]
    return [turned(np.array(p), angle) for p in ((x0, y0), (x1, y0), (x1, y1), (x0, y1))]
