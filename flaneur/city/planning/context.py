"""What a planner knows of a block: size, land use, what stands there, names, and what lies around it."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import shapely
from shapely.geometry.base import BaseGeometry

from flaneur.city.layout.graph import CityGraph, Polygon

_PLAIN_TAGS = ("landuse", "leisure", "natural", "amenity", "shop", "tourism", "man_made", "historic", "building", "railway", "highway")


@dataclass(frozen=True)
class BlockContext:
    id: int
    type: str
    area: float  # m2
    built_share: float
    buildings: int
    lots: int
    mean_height: float  # metres, of mapped buildings, by footprint; 0 without any
    uses: dict[str, int]  # OSM building values, most frequent first
    land: tuple[str, ...]  # kinds of mapped areas in it
    tags: dict[str, str]
    name: str
    street_names: tuple[str, ...]
    busiest_street: str  # OSM highway value of the widest
    building_names: tuple[str, ...]
    neighbours: tuple[tuple[int, str], ...]  # (block id, type)

    @property
    def words(self) -> frozenset[str]:
        """Everything the map says in words, lower case: what a rule's hints are looked up in."""
        text = " ".join([self.name, *self.street_names, *self.building_names, *self.uses, *self.land, *self.tags.values()])
        words = re.findall(r"[^\W\d_]+", text.replace("_", " ").lower())
        return frozenset(words) | frozenset(" ".join(pair) for pair in itertools.pairwise(words))

    def as_json(self) -> dict[str, Any]:
        """What a language model is told, without empty fields."""
        facts = {
            "block": self.id, "block_type": self.type, "area_m2": round(self.area), "built_share": round(self.built_share, 2),
            "buildings": self.buildings, "lots": self.lots, "mean_height_m": round(self.mean_height, 1), "uses": self.uses, "land": list(self.land),
            "tags": self.tags, "name": self.name, "streets": list(self.street_names), "street_class": self.busiest_street,
            "building_names": list(self.building_names), "neighbours": [{"block": i, "block_type": t} for i, t in self.neighbours],
        }  # fmt: skip
        return {k: v for k, v in facts.items() if v not in ("", [], {}, 0, 0.0) or k == "block"}


def shape(polygon: Polygon) -> BaseGeometry:
    """The polygon as shapely has it, valid even where the map's is not."""
    if len(polygon.exterior) < 3:
        return shapely.Polygon()
    made = shapely.Polygon(polygon.exterior, [hole for hole in polygon.holes if len(hole) >= 3])
    return made if made.is_valid else shapely.make_valid(made)


def block_contexts(graph: CityGraph) -> list[BlockContext]:
    """One context per block, in the graph's order."""
    streets = {s.id: s for s in graph.streets}
    types = {b.id: b.type for b in graph.blocks}
    areas = [(a, shape(a.polygon)) for a in graph.areas]
    contexts = []
    for block in graph.blocks:
        outline = shape(block.polygon)
        buildings = [b for b in graph.buildings if b.block == block.id]
        footprints = [shape(b.polygon).area for b in buildings]
        built = sum(footprints)
        bordering = [streets[i] for i in block.streets if i in streets]
        driven = [s for s in bordering if s.carriageway]
        uses = Counter(b.use for b in buildings if b.use not in ("", "yes"))
        land = sorted({a.kind for a, s in areas if outline.intersects(s) and outline.intersection(s).area > 0.05 * outline.area})
        contexts.append(
            BlockContext(
                id=block.id,
                type=block.type,
                area=outline.area,
                built_share=min(1.0, built / outline.area) if outline.area > 0 else 0.0,
                buildings=len(buildings),
                lots=sum(lot.block == block.id for lot in graph.lots),
                mean_height=sum(b.height * f for b, f in zip(buildings, footprints, strict=True)) / built if built > 0 else 0.0,
                uses=dict(sorted(uses.items(), key=lambda item: (-item[1], item[0]))[:4]),
                land=tuple(land),
                tags={k: block.tags[k] for k in _PLAIN_TAGS if k in block.tags},
                name=block.name,
                street_names=tuple(sorted({s.name for s in bordering if s.name}))[:6],
                busiest_street=max(driven, key=lambda s: (s.width, s.id)).kind if driven else "",
                building_names=tuple(sorted({b.name for b in buildings if b.name}))[:6],
                neighbours=tuple((i, types[i]) for i in sorted(set(block.neighbours)) if i in types),
            )
        )
    return contexts
