"""What each wall looks at: a neighbour's wall, a street, a courtyard or a garden."""

from __future__ import annotations

import numpy as np
import shapely
from shapely.geometry import LineString, MultiLineString, Polygon

from flaneur.city.grammar.masses import MassPlan
from flaneur.city.layout.graph import CityGraph

PARTY_GAP = 0.6  # metres: a neighbour this near leaves no room for windows
FRONT_REACH = 16.0  # metres from the kerb within which a wall faces the street
_WALKED = ("pedestrian", "living_street")


def between_masses(plans: list[MassPlan], kinds: list[list[list[str]]]) -> list[list[list[str]]]:
    """Walls against another mass of the same building: party where it hides them whole, abutting where they rise above it."""
    if len(plans) == 1:
        return kinds
    out = []
    for k, (plan, rings) in enumerate(zip(plans, kinds, strict=True)):
        others = [p for j, p in enumerate(plans) if j != k and p.low < plan.low + 1.0]
        rows = []
        for ring, row in zip((plan.polygon.exterior, *plan.polygon.interiors), rings, strict=True):
            xy = np.asarray(ring.coords)
            along = np.diff(xy, axis=0)
            along /= np.maximum(np.hypot(*along.T), 1e-9)[:, None]
            points = shapely.points((xy[:-1] + xy[1:]) / 2 + 0.3 * np.stack([along[:, 1], -along[:, 0]], 1))
            height = np.max([np.where(shapely.contains_properly(p.polygon, points), p.height, 0.0) for p in others], axis=0, initial=0.0) if others else np.zeros(len(along))
            rows.append([kind if h == 0.0 else "party" if h >= plan.height - 0.5 else "abutting" for kind, h in zip(row, np.broadcast_to(height, len(row)), strict=True)])
        out.append(rows)
    return out


class Surroundings:
    """Streets and neighbours of a window, asked for many walls at once."""

    def __init__(self, graph: CityGraph, footprints: list[Polygon]) -> None:
        streets = [s for s in graph.streets if s.carriageway or s.kind in _WALKED] or list(graph.streets)
        self.lines = [LineString(s.line) for s in streets]
        self.half = np.array([s.width / 2 for s in streets])
        self.by_id = {s.id: line for s, line in zip(streets, self.lines, strict=True)}
        self.streets = shapely.STRtree(self.lines)
        self.footprints = shapely.STRtree(footprints)

    def kerb_distance(self, points: np.ndarray) -> np.ndarray:  # [n, 2] -> [n] metres
        if not self.lines or not len(points):
            return np.full(len(points), np.inf)
        (_, tree_index), distance = self.streets.query_nearest(shapely.points(points), return_distance=True, all_matches=False)
        return distance - self.half[tree_index]

    def kinds(self, polygons: list[Polygon], owner: list[int]) -> list[list[list[str]]]:
        """Per polygon, ring and edge: front, side, court or party. `owner` is the footprint that a polygon belongs to."""
        starts, ends, own, inner = [], [], [], []
        shape: list[list[int]] = []
        for polygon, k in zip(polygons, owner, strict=True):
            shape.append([])
            for r, ring in enumerate((polygon.exterior, *polygon.interiors)):
                xy = np.asarray(ring.coords)
                starts.append(xy[:-1])
                ends.append(xy[1:])
                own += [k] * (len(xy) - 1)
                inner += [r > 0] * (len(xy) - 1)
                shape[-1].append(len(xy) - 1)
        if not starts:
            return []
        a, b = np.concatenate(starts), np.concatenate(ends)
        along = (b - a) / np.maximum(np.hypot(*(b - a).T), 1e-9)[:, None]
        out = np.stack([along[:, 1], -along[:, 0]], 1)
        middle = (a + b) / 2
        party = self._inside(middle + PARTY_GAP * out, np.array(own))
        blocked = self._inside(middle + 3.0 * out, np.array(own))
        here, ahead = self.kerb_distance(middle), self.kerb_distance(middle + 4.0 * out)
        front = (here < FRONT_REACH) & (ahead < here - 1.5) & ~blocked
        kinds = np.where(party, "party", np.where(inner, "court", np.where(front, "front", "side"))).tolist()
        result, at = [], 0
        for counts in shape:
            rings = []
            for n in counts:
                rings.append(kinds[at : at + n])
                at += n
            result.append(rings)
        return result

    def _inside(self, points: np.ndarray, own: np.ndarray) -> np.ndarray:  # [n] bool: in a footprint other than the own
        hit = np.zeros(len(points), bool)
        which, footprint = self.footprints.query(shapely.points(points), predicate="within")
        hit[which[footprint != own[which]]] = True
        return hit

    def fronts(self, lot: Polygon, street: int | None) -> tuple[LineString, MultiLineString]:
        """The side of a lot towards its street (lot on its left), and all sides that face streets."""
        ring = np.asarray(shapely.simplify(lot, 0.3).exterior.coords)
        a, b = ring[:-1], ring[1:]
        along = (b - a) / np.maximum(np.hypot(*(b - a).T), 1e-9)[:, None]
        out = np.stack([along[:, 1], -along[:, 0]], 1)
        middle, length = (a + b) / 2, np.hypot(*(b - a).T)
        here, ahead = self.kerb_distance(middle), self.kerb_distance(middle + 3.0 * out)
        faces = (here < 12.0) & (ahead < here - 1.2) & (length > 3.0)
        if street is not None and street in self.by_id:
            here = shapely.distance(shapely.points(middle), self.by_id[street])
            ahead = shapely.distance(shapely.points(middle + 3.0 * out), self.by_id[street])
        score = (here - ahead) / 3.0 * np.minimum(length, 40.0) - here
        main = int(np.argmax(score))
        chosen = sorted({main, *np.flatnonzero(faces).tolist()})
        return LineString([a[main], b[main]]), MultiLineString([LineString([a[i], b[i]]) for i in chosen])
