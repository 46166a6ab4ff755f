"""The placement checker: does a scene keep what an annotated city promises? It reads the finished scene alone.

Nothing here is shared with the grammar that places things: overlaps are exact intersection volumes of the meshes,
surfaces are looked up in the ground's own triangles.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import shapely
from manifold3d import Manifold, Mesh
from shapely import STRtree

from flaneur.city.layout.graph import CityGraph
from flaneur.city.scene import Prototype, Scene

OVERLAP_SHARE = 0.05  # of the smaller volume
OVERLAP_FLOOR = 1e-6  # m3: below it two solids touch
ALIGNMENT = np.radians(15.0)
GUIDE_REACH = 9.0  # metres in which a kerb or marking must run along a vehicle
EDGE_TOLERANCE = 0.02  # metres
FLOAT_TOLERANCE = 0.06  # metres between an object's foot and the ground
VOLUME_TOLERANCE = 0.01
HOLE_STEP = 2.0  # metres between the points where the ground is probed
BUILT = ("building", "skyscraper", "tank", "shed")
VEHICLES = ("car", "truck", "bus")
RAISED = ("air_conditioner",)  # hang on walls or stand on roofs
KINDS = (
    "overlap", "inside building", "in water", "outside window", "vehicle off the road", "vehicle across the lane", "person off walkable ground", "floating", "volume out of range", "volume wrong",
    "not watertight", "unknown material", "empty", "hole in the ground", "provenance", "unconnected streets",
)  # fmt: skip


@dataclass(frozen=True)
class Violation:
    kind: str  # one of KINDS
    instances: tuple[int, ...]
    amount: float  # share, metres, radians: what `text` says
    text: str


@dataclass
class CheckReport:
    scene: str
    objects: int
    pairs: int  # of neighbours whose solids were intersected
    seconds: float
    violations: list[Violation] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.violations

    @property
    def counts(self) -> dict[str, int]:
        found = Counter(v.kind for v in self.violations)
        return {k: found[k] for k in KINDS if found[k]}


def check_scene(scene: Scene, graph: CityGraph | None = None) -> CheckReport:
    """All violations of a scene; with its street map also whether the streets hang together."""
    started = time.perf_counter()
    surface = _Surface(scene)
    found = [*_materials(scene), *_empty(scene), *_volumes(scene), *_window(scene), *_standing(scene, surface), *_alignment(scene, surface), *_holes(scene, surface), *_provenance(scene)]
    overlaps, pairs = _overlaps(scene)
    if graph is not None:
        found += _connected(graph)
    return CheckReport(scene.name, int(scene.is_object.sum()), pairs, time.perf_counter() - started, [*found, *overlaps])


def _name(scene: Scene, row: int | np.integer) -> str:
    x, y, _ = scene.instances.position[row]
    return f"{scene.classes.names[scene.class_id[row]]} {row} at {x:.1f}, {y:.1f}"


class _Surface:
    """The ground as triangles seen from above, and the long edges of kerbs and markings."""

    def __init__(self, scene: Scene) -> None:
        corners, owner, guides = [np.zeros((0, 3, 3))], [np.zeros(0, int)], [np.zeros((0, 2, 2))]
        for row in np.flatnonzero(~scene.is_object):
            p = scene.prototypes[scene.instances.prototype[row]]
            m = scene.transform[row]
            world = p.vertices.astype(np.float64)[p.faces] @ m[:3, :3].T + m[:3, 3]
            normal = np.cross(world[:, 1] - world[:, 0], world[:, 2] - world[:, 0])
            length = np.linalg.norm(normal, axis=1)
            flat = normal[:, 2] > 0.5 * length
            marking = np.array(["marking" in scene.materials[k] if k < len(scene.materials) else False for k in p.materials], bool)
            corners.append(world[flat & ~marking])
            owner.append(np.full(int((flat & ~marking).sum()), row))
            guides.append(_long_edges(world[marking | (np.abs(normal[:, 2]) < 1e-6 * np.maximum(length, 1e-12))]))
        self.corners, self.owner, self.guides = np.concatenate(corners), np.concatenate(owner), np.concatenate(guides)
        self._tree = STRtree(np.asarray(shapely.polygons(self.corners[:, :, :2]))) if len(self.corners) else STRtree([])

    def under(self, xy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Background instance [n] (-1 none) and height [n] of the highest surface at [n, 2]."""
        # A point on the edge of two triangles may miss both by a rounding error.
        point, triangle = self._tree.query(shapely.points(xy), predicate="dwithin", distance=1e-6)
        order = np.argsort(self.corners[triangle, :, 2].mean(1), kind="stable")
        point, triangle = point[order], triangle[order]
        instance, height = np.full(len(xy), -1), np.full(len(xy), np.nan)
        instance[point] = self.owner[triangle]
        height[point] = self.corners[triangle, :, 2].mean(1)
        return instance, height


