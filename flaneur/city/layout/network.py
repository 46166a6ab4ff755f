"""The street graph of a window: clipped, snapped, split at crossings, cleaned and connected into one."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from itertools import pairwise

import networkx as nx
import numpy as np
import shapely
from scipy.spatial import KDTree
from shapely.geometry.base import BaseGeometry

from flaneur.city.layout import shapes
from flaneur.city.layout.connect import connectors
from flaneur.city.layout.graph import Junction, Point, Street
from flaneur.city.layout.streets import KINDS, StreetLine

_GRID = 0.01  # metres: everything is noded on this grid
_SNAP = 1.5  # a loose end this near to another street was meant to touch it
_TINY = 1.5  # pieces shorter than this are closed up
_SPECK = 10.0  # separate networks shorter than this are dropped


@dataclass(frozen=True)
class Piece:
    source: StreetLine
    coords: tuple[Point, ...]
    passage: bool = False

    @property
    def ends(self) -> tuple[Point, Point]:
        return self.coords[0], self.coords[-1]

    @property
    def line(self) -> shapely.LineString:
        return shapely.LineString(self.coords)


def build_network(lines: list[StreetLine], square: shapely.Polygon, buildings: BaseGeometry, water: BaseGeometry, repairs: Counter[str], stub: float = 3.0) -> tuple[list[Junction], list[Street]]:
    """One connected graph of junctions and streets.

    `buildings` are those that stand on the ground; dead ends shorter than `stub` metres are cut off.
    """
    clipped = [replace(s, line=part) for s in lines for part in shapes.lines(s.line.intersection(square)) if part.length > 0.05]
    clipped = _snap_ends(clipped, square, repairs)
    size = square.bounds[2]
    pieces = _clean(_split(clipped), size, stub, repairs)
    for _ in range(4):
        components = _components(pieces)
        if len(components) < 2:
            break
        found = connectors([[p.line for p in c] for c in components], square, buildings, water)
        added = [StreetLine("footway", line, KINDS["footway"].width, lanes=0, connector=True) for line in found]
        repairs["connectors"] += len(added)
        pieces = _clean(_split([replace(p.source, line=p.line) for p in pieces] + added), size, stub, repairs)
    pieces = _merge(_mark_passages(pieces, buildings, repairs), size)
    return _narrow(*_number(pieces), buildings, repairs)


def _at_edge(p: Point, size: float) -> bool:
    return min(p[0], p[1], size - p[0], size - p[1]) < 0.02


def _snap_ends(lines: list[StreetLine], square: shapely.Polygon, repairs: Counter[str]) -> list[StreetLine]:
    """Loose ends that nearly touch another street are drawn up to it."""
    if not lines:
        return []
    tree = shapely.STRtree([s.line for s in lines])
    out = []
    for i, s in enumerate(lines):
        coords: list[Point] = [(c[0], c[1]) for c in s.line.coords]
        for last in (False, True):
            end = coords[-1] if last else coords[0]
            if _at_edge(end, square.bounds[2]):
                continue
            point = shapely.Point(end)
            near = [(lines[j].line.distance(point), int(j)) for j in tree.query(point, predicate="dwithin", distance=_SNAP) if j != i]
            if not near or min(near)[0] < _GRID or min(near)[0] > _SNAP:
                continue
            other = lines[min(near)[1]].line
            target = other.interpolate(other.project(point))
            coords.insert(len(coords) if last else 0, (target.x, target.y))
            repairs["ends_snapped"] += 1
        out.append(replace(s, line=shapely.LineString(coords)))
    return out


def _split(lines: list[StreetLine]) -> list[Piece]:
    """Noded pieces, each with the attributes of the most important street that runs there."""
    if not lines:
        return []
    noded = shapely.union_all(np.array([s.line for s in lines], object), grid_size=_GRID)
    parts = shapes.lines(noded)
    tree = shapely.STRtree([s.line for s in lines])
    pieces = []
    for part in parts:
        middle = part.interpolate(0.5, normalized=True)
        near = tree.query(middle, predicate="dwithin", distance=0.1)
        if not len(near):
            near = [int(tree.nearest(middle))]
        source = min((lines[int(j)] for j in near), key=_importance)
        coords = tuple((round(x, 2), round(y, 2)) for x, y in np.asarray(part.coords)[:, :2])
        # Noding forgets direction, which a one-way street needs.
        along = [source.line.project(shapely.Point(c)) for c in (coords[0], coords[-1])]
        if along[0] > along[1] and not source.line.is_ring:
            coords = coords[::-1]
        pieces.append(Piece(source, coords))
    return sorted(pieces, key=lambda p: p.coords)


def _importance(s: StreetLine) -> tuple:
    return -KINDS[s.kind].rank, s.connector, s.osm.id if s.osm else 0, -s.line.length


def _clean(pieces: list[Piece], size: float, stub: float, repairs: Counter[str]) -> list[Piece]:
    pieces = _close_tiny(pieces, size, repairs)
    pieces = _cut_stubs(pieces, size, stub, repairs)
    components = _components(pieces)
    kept = []
    for k, component in enumerate(components):
        if k and sum(p.line.length for p in component) < _SPECK:
            repairs["specks_dropped"] += 1
        else:
            kept += component
    return sorted(kept, key=lambda p: p.coords)


def _close_tiny(pieces: list[Piece], size: float, repairs: Counter[str]) -> list[Piece]:
    """Junctions joined by a tiny piece become one; the window's edge keeps its points."""
    leader: dict[Point, Point] = {}

    def find(p: Point) -> Point:
        while p in leader:
            p = leader[p]
        return p

    for p in pieces:
        if p.line.length >= _TINY:
            continue
        a, b = sorted({find(e) for e in p.ends} | {find(p.ends[0])})[:2] if find(p.ends[0]) != find(p.ends[1]) else (None, None)
        if a is None or b is None or (_at_edge(a, size) and _at_edge(b, size)):
            continue
        a, b = (b, a) if _at_edge(b, size) else (a, b)
        leader[b] = a
        repairs["tiny_streets_closed"] += 1
    out = {}
    for p in pieces:
        coords = (find(p.coords[0]), *p.coords[1:-1], find(p.coords[-1]))
        coords = tuple(c for i, c in enumerate(coords) if i == 0 or c != coords[i - 1])
        if len(coords) < 2 or (coords[0] == coords[-1] and len(coords) < 4) or shapely.LineString(coords).length < 0.2:
            continue
        out.setdefault(min(coords, coords[::-1]), Piece(p.source, coords))
    return list(out.values())


