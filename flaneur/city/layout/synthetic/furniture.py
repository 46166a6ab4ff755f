"""The few things that an invented map shows as points: signals, crossings, stops, trees and benches of its squares."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import shapely

from flaneur.city.layout import shapes
from flaneur.city.layout.graph import CityGraph, Feature
from flaneur.city.layout.surfaces import street_surface

_SIGNALS = {"cbd": 0.85, "town": 0.15, "suburb": 0.05, "rural": 0.0}
_MARGIN = 2.0  # metres from the window's edge


def furnish(graph: CityGraph, rng: np.random.Generator) -> None:
    """Adds features to the graph in place."""
    _junctions(graph, rng)
    _stops(graph, rng)
    _squares(graph, rng)
    graph.features.sort(key=lambda f: (f.kind, f.at))


def _add(graph: CityGraph, kind: str, xy: np.ndarray) -> None:
    x, y = (round(float(v), 3) for v in xy)
    if _MARGIN < x < graph.size - _MARGIN and _MARGIN < y < graph.size - _MARGIN:
        graph.features.append(Feature(kind=kind, at=(x, y)))


def _junctions(graph: CityGraph, rng: np.random.Generator) -> None:
    at: dict[int, list[tuple[shapely.LineString, float]]] = defaultdict(list)
    for s in graph.streets:
        if s.carriageway and s.kind not in ("service", "track"):
            line = shapely.LineString(s.line)
            at[s.start].append((line, s.width))
            at[s.end].append((line.reverse(), s.width))
    for j in graph.junctions:
        arms = at[j.id]
        if len(arms) < 3:
            continue
        wide = max(w for _, w in arms)
        j.signals = bool(rng.random() < _SIGNALS[graph.place_type] * (1.0 if wide > 9 else 0.35))
        if j.signals:
            _add(graph, "traffic_signals", np.array(j.at))
        for line, _ in arms:
            if line.length > wide + 12 and (j.signals or rng.random() < (0.5 if graph.place_type in ("cbd", "town") else 0.12)):
                _add(graph, "crossing", np.array(line.interpolate(wide / 2 + 4.0).coords[0]))


def _stops(graph: CityGraph, rng: np.random.Generator) -> None:
    for s in graph.streets:
        line = shapely.LineString(s.line)
        if s.kind in ("primary", "secondary", "tertiary") and s.pavement > 1.5 and line.length > 50 and rng.random() < 0.35:
            at, ahead = (np.array(line.interpolate(d).coords[0]) for d in (line.length / 2, line.length / 2 + 1))
            right = np.array([ahead[1] - at[1], at[0] - ahead[0]])
            _add(graph, "bus_stop", at + right * (s.width / 2 + 0.8))


def _squares(graph: CityGraph, rng: np.random.Generator) -> None:
    """Trees in parks and along squares, a fountain in the middle of a square, benches around it."""
    road = street_surface(graph)
    water = shapes.union(shapes.from_contract(a.polygon) for a in graph.areas if a.kind == "water")
    built = shapes.union(shapes.from_contract(lot.polygon).buffer(1.0) for lot in graph.lots)
    for area in graph.areas:
        polygon = shapes.from_contract(area.polygon)
        if area.kind == "square" and polygon.area > 300:
            middle = polygon.representative_point()
            _add(graph, "fountain", np.array(middle.coords[0]))
            rim = polygon.buffer(-4.5)
            for ring in shapes.polygons(rim, 60):
                spacing = float(rng.uniform(8, 12))
                for d in np.arange(0.0, ring.exterior.length, spacing):
                    spot = ring.exterior.interpolate(d)
                    if not built.contains(spot) and spot.distance(water) > 1.0:
                        _add(graph, "tree" if round(d / spacing) % 3 else "bench", np.array(spot.coords[0]))
        elif area.kind == "park" and polygon.area > 150:
            inner = polygon.buffer(-2.0)
            w, s, e, n = inner.bounds if not inner.is_empty else (0.0, 0.0, 0.0, 0.0)
            for xy in rng.uniform((w, s), (e, n), (int(polygon.area / 90), 2)):
                p = shapely.Point(xy)
                if inner.contains(p) and p.distance(road) > 2 and p.distance(water) > 1.5 and not built.contains(p):
                    _add(graph, "tree", xy)
