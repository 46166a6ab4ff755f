"""Masses: how much of a lot is built over, in which shape and how high. One rule for each way a style fills a lot."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import shapely
from shapely import affinity
from shapely.geometry import LineString, MultiLineString, Polygon, box

from flaneur.city.grammar.outlines import largest
from flaneur.city.grammar.styles import PLACES_OF_WORSHIP, Style

Point = tuple[float, float]
LANDMARK_HEIGHT = 195.0  # metres, at most
LANDMARK_VOLUME = 212_000.0  # m3: the largest tower of a synthetic centre, above the paper's largest object


@dataclass(frozen=True)
class MassPlan:
    """One prism with a roof; several make a building and may overlap."""

    polygon: Polygon  # world metres
    low: float  # metres
    height: float  # metres above the ground, roof included
    levels: int  # storeys below the roof
    roof: str = "flat"
    roof_height: float = 0.0
    role: str = "main"  # main, podium, tower, wing, spire


@dataclass(frozen=True)
class Site:
    """A lot as the mass rules see it."""

    lot: Polygon  # world metres
    front: LineString  # the side towards its street, the lot on its left
    fronts: MultiLineString  # all sides that face streets
    style: Style
    storeys: int
    coverage: float
    use: str
    landmark: bool
    rng: np.random.Generator

    @property
    def roof(self) -> str:
        names, weights = list(self.style.roofs), np.array(list(self.style.roofs.values()), float)
        return names[int(self.rng.choice(len(names), p=weights / weights.sum()))]

    def frame(self) -> tuple[float, Point]:
        """Direction along the front (the lot on its left) and the front's middle."""
        (ax, ay), (bx, by) = self.front.coords[0], self.front.coords[-1]
        return math.atan2(by - ay, bx - ax), ((ax + bx) / 2, (ay + by) / 2)

    def local(self) -> Polygon:
        """The lot with its front on the x axis, centred, its depth along +y."""
        angle, (mx, my) = self.frame()
        return affinity.rotate(affinity.translate(self.lot, -mx, -my), -angle, origin=(0, 0), use_radians=True)

    def world(self, polygon: Polygon) -> Polygon:
        angle, (mx, my) = self.frame()
        return affinity.translate(affinity.rotate(polygon, angle, origin=(0, 0), use_radians=True), mx, my)


def _pitched(site: Site, polygon: Polygon, storeys: int, roof: str, role: str = "main", low: float = 0.0) -> MassPlan:
    """Storeys, and on top a roof as steep as the style's."""
    style = site.style
    wall = style.ground + (storeys - 1) * style.storey if storeys > 1 else style.ground
    width = min(sides(polygon))
    rise = {"flat": 0.0, "skillion": 0.12 * width, "mansard": min(3.4, 0.4 * width), "gambrel": min(0.5 * width, 5.5)}.get(roof, min(style.pitch * width / 2, 7.0))
    return MassPlan(polygon, low, low + wall + rise, storeys, roof, rise, role)


def sides(polygon: Polygon) -> tuple[float, float]:
    ring = shapely.get_coordinates(polygon.minimum_rotated_rectangle).tolist()
    return math.dist(ring[0], ring[1]), math.dist(ring[1], ring[2])


def perimeter(site: Site) -> list[MassPlan]:
    """A strip along every street front; it closes to a courtyard where streets run all around."""
    depth_low, depth_high = 8.0, 14.0
    strip = site.lot
    for depth in np.linspace(depth_high, depth_low, 4):
        strip = largest(site.lot.intersection(site.fronts.buffer(float(depth), cap_style="flat", join_style="mitre")))
        if strip.area <= site.coverage * 1.15 * site.lot.area:
            break
    if strip.area < 40.0:
        strip = site.lot
    return [_pitched(site, strip, site.storeys, site.roof)]


def row(site: Site) -> list[MassPlan]:
    """From side to side of the lot, as deep as the coverage asks, with a lower wing at the back now and then."""
    lot = site.local()
    x0, y0, x1, y1 = lot.bounds
    depth = min(max(site.coverage * (y1 - y0), 7.0), 13.0, y1 - y0)
    back = 0.0 if site.style.shop_ground >= 4.0 else min(1.5, 0.1 * (y1 - y0))
    main = largest(lot.intersection(box(x0, y0 + back, x1, y0 + back + depth)))
    plans = [_pitched(site, site.world(main), site.storeys, site.roof)]
    if site.storeys >= 2 and y1 - y0 > depth + 7 and site.rng.random() < 0.35:
        width = 0.55 * (x1 - x0)
        wing = largest(lot.intersection(box(x0 + 0.3, y0 + back + depth - 1.0, x0 + width, y0 + back + depth + 4.0)))
        if wing.area > 10:
            plans.append(_pitched(site, site.world(wing), site.storeys - 1, "flat", "wing"))
    return plans


