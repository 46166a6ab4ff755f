"""Sites: per block, the lines and areas that distribution functions fill. Computed once, read by all."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import shapely
from scipy.spatial import Voronoi
from shapely import STRtree
from shapely.geometry.base import BaseGeometry
from shapely.ops import nearest_points

from flaneur.city.grammar.built import BuiltBuilding
from flaneur.city.grammar.ground import COVERS, Ground
from flaneur.city.grammar.lines import band, clean_line
from flaneur.city.grammar.streets import Lane, Streets, to_shapely
from flaneur.city.grammar.styles import STYLES
from flaneur.city.layout.graph import CityGraph

BAY = (2.5, 5.0, 6.0)  # metres: width and depth of a parking bay, width of the aisle
PAVED = ("pavement", "square", "forecourt", "yard", "footpath", "gravel_path")
SOFT = tuple(name for name, cover in COVERS.items() if cover.open and cover.class_name == "terrain")
LOT_EDGE_STEP = 3.0  # metres between the points that decide which building a piece of garden belongs to


@dataclass
class Wall:
    """A straight piece of outer wall; its outside is on the right of start -> end."""

    start: np.ndarray  # [2]
    end: np.ndarray
    height: float
    block: int
    bay: float  # metres, the raster of its windows
    storey: float
    ground: float  # metres of the ground floor


@dataclass
class BlockSite:
    row: int
    kerbs: list[np.ndarray] = field(default_factory=list)  # lines [n, 2], the block on their left
    walls: list[Wall] = field(default_factory=list)
    entrances: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))  # x, y, yaw that leads out
    roofs: list[tuple[shapely.Polygon, float]] = field(default_factory=list)
    boundaries: list[np.ndarray] = field(default_factory=list)  # lines [n, 2] along lots and open ground
    bays: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))  # x, y, yaw
    lanes: list[Lane] = field(default_factory=list)
    corners: np.ndarray = field(default_factory=lambda: np.zeros((0, 4)))  # x, y on the kerb, yaw towards the block, 1 with signals
    paved: BaseGeometry = field(default_factory=shapely.Polygon)  # free of buildings
    open: BaseGeometry = field(default_factory=shapely.Polygon)
    soft: BaseGeometry = field(default_factory=shapely.Polygon)  # what of it is no paving


@dataclass
class Sites:
    blocks: list[BlockSite]
    carriageway: BaseGeometry
    parking: BaseGeometry
    walkable: BaseGeometry
    paved: BaseGeometry
    open: BaseGeometry
    soft: BaseGeometry
    bay_lines: dict[int, list[np.ndarray]]  # block -> quads [4, 2] painted between bays


def survey(graph: CityGraph, streets: Streets, ground: Ground, buildings: list[BuiltBuilding]) -> Sites:
    row_of = {b.id: k for k, b in enumerate(graph.blocks)}
    sites = [BlockSite(k) for k in range(len(graph.blocks))]
    shapes = [to_shapely(b.polygon) for b in graph.blocks]
    built: list[list[BaseGeometry]] = [[] for _ in sites]
    for b in buildings:
        k = row_of.get(b.block)
        if k is None:
            continue
        site = sites[k]
        built[k].append(b.footprint)
        style = STYLES[b.style]
        site.walls += [Wall(np.array(f.start), np.array(f.end), f.height, k, style.bay, style.storey, style.ground) for f in b.facades if f.exposed]
        site.entrances = np.vstack([site.entrances, np.array(b.entrances).reshape(-1, 3)])
        site.roofs += [(p, float(z)) for p, z in b.flat_roofs]
    # A footprint may reach over its block's edge, so free ground is cut by all buildings nearby.
    footprints = [b.footprint for b in buildings]
    tree = STRtree(footprints)
    bay_lines: dict[int, list[np.ndarray]] = {}
    for site, shape in zip(sites, shapes, strict=True):
        site.kerbs = _kerbs(shape, graph.size)
        standing = shapely.union_all([footprints[i] for i in np.sort(tree.query(shape))]).buffer(0.05, join_style="mitre") if len(footprints) else shapely.Polygon()
        mine = [k for k in range(len(ground.faces)) if ground.block[k] == site.row]
        of = lambda names: shapely.union_all([ground.faces[k] for k in mine if ground.cover[k] in names])  # noqa: E731, B023
        site.paved = of(PAVED).difference(standing)
        site.open = of([c for c, v in COVERS.items() if v.open]).difference(standing)
        site.soft = of(SOFT).difference(standing)
        site.boundaries = _boundaries(graph, site, graph.blocks[site.row].id, built[site.row])
        site.bays, lines = _bays(of(("parking",)).difference(standing))
        if lines:
            bay_lines[site.row] = lines
    for lane in streets.lanes:
        if lane.block >= 0:
            sites[lane.block].lanes.append(lane)
    _corners(sites, shapes, streets)
    region = lambda wanted: ground.region(lambda c, b: wanted(c))  # noqa: E731
    return Sites(
        sites, region(lambda c: COVERS[c].class_name == "road" and c != "parking"), region(lambda c: c == "parking"), region(lambda c: COVERS[c].walkable),
        region(lambda c: c in PAVED), region(lambda c: COVERS[c].open), region(lambda c: c in SOFT), bay_lines,
    )  # fmt: skip


def _kerbs(shape: BaseGeometry, size: float) -> list[np.ndarray]:
    """The block's edge without the pieces that run along the window's."""
    lines = []
    for polygon in shapely.get_parts(shape):
        if polygon.geom_type != "Polygon":
            continue
        polygon = shapely.orient_polygons(polygon)
        for ring in (polygon.exterior, *polygon.interiors):
            p = np.array(ring.coords)
            at_edge = [any((abs(a[i] - v) < 0.05) and (abs(b[i] - v) < 0.05) for i in (0, 1) for v in (0.0, size)) for a, b in pairwise(p)]
            start = at_edge.index(True) + 1 if any(at_edge) else 0
            n = len(at_edge)
            current: list[np.ndarray] = []
            for k in (np.arange(n) + start) % n:
                if at_edge[k]:
                    lines += [clean_line(np.array(current))] if len(current) > 1 else []
                    current = []
                    continue
                current = [*current, p[k + 1]] if current else [p[k], p[k + 1]]
            lines += [clean_line(np.array(current))] if len(current) > 1 else []
    return lines


def _boundaries(graph: CityGraph, site: BlockSite, block_id: int, built: list[BaseGeometry]) -> list[np.ndarray]:
    """Where fences and hedges run: the outline of open ground towards the street, and the lines between lots (mapped, or midway between buildings)."""
    if site.open.is_empty:
        return []
    standing = shapely.union_all(built).buffer(0.5) if built else shapely.Polygon()
    edge = site.open.boundary
    lots = [to_shapely(lot.polygon).boundary for lot in graph.lots if lot.block == block_id]
    if not lots and len(built) > 1:
        lots = [_between(built)]
    inner = shapely.union_all(lots).intersection(site.open.buffer(-0.4)) if lots else shapely.LineString()
    window = shapely.box(0, 0, graph.size, graph.size).boundary.buffer(0.3)
    out = []
    for shape in (edge.difference(standing).difference(window), inner.difference(standing)):
        merged = shapely.line_merge(shape) if not shape.is_empty else shape
        for line in shapely.get_parts(shapely.simplify(merged, 0.3)):
            if line.geom_type == "LineString" and line.length > 3.0:
                out.append(clean_line(np.array(line.coords)))
    return out


def _between(built: list[BaseGeometry]) -> BaseGeometry:
    """Lines of equal distance between neighbouring buildings of a block."""
    points, owner = [], []
    for k, shape in enumerate(built):
        ring = shapely.segmentize(shapely.simplify(shape, 0.5), LOT_EDGE_STEP)
        p = np.round(shapely.get_coordinates(ring)[:-1], 2)
        points.append(p)
        owner += [k] * len(p)
    unique, first = np.unique(np.concatenate(points), axis=0, return_index=True)
    if len(unique) < 4:
        return shapely.LineString()
    whose = np.array(owner)[first]
    cells = Voronoi(unique)
    parting = whose[cells.ridge_points[:, 0]] != whose[cells.ridge_points[:, 1]]
    ends = np.array([v for v, kept in zip(cells.ridge_vertices, parting, strict=True) if kept]).reshape(-1, 2)
    segments = cells.vertices[ends[(ends >= 0).all(1)]]
    near = segments[(np.abs(segments) < 1e4).all((1, 2))]
    lines = shapely.union_all([shapely.LineString(s) for s in np.round(near, 2)])
    return shapely.line_merge(lines).simplify(1.0)


def _bays(ground: BaseGeometry) -> tuple[np.ndarray, list[np.ndarray]]:
    """Parking bays in double rows with aisles, along the longer side of each piece; their places and painted lines."""
    width, depth, aisle = BAY
    places, lines = [np.zeros((0, 3))], []
    for piece in shapely.get_parts(ground):
        if piece.geom_type != "Polygon" or piece.area < 2 * width * depth:
            continue
        corners = np.array(shapely.minimum_rotated_rectangle(piece).exterior.coords)
        sides = np.diff(corners, axis=0)[:2]
        long = sides[int(np.argmax(np.hypot(*sides.T)))]
        u = np.round(long / np.hypot(*long), 4)
        v = np.array([-u[1], u[0]])
        local = shapely.get_coordinates(piece) @ np.stack([u, v], 1)
        low, high = local.min(0), local.max(0)
        module = 2 * depth + aisle
        first = np.arange(low[1] + 0.3 + depth / 2, high[1] - depth / 2, module)
        rows = np.concatenate([first, first + depth + aisle])
        along = np.arange(low[0] + 0.3 + width / 2, high[0] - width / 2, width)
        s, t = (a.ravel() for a in np.meshgrid(along, rows))
        centre = s[:, None] * u + t[:, None] * v
        quads = np.stack([centre + a * u * width / 2 + b * v * depth / 2 for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))], 1)
        fits = shapely.covers(piece.buffer(0.05), shapely.polygons(quads)) if len(quads) else np.zeros(0, bool)
        heading = np.full(fits.sum(), np.arctan2(v[1], v[0]))
        places.append(np.column_stack([centre[fits], heading]))
        # Neighbouring bays share a line.
        edges = {tuple(np.round(c + side * u * width / 2, 1)): c + side * u * width / 2 for c in centre[fits] for side in (-1, 1)}
        lines += [band(e - v * depth / 2, e + v * depth / 2, 0.1) for e in edges.values()]
    return np.concatenate(places), lines


def _corners(sites: list[BlockSite], shapes: list[BaseGeometry], streets: Streets) -> None:
    """Per junction and block beside it, the nearest point of the block's kerb."""
    tree = STRtree(shapes)
    found: dict[int, list[tuple[float, float, float, float]]] = {}
    for area, signal in zip(streets.junctions, streets.signals, strict=True):
        centre = area.centroid
        for row in np.sort(tree.query(area.buffer(1.0), predicate="intersects")):
            kerb = shapely.union_all([shapely.LineString(k) for k in sites[row].kerbs])
            if kerb.is_empty or kerb.distance(centre) > np.sqrt(area.area / np.pi) + 2.0:
                continue
            nearest = kerb.interpolate(kerb.project(centre)) if kerb.geom_type == "LineString" else nearest_points(kerb, centre)[0]
            yaw = float(np.arctan2(nearest.y - centre.y, nearest.x - centre.x))
            found.setdefault(int(row), []).append((nearest.x, nearest.y, yaw, float(signal)))
    for row, corners in found.items():
        sites[row].corners = np.array(corners)
