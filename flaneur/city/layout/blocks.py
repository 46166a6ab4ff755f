"""Blocks: the faces that carriageways and the window's edge enclose, up to the kerb, with a type for each."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import shapely
from shapely.geometry.base import BaseGeometry

from flaneur.city.layout import shapes
from flaneur.city.layout.graph import Block, BlockType, Building, Street

LEAST_AREA = 25.0  # m2: smaller islands become carriageway
_KERB = 1.0  # metres beyond the kerb within which a street still borders a block
_REACH = 45.0  # metres: the widest street across which two blocks are neighbours


@dataclass(frozen=True)
class Zone:
    """Mapped land use or land cover that says what a block is for."""

    type: BlockType
    shape: BaseGeometry


_COMMERCIAL = frozenset(("commercial", "office", "retail", "hotel", "supermarket", "bank", "kiosk", "mall"))
_CIVIC = frozenset((
    "public", "civic", "government", "school", "university", "college", "hospital", "church", "cathedral", "chapel", "mosque", "temple", "synagogue", "train_station", "transportation",
    "kindergarten", "museum", "fire_station", "townhall", "library", "religious", "theatre", "sports_hall", "stadium", "sports_centre",
))  # fmt: skip
_INDUSTRIAL = frozenset(("industrial", "warehouse", "manufacture", "hangar"))
_HOMES = frozenset(("apartments", "house", "residential", "detached", "terrace", "semidetached_house", "bungalow", "dormitory", "cabin", "farm"))
_MINOR = frozenset(("garage", "garages", "shed", "carport", "hut", "roof", "greenhouse", "barn", "farm_auxiliary", "service", "static_caravan"))


def make_blocks(carriageway: BaseGeometry, square: shapely.Polygon, repairs: Counter[str]) -> list[shapely.Polygon]:
    """Faces of the window less the carriageways; islands too small for anything are given to the street."""
    free = shapes.minus(square, carriageway)
    # Opening by 15 cm cuts off hair-thin strips between two kerbs.
    opened = free.buffer(-0.15, join_style="mitre").buffer(0.15, join_style="mitre", mitre_limit=2.0)
    faces = shapes.polygons(shapes.clean(shapes.snapped(shapes.common(opened, free).simplify(0.02))))
    kept = [f for f in faces if f.area >= LEAST_AREA]
    repairs["islands_dropped"] += len(faces) - len(kept)
    return kept


def locate(buildings: Sequence[Building], faces: Sequence[shapely.Polygon]) -> None:
    """Give each building the block it stands on most."""
    tree = shapely.STRtree(faces)
    for b in buildings:
        shape = shapes.from_contract(b.polygon)
        shares = [(faces[int(j)].intersection(shape).area, -int(j)) for j in tree.query(shape)]
        b.block = -max(shares)[1] if shares and max(shares)[0] > 0 else int(tree.nearest(shape))


def describe(
    faces: Sequence[shapely.Polygon],
    streets: Sequence[Street],
    buildings: Sequence[Building] = (),
    zones: Sequence[Zone] = (),
    amenities: Sequence[tuple[shapely.Point, str]] = (),
    place_type: str = "suburb",
    names: Sequence[tuple[BaseGeometry, str]] = (),
) -> list[Block]:
    """Typed blocks with neighbours, bordering streets and a name."""
    lines = [shapely.LineString(s.line) for s in streets]
    bands = [line.buffer(s.width / 2 + _KERB) if s.carriageway else line for line, s in zip(lines, streets, strict=True)]
    street_tree, face_tree = shapely.STRtree(bands), shapely.STRtree(faces)
    touching = [sorted(int(j) for j in street_tree.query(f, predicate="intersects")) for f in faces]
    for k, f in enumerate(faces):
        if not touching[k] and streets:
            touching[k] = [int(street_tree.nearest(f))]
    inside: dict[int, list[Building]] = defaultdict(list)
    for b in buildings:
        inside[b.block].append(b)
    inside_amenities: dict[int, Counter[str]] = defaultdict(Counter)
    for point, amenity in amenities:
        for j in face_tree.query(point, predicate="intersects"):
            inside_amenities[int(j)][amenity] += 1
    zone_tree = shapely.STRtree([z.shape for z in zones])
    name_tree = shapely.STRtree([g for g, _ in names])
    neighbours = _neighbours(faces, streets, touching)
    out = []
    for k, f in enumerate(faces):
        shares: defaultdict[BlockType, float] = defaultdict(float)
        for j in zone_tree.query(f, predicate="intersects"):
            shares[zones[int(j)].type] += zones[int(j)].shape.intersection(f).area / f.area
        kind = block_type(f.area, shares, inside[k], inside_amenities[k], place_type)
        tags = {"building_cover": f"{min(1.0, sum(shapes.from_contract(b.polygon).area for b in inside[k]) / f.area):.2f}"}
        if inside_amenities[k]:
            most = sorted(inside_amenities[k].items(), key=lambda i: (-i[1], i[0]))[:8]
            tags["amenities"] = ", ".join(f"{name} {n}" if n > 1 else name for name, n in most)
        name = _name(f, names, name_tree, [streets[j] for j in touching[k]], lines)
        out.append(Block(id=k, type=kind, polygon=shapes.to_contract(f), neighbours=neighbours[k], streets=touching[k], name=name, tags=tags))
    return out


def _neighbours(faces: Sequence[shapely.Polygon], streets: Sequence[Street], touching: Sequence[Sequence[int]]) -> list[list[int]]:
    """Blocks on the two sides of one street, or that meet."""
    by_street: dict[int, list[int]] = defaultdict(list)
    for k, ids in enumerate(touching):
        for j in ids:
            if streets[j].carriageway and not streets[j].passage:
                by_street[j].append(k)
    out: list[set[int]] = [set() for _ in faces]
    for ids in by_street.values():
        for a in ids:
            out[a].update(b for b in ids if b != a and faces[a].distance(faces[b]) < _REACH)
    tree = shapely.STRtree(faces)
    for a, f in enumerate(faces):
        out[a].update(int(b) for b in tree.query(f, predicate="dwithin", distance=0.5) if b != a)
        if not out[a] and len(faces) > 1:
            out[a].add(min((b for b in range(len(faces)) if b != a), key=lambda b: (faces[a].distance(faces[b]), b)))
    for a, near in enumerate(out):
        for b in near:
            out[b].add(a)
    return [sorted(n) for n in out]


def block_type(area: float, zones: Mapping[BlockType, float], buildings: Sequence[Building], amenities: Counter[str], place_type: str) -> BlockType:
    """What the map says it is for: open land where little is built, else the use of most floor area."""
    footprint = {b.id: shapes.from_contract(b.polygon).area for b in buildings}
    cover = sum(footprint.values()) / area
    if zones.get("water", 0) > 0.6:
        return "water"
    if cover < 0.12:
        for kind in ("parking", "park", "forest", "farmland", "square"):
            if zones.get(kind, 0) > 0.4:
                return kind
    uses: defaultdict[str, float] = defaultdict(float)
    for b in buildings:
        if b.use in _MINOR:
            continue
        floor = footprint[b.id] * b.levels
        use = "commercial" if b.use in _COMMERCIAL else "civic" if b.use in _CIVIC else "industrial" if b.use in _INDUSTRIAL else "residential" if b.use in _HOMES else "unknown"
        uses[use] += floor
    total = sum(uses.values())
    built = {k: zones.get(k, 0) for k in ("commercial", "civic", "industrial", "residential")}
    if total == 0 or cover < 0.03:
        open_land = max(("park", "forest", "farmland", "square", "parking", "water"), key=lambda k: zones.get(k, 0))
        if zones.get(open_land, 0) > 0.15 or (zones.get(open_land, 0) > 0 and max(built.values()) < 0.3):
            return open_land
        if max(built.values()) > 0.3:
            return max(built, key=lambda k: built[k])  # type: ignore[return-value]
        return _unmapped(area, place_type)
    shops = sum(amenities.values())
    for kind in ("civic", "industrial", "commercial"):
        if uses[kind] > 0.5 * total or built[kind] > 0.5:
            return kind  # type: ignore[return-value]
    density = shops / (area / 10_000)
    if uses["residential"] > 0.6 * total and density < 12:
        return "residential"
    if density > 25 and place_type in ("cbd", "town"):
        return "commercial" if uses["residential"] < 0.2 * total else "mixed"
    if density > 4 or uses["commercial"] > 0.2 * total:
        return "mixed"
    if place_type == "cbd" and uses["residential"] < 0.3 * total:
        return "mixed"
    return "residential"


def _unmapped(area: float, place_type: str) -> BlockType:
    """Nothing is mapped here: verges and islands are green, larger land is what the place is like."""
    if area < 1500:
        return "park" if place_type != "cbd" else "square"
    return {"cbd": "square", "town": "park", "suburb": "park", "rural": "farmland"}[place_type]  # type: ignore[return-value]


def _name(face: shapely.Polygon, names: Sequence[tuple[BaseGeometry, str]], tree: shapely.STRtree, streets: Sequence[Street], lines: Sequence[shapely.LineString]) -> str:
    """The mapped name of the place, else of the street with the longest frontage."""
    best = max(((names[int(j)][0].intersection(face).area, names[int(j)][1]) for j in tree.query(face, predicate="intersects")), default=(0.0, ""))
    if best[0] > 0.35 * face.area:
        return best[1]
    frontage: defaultdict[str, float] = defaultdict(float)
    near = face.buffer(12.0)
    for s in streets:
        if s.name:
            frontage[s.name] += lines[s.id].intersection(near).length
    return max(frontage, key=lambda n: (frontage[n], n)) if frontage else ""
