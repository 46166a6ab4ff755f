"""Mapped features: the trees, lamps, benches and barriers that the street map knows stand where it says, with their OSM ids."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import shapely
from shapely import STRtree
from shapely.ops import nearest_points

from flaneur.city.grammar.functions import FACING, Asset
from flaneur.city.grammar.ground import BLOCK_LEVEL
from flaneur.city.grammar.lines import clean_line
from flaneur.city.grammar.placer import Places
from flaneur.city.grammar.scatter import Stock, generator, quantise
from flaneur.city.grammar.sites import Sites
from flaneur.city.layout.graph import CityGraph, OsmRef

FEATURE_CLASS = {
    "tree": "tree", "shrub": "shrub", "street_lamp": "street_lamp", "bench": "bench",
    "traffic_signals": "traffic_light", "fire_hydrant": "fire_hydrant", "waste_basket": "waste_bin", "waste_disposal": "waste_bin",
    "recycling": "waste_bin", "post_box": "mailbox", "bollard": "bollard", "bicycle_parking": "bicycle", "motorcycle_parking": "motorcycle", "stop_sign": "traffic_sign", "give_way": "traffic_sign",
    "bus_stop": "traffic_sign", "advertising_column": "kiosk",
}  # fmt: skip
BARRIER_CLASS = {"fence": "fence", "wall": "fence", "hedge": "shrub"}
FARTHEST_MOVE = 9.0  # metres from the mapped point
OSM_TYPES = {"node": 1, "way": 2, "relation": 3}
_TRIES = 8


def _reference(osm: OsmRef | None) -> tuple[int, int]:
    return (osm.id, OSM_TYPES[osm.type]) if osm else (0, 0)


def place_mapped(graph: CityGraph, sites: Sites, stock: Stock, blocks: STRtree, seed: int) -> list[Places]:
    out = []
    for name in sorted(set(FEATURE_CLASS.values())):
        features = [f for f in graph.features if FEATURE_CLASS.get(f.kind) == name]
        asset = stock.asset(name)
        if features and asset is not None:
            at = np.array([f.at for f in features])
            osm = np.array([_reference(f.osm) for f in features], np.int64)
            out += _place_points(at, osm, asset, sites, stock, blocks, generator(seed, "mapped", name))
    return out + _place_barriers(graph, sites, stock, blocks, generator(seed, "mapped barriers"))


def _place_points(at: np.ndarray, osm: np.ndarray, asset: Asset, sites: Sites, stock: Stock, blocks: STRtree, rng: np.random.Generator) -> list[Places]:
    """Each at its point, or where something is in the way a little beside it and smaller."""
    order = np.argsort(asset.reach.max(1), kind="stable")
    at, yaw = _onto_walkable(at, sites, float(asset.reach.max(1).min()) + 0.05)
    variant, scale = asset.draw(rng, len(at)), None
    left, out = np.arange(len(at)), []
    toward = -np.pi / 2 if FACING.get(asset.class_name) == "any" else 0.0
    for attempt in range(_TRIES):
        angle, reach = rng.random(len(left)) * 2 * np.pi, rng.random(len(left)) * attempt * 0.35
        xy = at[left] + np.stack([np.cos(angle), np.sin(angle)], 1) * reach[:, None]
        variant[left] = variant[left] if attempt < 2 else order[: max(1, len(order) // 2)][rng.integers(0, max(1, len(order) // 2), len(left))]
        scale = stock.scales(asset, variant[left], rng)
        n = len(left)
        places = quantise(Places(
            asset.rows[variant[left]], np.column_stack([xy, np.full(n, BLOCK_LEVEL)]), yaw[left] + toward, scale,
            _block_of(xy, blocks), np.full(n, -1, np.int16), osm[left, 0], osm[left, 1].astype(np.uint8),
        ))  # fmt: skip
        chosen = stock.placer.place(places, sites.walkable)
        out.append(places.take(chosen))
        left = np.delete(left, chosen)
        if not len(left):
            break
    return out


def _onto_walkable(at: np.ndarray, sites: Sites, inside: float) -> tuple[np.ndarray, np.ndarray]:
    """Points moved off the carriageway or the water, at most FARTHEST_MOVE; and the yaw towards the nearest carriageway."""
    region = sites.walkable.buffer(-inside)
    out, yaw = at.copy(), np.zeros(len(at))
    outside = ~shapely.covers(region, shapely.points(at))
    for k in np.flatnonzero(outside):
        near = nearest_points(region, shapely.Point(at[k]))[0] if not region.is_empty else shapely.Point(at[k])
        if np.hypot(near.x - at[k, 0], near.y - at[k, 1]) <= FARTHEST_MOVE:
            out[k] = near.x, near.y
    if not sites.carriageway.is_empty:
        for k, p in enumerate(map(shapely.Point, out)):
            road = nearest_points(sites.carriageway, p)[0]
            yaw[k] = np.arctan2(road.y - p.y, road.x - p.x)
    return out, yaw


def _block_of(xy: np.ndarray, blocks: STRtree) -> np.ndarray:  # [n] i32
    point, block = blocks.query(shapely.points(xy), predicate="intersects")
    out = np.full(len(xy), -1, np.int32)
    out[point] = block
    return out


def _place_barriers(graph: CityGraph, sites: Sites, stock: Stock, blocks: STRtree, rng: np.random.Generator) -> list[Places]:
    """Fences end to end along mapped lines, one kind per line."""
    rows: dict[str, list[tuple[int, float, float, float, int, int]]] = {"fence": [], "shrub": []}
    for barrier in graph.barriers:
        name = BARRIER_CLASS.get(barrier.kind, "")
        asset = stock.asset(name)
        if asset is None or len(barrier.line) < 2:
            continue
        variant = _barrier_variant(barrier.kind, asset, stock, rng)
        piece = 2 * float(asset.reach[variant].max()) + 0.06
        turn = 0.0 if asset.reach[variant, 0] >= asset.reach[variant, 1] else np.pi / 2
        line = clean_line(np.array(barrier.line), 0.5)
        for a, b in pairwise(line):
            length = float(np.hypot(*(b - a)))
            for k in range(int(length // piece)):
                x, y = a + (b - a) * ((k + 0.5) * piece / length)
                rows[name].append((int(asset.rows[variant]), x, y, float(np.arctan2(*(b - a)[::-1])) + turn, *_reference(barrier.osm)))
    out = []
    for found in rows.values():
        if not found:
            continue
        table = np.array([r[:4] for r in found])
        n = len(table)
        places = quantise(Places(
            table[:, 0].astype(np.int32), np.column_stack([table[:, 1:3], np.full(n, BLOCK_LEVEL)]), table[:, 3], np.ones(n), _block_of(table[:, 1:3], blocks), np.full(n, -1, np.int16),
            np.array([r[4] for r in found], np.int64), np.array([r[5] for r in found], np.uint8),
        ))  # fmt: skip
        out.append(places.take(stock.placer.place(places, sites.walkable)))
    return out


def _barrier_variant(kind: str, asset: Asset, stock: Stock, rng: np.random.Generator) -> int:
    """The variant whose fine name says what the map says, else any."""
    word = "wall" if "wall" in kind else kind
    named = [k for k, row in enumerate(asset.rows) if word in stock.prototypes[row].fine_name]
    return int(rng.choice(named)) if named else int(asset.draw(rng, 1)[0])