def _long_edges(faces: np.ndarray, least: float = 1.4) -> np.ndarray:
    """Horizontal edges [n, 2, 2] of triangles [m, 3, 3] that are longer than `least` metres."""
    a, b = faces.reshape(-1, 3), faces[:, [1, 2, 0]].reshape(-1, 3)
    kept = (np.abs(a[:, 2] - b[:, 2]) < 1e-4) & (np.hypot(*(b - a)[:, :2].T) > least)
    return np.stack([a[kept, :2], b[kept, :2]], 1)


def _feet(scene: Scene, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """World points [n, 9, 2] under an object: the middle and the outermost points, eight ways, of what it has within 0.4 m of its lowest point; and that point's height [n]."""
    angles = np.arange(8) * np.pi / 4
    ways = np.stack([np.cos(angles), np.sin(angles)])
    local, base = {}, {}
    for k in np.unique(scene.instances.prototype[rows]):
        v = scene.prototypes[k].vertices.astype(np.float64)
        foot = v[v[:, 2] < v[:, 2].min() + 0.4][:, :2]
        middle = (foot.min(0) + foot.max(0)) / 2
        local[k] = np.vstack([middle, middle + (foot[(foot @ ways).argmax(0)] - middle) * 0.98])
        base[k] = v[:, 2].min()
    points = np.array([local[k] for k in scene.instances.prototype[rows]]).reshape(-1, 9, 2)
    m = scene.transform[rows]
    lowest = np.array([base[k] for k in scene.instances.prototype[rows]]) * scene.instances.scale[rows] + scene.instances.position[rows, 2]
    return np.einsum("nij,nkj->nki", m[:, :2, :2], points) + m[:, None, :2, 3], lowest


def _standing(scene: Scene, surface: _Surface) -> list[Violation]:
    """What every object stands on: never water, vehicles on roads, people on walkable ground, nothing in the air."""
    names = np.array(scene.classes.names)[scene.class_id]
    rows = np.flatnonzero(scene.is_object & ~np.isin(names, RAISED) & ~np.isin(names, BUILT))
    if not len(rows):
        return []
    points, lowest = _feet(scene, rows)
    instance, height = surface.under(points.reshape(-1, 2))
    instance, height = instance.reshape(len(rows), -1), height.reshape(len(rows), -1)
    label = np.where(instance >= 0, np.array(scene.classes.names)[scene.class_id[instance]], "nothing")
    out = []
    for row, under, z, low in zip(rows, label, height, lowest, strict=True):
        if (under == "water").any():
            out.append(Violation("in water", (int(row),), float((under == "water").mean()), f"{_name(scene, row)} stands in water"))
        if names[row] in VEHICLES and (under != "road").any():
            out.append(Violation("vehicle off the road", (int(row),), float((under != "road").mean()), f"{_name(scene, row)} stands on {', '.join(sorted(set(under)))}"))
        if names[row] == "person" and under[0] not in ("pavement", "terrain"):
            out.append(Violation("person off walkable ground", (int(row),), 1.0, f"{_name(scene, row)} stands on {under[0]}"))
        gap = float(np.nanmin(np.abs(low - z))) if np.isfinite(z).any() else np.inf
        if gap > FLOAT_TOLERANCE:
            out.append(Violation("floating", (int(row),), gap, f"{_name(scene, row)} is {gap:.2f} m off the ground"))
    return out


def _alignment(scene: Scene, surface: _Surface) -> list[Violation]:
    """A vehicle runs along a kerb or a marking near it."""
    names = np.array(scene.classes.names)[scene.class_id]
    rows = np.flatnonzero(np.isin(names, VEHICLES))
    if not len(rows) or not len(surface.guides):
        return []
    tree = STRtree(np.asarray(shapely.linestrings(surface.guides)))
    step = surface.guides[:, 1] - surface.guides[:, 0]
    heading = np.arctan2(step[:, 1], step[:, 0])
    centre = shapely.points(scene.box[rows, 0, :2])
    vehicle, guide = tree.query(centre, predicate="dwithin", distance=GUIDE_REACH)
    turn = np.abs((heading[guide] - scene.instances.yaw[rows][vehicle] + np.pi / 2) % np.pi - np.pi / 2)
    best = np.full(len(rows), np.pi / 2)
    np.minimum.at(best, vehicle, turn)
    across = [(int(r), float(b)) for r, b in zip(rows, best, strict=True) if b > ALIGNMENT]
    return [Violation("vehicle across the lane", (r,), b, f"{_name(scene, r)} is turned {np.degrees(b):.0f} degrees from its lane") for r, b in across]


def _window(scene: Scene) -> list[Violation]:
    out = []
    centre, size = scene.box[:, 0, :2], scene.box[:, 1, :2]
    near = (np.abs(centre - scene.size / 2) + np.hypot(*size.T)[:, None] / 2 > scene.size / 2).any(1)
    for row in np.flatnonzero(near & scene.is_object):
        v = scene.prototypes[scene.instances.prototype[row]].vertices.astype(np.float64)
        xy = v @ scene.transform[row][:2, :3].T + scene.transform[row][:2, 3]
        beyond = float(max(-xy.min(), xy.max() - scene.size))
        if beyond > EDGE_TOLERANCE:
            out.append(Violation("outside window", (int(row),), beyond, f"{_name(scene, row)} reaches {beyond:.2f} m over the window's edge"))
    return out


def solid(prototype: Prototype) -> Manifold:
    """The prototype as a solid; corners that only their texture coordinates part are joined."""
    mesh = Mesh(vert_properties=np.array(prototype.vertices, np.float32), tri_verts=np.array(prototype.faces, np.uint32))
    mesh.merge()
    return Manifold(mesh)


def _overlaps(scene: Scene) -> tuple[list[Violation], int]:
    """Exact intersection volumes of all pairs whose oriented boxes meet."""
    rows = np.flatnonzero(scene.is_object)
    if not len(rows):
        return [], 0
    centre, size = scene.box[rows, 0], scene.box[rows, 1]
    c, s = np.cos(scene.instances.yaw[rows].astype(np.float64)), np.sin(scene.instances.yaw[rows].astype(np.float64))
    corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) * size[:, None, :2] / 2
    world = np.stack([corners[..., 0] * c[:, None] - corners[..., 1] * s[:, None], corners[..., 0] * s[:, None] + corners[..., 1] * c[:, None]], -1) + centre[:, None, :2]
    boxes = np.asarray(shapely.polygons(world))
    a, b = STRtree(boxes).query(boxes, predicate="intersects")
    low, high = centre[:, 2] - size[:, 2] / 2, centre[:, 2] + size[:, 2] / 2
    volume = scene.volume[rows]
    meet = (low[a] < high[b]) & (low[b] < high[a]) & ((volume[a] > volume[b]) | ((volume[a] == volume[b]) & (a < b)))
    a, b = a[meet], b[meet]
    solids: dict[int, Manifold] = {}

    def placed(k: int) -> Manifold:
        p = int(scene.instances.prototype[rows[k]])
        if p not in solids:
            solids[p] = solid(scene.prototypes[p])
        return solids[p].transform(scene.transform[rows[k]][:3])

    names = np.array(scene.classes.names)[scene.class_id[rows]]
    out = []
    order = np.argsort(a, kind="stable")
    starts = np.flatnonzero(np.diff(a[order], prepend=-1))
    for group in np.split(order, starts[1:]) if len(order) else []:
        larger = placed(int(a[group[0]]))
        smaller = [placed(int(k)) for k in b[group]]
        # All neighbours at once first: nearly always none of them touches.
        if (larger ^ Manifold.compose(smaller)).volume() < OVERLAP_FLOOR:
            continue
        for k, other in zip(b[group], smaller, strict=True):
            share = (larger ^ other).volume() / max(float(volume[k]), 1e-9)
            if share <= OVERLAP_SHARE:
                continue
            first = int(a[group[0]])
            inside = share > 0.5 and names[first] in BUILT
            pair = (int(rows[first]), int(rows[k]))
            text = f"{_name(scene, pair[1])} lies {'inside' if inside else 'in'} {_name(scene, pair[0])} with {share:.0%} of its volume"
            out.append(Violation("inside building" if inside else "overlap", pair, float(share), text))
    return out, len(a)


