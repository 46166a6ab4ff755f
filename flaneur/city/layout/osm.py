"""Reading an OSM extract (.osm, .osm.gz, .osm.bz2, .osm.pbf) with pyosmium into plain arrays, in any order of ids."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import osmium
import osmium.io
import osmium.osm

from flaneur.errors import UserError

ATTRIBUTION = "(c) OpenStreetMap contributors, ODbL 1.0, https://www.openstreetmap.org/copyright"
AREA_KEYS = ("building", "building:part", "landuse", "leisure", "natural", "amenity", "place", "waterway", "man_made", "tourism", "shop", "area:highway")
LINE_KEYS = ("highway", "barrier", "waterway", "natural")
POINT_KEYS = ("highway", "natural", "amenity", "barrier", "emergency", "shop", "tourism", "office", "man_made", "leisure", "crossing", "advertising")


Relation = tuple[int, dict[str, str], list[tuple[str, int, str]]]  # id, tags, members as (n|w|r, id, role)


@dataclass(frozen=True)
class Line:
    id: int
    coords: np.ndarray  # [n, 2] f64 degrees: lon, lat
    tags: dict[str, str]


@dataclass(frozen=True)
class Shape:
    """An area: a closed way or a multipolygon relation."""

    type: str  # way, relation
    id: int
    outers: tuple[np.ndarray, ...]  # each [n, 2] f64 degrees, closed
    inners: tuple[np.ndarray, ...]
    tags: dict[str, str]


@dataclass(frozen=True)
class PointOfInterest:
    id: int
    lon: float
    lat: float
    tags: dict[str, str]


@dataclass
class Extract:
    path: Path
    sha256: str
    bounds: tuple[float, float, float, float]  # west, south, east, north in degrees
    lines: list[Line]
    shapes: list[Shape]
    points: list[PointOfInterest]
    repairs: dict[str, int] = field(default_factory=dict)  # what was left out while reading
    line_boxes: np.ndarray = field(init=False)  # [n, 4] west, south, east, north
    shape_boxes: np.ndarray = field(init=False)
    point_coords: np.ndarray = field(init=False)  # [n, 2]

    def __post_init__(self) -> None:
        self.line_boxes = _boxes([w.coords for w in self.lines])
        self.shape_boxes = _boxes([np.concatenate(s.outers) for s in self.shapes])
        self.point_coords = np.array([(p.lon, p.lat) for p in self.points]).reshape(-1, 2)

    def lines_near(self, box: tuple[float, float, float, float]) -> list[Line]:
        """Ways whose bounding box meets west, south, east, north."""
        return [self.lines[i] for i in _meeting(self.line_boxes, box)]

    def shapes_near(self, box: tuple[float, float, float, float]) -> list[Shape]:
        return [self.shapes[i] for i in _meeting(self.shape_boxes, box)]

    def points_in(self, box: tuple[float, float, float, float]) -> list[PointOfInterest]:
        return [self.points[i] for i in _meeting(np.tile(self.point_coords, 2), box)]

    @property
    def name(self) -> str:
        return self.path.name.split(".")[0]

    @cached_property
    def core(self) -> tuple[float, float, float, float]:
        """The box of its buildings and streets: long ways and relations reach far beyond what was extracted."""
        middles = [s.outers[0].mean(0) for s in self.shapes if "building" in s.tags] or [line.coords.mean(0) for line in self.lines if "highway" in line.tags]
        if not middles:
            raise UserError(f"{self.path}: holds no streets; fetch an extract with highways (it covers {self.covers()})")
        m = np.array(middles)
        return (*m.min(0).tolist(), *m.max(0).tolist())

    def covers(self) -> str:
        return "W,S,E,N " + ",".join(f"{v:.6f}" for v in self.bounds)


def read_extract(path: Path | str) -> Extract:
    """All streets, areas and points of the file; one line of UserError when it is no OSM extract."""
    path = Path(path)
    source, digest = _open(path)
    try:
        relations, wanted = _read_relations(source)
        ways = _read_ways(source, wanted)
        ids, coords, points = _read_nodes(source)
    except (RuntimeError, ValueError, OSError) as error:
        raise UserError(f"{path}: damaged or no OSM data ({_one_line(error)}); give a complete .osm, .osm.gz or .osm.pbf file") from None
    if not len(ids):
        raise UserError(f"{path}: holds no OSM nodes; give an .osm, .osm.gz or .osm.pbf extract of a place")
    repairs: Counter[str] = Counter()
    located = _locate(ways, ids, coords, repairs)
    lines, shapes = _assemble(ways, located, relations, repairs)
    bounds = (*coords.min(0).tolist(), *coords.max(0).tolist())
    return Extract(path, digest, bounds, lines, shapes, points, {k: n for k, n in repairs.items() if n})


def _open(path: Path) -> tuple[Any, str]:
    """The file with its format told by content, because names lie, and its SHA-256."""
    if path.is_dir():
        raise UserError(f"{path}: is a folder; give an .osm, .osm.gz or .osm.pbf file")
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    if not data:
        raise UserError(f"{path}: is empty; fetch the extract again")
    if data[:2] == b"\x1f\x8b":
        kind = "osm.gz"
    elif data[:3] == b"BZh":
        kind = "osm.bz2"
    elif data[:1] == b"<" or data[:4] == b"\xef\xbb\xbf<":
        kind = "osm"
    elif b"OSMHeader" in data[:64]:
        kind = "pbf"
    else:
        raise UserError(f"{path}: not an OSM file; give an .osm, .osm.gz or .osm.pbf extract")
    return osmium.io.File(str(path), kind), hashlib.sha256(data).hexdigest()


def _items(source: Any, kind: Any) -> Iterator[Any]:
    """All objects of one kind; each is valid only until the next is asked for."""
    return iter(osmium.FileProcessor(source, kind))


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:120]


def _tags(item: Any) -> dict[str, str]:
    return {t.k: t.v for t in item.tags}


def _read_relations(source: Any) -> tuple[list[Relation], set[int]]:
    kept: dict[int, Relation] = {}
    for r in _items(source, osmium.osm.RELATION):
        if r.deleted or r.tags.get("type") not in ("multipolygon", "building", "boundary"):
            continue
        if r.tags.get("type") == "boundary" and not any(k in r.tags for k in AREA_KEYS):
            continue
        kept[r.id] = (r.id, _tags(r), [(m.type, m.ref, m.role) for m in r.members])
    relations = [kept[k] for k in sorted(kept)]
    return relations, {ref for _, _, members in relations for kind, ref, _ in members if kind == "w"}


def _read_ways(source: Any, wanted: set[int]) -> dict[int, tuple[list[int], dict[str, str]]]:
    keys = (*AREA_KEYS, *LINE_KEYS)
    ways = {}
    for w in _items(source, osmium.osm.WAY):
        if not w.deleted and (w.id in wanted or any(k in w.tags for k in keys)):
            ways[w.id] = ([n.ref for n in w.nodes], _tags(w))
    return {k: ways[k] for k in sorted(ways)}


def _read_nodes(source: Any) -> tuple[np.ndarray, np.ndarray, list[PointOfInterest]]:
    """Sorted ids [n], lon-lat [n, 2] and the points that mean something."""
    ids, lons, lats, points = [], [], [], {}
    for n in _items(source, osmium.osm.NODE):
        location = n.location
        if n.deleted or not location.valid():
            continue
        ids.append(n.id)
        lons.append(location.lon_without_check())
        lats.append(location.lat_without_check())
        if n.tags:
            tags = _tags(n)
            if any(k in tags for k in POINT_KEYS):
                points[n.id] = PointOfInterest(n.id, lons[-1], lats[-1], tags)
    order = np.argsort(np.array(ids, np.int64), kind="stable")
    coords = np.stack([np.array(lons), np.array(lats)], 1)[order] if ids else np.zeros((0, 2))
    return np.array(ids, np.int64)[order], coords, [points[k] for k in sorted(points)]


def _locate(ways: dict[int, tuple[list[int], dict[str, str]]], ids: np.ndarray, coords: np.ndarray, repairs: Counter[str]) -> dict[int, np.ndarray]:
    """Coordinates of every way; nodes that the extract lacks are skipped."""
    lengths = [len(nodes) for nodes, _ in ways.values()]
    refs = np.array([ref for nodes, _ in ways.values() for ref in nodes], np.int64)
    at = np.minimum(np.searchsorted(ids, refs, side="right") - 1, len(ids) - 1)
    found = ids[at] == refs
    xy = coords[at]
    ends = np.cumsum(lengths)
    if not found.all():
        repairs["nodes_missing"] = int((~found).sum())
    located = {}
    for k, (way, end) in enumerate(zip(ways, ends, strict=True)):
        part = slice(end - lengths[k], end)
        located[way] = xy[part][found[part]]
    return located


def _assemble(ways: dict[int, tuple[list[int], dict[str, str]]], located: dict[int, np.ndarray], relations: list[Relation], repairs: Counter[str]) -> tuple[list[Line], list[Shape]]:
    lines, shapes = [], []
    extra: dict[int, dict[str, str]] = {}  # tags a building relation adds to its outline
    for rid, tags, members in relations:
        if tags.get("type") == "building":
            described = {k: v for k, v in tags.items() if k not in ("type", "name")}
            for kind, ref, role in members:
                if kind == "w" and role == "outline" and ref in ways:
                    extra[ref] = {"building": "yes", **described}
            continue
        if not any(k in tags for k in AREA_KEYS) and "highway" not in tags:
            continue
        outers, open_outers = _rings([ref for kind, ref, role in members if kind == "w" and role in ("outer", "")], ways, located)
        inners, open_inners = _rings([ref for kind, ref, role in members if kind == "w" and role == "inner"], ways, located)
        repairs["rings_open"] += open_outers + open_inners
        if not outers or (open_outers + open_inners and ("building" in tags or "building:part" in tags)):
            # A building whose rings the extract does not hold in full has no known shape; land is taken as far as it goes.
            repairs["relations_incomplete"] += 1
            continue
        shapes.append(Shape("relation", rid, tuple(outers), tuple(inners), tags))
    for wid, (nodes, own) in ways.items():
        tags = {**extra.get(wid, {}), **own}
        xy = located[wid]
        if len(xy) < 2:
            continue
        closed = len(nodes) > 3 and nodes[0] == nodes[-1] and len(xy) > 3
        area = closed and _is_area(tags)
        if area:
            ring = xy if (xy[0] == xy[-1]).all() else np.concatenate([xy, xy[:1]])
            shapes.append(Shape("way", wid, (ring,), (), tags))
        elif not closed and ("building" in tags or "building:part" in tags):
            repairs["buildings_open"] += 1
        if any(k in tags for k in LINE_KEYS) and not (area and "barrier" not in tags):
            lines.append(Line(wid, xy, tags))
    return lines, shapes


def _is_area(tags: dict[str, str]) -> bool:
    """Whether a closed way means what it encloses: a ring road and a fence do not."""
    if tags.get("area") in ("yes", "no"):
        return tags["area"] == "yes"
    return any(k in tags for k in AREA_KEYS) and ("highway" not in tags or "building" in tags)


def _rings(refs: list[int], ways: dict[int, tuple[list[int], dict[str, str]]], located: dict[int, np.ndarray]) -> tuple[list[np.ndarray], int]:
    """Ways joined end to end into closed rings, and how many rings or members the extract lacks."""
    left = [r for r in dict.fromkeys(refs) if r in ways and len(located[r]) >= 2]
    rings, lacking = [], len(set(refs)) - len(left)
    while left:
        first = left.pop(0)
        start, end = ways[first][0][0], ways[first][0][-1]
        parts = [located[first]]
        while start != end:
            nxt = next((r for r in left if end in (ways[r][0][0], ways[r][0][-1])), None)
            if nxt is None:
                break
            left.remove(nxt)
            forward = ways[nxt][0][0] == end
            parts.append(located[nxt] if forward else located[nxt][::-1])
            end = ways[nxt][0][-1] if forward else ways[nxt][0][0]
        ring = np.concatenate(parts)
        if start == end and len(ring) >= 4:
            rings.append(ring if (ring[0] == ring[-1]).all() else np.concatenate([ring, ring[:1]]))
        else:
            lacking += 1
    return rings, lacking


def _meeting(boxes: np.ndarray, box: tuple[float, float, float, float]) -> np.ndarray:
    west, south, east, north = box
    return np.flatnonzero((boxes[:, 0] <= east) & (boxes[:, 2] >= west) & (boxes[:, 1] <= north) & (boxes[:, 3] >= south))


def _boxes(parts: list[np.ndarray]) -> np.ndarray:
    return np.array([(*p.min(0), *p.max(0)) for p in parts]).reshape(-1, 4)
