"""Straight skeleton of a polygon by its shrinking wavefront: where the planes of a hipped roof meet.

Aichholzer, Aurenhammer, Alberts, Gaertner: A novel type of skeleton for polygons, 1995.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

Point = tuple[float, float]
TIME_TOLERANCE = 1e-7  # metres: events closer than this happen together
MAX_CORNERS = 48  # the search is cubic; larger outlines take a simpler roof


@dataclass
class Skeleton:
    nodes: list[tuple[float, float, float]]  # x, y and distance from the outline, metres; the outline's corners come first
    faces: list[list[int]]  # per outline edge: its two corners, then the way back over the skeleton


@dataclass
class _Front:
    """A moving corner: position base + velocity * t."""

    base: Point
    velocity: Point
    node: int
    left: int  # edge that ends here
    right: int  # edge that starts here
    reflex: bool
    previous: int = -1
    next: int = -1
    alive: bool = True

    def at(self, t: float) -> Point:
        return self.base[0] + self.velocity[0] * t, self.base[1] + self.velocity[1] * t


def straight_skeleton(rings: list[list[Point]]) -> Skeleton | None:
    """Skeleton of an outer ring (counter-clockwise) with holes (clockwise); None where the search does not close."""
    if sum(map(len, rings)) > MAX_CORNERS:
        return None
    if (found := _Wavefront(rings).run()) is not None:
        return found
    # Exactly symmetric outlines let several fronts meet in one point; a nudge of a millimetre tells the meetings apart.
    nudged = [[(x + ((7 * i + k) % 11 - 5) * 2e-4, y + ((5 * i + k) % 13 - 6) * 2e-4) for i, (x, y) in enumerate(ring)] for k, ring in enumerate(rings)]
    found = _Wavefront(nudged).run()
    if found is not None:
        found.nodes[: sum(map(len, rings))] = [(x, y, 0.0) for ring in rings for x, y in ring]
    return found


class _Wavefront:
    def __init__(self, rings: list[list[Point]]) -> None:
        self.nodes: list[tuple[float, float, float]] = [(x, y, 0.0) for ring in rings for x, y in ring]
        self.anchor: list[Point] = []
        self.normal: list[Point] = []  # unit, inward
        self.corners: list[tuple[int, int]] = []
        self.fronts: list[_Front] = []
        self.arcs: list[tuple[int, int, int, int]] = []  # node, node, edge left, edge right
        first = 0
        for ring in rings:
            n = len(ring)
            for i, (x, y) in enumerate(ring):
                bx, by = ring[(i + 1) % n]
                length = math.hypot(bx - x, by - y)
                self.anchor.append((x, y))
                self.normal.append((-(by - y) / length, (bx - x) / length))
                self.corners.append((first + i, first + (i + 1) % n))
            for i in range(n):
                self._front(first + (i - 1) % n, first + i, first + i, 0.0)
            for i in range(n):
                self._link(first + i, first + (i + 1) % n)
            first += n

    def _front(self, left: int, right: int, node: int, t: float) -> int:
        (ax, ay), (bx, by) = self.normal[left], self.normal[right]
        determinant = ax * by - ay * bx
        if abs(determinant) < 1e-9:
            velocity = (ax, ay) if ax * bx + ay * by > 0 else (0.0, 0.0)
        else:
            velocity = ((by - ay) / determinant, (ax - bx) / determinant)
        x, y, _ = self.nodes[node]
        self.fronts.append(_Front((x - velocity[0] * t, y - velocity[1] * t), velocity, node, left, right, determinant < -1e-9))
        return len(self.fronts) - 1

    def _link(self, a: int, b: int) -> None:
        self.fronts[a].next, self.fronts[b].previous = b, a

    def _node(self, x: float, y: float, t: float) -> int:
        for k in range(len(self.nodes) - 1, len(self.corners) - 1, -1):
            nx, ny, nt = self.nodes[k]
            if abs(nx - x) < 1e-5 and abs(ny - y) < 1e-5 and abs(nt - t) < 1e-5:
                return k
        self.nodes.append((x, y, t))
        return len(self.nodes) - 1

    def _end(self, front: int, node: int) -> None:
        f = self.fronts[front]
        f.alive = False
        if f.node != node:
            self.arcs.append((f.node, node, f.left, f.right))

    def _edge_time(self, i: int, now: float) -> float:
        a, b = self.fronts[i], self.fronts[self.fronts[i].next]
        nx, ny = self.normal[a.right]
        dx, dy = ny, -nx  # along the edge
        closing = (a.velocity[0] - b.velocity[0]) * dx + (a.velocity[1] - b.velocity[1]) * dy
        gap = (b.base[0] - a.base[0]) * dx + (b.base[1] - a.base[1]) * dy
        if gap - closing * now < 1e-6:
            return now
        return gap / closing if closing > 1e-12 else math.inf

    def _split(self, i: int, now: float, before: float) -> tuple[float, int] | None:
        """The first edge a reflex corner runs into, before another event."""
        f, best = self.fronts[i], None
        for j, g in enumerate(self.fronts):
            if not g.alive or g.right in (f.left, f.right):
                continue
            (nx, ny), (ax, ay) = self.normal[g.right], self.anchor[g.right]
            approach = 1.0 - (f.velocity[0] * nx + f.velocity[1] * ny)
            if approach < 1e-9:
                continue
            t = ((f.base[0] - ax) * nx + (f.base[1] - ay) * ny) / approach
            if not now - TIME_TOLERANCE <= t < before - TIME_TOLERANCE:
                continue
            x, y = f.at(t)
            (px, py), (qx, qy) = g.at(t), self.fronts[g.next].at(t)
            dx, dy = ny, -nx
            if (x - px) * dx + (y - py) * dy >= -1e-6 and (qx - x) * dx + (qy - y) * dy >= -1e-6:
                best, before = (t, j), t
        return best

    def run(self) -> Skeleton | None:
        now = 0.0
        for _ in range(8 * len(self.corners)):
            self._close_pairs()
            alive = [i for i, f in enumerate(self.fronts) if f.alive]
            if not alive:
                return self._assemble()
            time, event = min((self._edge_time(i, now), i) for i in alive)
            target = -1
            for i in alive:
                if self.fronts[i].reflex and (hit := self._split(i, now, time)):
                    time, event, target = hit[0], i, hit[1]
            if time == math.inf:
                return None
            now = max(now, time)
            if target < 0:
                self._collapse(event, now)
            else:
                self._divide(event, target, now)
        return None

    def _close_pairs(self) -> None:
        """A loop of two corners is a ridge."""
        for i, f in enumerate(self.fronts):
            if f.alive and self.fronts[f.next].next == i:
                other = self.fronts[f.next]
                f.alive = other.alive = False
                if f.node != other.node:
                    self.arcs.append((f.node, other.node, f.left, f.right))

    def _collapse(self, i: int, t: float) -> None:
        a = self.fronts[i]
        b = self.fronts[a.next]
        (px, py), (qx, qy) = a.at(t), b.at(t)
        node = self._node((px + qx) / 2, (py + qy) / 2, t)
        before, after = a.previous, b.next
        self._end(i, node)
        self._end(a.next, node)
        new = self._front(a.left, b.right, node, t)
        self._link(before, new)
        self._link(new, after)

    def _divide(self, i: int, j: int, t: float) -> None:
        f, g = self.fronts[i], self.fronts[j]
        node = self._node(*f.at(t), t)
        self._end(i, node)
        after_edge = g.next
        one = self._front(f.left, g.right, node, t)
        two = self._front(g.right, f.right, node, t)
        self._link(f.previous, one)
        self._link(one, after_edge)
        self._link(j, two)
        self._link(two, f.next)

    def _assemble(self) -> Skeleton | None:
        ways: list[dict[int, list[int]]] = [{} for _ in self.corners]
        for a, b, left, right in self.arcs:
            for edge in {left, right}:
                ways[edge].setdefault(a, []).append(b)
                ways[edge].setdefault(b, []).append(a)
        faces = []
        for (start, end), way in zip(self.corners, ways, strict=True):
            face, at = [start, end], end
            while at != start:
                options = [p for p in way.get(at, ()) if p not in face[1:] and not (p == start and len(face) == 2)]
                if len(options) != 1:
                    return None
                at = options[0]
                if at != start:
                    face.append(at)
            faces.append(face)
        return Skeleton(self.nodes, faces)
