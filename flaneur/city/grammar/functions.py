"""The distribution functions of the rule library: each proposes places for one asset on one block.

A function never looks at what stands already; the placer does. It therefore proposes more than it wants, best first,
and says how many it wants (`limit`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from flaneur.city.grammar.ground import BLOCK_LEVEL
from flaneur.city.grammar.ground_mesh import triangulate
from flaneur.city.grammar.lines import arc_lengths, offset_line, sample_line
from flaneur.city.grammar.sites import BlockSite, Wall

FACADE_LOWEST = 2.6  # metres: nothing on a wall hangs lower
OVERSAMPLE = 2.2

# How an asset's front (+x) stands to the line it is placed along: "out" looks away from the block (to the street), "in" into it, "along" follows it.
FACING = {
    "street_lamp": "out", "bench": "in", "bicycle": "along", "motorcycle": "along", "traffic_sign": "along", "mailbox": "in", "waste_bin": "in", "kiosk": "in",
    "person": "any", "tree": "any", "shrub": "any",
}  # fmt: skip
PLANTED = ("shrub",)  # grow out of the soil
UNIFORM = ("bollard", "street_lamp", "tree", "waste_bin")  # a row along a kerb is of one kind
_TURN = {"out": -np.pi / 2, "in": np.pi / 2, "along": 0.0}


@dataclass(frozen=True)
class Asset:
    """The prototypes of one class that may be drawn, with the half length and half width of their feet."""

    class_name: str
    rows: np.ndarray  # [v] i32, row in the catalogue's prototypes
    reach: np.ndarray  # [v, 2] metres
    depth: np.ndarray  # [v] metres from the origin to the back (local -x) at any height
    share: np.ndarray  # [v] cumulative share of each variant, the last 1

    def draw(self, rng: np.random.Generator, n: int) -> np.ndarray:  # [n] index into rows
        return np.minimum(np.searchsorted(self.share, rng.random(n), side="right"), len(self.rows) - 1)

    def only(self, kept: np.ndarray) -> Asset:
        """Some of the variants, where `kept` [v] names any."""
        if kept.all() or not kept.any():
            return self
        share = np.cumsum(np.diff(self.share, prepend=0.0)[kept])
        return Asset(self.class_name, self.rows[kept], self.reach[kept], self.depth[kept], share / share[-1])


@dataclass
class Proposal:
    variant: np.ndarray  # [n] index into Asset.rows
    xy: np.ndarray  # [n, 2]
    yaw: np.ndarray  # [n]
    z: np.ndarray  # [n]
    limit: int
    within: list[BaseGeometry] | None = None  # one area per place, where each has its own


Function = Callable[[BlockSite, Asset, dict[str, float], np.random.Generator], Proposal | None]


def _proposal(asset: Asset, rng: np.random.Generator, xy: np.ndarray, yaw: np.ndarray, limit: float | None = None, z: float | np.ndarray = BLOCK_LEVEL) -> Proposal | None:
    n = len(xy)
    if not n:
        return None
    whole = n if limit is None else int(np.floor(limit + rng.random()))
    return Proposal(asset.draw(rng, n), xy, yaw, np.broadcast_to(np.asarray(z, float), (n,)).copy(), whole)


def _yaws(asset: Asset, along: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    facing = FACING.get(asset.class_name, "out")
    turned = rng.random(len(along)) * 2 * np.pi if facing == "any" else along + _TURN.get(facing, 0.0)
    return turned + (np.pi * rng.integers(0, 2, len(along)) if facing == "along" else 0.0)


def _row_on_lines(lines: list[np.ndarray], spacing: float, jitter: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Points and headings every `spacing` metres over several lines as if they were one."""
    points, headings = [np.zeros((0, 2))], [np.zeros(0)]
    left = rng.random() * spacing
    for line in lines:
        length = arc_lengths(line)[-1]
        at = np.arange(left, length, spacing)
        left = (at[-1] + spacing if len(at) else left) - length
        p, h = sample_line(line, np.clip(at + (rng.random(len(at)) - 0.5) * jitter * spacing, 0, length))
        points.append(p)
        headings.append(h)
    return np.concatenate(points), np.concatenate(headings)


def along_kerb(site: BlockSite, asset: Asset, p: dict[str, float], rng: np.random.Generator) -> Proposal | None:
    if asset.class_name in UNIFORM:
        asset = asset.only(np.arange(len(asset.rows)) == asset.draw(rng, 1)[0])
    # The offset is from the kerb to the object's middle, or more where the object is wide.
    inset = max(p["offset"], float(asset.reach.max()) + 0.1 if asset.class_name not in ("tree", "street_lamp", "traffic_light") else 0.3)
    xy, along = _row_on_lines([offset_line(k, inset) for k in site.kerbs], p["spacing"], p["jitter"], rng)
    return _proposal(asset, rng, xy, _yaws(asset, along, rng))


