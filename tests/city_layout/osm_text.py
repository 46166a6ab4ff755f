"""A small builder of OSM XML for tests: metres around a centre in, text out."""

from __future__ import annotations

import math
from xml.sax.saxutils import quoteattr

LAT, LON = 48.2, 16.37


class OsmText:
    def __init__(self) -> None:
        self._nodes: list[str] = []
        self._rest: list[str] = []
        self._next = 1

    def _id(self) -> int:
        self._next += 1
        return self._next

    def node(self, x: float, y: float, **tags: str) -> int:
        """`x`, `y`: metres from the window's south-west corner."""
        lat = LAT + (y - 100) / 111_200.0
        lon = LON + (x - 100) / (111_320.0 * math.cos(math.radians(LAT)))
        number = self._id()
        self._nodes.append(f'<node id="{number}" version="1" lat="{lat:.9f}" lon="{lon:.9f}">{_tags(tags)}</node>')
        return number

    def way(self, points: list[tuple[float, float]], closed: bool = False, tags: dict[str, str] | None = None, **more: str) -> int:
        refs = [self.node(*p) for p in points]
        return self.way_of(refs + refs[:1] if closed else refs, {**(tags or {}), **more})

    def way_of(self, refs: list[int], tags: dict[str, str]) -> int:
        number = self._id()
        self._rest.append(f'<way id="{number}" version="1">{"".join(f"<nd ref={quoteattr(str(r))}/>" for r in refs)}{_tags(tags)}</way>')
        return number

    def relation(self, members: list[tuple[int, str]], **tags: str) -> int:
        number = self._id()
        inner = "".join(f'<member type="way" ref="{ref}" role="{role}"/>' for ref, role in members)
        self._rest.append(f'<relation id="{number}" version="1">{inner}{_tags(tags)}</relation>')
        return number

    def cross(self) -> OsmText:
        """Two residential streets that cross in the middle of the window."""
        middle = self.node(100, 100)
        for name, ends in (("Long Street", ((-20, 100), (220, 100))), ("High Street", ((100, -20), (100, 220)))):
            self.way_of([self.node(*ends[0]), middle, self.node(*ends[1])], {"highway": "residential", "name": name})
        return self

    def text(self, shuffled: bool = False) -> str:
        body = [*self._rest[::-1], *self._nodes[::-1]] if shuffled else [*self._nodes, *self._rest]
        return '<?xml version="1.0" encoding="UTF-8"?>\n<osm version="0.6" generator="test">\n' + "\n".join(body) + "\n</osm>\n"


def _tags(tags: dict[str, str]) -> str:
    return "".join(f"<tag k={quoteattr(k.replace('__', ':'))} v={quoteattr(v)}/>" for k, v in tags.items())


def rectangle(x: float, y: float, width: float, depth: float) -> list[tuple[float, float]]:
    return [(x, y), (x + width, y), (x + width, y + depth), (x, y + depth)]