def _volumes(scene: Scene) -> list[Violation]:
    """Stated volumes against trimesh's, and every instance's against its class's range."""
    import trimesh

    out = []
    for k, p in enumerate(scene.prototypes):
        rows = np.flatnonzero(scene.instances.prototype == k)
        if not len(rows) or not scene.is_object[rows[0]]:
            continue
        mesh = trimesh.Trimesh(p.vertices.astype(np.float64), p.faces, process=False)
        mesh.merge_vertices(merge_tex=True, merge_norm=True)
        if not mesh.is_watertight:
            out.append(Violation("not watertight", tuple(rows.tolist()), 0.0, f"prototype {p.name} is not watertight"))
        elif abs(mesh.volume - p.volume) > VOLUME_TOLERANCE * max(p.volume, 1e-9):
            out.append(Violation("volume wrong", tuple(rows.tolist()), abs(mesh.volume / p.volume - 1), f"prototype {p.name}: {p.volume:.3f} m3 stated, {mesh.volume:.3f} m3 measured"))
        low, high = scene.classes[p.class_id].volume_m3
        for row in rows[(scene.volume[rows] < low) | (scene.volume[rows] >= high)]:
            out.append(Violation("volume out of range", (int(row),), float(scene.volume[row]), f"{_name(scene, row)}: {scene.volume[row]:.3f} m3 is outside [{low}, {high})"))
    return out