def _row_on_walls(walls: list[Wall], offset: float, spacing: float, jitter: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    lines = [offset_line(np.stack([w.start, w.end]), -offset) for w in walls if np.hypot(*(w.end - w.start)) > 1.0]
    return _row_on_lines(lines, spacing, jitter, rng)


def along_facade(site: BlockSite, asset: Asset, p: dict[str, float], rng: np.random.Generator) -> Proposal | None:
    offset = max(p["offset"], float(asset.reach.min(1).max()) + 0.08)
    xy, along = _row_on_walls(site.walls, offset, p["spacing"], p["jitter"], rng)
    # Outside a wall lies on the right of its direction, as the street does of the kerb's.
    return _proposal(asset, rng, xy, _yaws(asset, along, rng) if FACING.get(asset.class_name) != "in" else along - np.pi / 2)


def around_buildings(site: BlockSite, asset: Asset, p: dict[str, float], rng: np.random.Generator) -> Proposal | None:
    return along_facade(site, asset, p, rng)


def parked_at_kerb(site: BlockSite, asset: Asset, p: dict[str, float], rng: np.random.Generator) -> Proposal | None:
    parts = [_packed(lane.line, asset, p["occupancy"], rng) for lane in site.lanes if lane.parked]
    return _lanes_proposal(parts)


def _packed(line: np.ndarray, asset: Asset, occupancy: float, rng: np.random.Generator, gap: tuple[float, float] = (0.5, 1.3)) -> Proposal | None:
    """End to end along a line, each place as long as what stands there, a share of them taken."""
    length = arc_lengths(line)[-1]
    n = int(length / (2 * asset.reach[:, 0].min() + gap[0])) + 1
    variant = asset.draw(rng, n)
    own = 2 * asset.reach[variant, 0]
    ends = np.cumsum(own + rng.uniform(*gap, n))
    taken = (ends < length) & (rng.random(n) < occupancy)
    if not taken.any():
        return None
    xy, yaw = sample_line(line, (ends - own / 2)[taken])
    return Proposal(variant[taken], xy, yaw, np.zeros(len(xy)), len(xy))


def _lanes_proposal(parts: list[Proposal | None]) -> Proposal | None:
    kept = [part for part in parts if part is not None]
    if not kept:
        return None
    variant, xy, yaw, z = (np.concatenate([getattr(k, f) for k in kept]) for f in ("variant", "xy", "yaw", "z"))
    return Proposal(variant, xy, yaw, z, sum(k.limit for k in kept))


def in_traffic(site: BlockSite, asset: Asset, p: dict[str, float], rng: np.random.Generator) -> Proposal | None:
    xy, yaw, wanted = [np.zeros((0, 2))], [np.zeros(0)], 0.0
    for lane in site.lanes:
        if lane.parked:
            continue
        length = arc_lengths(lane.line)[-1]
        share = p["density"] * length / 100
        at = rng.random(int(np.ceil(share * OVERSAMPLE))) * length
        points, headings = sample_line(lane.line, at)
        xy.append(points)
        yaw.append(headings)
        wanted += share
    everything, turned = np.concatenate(xy), np.concatenate(yaw)
    order = rng.permutation(len(everything))
    return _proposal(asset, rng, everything[order], turned[order], wanted, 0.0)


def sample_area(area: BaseGeometry, n: int, rng: np.random.Generator) -> np.ndarray:
    """[n, 2] uniform points of a polygonal area."""
    corners = [np.zeros((0, 3, 2))]
    for part in shapely.get_parts(area):
        if part.geom_type == "Polygon" and part.area > 0.05:
            points, faces = triangulate(part)
            corners.append(points[faces])
    triangles = np.concatenate(corners)
    if not len(triangles) or n <= 0:
        return np.zeros((0, 2))
    a, b, c = triangles[:, 0], triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    weight = np.cumsum(np.abs(b[:, 0] * c[:, 1] - b[:, 1] * c[:, 0]))
    pick = np.minimum(np.searchsorted(weight, rng.random(n) * weight[-1]), len(a) - 1)
    u, v = rng.random((2, n))
    flip = u + v > 1
    u, v = np.where(flip, 1 - u, u), np.where(flip, 1 - v, v)
    return a[pick] + u[:, None] * b[pick] + v[:, None] * c[pick]


def _clustered(xy: np.ndarray, share: float, near: float, rng: np.random.Generator) -> np.ndarray:
    """Moves a share of the points next to others, in groups of two to six."""
    n = len(xy)
    followers = np.flatnonzero(rng.random(n) < share * 0.75)
    leaders = np.setdiff1d(np.arange(n), followers)
    if not len(followers) or not len(leaders):
        return xy
    groups = rng.choice(leaders, min(len(leaders), max(1, len(followers) // 3)), replace=False)
    angle, reach = rng.random(len(followers)) * 2 * np.pi, near * rng.uniform(1.0, 2.4, len(followers))
    out = xy.copy()
    out[followers] = xy[groups[rng.integers(0, len(groups), len(followers))]] + np.stack([np.cos(angle), np.sin(angle)], 1) * reach[:, None]
    return out


def _in_area(area: BaseGeometry, asset: Asset, density: float, cluster: float, rng: np.random.Generator) -> Proposal | None:
    wanted = area.area * density / 100
    xy = sample_area(area, int(np.ceil(wanted * OVERSAMPLE)), rng)
    xy = _clustered(xy, cluster, 2.2 * float(asset.reach.max(1).mean()), rng)
    return _proposal(asset, rng, xy, rng.random(len(xy)) * 2 * np.pi, wanted)


def on_pavement(site: BlockSite, asset: Asset, p: dict[str, float], rng: np.random.Generator) -> Proposal | None:
    return _in_area(site.paved, asset, p["density"], p["cluster"], rng)


def in_open_space(site: BlockSite, asset: Asset, p: dict[str, float], rng: np.random.Generator) -> Proposal | None:
    ground = site.soft if asset.class_name in PLANTED else site.open
    return _in_area(ground.buffer(-p["margin"], join_style="mitre"), asset, p["density"], p["cluster"], rng)


def along_boundary(site: BlockSite, asset: Asset, p: dict[str, float], rng: np.random.Generator) -> Proposal | None:
    long_x = asset.reach[:, 0] >= asset.reach[:, 1]
    parts = []
    for line in site.boundaries:
        inner = offset_line(line, p["inset"])
        # One kind per stretch, with an opening now and then.
        variant = int(asset.draw(rng, 1)[0])
        piece = 2 * float(asset.reach[variant].max()) + 0.06
        for a, b in pairwise(inner):
            n = int(np.hypot(*(b - a)) // piece)
            if not n:
                continue
            xy = a + (b - a) * (((np.arange(n) + 0.5) * piece) / np.hypot(*(b - a)))[:, None]
            kept = _runs(n, p["coverage"], rng)
            yaw = np.full(n, np.arctan2(*(b - a)[::-1]) + (0.0 if long_x[variant] else np.pi / 2))
            parts.append(Proposal(np.full(n, variant)[kept], xy[kept], yaw[kept], np.full(int(kept.sum()), BLOCK_LEVEL), int(kept.sum())))
    return _lanes_proposal(parts)


def _runs(n: int, share: float, rng: np.random.Generator, run: int = 4) -> np.ndarray:
    """[n] bool: about `share` of them, in runs, so that gaps look like gates and not like noise."""
    return np.repeat(rng.random(n // run + 1) < share, run)[:n]


def at_entrances(site: BlockSite, asset: Asset, p: dict[str, float], rng: np.random.Generator) -> Proposal | None:
    doors = site.entrances[rng.random(len(site.entrances)) < p["probability"]]
    out = np.stack([np.cos(doors[:, 2]), np.sin(doors[:, 2])], 1)
    aside = np.stack([-out[:, 1], out[:, 0]], 1) * (rng.choice([-1.0, 1.0], len(doors)) * (0.9 + float(asset.reach[:, 1].mean())))[:, None]
    return _proposal(asset, rng, doors[:, :2] + out * max(p["offset"], float(asset.reach[:, 0].mean()) + 0.1) + aside, doors[:, 2])


def on_roof(site: BlockSite, asset: Asset, p: dict[str, float], rng: np.random.Generator) -> Proposal | None:
    xy, z, within, wanted = [np.zeros((0, 2))], [np.zeros(0)], [], 0.0
    for outline, height in site.roofs:
        inner = outline.buffer(-p["margin"], join_style="mitre")
        share = inner.area * p["density"] / 100
        points = sample_area(inner, int(np.ceil(share * OVERSAMPLE)), rng)
        xy.append(points)
        z.append(np.full(len(points), height))
        within += [inner] * len(points)
        wanted += share
    everything = np.concatenate(xy)
    order = rng.permutation(len(everything))
    proposal = _proposal(asset, rng, everything[order], rng.integers(0, 4, len(order)) * (np.pi / 2), wanted, np.concatenate(z)[order])
    if proposal is not None:
        proposal.within = [within[k] for k in order]
    return proposal


def on_facade(site: BlockSite, asset: Asset, p: dict[str, float], rng: np.random.Generator) -> Proposal | None:
    """Between the windows: at the joints of bays, a little above each floor."""
    xy, yaw, z, variants, wanted = [], [], [], [], 0.0
    for wall in site.walls:
        step = wall.end - wall.start
        length = float(np.hypot(*step))
        lowest = max(FACADE_LOWEST, wall.ground + 0.3)
        storeys, bays = int((wall.height - lowest - 1.4) // wall.storey) + 1, max(round(length / wall.bay), 1)
        if wall.height < lowest + 1.4 or length < 2.0:
            continue
        share = length * (wall.height - lowest) * p["density"] / 100
        wanted += share
        joints = np.arange(1, bays) / bays if bays > 1 else np.array([0.5])
        slots = rng.permutation(storeys * len(joints))[: int(np.ceil(share * OVERSAMPLE))]
        at = joints[slots % len(joints)]
        variant = asset.draw(rng, len(slots))
        out = np.array([step[1], -step[0]]) / length
        xy.append(wall.start + at[:, None] * step + out * (asset.depth[variant] + 0.04)[:, None])
        yaw.append(np.full(len(slots), np.arctan2(out[1], out[0])))
        z.append(lowest + slots // len(joints) * wall.storey)
        variants.append(variant)
    if not xy:
        return None
    order = rng.permutation(sum(len(v) for v in variants))
    limit = int(np.floor(wanted + rng.random()))
    return Proposal(np.concatenate(variants)[order], np.concatenate(xy)[order], np.concatenate(yaw)[order], np.concatenate(z)[order], limit)


def in_rows(site: BlockSite, asset: Asset, p: dict[str, float], rng: np.random.Generator) -> Proposal | None:
    if asset.class_name in ("car", "truck", "bus", "motorcycle"):
        taken = site.bays[rng.random(len(site.bays)) < p["occupancy"]]
        return _proposal(asset, rng, taken[:, :2], taken[:, 2] + np.pi * rng.integers(0, 2, len(taken)))
    if site.open.is_empty:
        return None
    # Crops and orchards are of one kind, and panels stand end to end along their row.
    asset = asset.only(np.arange(len(asset.rows)) == asset.draw(rng, 1)[0])
    across = asset.reach[0, 1] > asset.reach[0, 0]
    spacing = 2 * float(asset.reach[0].max()) + 0.06 if asset.class_name == "fence" else p["spacing"]
    xy, yaw = [np.zeros((0, 2))], [np.zeros(0)]
    for part in shapely.get_parts(site.open):
        corners = np.array(shapely.minimum_rotated_rectangle(part).exterior.coords) if part.area > 4 else np.zeros((0, 2))
        if len(corners) < 5:
            continue
        u = corners[1] - corners[0]
        u = u / np.hypot(*u)
        v = np.array([-u[1], u[0]])
        local = shapely.get_coordinates(part) @ np.stack([u, v], 1)
        s, t = (a.ravel() for a in np.meshgrid(np.arange(*_span(local[:, 0], spacing)), np.arange(*_span(local[:, 1], p["row_spacing"]))))
        xy.append(s[:, None] * u + t[:, None] * v)
        yaw.append(np.full(len(s), np.arctan2(u[1], u[0]) + (np.pi / 2 if across else 0.0)))
    everything, turned = np.concatenate(xy), np.concatenate(yaw)
    taken = _runs(len(everything), p["occupancy"], rng) if asset.class_name == "fence" else rng.random(len(everything)) < p["occupancy"]
    return _proposal(asset, rng, everything[taken], turned[taken])


def _span(values: np.ndarray, step: float) -> tuple[float, float, float]:
    return float(values.min() + step / 2), float(values.max()), step


def at_junctions(site: BlockSite, asset: Asset, p: dict[str, float], rng: np.random.Generator) -> Proposal | None:
    corners = site.corners
    if asset.class_name == "traffic_light" and (corners[:, 3] > 0).any():
        corners = corners[corners[:, 3] > 0]
    corners = corners[rng.random(len(corners)) < p["probability"]]
    inward = np.stack([np.cos(corners[:, 2]), np.sin(corners[:, 2])], 1)
    aside = np.stack([-inward[:, 1], inward[:, 0]], 1) * rng.uniform(-1.8, 1.8, len(corners))[:, None]
    offset = 0.5 + float(asset.reach.max(1).mean()) + 0.5 * rng.random(len(corners))
    return _proposal(asset, rng, corners[:, :2] + inward * offset[:, None] + aside, corners[:, 2] + np.pi)


FUNCTION_TABLE: dict[str, Function] = {
    f.__name__: f for f in (along_kerb, along_facade, parked_at_kerb, in_traffic, on_pavement, in_open_space, along_boundary, around_buildings, at_entrances, on_roof, on_facade, in_rows, at_junctions)
}