def _cut_stubs(pieces: list[Piece], size: float, stub: float, repairs: Counter[str]) -> list[Piece]:
    degree = Counter(e for p in pieces for e in p.ends)
    kept = []
    for p in pieces:
        loose = sum(degree[e] == 1 and not _at_edge(e, size) for e in p.ends)
        if loose == 1 and p.line.length < stub and not p.source.connector:
            repairs["stubs_cut"] += 1
        else:
            kept.append(p)
    return kept


def _components(pieces: list[Piece]) -> list[list[Piece]]:
    """Separate networks, the longest first."""
    graph = nx.Graph()
    graph.add_edges_from(p.ends for p in pieces)
    index = {node: k for k, nodes in enumerate(nx.connected_components(graph)) for node in nodes}
    groups: dict[int, list[Piece]] = defaultdict(list)
    for p in pieces:
        groups[index[p.ends[0]]].append(p)
    return sorted(groups.values(), key=lambda g: (-round(sum(p.line.length for p in g), 2), g[0].coords))


def _mark_passages(pieces: list[Piece], buildings: BaseGeometry, repairs: Counter[str]) -> list[Piece]:
    """Cut pieces where they enter a building; the stretch inside carries no surface."""
    if buildings.is_empty:
        return pieces
    shapely.prepare(buildings)
    out = []
    for p in pieces:
        line = p.line
        inside = shapes.lines(line.intersection(buildings)) if buildings.intersects(line) else []
        cuts = sorted({round(line.project(shapely.Point(c)), 3) for part in inside if part.length > 0.3 for c in (part.coords[0], part.coords[-1])})
        cuts = [c for c in cuts if 0.3 < c < line.length - 0.3]
        for part in _cut_at(p.coords, cuts):
            middle = shapely.LineString(part).interpolate(0.5, normalized=True)
            passage = bool(buildings.contains(middle))
            repairs["passages"] += passage
            out.append(Piece(p.source, part, passage))
    return out


