"""Buildings of a window: footprints as mapped, overlaps resolved, heights from tags, levels or a prior."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from flaneur.city.layout import shapes
from flaneur.city.layout import tags as values
from flaneur.city.layout.graph import Building, BuildingPart, OsmRef
from flaneur.city.layout.heights import HeightModel, Profile, tagged_profile
from flaneur.city.layout.osm import Shape
from flaneur.city.layout.window import Window

LEAST_AREA = 1.8  # m2: smaller pieces are no buildings
_LEAST_PIECE, _PIECE_SHARE = 1.0, 0.02  # m2 and share of what the window shows of a building: such pieces of a larger one stay
_TOLERANCE = 0.05  # metres of outline simplification
_MOST_VERTICES = 400


@dataclass
class Footprint:
    """A mapped building before it becomes one or more `Building`s."""

    osm: OsmRef
    tags: dict[str, str]
    shape: BaseGeometry  # metres, clipped to the window
    full_area: float  # m2 before clipping
    clipped: bool
    profile: Profile
    parts: list[tuple[shapely.Polygon, Profile, dict[str, str]]] = field(default_factory=list)

    @property
    def lowest(self) -> float:
        """Metres above the ground at which it starts."""
        return min([self.profile.min_height] if not self.parts else [p.min_height for _, p, _ in self.parts])

    @property
    def rank(self) -> tuple:
        """Who wins an overlap: the smaller, then the older id."""
        return (self.shape.area, self.osm.id)


def metric(shape: Shape, window: Window) -> BaseGeometry:
    """The shape in metres of the window's frame, valid, holes cut out."""
    outer = shapes.union(_ring_area(window.project(r)) for r in shape.outers)
    if shape.inners:
        outer = shapes.minus(outer, shapes.union(_ring_area(window.project(r)) for r in shape.inners))
    return outer


def _ring_area(xy: np.ndarray) -> BaseGeometry:
    return shapes.clean(shapely.Polygon(np.round(xy, 3)))


def footprints(near: list[Shape], window: Window, repairs: Counter[str]) -> list[Footprint]:
    """Mapped buildings within the window: disjoint where they stand on the same ground, with their parts."""
    found, parts = [], []
    for shape in near:
        tags = shape.tags
        key = "building" if tags.get("building", "no") != "no" else "building:part" if tags.get("building:part", "no") != "no" else None
        if key is None or tags.get("building") == "construction" or values.underground(tags):
            continue
        whole = metric(shape, window)
        if any(not shapely.Polygon(window.project(r)).is_valid for r in shape.outers):
            repairs["polygons_mended"] += 1
        if whole.is_empty or whole.area < 0.5:
            repairs["polygons_without_area"] += 1
            continue
        inside = shapes.common(whole, window.square)
        inside = _simplified(inside, repairs)
        inside = shapes.union(_pieces(inside) if key == "building" else shapes.polygons(inside, 1.0))
        if inside.is_empty:
            repairs["building_slivers_dropped"] += key == "building"
            continue
        profile = tagged_profile(tags, repairs)
        clipped = whole.difference(window.square).area > 0.01
        if key == "building":
            found.append(Footprint(OsmRef.model_validate({"type": shape.type, "id": shape.id}), tags, inside, whole.area, clipped, profile))
        else:
            parts += [(p, profile, tags) for p in shapes.polygons(inside, 1.0)]
    found = _disjoint(sorted(found, key=lambda f: f.rank), repairs)
    _attach(found, parts, repairs)
    return sorted(found, key=lambda f: (f.osm.type, f.osm.id))


def _pieces(shape: BaseGeometry) -> list[shapely.Polygon]:
    """The polygons of a building cut by the window's edge, without the slivers that nobody would miss."""
    least = min(LEAST_AREA, max(_LEAST_PIECE, _PIECE_SHARE * shape.area)) if shape.area > 2 * LEAST_AREA else LEAST_AREA
    return shapes.polygons(shape, least)


def _simplified(shape: BaseGeometry, repairs: Counter[str]) -> BaseGeometry:
    simple = shape.simplify(_TOLERANCE)
    tolerance = _TOLERANCE
    while shapely.get_num_coordinates(simple) > _MOST_VERTICES and tolerance < 2.0:
        tolerance *= 1.6
        coarser = shape.simplify(tolerance)
        if not coarser.is_valid or shape.intersection(coarser).area < 0.985 * shape.union(coarser).area:
            break
        simple = coarser
    repairs["footprints_simplified"] += tolerance > _TOLERANCE
    return shapes.clean(shapes.snapped(simple))