def detached(site: Site) -> list[MassPlan]:
    """A house in its garden: oblong, L or T, with a garage wing now and then."""
    rng, lot = site.rng, site.local().buffer(-1.6, join_style="mitre")
    if lot.is_empty:
        lot = site.local()
    x0, y0, x1, y1 = lot.bounds
    target = min(max(site.coverage * site.lot.area, 60.0), 230.0)
    depth = min(math.sqrt(target) * rng.uniform(0.8, 1.0), 11.0, max(0.75 * (y1 - y0), 6.0))
    width = min(target / depth, x1 - x0)
    front = y0 + min(rng.uniform(2.0, 5.5), max(y1 - y0 - depth, 0.0))
    left = x0 + (x1 - x0 - width) * rng.uniform(0.2, 0.8)
    body = box(left, front, left + width, front + depth)
    shape = rng.random()
    if shape < 0.3 and width > 9:  # L
        wing_width = 0.42 * width
        body = body.union(box(left, front - min(2.6, front - y0 + 1.0), left + wing_width, front + 1.0))
    elif shape < 0.45 and width > 9:  # T
        body = body.union(box(left + 0.3 * width, front + depth - 1, left + 0.7 * width, front + depth + 3.0))
    body = largest(body.intersection(lot))
    plans = [_pitched(site, site.world(body), site.storeys, site.roof)]
    room = x1 - (left + width)
    if room > 3.2 and rng.random() < 0.45:
        garage = largest(box(left + width - 0.3, front + 0.6, left + width + 3.2, front + 6.4).intersection(lot))
        if garage.area > 12:
            plans.append(MassPlan(site.world(garage), 0.0, 2.7, 1, "flat", 0.0, "wing"))
    return plans


def farm(site: Site) -> list[MassPlan]:
    """A farmhouse on small lots, a long barn on large ones, a corner of both on the largest."""
    lot = site.local().buffer(-2.0, join_style="mitre")
    x0, y0, x1, y1 = lot.bounds if not lot.is_empty else site.local().bounds
    length = min(max(0.5 * (x1 - x0), 10.0), 26.0, x1 - x0)
    depth = min(9.5, y1 - y0)
    front = y0 + min(3.0, max(y1 - y0 - depth, 0.0))
    body = box((x0 + x1 - length) / 2, front, (x0 + x1 + length) / 2, front + depth)
    if site.lot.area > 900 and y1 - front - depth > 8:
        body = body.union(box((x0 + x1 - length) / 2, front + depth - 1, (x0 + x1 - length) / 2 + 9.0, min(front + depth + 11, y1)))
    inside = largest(body if lot.is_empty else body.intersection(lot))
    return [_pitched(site, site.world(inside), max(min(site.storeys, 2), 1), site.roof)]


def hall(site: Site) -> list[MassPlan]:
    """A wide low hall, with a taller office at its front where there is room."""
    lot = site.local().buffer(-3.0, join_style="mitre")
    x0, y0, x1, y1 = lot.bounds if not lot.is_empty else site.local().bounds
    share = math.sqrt(min(max(site.coverage * site.lot.area / max((x1 - x0) * (y1 - y0), 1.0), 0.2), 1.0))
    w, d = (x1 - x0) * share, (y1 - y0) * share
    cx = (x0 + x1) / 2
    hull = box(cx - w / 2, y1 - d, cx + w / 2, y1)
    polygon = largest(hull.intersection(lot)) if not lot.is_empty else hull
    height = 5.0 + 2.0 * min(site.storeys, 3) + site.rng.uniform(0, 1.5)
    roof = site.roof
    rise = 0.0 if roof == "flat" else min(0.12 * min(w, d), 3.0)
    plans = [MassPlan(site.world(polygon), 0.0, height + rise, 1, roof, rise)]
    if w > 18 and y1 - y0 - d > 1.0 and site.rng.random() < 0.6:
        office = largest(box(cx - w / 2 + 0.5, y1 - d - min(6.0, y1 - y0 - d), cx - w / 2 + 10.5, y1 - d + 2.0).intersection(lot))
        if office.area > 30:
            plans.append(MassPlan(site.world(office), 0.0, 0.8 * height, 2, "flat", 0.0, "wing"))
    return plans