def _cut_at(coords: tuple[Point, ...], cuts: list[float]) -> list[tuple[Point, ...]]:
    parts, current, done = [], [coords[0]], 0.0
    left = list(cuts)
    for a, b in pairwise(coords):
        step = float(np.hypot(b[0] - a[0], b[1] - a[1]))
        while left and left[0] <= done + step:
            t = (left.pop(0) - done) / step
            point = (round(a[0] + t * (b[0] - a[0]), 2), round(a[1] + t * (b[1] - a[1]), 2))
            if point != current[-1]:
                current.append(point)
            if len(current) > 1:
                parts.append(tuple(current))
            current = [point]
        if b != current[-1]:
            current.append(b)
        done += step
    if len(current) > 1:
        parts.append(tuple(current))
    return parts


def _merge(pieces: list[Piece], size: float) -> list[Piece]:
    """Join pieces at points where nothing branches off and nothing changes."""
    at: dict[Point, list[int]] = defaultdict(list)
    alive: dict[int, Piece] = dict(enumerate(pieces))
    for i, p in alive.items():
        for e in p.ends:
            at[e].append(i)
    for point in sorted(at):
        pair = at[point]
        if len(pair) != 2 or pair[0] == pair[1] or _at_edge(point, size):
            continue
        a, b = alive[pair[0]], alive[pair[1]]
        if a.passage != b.passage or a.source.attributes != b.source.attributes:
            continue
        if a.source.oneway:
            if a.coords[-1] != point:
                a, b = b, a
            if a.coords[-1] != point or b.coords[0] != point:
                continue
            coords = a.coords + b.coords[1:]
        else:
            first = a.coords if a.coords[-1] == point else a.coords[::-1]
            second = b.coords if b.coords[0] == point else b.coords[::-1]
            coords = first + second[1:]
        if coords[0] == coords[-1]:
            continue
        longer = a if a.line.length >= b.line.length else b
        keep, gone = pair
        alive[keep] = Piece(longer.source, coords, a.passage)
        del alive[gone]
        at[point] = []
        for e in (coords[0], coords[-1]):
            at[e] = [keep if i == gone else i for i in at[e]]
    return sorted(alive.values(), key=lambda p: p.coords)


def _number(pieces: list[Piece]) -> tuple[list[Junction], list[Street]]:
    points = sorted({e for p in pieces for e in p.ends})
    index = {p: i for i, p in enumerate(points)}
    streets = []
    for k, p in enumerate(pieces):
        s = p.source
        inner = shapely.LineString(p.coords).simplify(0.05)
        streets.append(Street(
            id=k, kind=s.kind, carriageway=s.carriageway, line=shapes.points(inner), start=index[p.ends[0]], end=index[p.ends[1]],
            width=s.width, lanes=s.lanes, oneway=s.oneway, pavement=s.pavement, name=s.name, osm=s.osm, connector=s.connector, passage=p.passage,
        ))  # fmt: skip
    return [Junction(id=i, at=p) for i, p in enumerate(points)], streets


def _narrow(junctions: list[Junction], streets: list[Street], buildings: BaseGeometry, repairs: Counter[str]) -> tuple[list[Junction], list[Street]]:
    """Carriageways whose guessed width would run into a wall become narrower."""
    if buildings.is_empty:
        return junctions, streets
    walls = shapely.get_parts(buildings)
    tree = shapely.STRtree(walls)
    mouths = [junctions[j].at for s in streets if s.passage for j in (s.start, s.end)]
    near_mouth = KDTree(mouths) if mouths else None
    for s in streets:
        if s.passage or not s.carriageway:
            continue
        line = shapely.LineString(s.line)
        xy = shapely.get_coordinates(shapely.line_interpolate_point(line, np.arange(0.0, line.length, 2.0)))
        if near_mouth is not None:
            xy = xy[near_mouth.query(xy)[0] > 6.0]
        if not len(xy):
            continue
        _, distance = tree.query_nearest(shapely.points(xy), return_distance=True, all_matches=False)
        room = round(2 * (float(distance.min()) - 0.1), 2)
        if room < s.width:
            s.width = max(2.4, room)
            repairs["streets_narrowed"] += 1
    return junctions, streets
