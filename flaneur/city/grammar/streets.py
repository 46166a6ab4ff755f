"""Streets: lanes, parking strips, junction areas, crossings and stop lines, from the graph's centre lines.

Traffic keeps to the right. A lane belongs to the block on its side, whose rule says how full it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import shapely
from shapely import STRtree
from shapely.geometry.base import BaseGeometry

from flaneur.city.grammar.lines import arc_lengths, band, clean_line, cut_line, dashes, offset_line, sample_line
from flaneur.city.layout.graph import CityGraph, Polygon, Street

PARKING_WIDTH = 2.1  # metres
MOVING_WIDTH = {"oneway": 3.0, "quiet": 3.4, "busy": 5.6}  # metres that parked cars leave free
QUIET = ("residential", "living_street", "unclassified", "road")
PARKED = (*QUIET, "tertiary", "secondary")
IMPORTANCE = ("motorway", "trunk", "primary", "secondary", "tertiary", "unclassified", "residential", "living_street", "service", "track")
UNMARKED = (*QUIET, "service", "track", "pedestrian")
CROSSING_DEPTH = 3.0  # metres along the street
SHORTEST_LANE = 5.0  # metres: on less no vehicle stands
LONGEST_TRIM = 14.0  # metres that a junction may take of a street


@dataclass(frozen=True)
class Lane:
    street: int  # row in CityGraph.streets
    block: int  # row in CityGraph.blocks on its side; -1 where none is
    line: np.ndarray  # [n, 2] metres, centre line in the direction of travel, clear of junctions
    width: float
    parked: bool = False


@dataclass(frozen=True)
class Crossing:
    street: int
    corners: np.ndarray  # [4, 2] counter-clockwise; the first edge runs along the street
    heading: float  # of the street, radians


@dataclass
class Streets:
    lanes: list[Lane] = field(default_factory=list)
    crossings: list[Crossing] = field(default_factory=list)
    markings: dict[int, list[np.ndarray]] = field(default_factory=dict)  # street -> quads [4, 2]
    junctions: list[BaseGeometry] = field(default_factory=list)  # areas where streets meet, vehicles keep out
    signals: list[bool] = field(default_factory=list)  # per junction area

    def mark(self, street: int, quads: list[np.ndarray]) -> None:
        self.markings.setdefault(street, []).extend(quads)


def to_shapely(polygon: Polygon) -> BaseGeometry:
    shape = shapely.Polygon(polygon.exterior, polygon.holes)
    return shape if shape.is_valid else shapely.make_valid(shape)


def lay_streets(graph: CityGraph) -> Streets:
    """Divide every carriageway's width into lanes and parking strips, and its length into junctions and the free rest."""
    streets = Streets()
    trims, arms = _junction_trims(graph)
    blocks = [to_shapely(b.polygon) for b in graph.blocks]
    tree = STRtree(blocks)
    mapped = np.array([f.at for f in graph.features if f.kind == "crossing"]).reshape(-1, 2)
    signals = {j.id: j.signals for j in graph.junctions}
    rank: dict[int, list[int]] = {j.id: [] for j in graph.junctions}
    for street in graph.streets:
        if street.carriageway:
            rank[street.start].append(_rank(street.kind))
            rank[street.end].append(_rank(street.kind))
    for row, street in enumerate(graph.streets):
        if not street.carriageway:
            continue
        line = clean_line(np.array(street.line))
        length = arc_lengths(line)[-1]
        ends = [trims[row][0], length - trims[row][1]]
        for at, inward in _crossing_places(graph, street, line, ends, arms, mapped):
            p, heading = sample_line(line, np.array([at]))
            along, across = np.array([np.cos(heading[0]), np.sin(heading[0])]), np.array([-np.sin(heading[0]), np.cos(heading[0])])
            corners = band(p[0] - along * CROSSING_DEPTH / 2, p[0] + along * CROSSING_DEPTH / 2, street.width)
            streets.crossings.append(Crossing(row, corners, float(heading[0])))
            stripes = np.arange(-street.width / 2 + 0.5, street.width / 2 - 0.2, 1.0)
            streets.mark(row, [band(p[0] - along * 1.4 + across * o, p[0] + along * 1.4 + across * o, 0.5) for o in stripes])
            if inward < 0:
                ends[0] = max(ends[0], at + CROSSING_DEPTH / 2 + 0.8)
            elif inward > 0:
                ends[1] = min(ends[1], at - CROSSING_DEPTH / 2 - 0.8)
        free = cut_line(line, *ends)
        if free is not None and arc_lengths(free)[-1] > SHORTEST_LANE:
            _divide(streets, row, street, free, tree, (_waits(street, street.start, rank, signals), _waits(street, street.end, rank, signals)))
    for junction in graph.junctions:
        if arms.get(junction.id, 0) > 2:
            near = [trims[r][0 if s.start == junction.id else 1] for r, s in enumerate(graph.streets) if s.carriageway and junction.id in (s.start, s.end)]
            streets.junctions.append(shapely.Point(junction.at).buffer(max(2.0, float(np.mean(near)))))
            streets.signals.append(signals[junction.id])
    return streets


