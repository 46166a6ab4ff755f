"""Ground: the whole window divided into road, pavement, terrain and water, without a gap or an overlap.

All outlines are laid into one sheet, noded on a 1 cm grid and polygonised; every face takes the topmost layer that
covers it. Neighbours therefore share their vertices exactly, and kerbs stand on shared edges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely
from shapely import STRtree
from shapely.geometry.base import BaseGeometry

from flaneur.city.grammar.streets import Streets, to_shapely
from flaneur.city.layout.graph import Block, CityGraph, Street

GRID = 0.01  # metres: every ground vertex is a multiple
ROAD_LEVEL, BLOCK_LEVEL, WATER_LEVEL = 0.0, 0.12, -0.3  # metres
SLIVER = 0.3  # m2: smaller faces join a neighbour
LONGEST_APPROACH, APPROACH_WIDTH = 16.0, 1.4  # metres, of the path from a door to the street
SIMPLIFY = 0.08  # metres that an outline may move
BUILT_UP_SHARE, FRONT_DEPTH = 0.2, 4.5  # of a block; metres behind the pavement that are paved in such blocks


@dataclass(frozen=True)
class Cover:
    class_name: str
    material: str
    level: float
    walkable: bool = True
    open: bool = False  # planted or unbuilt ground that in_open_space fills


# What can cover the ground, and what the grammar may do there.
COVERS: dict[str, Cover] = {
    "carriageway": Cover("road", "asphalt", ROAD_LEVEL, walkable=False),
    "lane": Cover("road", "asphalt_worn", ROAD_LEVEL, walkable=False),
    "parking": Cover("road", "asphalt_light", BLOCK_LEVEL, walkable=False),
    "pavement": Cover("pavement", "pavement_slab", BLOCK_LEVEL),
    "square": Cover("pavement", "cobbles", BLOCK_LEVEL, open=True),
    "forecourt": Cover("pavement", "pavement_brick", BLOCK_LEVEL, open=True),
    "yard": Cover("pavement", "concrete", BLOCK_LEVEL, open=True),
    "footpath": Cover("pavement", "pavement_brick", BLOCK_LEVEL),
    "gravel_path": Cover("pavement", "gravel", BLOCK_LEVEL),
    "grass": Cover("terrain", "grass", BLOCK_LEVEL, open=True),
    "garden": Cover("terrain", "grass", BLOCK_LEVEL, open=True),
    "dry_grass": Cover("terrain", "grass_dry", BLOCK_LEVEL, open=True),
    "meadow": Cover("terrain", "meadow", BLOCK_LEVEL, open=True),
    "field": Cover("terrain", "field", BLOCK_LEVEL, open=True),
    "soil": Cover("terrain", "soil", BLOCK_LEVEL, open=True),
    "forest_floor": Cover("terrain", "soil", BLOCK_LEVEL, open=True),
    "sand": Cover("terrain", "sand", BLOCK_LEVEL, open=True),
    "gravel": Cover("terrain", "gravel", BLOCK_LEVEL, open=True),
    "pitch": Cover("terrain", "playground", BLOCK_LEVEL, open=True),
    "water": Cover("water", "water", WATER_LEVEL, walkable=False),
}  # fmt: skip

# Block type -> cover of its open ground, by place type where that matters ("" is the rest).
BLOCK_COVER: dict[str, dict[str, str]] = {
    "residential": {"cbd": "forecourt", "": "garden"},
    "commercial": {"suburb": "yard", "rural": "yard", "": "forecourt"},
    "mixed": {"suburb": "garden", "rural": "garden", "": "forecourt"},
    "industrial": {"": "yard"},
    "civic": {"suburb": "grass", "rural": "grass", "": "forecourt"},
    "park": {"": "grass"},
    "square": {"": "square"},
    "parking": {"": "parking"},
    "farmland": {"": "field"},
    "forest": {"": "forest_floor"},
    "water": {"": "water"},
}

# OSM value of an area -> cover; what is absent here leaves the block's own cover.
AREA_COVER: dict[str, str] = {
    "water": "water", "pool": "water", "fountain": "water", "wetland": "meadow", "park": "grass", "garden": "garden", "grass": "grass", "cemetery": "grass", "meadow": "meadow", "scrub": "dry_grass",
    "orchard": "meadow", "farmland": "field", "forest": "forest_floor", "sand": "sand", "construction": "soil", "railway": "gravel", "playground": "sand", "pitch": "pitch", "parking": "parking",
    "square": "square", "pier": "square",
}  # fmt: skip
_RANK = {"water": 2, "grass": 0, "forest_floor": 1, "parking": 3, "square": 2}  # among areas: the rest is 1, small on top of large


@dataclass
class Ground:
    faces: list[shapely.Polygon]
    cover: list[str]  # key of COVERS, per face
    block: np.ndarray  # [F] i32, row in CityGraph.blocks or -1
    street: np.ndarray  # [F] i32, row in CityGraph.streets or -1

    def __post_init__(self) -> None:
        self._tree = STRtree(self.faces)

    def face_at(self, xy: np.ndarray) -> np.ndarray:
        """Face [n] under points [n, 2]; -1 outside the window."""
        point, face = self._tree.query(shapely.points(xy), predicate="intersects")
        out = np.full(len(xy), -1)
        out[point[::-1]] = face[::-1]
        return out

    def region(self, wanted) -> BaseGeometry:
        """All faces together whose (cover, block row) `wanted` accepts."""
        return shapely.union_all([f for f, c, b in zip(self.faces, self.cover, self.block, strict=True) if wanted(c, int(b))])


def lay_ground(graph: CityGraph, streets: Streets, doors: np.ndarray | None = None) -> Ground:
    """Divide the window. Layers from low to high: carriageway, block, mapped areas, paths to `doors` [n, 3] (x, y, yaw that leads out), pavement strips, paths."""
    window = shapely.box(0, 0, graph.size, graph.size)
    layers: list[tuple[BaseGeometry, str, int, int]] = []  # shape, cover, block, street
    blocks = [shapely.set_precision(to_shapely(b.polygon), GRID) for b in graph.blocks]
    open_ground = shapely.union_all(blocks)
    for row, street in enumerate(graph.streets):
        if street.carriageway and len(street.line) > 1:
            shape = shapely.LineString(street.line).buffer(street.width / 2 + 0.5, cap_style="flat", join_style="mitre")
            layers.append((shape.difference(open_ground), "lane" if street.kind in ("service", "track") else "carriageway", -1, row))
    for row, (block, shape) in enumerate(zip(graph.blocks, blocks, strict=True)):
        covers = BLOCK_COVER[block.type]
        layers.append((shape, covers.get(graph.place_type, covers[""]), row, -1))
    areas = [(to_shapely(a.polygon), AREA_COVER[a.kind]) for a in graph.areas if a.kind in AREA_COVER]
    for shape, cover in sorted(areas, key=lambda a: (_RANK.get(a[1], 1), -a[0].area)):
        layers.append((shape.intersection(open_ground) if cover != "water" else shape.difference(_carriageways(graph, blocks)), cover, -2, -1))
    layers += [(shape, "footpath", -2, -1) for shape in _approaches(graph, blocks, doors if doors is not None else np.zeros((0, 3)))]
    fronts = [shape for block, shape in zip(graph.blocks, blocks, strict=True) if _built_up(graph, block, shape)]
    if fronts:
        layers.append((_pavements(graph, FRONT_DEPTH).intersection(shapely.union_all(fronts)), "pavement", -2, -1))
    layers.append((_pavements(graph).intersection(open_ground), "pavement", -2, -1))
    for path, cover in _paths(graph, blocks):
        layers.append((path.intersection(open_ground), cover, -2, -1))
    return _divide(window, layers, blocks)


def _carriageways(graph: CityGraph, blocks: list[BaseGeometry]) -> BaseGeometry:
    return shapely.box(0, 0, graph.size, graph.size).difference(shapely.union_all(blocks))


def _approaches(graph: CityGraph, blocks: list[BaseGeometry], doors: np.ndarray) -> list[BaseGeometry]:
    """Paths from front doors straight to the street, through gardens that are not too deep."""
    road = shapely.union_all([shapely.LineString(s.line).buffer(s.width / 2 + s.pavement - 0.2, cap_style="flat") for s in graph.streets if s.carriageway])
    gardens = shapely.union_all([shape for block, shape in zip(graph.blocks, blocks, strict=True) if block.type in ("residential", "mixed", "farmland", "civic")])
    ponds = shapely.union_all([to_shapely(a.polygon) for a in graph.areas if AREA_COVER.get(a.kind) == "water"])
    out = []
    for x, y, yaw in doors:
        ray = shapely.LineString([(x, y), (x + np.cos(yaw) * LONGEST_APPROACH, y + np.sin(yaw) * LONGEST_APPROACH)])
        reached = ray.intersection(road)
        if reached.is_empty or ray.distance(ponds) < 1.0:
            continue
        length = float(shapely.Point(x, y).distance(reached))
        if length > 1.0:
            path = shapely.LineString([(x, y), (x + np.cos(yaw) * (length + 0.3), y + np.sin(yaw) * (length + 0.3))])
            out.append(path.buffer(APPROACH_WIDTH / 2, cap_style="flat").intersection(gardens))
    return out


def _built_up(graph: CityGraph, block: Block, shape: BaseGeometry) -> bool:
    """Whether the houses of a block stand at the street, so that the ground before them is paved."""
    if graph.place_type not in ("cbd", "town") or block.type not in ("residential", "commercial", "mixed", "civic"):
        return False
    standing = sum(to_shapely(b.polygon).area for b in graph.buildings if b.block == block.id) + sum(to_shapely(lot.polygon).area for lot in graph.lots if lot.block == block.id) * 0.6
    return standing > BUILT_UP_SHARE * shape.area


def _pavements(graph: CityGraph, deeper: float = 0.0) -> BaseGeometry:
    """Strips beside the streets that have a pavement; mitred corners keep the outline to a few vertices."""
    strips = [shapely.LineString(s.line).buffer(s.width / 2 + s.pavement + deeper, cap_style="flat", join_style="mitre", mitre_limit=2.0) for s in graph.streets if s.carriageway and s.pavement > 0]
    half = {}
    for s in graph.streets:
        if s.carriageway and s.pavement > 0:
            for j in (s.start, s.end):
                half[j] = max(half.get(j, 0.0), s.width / 2 + s.pavement + deeper)
    corners = [shapely.Point(j.at).buffer(half[j.id], quad_segs=3) for j in graph.junctions if j.id in half]
    return shapely.union_all([*strips, *corners])


def _paths(graph: CityGraph, blocks: list[BaseGeometry]) -> list[tuple[BaseGeometry, str]]:
    """Mapped footways, and paths through parks that have none."""
    out = []
    tracks = [s for s in graph.streets if not s.carriageway and len(s.line) > 1]
    for s in tracks:
        out.append((shapely.LineString(s.line).buffer(max(s.width, 1.2) / 2, cap_style="square", join_style="mitre", mitre_limit=2.0), _path_cover(graph, s)))
    walked = shapely.union_all([p for p, _ in out]) if out else shapely.Polygon()
    ponds = shapely.union_all([to_shapely(a.polygon) for a in graph.areas if AREA_COVER.get(a.kind) == "water"])
    for block, park in zip(graph.blocks, blocks, strict=True):
        shape = max(shapely.get_parts(park.difference(ponds.buffer(1.5))), key=lambda part: part.area, default=shapely.Polygon())
        if block.type != "park" or shape.area < 400 or walked.intersection(shape).area > 30:
            continue
        centre = shape.representative_point()
        ring = np.array(shapely.simplify(shape, 2.0).exterior.coords)[:-1] if shape.geom_type == "Polygon" else np.zeros((0, 2))
        ends = [ring[k] for k in np.linspace(0, len(ring), 4, endpoint=False).astype(int)] if len(ring) >= 4 else list(ring)
        for end in ends:
            out.append((shapely.LineString([centre.coords[0], end]).buffer(1.25, cap_style="flat").difference(ponds), "gravel_path"))
        out.append((centre.buffer(4.0, quad_segs=3).difference(ponds), "gravel_path"))
    return out


def _path_cover(graph: CityGraph, street: Street) -> str:
    if street.kind == "pedestrian":
        return "square"
    return "gravel_path" if street.kind in ("path", "track", "bridleway") or graph.place_type == "rural" else "footpath"


def _divide(window: shapely.Polygon, layers: list[tuple[BaseGeometry, str, int, int]], blocks: list[BaseGeometry]) -> Ground:
    """Node all outlines on the grid, polygonise, and let each face take the topmost layer over it."""
    shapes = [shapely.simplify(shapely.intersection(shape, window), SIMPLIFY) for shape, *_ in layers]
    outlines = shapely.boundary([s for s in [*shapes, window] if not s.is_empty])
    noded = shapely.union_all(shapely.set_precision(outlines, GRID), grid_size=GRID)
    faces = [f for f in shapely.get_parts(shapely.polygonize(shapely.get_parts(noded))) if f.area > 0]
    inside = shapely.point_on_surface(faces)
    tree = STRtree(inside)
    top = np.full(len(faces), -1)
    for k, shape in enumerate(shapes):
        if not shape.is_empty:
            top[tree.query(shape, predicate="intersects")] = k
    block_of = np.full(len(faces), -1, np.int32)
    for row, shape in enumerate(blocks):
        block_of[tree.query(shape, predicate="intersects")] = row
    street_rows = np.array([k for k, (*_, street) in enumerate(layers) if street >= 0], int)
    # What no layer covers is the middle of a junction: it takes the nearest street.
    bare = np.flatnonzero(top < 0)
    if len(bare) and len(street_rows):
        nearest = STRtree([shapes[k] for k in street_rows]).nearest(np.asarray(inside)[bare])
        top[bare] = street_rows[nearest]
    covers = [layers[k][1] if k >= 0 else "carriageway" for k in top]
    street_of = np.array([layers[k][3] if k >= 0 else -1 for k in top], np.int32)
    block_of[street_of >= 0] = -1
    return _merge(faces, covers, block_of, street_of)


def _merge(faces: list[shapely.Polygon], covers: list[str], block: np.ndarray, street: np.ndarray) -> Ground:
    """Faces of one cover and owner become one; slivers join the neighbour with the longest common edge."""
    keys = [(c, int(b), int(s)) for c, b, s in zip(covers, block, street, strict=True)]
    tree = STRtree(faces)
    for k in sorted((k for k, f in enumerate(faces) if f.area < SLIVER), key=lambda k: faces[k].area):
        around = [int(n) for n in tree.query(faces[k], predicate="touches")]
        shared = [faces[k].boundary.intersection(faces[n].boundary).length for n in around]
        if around and max(shared) > 0:
            keys[k] = keys[around[int(np.argmax(shared))]]
    merged: dict[tuple[str, int, int], list[shapely.Polygon]] = {}
    for key, face in zip(keys, faces, strict=True):
        merged.setdefault(key, []).append(face)
    out, owners = [], []
    for key in sorted(merged):
        for part in shapely.get_parts(shapely.coverage_union_all(merged[key])):
            out.append(shapely.orient_polygons(part))
            owners.append(key)
    return Ground(out, [k[0] for k in owners], np.array([k[1] for k in owners], np.int32), np.array([k[2] for k in owners], np.int32))