def slab(site: Site) -> list[MassPlan]:
    """A slab twelve metres deep along the front; an L or a U on wide lots."""
    lot = site.local().buffer(-2.0, join_style="mitre")
    if lot.is_empty:
        lot = site.local()
    x0, y0, x1, y1 = lot.bounds
    deep, front = min(12.5, y1 - y0), y0 + min(2.0, max(y1 - y0 - 12.5, 0.0))
    length = min(x1 - x0, max(site.coverage * site.lot.area / deep, 14.0))
    body = box((x0 + x1 - length) / 2, front, (x0 + x1 + length) / 2, front + deep)
    left_over = site.coverage * site.lot.area - length * deep
    if left_over > 120 and y1 - front - deep > 10:
        reach = min(left_over / 12.0, y1 - front - deep, 28.0)
        body = body.union(box((x0 + x1 - length) / 2, front + deep - 1, (x0 + x1 - length) / 2 + 12, front + deep + reach))
        if left_over > 420 and length > 40:
            body = body.union(box((x0 + x1 + length) / 2 - 12, front + deep - 1, (x0 + x1 + length) / 2, front + deep + reach))
    body = largest(body.intersection(lot))
    plans = [_pitched(site, site.world(body), site.storeys, "flat")]
    if site.storeys >= 5 and site.rng.random() < 0.5:
        recess = largest(body.buffer(-2.2, join_style="mitre"))
        if recess.area > 0.5 * body.area:
            top = plans[0].height
            plans.append(MassPlan(site.world(recess), top - 0.9, top + site.style.storey, 1, "flat", 0.0, "tower"))
    return plans


def tower(site: Site) -> list[MassPlan]:
    """A podium that fills the lot, a shaft set back from it, and a crown set back again."""
    rng, style, lot = site.rng, site.style, site.local()
    margin = 1.5 if site.lot.area > 900 else 0.4
    podium = largest(lot.buffer(-margin, join_style="mitre"))
    storeys = site.storeys
    if not site.landmark and (storeys <= 8 or site.lot.area < 500):
        return [_pitched(site, site.world(podium if podium.area > 60 else lot), storeys, "flat")]
    podium_storeys = int(rng.integers(2, 5))
    podium_top = style.shop_ground + (podium_storeys - 1) * style.storey
    setback = rng.uniform(2.5, 5.0) if site.lot.area > 1200 else 1.2
    shaft = _shaft(podium, site.coverage * site.lot.area, setback, site.landmark)
    top = podium_top + (storeys - podium_storeys) * style.storey
    if site.landmark:
        top = min(max(top, podium_top + max(LANDMARK_VOLUME - podium.area * podium_top, 0.0) / shaft.area), LANDMARK_HEIGHT)
    levels = round((top - podium_top) / style.storey)
    plans = [MassPlan(site.world(podium), 0.0, podium_top + style.parapet, podium_storeys, "flat", 0.0, "podium")]
    crown = largest(shaft.buffer(-rng.uniform(2.0, 4.5), join_style="mitre"))
    if levels >= 10 and crown.area > 0.45 * shaft.area and not site.landmark:
        crown_levels = max(round(levels * rng.uniform(0.12, 0.3)), 2)
        middle = top - crown_levels * style.storey
        plans.append(MassPlan(site.world(shaft), podium_top - 0.2, middle + style.parapet, levels - crown_levels, "flat", 0.0, "tower"))
        plans.append(MassPlan(site.world(crown), middle - 0.2, top, crown_levels, "flat", 0.0, "tower"))
    else:
        plans.append(MassPlan(site.world(shaft), podium_top - 0.2, top, levels, "flat", 0.0, "tower"))
    return plans


def _shaft(podium: Polygon, area: float, setback: float, landmark: bool) -> Polygon:
    """The tower's plan: the podium set back, cut to at most 46 m a side and about the asked area."""
    inner = largest(podium.buffer(-(1.5 if landmark else setback), join_style="mitre"))
    if inner.area < 150:
        return largest(podium.buffer(-0.8, join_style="mitre"))
    x0, y0, x1, y1 = inner.bounds
    most = 46.0 if landmark else 42.0
    cx, cy = (x0 + x1) / 2, (y0 + y1) / 2
    w, d = min(x1 - x0, most), min(y1 - y0, most)
    if not landmark and w * d > 0.9 * area:
        k = math.sqrt(max(0.9 * area / (w * d), 0.3))
        w, d = w * k, d * k
    return largest(inner.intersection(box(cx - w / 2, cy - d / 2, cx + w / 2, cy + d / 2)))