def _rank(kind: str) -> int:
    name = kind.removesuffix("_link")
    return IMPORTANCE.index(name) if name in IMPORTANCE else len(IMPORTANCE)


def _waits(street: Street, junction: int, rank: dict[int, list[int]], signals: dict[int, bool]) -> bool:
    """Whether a stop line is painted: at signals, and where a lesser street meets a greater one."""
    return len(rank[junction]) > 2 and (signals[junction] or min(rank[junction]) < _rank(street.kind))


def _junction_trims(graph: CityGraph) -> tuple[dict[int, list[float]], dict[int, int]]:
    """Per street row, how much the junctions at its start and end take; and the number of carriageways per junction."""
    meeting: dict[int, list[tuple[int, int, float, float]]] = {j.id: [] for j in graph.junctions}
    for row, street in enumerate(graph.streets):
        if street.carriageway:
            line = clean_line(np.array(street.line))
            for end, (p, q) in enumerate(((line[0], line[1]), (line[-1], line[-2]))):
                meeting[street.end if end else street.start].append((row, end, float(np.arctan2(*(q - p)[::-1])), street.width))
    trims: dict[int, list[float]] = {row: [0.0, 0.0] for row in range(len(graph.streets))}
    for at in meeting.values():
        if len(at) == 1:
            trims[at[0][0]][at[0][1]] = 0.5
        for row, end, angle, width in at:
            for other, other_end, other_angle, other_width in at:
                theta = abs((angle - other_angle + np.pi) % (2 * np.pi) - np.pi)
                if (row, end) == (other, other_end) or theta > 2.6 or len(at) < 3:
                    continue
                reach = (other_width / 2 + width / 2 * np.cos(theta)) / max(np.sin(theta), 0.25)
                trims[row][end] = max(trims[row][end], min(reach + 1.0, LONGEST_TRIM))
    return trims, {j: len(at) for j, at in meeting.items()}


def _crossing_places(graph: CityGraph, street: Street, line: np.ndarray, ends: list[float], arms: dict[int, int], mapped: np.ndarray) -> list[tuple[float, int]]:
    """Arc lengths of crossings with the end they guard (-1 start, 1 end, 0 in between): the arms of city junctions, and mapped ones."""
    length = arc_lengths(line)[-1]
    places: list[tuple[float, int]] = []
    urban = graph.place_type in ("cbd", "town") or street.kind in ("primary", "secondary")
    if street.pavement > 0 and street.kind != "service" and urban and street.width >= 4.5:
        if arms[street.start] > 2 and length > 25:
            places.append((ends[0] + CROSSING_DEPTH / 2, -1))
        if arms[street.end] > 2 and length > 25:
            places.append((ends[1] - CROSSING_DEPTH / 2, 1))
    shape = shapely.LineString(line)
    for p in mapped:
        point = shapely.Point(p)
        at = float(shape.project(point))
        if shape.distance(point) < 2.0 and ends[0] + 2 < at < ends[1] - 2 and all(abs(at - other) > 8 for other, _ in places):
            places.append((at, -1 if at < 12 else 1 if at > length - 12 else 0))
    return places