def _disjoint(found: list[Footprint], repairs: Counter[str]) -> list[Footprint]:
    """Overlaps go to the smaller building; of two equal outlines the one that tells more stays."""
    kept: list[Footprint] = []
    dropped: set[int] = set()
    tree = shapely.STRtree([f.shape for f in found])
    for i, f in enumerate(found):
        if i in dropped:
            continue
        for j in sorted(int(j) for j in tree.query(f.shape)):
            other = found[j]
            if j <= i or j in dropped:
                continue
            common = f.shape.intersection(other.shape).area
            if common < 0.005:
                continue
            if common > 0.95 * (f.shape.area + other.shape.area - common):
                poorer, richer = (i, j) if len(f.tags) < len(other.tags) else (j, i)
                found[richer].clipped |= found[poorer].clipped
                dropped.add(poorer)
                repairs["duplicate_buildings_dropped"] += 1
                if poorer == i:
                    break
                continue
            if f.profile.above(other.profile) or other.profile.above(f.profile):
                continue
            rest = shapes.union(_pieces(shapes.minus(other.shape, f.shape)))
            repairs["building_overlaps_resolved"] += common > 0.5
            if rest.is_empty:
                dropped.add(j)
                repairs["duplicate_buildings_dropped"] += 1
            else:
                other.shape = rest
    kept = [f for i, f in enumerate(found) if i not in dropped]
    return kept


def _attach(found: list[Footprint], parts: list[tuple[shapely.Polygon, Profile, dict[str, str]]], repairs: Counter[str]) -> None:
    """Give each part to the building it lies in most."""
    if not found:
        return
    tree = shapely.STRtree([f.shape for f in found])
    for polygon, profile, tags in sorted(parts, key=lambda p: (p[0].bounds, p[0].area)):
        shares = [(found[int(j)].shape.intersection(polygon).area, -int(j)) for j in tree.query(polygon)]
        best = max(shares, default=(0.0, 0))
        if best[0] < 0.3 * polygon.area:
            repairs["parts_without_building"] += 1
            continue
        owner = found[-best[1]]
        owner.parts += [(p, profile, tags) for p in shapes.polygons(shapes.common(owner.shape, polygon), 1.0)]


def build(found: list[Footprint], model: HeightModel) -> list[Building]:
    """Contract buildings with every height decided; `block` is set by the blocks."""
    out: list[Building] = []
    for f in found:
        for polygon in _pieces(f.shape):
            decided = model.decide(f.osm, f.tags, f.profile, polygon)
            inner = [(p, profile, tags) for whole, profile, tags in f.parts for p in shapes.polygons(shapes.common(whole, polygon), 1.0)]
            parts = _stacked(polygon, inner, decided, model, f.osm) if inner else []
            height = max([decided.height if not parts else 0.0, *(p.height for p in parts)])
            out.append(Building(
                id=len(out), block=0, polygon=shapes.to_contract(polygon), height=round(height, 2), min_height=round(decided.min_height if not parts else min(p.min_height for p in parts), 2),
                levels=decided.levels, roof_shape=decided.roof_shape, roof_height=decided.roof_height, height_source=decided.source, use=f.tags.get("building", "yes")[:40],
                name=" ".join((f.tags.get("name") or f.tags.get("addr:housename") or "").split()), colour=f.tags.get("building:colour", ""), parts=parts, clipped=f.clipped, osm=f.osm,
            ))  # fmt: skip
    return out


def _stacked(polygon: shapely.Polygon, parts: list[tuple[shapely.Polygon, Profile, dict[str, str]]], whole, model: HeightModel, osm: OsmRef) -> list[BuildingPart]:
    """Parts that fill the footprint and share no volume: the taller wins the ground, what hangs over rests on what is below."""
    decided = [(p, model.decide_part(osm, tags, profile, whole, p)) for p, profile, tags in parts]
    grounded = [d.height for _, d in decided if d.min_height < 0.5]
    rest = shapes.minus(polygon, shapes.union(p for p, d in decided if d.min_height < 0.5))
    filler = min([whole.height, *grounded])
    queue = sorted(((d.height, d.min_height, p, d.roof_shape, d.roof_height) for p, d in decided), key=lambda q: (-q[0], q[1], q[2].bounds))
    hanging = [p for p, d in decided if d.min_height >= 0.5]
    for p in shapes.polygons(rest, 1.0):
        # Under a hanging part the ground stays free unless hardly anything is on the ground at all.
        free = shapes.minus(p, shapes.union(hanging)) if grounded else p
        queue += [(filler if grounded or not hanging else min(filler, min(d.min_height for _, d in decided)), 0.0, q, "flat", 0.0) for q in shapes.polygons(free, 1.0)]
    out: list[tuple[float, float, shapely.Polygon, str, float]] = []
    for height, low, shape, roof, roof_height in queue:
        left: BaseGeometry = shape
        for top, bottom, placed, _, _ in out:
            if bottom < height and low < top:  # the vertical extents meet
                left = shapes.minus(left, placed)
        out += [(height, low, q, roof, roof_height) for q in shapes.polygons(left, 1.0)]
    return [BuildingPart(polygon=shapes.to_contract(p), min_height=round(low, 2), height=round(h, 2), roof_shape=roof, roof_height=round(rh, 2)) for h, low, p, roof, rh in out if h - low > 0.5]