def _materials(scene: Scene) -> list[Violation]:
    from flaneur.city.assets.materials import MATERIALS

    out = [Violation("unknown material", (), 0.0, f"material '{m}' is not in the table") for m in scene.materials if m not in MATERIALS]
    beyond = [p for p in scene.prototypes if len(p.materials) and p.materials.max() >= len(scene.materials)]
    return out + [Violation("unknown material", (), 0.0, f"prototype {p.name} uses material {p.materials.max()} of {len(scene.materials)}") for p in beyond]


def _empty(scene: Scene) -> list[Violation]:
    used = np.bincount(scene.instances.prototype, minlength=len(scene.prototypes))
    out = [Violation("empty", (), 0.0, f"prototype {p.name} has no triangle") for p in scene.prototypes if not len(p.faces)]
    return out + [Violation("empty", (), 0.0, f"prototype {p.name} is placed nowhere") for p, n in zip(scene.prototypes, used, strict=True) if not n]


def _holes(scene: Scene, surface: _Surface) -> list[Violation]:
    at = np.arange(HOLE_STEP / 2, scene.size, HOLE_STEP) + 0.0137  # off any round coordinate, where edges lie
    xy = np.stack(np.meshgrid(at, at), -1).reshape(-1, 2)
    missing = xy[surface.under(xy)[0] < 0]
    return [Violation("hole in the ground", (), 0.0, f"nothing under {x:.1f}, {y:.1f}") for x, y in missing]


def _provenance(scene: Scene) -> list[Violation]:
    out = [Violation("provenance", (), 0.0, f"field '{key}' is missing") for key in ("generator", "source") if not scene.provenance.get(key)]
    if scene.provenance.get("source") == "osm" and "OpenStreetMap" not in scene.licence:
        out.append(Violation("provenance", (), 0.0, "a city from OpenStreetMap without its attribution line"))
    return out


def _connected(graph: CityGraph) -> list[Violation]:
    import networkx

    net = networkx.Graph()
    net.add_nodes_from(j.id for j in graph.junctions)
    net.add_edges_from((s.start, s.end) for s in graph.streets)
    parts = networkx.number_connected_components(net) if len(net) else 1
    return [Violation("unconnected streets", (), float(parts), f"the streets fall into {parts} parts")] if parts > 1 else []