def civic(site: Site) -> list[MassPlan]:
    """A broad block behind a forecourt, with a taller middle; a nave with a tower for churches."""
    lot = site.local().buffer(-2.5, join_style="mitre")
    if lot.is_empty:
        lot = site.local()
    x0, y0, x1, y1 = lot.bounds
    if site.use in PLACES_OF_WORSHIP:
        depth, width = min(y1 - y0, 32.0), min(0.62 * (x1 - x0), 14.0)
        front = y0 + min(3.0, max(y1 - y0 - depth, 0.0))
        body = largest(box((x0 + x1 - width) / 2, front, (x0 + x1 + width) / 2, front + depth).intersection(lot))
        return church(site.world(body), 24.0 + site.rng.uniform(0, 12), site.frame()[1])
    w = min(x1 - x0, max(math.sqrt(site.coverage * site.lot.area * 1.6), 14.0))
    d = min(0.8 * (y1 - y0), max(site.coverage * site.lot.area / w, 10.0))
    front = y0 + min(5.0, max(y1 - y0 - d, 0.0))
    cx = (x0 + x1) / 2
    body = largest(box(cx - w / 2, front, cx + w / 2, front + d).intersection(lot))
    plans = [_pitched(site, site.world(body), site.storeys, site.roof)]
    if w > 20 and d > 12:
        middle = largest(box(cx - 0.17 * w, front - min(1.2, front - y0), cx + 0.17 * w, front + 0.75 * d).intersection(lot))
        top = plans[0].height - plans[0].roof_height
        if site.use in ("townhall", "museum", "") and site.rng.random() < 0.6:
            half = min(0.12 * w, 0.3 * d, 7.0)
            plans.append(MassPlan(site.world(middle), 0.0, top + 1.6, site.storeys, "flat", 0.0, "wing"))
            centre = middle.centroid
            drum = centre.buffer(half, quad_segs=3)
            plans.append(MassPlan(site.world(drum), top + 0.4, top + 4.0 + 1.1 * half, 1, "dome", 1.1 * half, "tower"))
        else:
            plans.append(replace(_pitched(site, site.world(middle), site.storeys, "hipped"), role="wing"))
    return plans


def church(footprint: Polygon, height: float, tower_at: Point | None = None) -> list[MassPlan]:
    """A nave with a steep roof, and a tower with a spire over one short end (nearest to `tower_at`, else the western); the whole is `height` metres tall."""
    rectangle = shapely.get_coordinates(footprint.minimum_rotated_rectangle).tolist()
    (ax, ay), (bx, by), (cx, cy) = rectangle[0], rectangle[1], rectangle[2]
    if math.dist((ax, ay), (bx, by)) > math.dist((bx, by), (cx, cy)):
        (ax, ay), (bx, by), (cx, cy) = rectangle[1], rectangle[2], rectangle[3]
    width, length = math.dist((ax, ay), (bx, by)), math.dist((bx, by), (cx, cy))
    near, far = ((ax + bx) / 2, (ay + by) / 2), ((ax + bx) / 2 + cx - bx, (ay + by) / 2 + cy - by)
    if (near[0] > far[0]) if tower_at is None else (math.dist(near, tower_at) > math.dist(far, tower_at)):
        ax, ay, bx, by, cx, cy = cx, cy, ax + cx - bx, ay + cy - by, ax, ay
    nave = min(0.5 * height, 1.5 * width)
    plans = [MassPlan(footprint, 0.0, nave, 1, "gabled", 0.42 * nave)]
    side = min(0.5 * width, 7.0, 0.35 * length)
    ux, uy, vx, vy = (bx - ax) / width, (by - ay) / width, (cx - bx) / length, (cy - by) / length
    mx, my = (ax + bx) / 2, (ay + by) / 2
    corners = [(mx + ux * a + vx * b, my + uy * a + vy * b) for a, b in ((-side / 2, 0.1), (side / 2, 0.1), (side / 2, side + 0.1), (-side / 2, side + 0.1))]
    base = largest(Polygon(corners).intersection(footprint))
    if base.area > 0.9 * side * side and side > 2.0:
        plans.append(MassPlan(base, 0.0, height, 3, "pyramidal", 0.4 * height, "spire"))
    else:
        plans[0] = MassPlan(footprint, 0.0, height, 1, "gabled", 0.4 * height)
    return plans


LAYOUTS: dict[str, Callable[[Site], list[MassPlan]]] = {
    "perimeter": perimeter, "row": row, "detached": detached, "farm": farm, "hall": hall, "slab": slab, "tower": tower, "civic": civic,
}  # fmt: skip