def _divide(streets: Streets, row: int, street: Street, line: np.ndarray, blocks: STRtree, joined: tuple[bool, bool]) -> None:
    """Lanes, parking strips and markings of the free part of one street."""
    width, half = street.width, street.width / 2
    needed = MOVING_WIDTH["oneway" if street.oneway else "quiet" if street.kind in QUIET else "busy"]
    strips = int(np.clip((width - needed) // PARKING_WIDTH, 0, 2)) if street.kind in PARKED else 0
    right = half - (PARKING_WIDTH if strips > 0 else 0)  # kerb side in the direction of the line, then the other
    left = half - (PARKING_WIDTH if strips > 1 else 0)
    if strips > 0:
        streets.lanes.append(_lane(row, offset_line(line, -(half - PARKING_WIDTH / 2 + 0.05)), PARKING_WIDTH, blocks, -1, half, parked=True))
    if strips > 1:
        back = line if street.oneway else line[::-1]
        side = 1 if street.oneway else -1
        streets.lanes.append(_lane(row, offset_line(back, side * (half - PARKING_WIDTH / 2 + 0.05)), PARKING_WIDTH, blocks, side, half, parked=True))
    moving = right + left
    count = int(np.clip(street.lanes, 1, max(1, moving // 2.6)))
    each = moving / count
    forward = count if street.oneway else (count + 1) // 2
    for k in range(count):
        offset = -right + each * (k + 0.5)  # from the right kerb leftwards
        onward = k < forward
        lane = offset_line(line, offset)
        side = -1 if offset < 0 else 1
        streets.lanes.append(_lane(row, lane if onward else lane[::-1], each, blocks, side if onward else -side, half))
        if k and street.kind not in UNMARKED:
            solid = k == forward and count > 2
            streets.mark(row, dashes(offset_line(line, -right + each * k), 0.12, 3.0, 0.0 if solid else 4.5))
    if strips and street.kind not in UNMARKED:
        streets.mark(row, dashes(offset_line(line, -right), 0.1, 1.0, 1.0))
    if street.kind in ("service", "track") or width < 4.5:
        return
    inner = forward * each - right  # the line that parts the directions, left of the centre line
    if joined[1]:
        p, heading = sample_line(line, np.array([arc_lengths(line)[-1] - 0.25]))
        streets.mark(row, [_across(p[0], heading[0], -right + 0.15, min(inner, left) - 0.15, 0.4)])
    if joined[0] and not street.oneway and count > forward:
        p, heading = sample_line(line, np.array([0.25]))
        streets.mark(row, [_across(p[0], heading[0], inner + 0.15, left - 0.15, 0.4)])


def _across(p: np.ndarray, heading: float, low: float, high: float, depth: float) -> np.ndarray:
    normal = np.array([-np.sin(heading), np.cos(heading)])
    return band(p + normal * low, p + normal * high, depth)


def _lane(row: int, line: np.ndarray, width: float, blocks: STRtree, side: int, half: float, parked: bool = False) -> Lane:
    middle, heading = sample_line(line, np.array([arc_lengths(line)[-1] / 2]))
    normal = np.array([-np.sin(heading[0]), np.cos(heading[0])]) * side
    beside = shapely.Point(middle[0] + normal * (half + 1.0))
    block = int(blocks.nearest(beside)) if len(blocks.geometries) else -1
    return Lane(row, block, line, width, parked)
