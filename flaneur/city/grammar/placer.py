"""The placer: takes proposed places in order and keeps those that fit, so that no two solids meet.

An object is its convex outline in three bands of height (below 2.5 m, to 4.5 m, above): a car may stand under the
crown of a tree, a lorry may not touch it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import shapely
from shapely import STRtree
from shapely.geometry.base import BaseGeometry

from flaneur.city.scene import Prototype

BANDS = ((0.0, 2.5), (2.5, 4.5), (4.5, 400.0))  # metres above the object's foot
CLEARANCE = 0.02  # metres that outlines grow by
_DIRECTIONS = np.stack([np.cos(np.arange(8) * np.pi / 4), np.sin(np.arange(8) * np.pi / 4)], 1)  # [8, 2]


@dataclass
class Places:
    """Proposed or accepted places, best first; one row each."""

    prototype: np.ndarray  # [n] i32, row in the catalogue's prototypes
    position: np.ndarray  # [n, 3] f64 metres
    yaw: np.ndarray  # [n] f64 radians
    scale: np.ndarray  # [n] f64
    block: np.ndarray  # [n] i32, row in CityGraph.blocks or -1
    rule: np.ndarray  # [n] i16, row in the library's rules or -1
    osm_id: np.ndarray  # [n] i64
    osm_type: np.ndarray  # [n] u8

    def __len__(self) -> int:
        return len(self.yaw)

    def take(self, rows: np.ndarray) -> Places:
        return Places(*(getattr(self, f.name)[rows] for f in fields(Places)))

    @classmethod
    def none(cls) -> Places:
        return cls(np.zeros(0, np.int32), np.zeros((0, 3)), np.zeros(0), np.zeros(0), np.zeros(0, np.int32), np.zeros(0, np.int16), np.zeros(0, np.int64), np.zeros(0, np.uint8))

    @classmethod
    def join(cls, parts: list[Places]) -> Places:
        return cls(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Places)))


def band_supports(prototype: Prototype) -> tuple[np.ndarray, np.ndarray]:
    """Support distances [3, 8] of the mesh in each band (-inf where the band is empty) and heights [3, 2] of what lies in it."""
    corners = prototype.vertices.astype(np.float64)[prototype.faces]  # [F, 3, 3]
    a, b = corners.reshape(-1, 3), corners[:, [1, 2, 0]].reshape(-1, 3)
    supports, heights = np.full((3, 8), -np.inf), np.zeros((3, 2))
    for k, (low, high) in enumerate(BANDS):
        # Clip every edge to the band; an outline is convex, so the clipped end points carry it.
        rise = b[:, 2] - a[:, 2]
        safe = np.where(np.abs(rise) < 1e-9, 1.0, rise)
        flat = np.abs(rise) < 1e-9
        t0, t1 = (low - a[:, 2]) / safe, (high - a[:, 2]) / safe
        start, end = np.maximum(np.minimum(t0, t1), 0.0), np.minimum(np.maximum(t0, t1), 1.0)
        start, end = np.where(flat, 0.0, start), np.where(flat, 1.0, end)
        kept = np.where(flat, (a[:, 2] >= low) & (a[:, 2] <= high), start < end - 1e-9)
        if kept.any():
            points = np.concatenate([a[kept] + (b - a)[kept] * t[kept, None] for t in (start, end)])
            supports[k] = (points[:, :2] @ _DIRECTIONS.T).max(0)
            heights[k] = points[:, 2].min(), points[:, 2].max()
    return supports, heights


def _outline(supports: np.ndarray) -> np.ndarray:
    """Corners [n, 8, 2] of the octagons with support distances [n, 8]."""
    nxt = np.roll(supports, -1, 1)
    n0, n1 = _DIRECTIONS, np.roll(_DIRECTIONS, -1, 0)
    det = n0[:, 0] * n1[:, 1] - n0[:, 1] * n1[:, 0]
    x = (supports * n1[:, 1] - nxt * n0[:, 1]) / det
    y = (nxt * n0[:, 0] - supports * n1[:, 0]) / det
    return np.stack([x, y], -1)


class Placer:
    def __init__(self, prototypes: list[Prototype], size: float) -> None:
        measured = [band_supports(p) for p in prototypes]
        self.supports = np.array([m[0] for m in measured]).reshape(-1, 3, 8)
        self.heights = np.array([m[1] for m in measured]).reshape(-1, 3, 2)
        # Half extents of the lowest band: what stands on the ground.
        self.reach = np.maximum(self.supports[:, :, [0, 2]], self.supports[:, :, [4, 6]])  # [P, 3, 2] half length, half width
        self.size = size
        self._shapes: list[np.ndarray] = []
        self._low: list[np.ndarray] = []
        self._high: list[np.ndarray] = []
        self._solids = STRtree([])
        self._solid_low = self._solid_high = np.zeros(0)

    def add_solids(self, shapes: list[BaseGeometry], low: list[float], high: list[float]) -> None:
        """What stands already and is not a prototype: buildings from the ground to their top, awnings, balconies."""
        self._solids, self._solid_low, self._solid_high = STRtree(shapes), np.array(low), np.array(high)

    def outlines(self, places: Places, clearance: float = CLEARANCE) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """World polygons [m] of all non-empty bands with their place [m], band [m], low [m] and high [m]."""
        supports = self.supports[places.prototype] * places.scale[:, None, None]
        owner, band = np.nonzero(np.isfinite(supports[..., 0]))
        local = _outline(supports[owner, band] + clearance)
        c, s = np.cos(places.yaw[owner])[:, None], np.sin(places.yaw[owner])[:, None]
        world = np.stack([local[..., 0] * c - local[..., 1] * s, local[..., 0] * s + local[..., 1] * c], -1) + places.position[owner, None, :2]
        heights = self.heights[places.prototype[owner], band] * places.scale[owner, None] + places.position[owner, 2:]
        return np.asarray(shapely.polygons(world)), owner, band, heights[:, 0], heights[:, 1]

    def place(self, places: Places, region: BaseGeometry | np.ndarray | None = None, limit: np.ndarray | None = None, solids: bool = True) -> np.ndarray:
        """Rows [k] of `places` that are kept, in order. `region` (one for all, or one per place) must cover the foot; `limit` [n] caps the number per block."""
        if not len(places):
            return np.zeros(0, int)
        shapes, owner, band, low, high = self.outlines(places)
        box = shapely.bounds(shapes)
        bad = (box[:, :2].min(1) < 0) | (box[:, 2:].max(1) > self.size)
        if region is not None:
            foot = band == 0
            ground = region if isinstance(region, BaseGeometry) else region[owner[foot]]
            shapely.prepare(ground)
            bad[foot] |= ~shapely.covers(ground, shapes[foot])
        kept = np.ones(len(places), bool)
        kept[owner[bad]] = False
        if solids and len(self._solids.geometries):
            hit, solid = self._solids.query(shapes, predicate="intersects")
            kept[owner[hit[(low[hit] < self._solid_high[solid]) & (self._solid_low[solid] < high[hit])]]] = False
        if self._shapes:
            standing = np.concatenate(self._shapes)
            at_low, at_high = np.concatenate(self._low), np.concatenate(self._high)
            hit, other = STRtree(standing).query(shapes, predicate="intersects")
            kept[owner[hit[(low[hit] < at_high[other]) & (at_low[other] < high[hit])]]] = False
        chosen = self._first_come(shapes, owner, low, high, kept)
        if limit is not None:
            chosen = _capped(chosen, places.block, limit)
        mine = np.isin(owner, chosen)
        self._shapes.append(shapes[mine])
        self._low.append(low[mine])
        self._high.append(high[mine])
        return chosen

    @staticmethod
    def _first_come(shapes: np.ndarray, owner: np.ndarray, low: np.ndarray, high: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """Of the places still kept, those that meet no earlier one that is kept."""
        rows = np.flatnonzero(kept[owner])
        a, b = STRtree(shapes[rows]).query(shapes[rows], predicate="intersects")
        a, b = rows[a], rows[b]
        meet = (owner[a] < owner[b]) & (low[a] < high[b]) & (low[b] < high[a])
        earlier, later = owner[a[meet]], owner[b[meet]]
        alive = kept.copy()
        for k in np.lexsort((earlier, later)):
            if alive[earlier[k]]:
                alive[later[k]] = False
        return np.flatnonzero(alive)


def _capped(chosen: np.ndarray, block: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """The first `limit` chosen rows of every block."""
    order = np.argsort(block[chosen], kind="stable")
    sorted_block = block[chosen][order]
    rank = np.empty(len(chosen), int)
    rank[order] = np.arange(len(chosen)) - np.searchsorted(sorted_block, sorted_block)
    return chosen[rank < limit[chosen]]
