"""Scatter: every rule's distributions executed on their blocks, kind by kind over the whole city.

One (asset, function) pair is placed at once for all blocks, so the number of geometric queries does not grow with the
number of blocks. What needs the most room or has the fewest places goes first.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import shapely
from shapely import STRtree
from shapely.geometry.base import BaseGeometry

from flaneur.city.assets.catalogue import Catalogue, Variant
from flaneur.city.grammar.functions import FUNCTION_TABLE, PLANTED, Asset, Proposal
from flaneur.city.grammar.placer import Placer, Places
from flaneur.city.grammar.sites import Sites
from flaneur.city.layout.graph import CityGraph
from flaneur.city.planning.library import FUNCTIONS, Assignment, CityPlan, Distribution, RuleLibrary
from flaneur.city.scene import Prototype

POSITION_STEP, YAW_STEP = 0.01, 0.01  # metres, radians: coarser than the file's quantum, so that scenes stay small
SCALES = {"tree": (0.85, 1.0, 1.15), "shrub": (0.8, 1.0, 1.2), "person": (0.95, 1.0, 1.04), "planter": (0.9, 1.0, 1.1)}
VEHICLES = ("car", "truck", "bus", "motorcycle")
# Assets in the order in which they are placed; a class that is not named comes last.
ORDER = (
    "tank", "shed", "kiosk", "bus", "truck", "car", "traffic_light", "street_lamp", "traffic_sign", "fire_hydrant", "mailbox", "bench", "tree", "fence", "motorcycle", "bicycle", "waste_bin",
    "planter", "bollard", "air_conditioner", "shrub", "person",
)  # fmt: skip
TRIANGLES_PER_CLASS = 3000  # of the variants that one scene uses
VARIANTS = {"": (4, 12), "person": (8, 12), "car": (6, 12), "tree": (7, 10)}  # fewest and most per scene
KERB_PIECE, KERB_REACH, KERB_TURN = 2.0, 8.0, 0.2  # metres long, metres away, radians: the kerb along which a vehicle stands
PALM_LATITUDE = 40.0  # degrees
UNSUITED = {
    "along_boundary": ("guard rail", "crowd barrier"), "in_rows": ("guard rail", "crowd barrier", "panel", "wall"), "in_open_space": ("traffic cone", "striped"),
    "along_kerb": ("table", "traffic cone", "lounger", "skip"), "at_junctions": ("level crossing",),
}  # fmt: skip
MOUNTS = {"on_roof": "roof", "on_facade": "wall"}
FLEXIBLE = ("tree", "shrub", "kiosk", "planter")  # where the drawn variant does not fit, a narrow one is tried


@dataclass(frozen=True)
class Job:
    """One distribution on one block with its parameters settled."""

    block: int  # row in CityGraph.blocks
    rule: int
    distribution: Distribution
    parameters: dict[str, float]


class Stock:
    """The catalogue as the grammar uses it: prototypes in one list, assets by class and mount, sizes of feet, and the placer."""

    def __init__(self, catalogue: Catalogue, size: float, seed: int = 0, latitude: float = 50.0) -> None:
        chosen = {name: _choose(name, group, latitude, generator(seed, "variants", name)) for name, group in catalogue.variants.items()}
        variants = [v for group in chosen.values() for v in group]
        self.prototypes: list[Prototype] = [v.prototype for v in variants]
        self.palettes = [np.array(v.palette, np.uint8).reshape(-1, 3) for v in variants]
        self.classes = np.array([p.class_id for p in self.prototypes])
        self.placer = Placer(self.prototypes, size)
        self.widest = self.placer.supports.max((1, 2))  # [P] metres from the axis to the farthest point
        self._scales = np.array([v.scale_range for v in variants]).reshape(-1, 2)
        back = np.array([-float(p.vertices[:, 0].min()) for p in self.prototypes])
        self._assets: dict[tuple[str, str], Asset] = {}
        row = 0
        for name, group in chosen.items():
            rows = np.arange(row, row + len(group), dtype=np.int32)
            row += len(group)
            for mount in sorted({v.mount for v in group}):
                mine = rows[[v.mount == mount for v in group]]
                share = np.cumsum([v.weight for v in group if v.mount == mount])
                self._assets[name, mount] = Asset(name, mine, np.maximum(self.placer.reach[mine, 0], 0.05), back[mine], share / share[-1])

    def asset(self, name: str, mount: str = "ground") -> Asset | None:
        return self._assets.get((name, mount))

    def suited(self, asset: Asset, function: str) -> Asset:
        """Hedges only in lines, and no road works where gardens are fenced."""
        names = [self.prototypes[row].fine_name for row in asset.rows]
        if asset.class_name == "shrub":
            return asset.only(np.array([("hedge" in n) == (function == "along_boundary") for n in names]))
        return asset.only(np.array([not any(word in n for word in UNSUITED.get(function, ())) for n in names]))

    def scales(self, asset: Asset, variant: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A few steps of size per class, where the volume stays in the class's range."""
        scale = rng.choice(SCALES.get(asset.class_name, (1.0,)), len(variant))
        return self.fitting_scale(asset.rows[variant], scale)

    def fitting_scale(self, prototype: np.ndarray | int, scale: np.ndarray | float) -> np.ndarray:
        low, high = np.moveaxis(self._scales[prototype], -1, 0)
        return np.clip(scale, np.ceil(low * 100) / 100, np.floor(high * 100) / 100)

    def tints(self, prototypes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """[n, 3] u8, each from its variant's palette."""
        pick = rng.random(len(prototypes))
        return np.array([self.palettes[k][int(u * len(self.palettes[k]))] for k, u in zip(prototypes, pick, strict=True)], np.uint8).reshape(-1, 3)


def _choose(name: str, group: list[Variant], latitude: float, rng: np.random.Generator) -> list[Variant]:
    """The variants that one city knows: it has its own car models and street trees, and its file stays small."""
    if name == "tree" and abs(latitude) > PALM_LATITUDE:
        group = [v for v in group if "palm" not in v.prototype.fine_name]
    weight = np.array([v.weight for v in group])
    triangles = float(np.mean([len(v.prototype.faces) for v in group]))
    count = int(np.clip(round(TRIANGLES_PER_CLASS / triangles), *VARIANTS.get(name, VARIANTS[""])))
    mounts = {v.mount for v in group}
    if count >= len(group) or len(mounts) > 1:
        return group
    kept = rng.choice(len(group), count, replace=False, p=weight / weight.sum())
    return [group[k] for k in sorted(kept)]


def quantise(places: Places) -> Places:
    places.position = np.round(np.round(places.position / POSITION_STEP) * POSITION_STEP, 4)
    places.yaw = np.round(np.round(np.mod(places.yaw + np.pi, 2 * np.pi) - np.pi, 6) / YAW_STEP).astype(int) * YAW_STEP
    return places


def generator(seed: int, *names: str | int) -> np.random.Generator:
    """A generator of its own for everything that has a name, whatever else is built."""
    return np.random.default_rng([seed, *(zlib.crc32(n.encode()) if isinstance(n, str) else n for n in names)])


def settle(graph: CityGraph, library: RuleLibrary, plan: CityPlan) -> list[Job]:
    """Every distribution of every block with the parameters that the plan or the rule or the function gives it."""
    rules = {r.name: (k, r) for k, r in enumerate(library.rules)}
    rows = {b.id: k for k, b in enumerate(graph.blocks)}
    jobs = []
    for assignment in plan.assignments:
        if assignment.block in rows and assignment.rule in rules:
            number, rule = rules[assignment.rule]
            jobs += [Job(rows[assignment.block], number, d, _parameters(d, assignment)) for d in rule.distributions]
    return jobs


def _parameters(distribution: Distribution, assignment: Assignment) -> dict[str, float]:
    out = {}
    for name, limits in FUNCTIONS[distribution.function].parameters.items():
        own = distribution.parameters.get(name)
        out[name] = assignment.parameters.get(f"{distribution.asset}.{distribution.function}.{name}", own.default if own else limits.default)
    return out


def scatter(jobs: list[Job], sites: Sites, stock: Stock, seed: int) -> list[Places]:
    """Places of all jobs, without conflicts."""
    groups: dict[tuple[str, str], list[Job]] = {}
    for job in jobs:
        groups.setdefault((job.distribution.asset, job.distribution.function), []).append(job)
    placed = []
    for name, function in sorted(groups, key=lambda g: ORDER.index(g[0]) if g[0] in ORDER else len(ORDER)):
        asset = stock.asset(name, MOUNTS.get(function, "ground"))
        if asset is not None:
            placed += _place_group(groups[name, function], stock.suited(asset, function), function, sites, stock, seed)
    return placed


def _place_group(jobs: list[Job], asset: Asset, function: str, sites: Sites, stock: Stock, seed: int) -> list[Places]:
    parts: list[Places] = []
    limits, within = [], []
    for job in jobs:
        own = generator(seed, asset.class_name, function, job.block)
        proposal = FUNCTION_TABLE[function](sites.blocks[job.block], asset, job.parameters, own)
        if proposal is None or not len(proposal.yaw):
            continue
        parts.append(_places(proposal, asset, job, stock, own))
        limits.append(np.full(len(proposal.yaw), proposal.limit))
        within += proposal.within or []
    if not parts:
        return []
    places, limit = Places.join(parts), np.concatenate(limits)
    if function in ("in_traffic", "parked_at_kerb"):
        along = _along_kerb(places, sites)
        places, limit = places.take(along), limit[along]
    region = np.array(within, dtype=object) if function == "on_roof" else _region(function, asset.class_name, sites)
    solids = function != "on_roof"
    chosen = stock.placer.place(places, region, limit, solids)
    out = [places.take(chosen)]
    if asset.class_name in FLEXIBLE and len(asset.rows) > 1 and len(chosen) < len(places):
        rest = places.take(np.setdiff1d(np.arange(len(places)), chosen))
        taken = np.bincount(out[0].block, minlength=len(sites.blocks))
        left = np.delete(limit, chosen) - taken[rest.block]
        narrow = asset.rows[np.argsort(stock.widest[asset.rows], kind="stable")][: max(2, len(asset.rows) // 2)]
        rest.prototype = generator(seed, asset.class_name, function, "smaller").choice(narrow, len(rest))
        rest.scale = stock.fitting_scale(rest.prototype, np.full(len(rest), 0.85))
        out.append(rest.take(stock.placer.place(rest, region, left, solids)))
    return out


def _along_kerb(places: Places, sites: Sites) -> np.ndarray:
    """Rows [k] of vehicles that have a kerb beside them; where streets fan out into a square nobody could tell their lane."""
    segments = np.array([pair for site in sites.blocks for kerb in site.kerbs for pair in pairwise(kerb)]).reshape(-1, 2, 2)
    step = segments[:, 1] - segments[:, 0]
    long = np.hypot(*step.T) > KERB_PIECE
    if not long.any():
        return np.arange(len(places))
    heading = np.arctan2(step[long, 1], step[long, 0])
    vehicle, kerb = STRtree(np.asarray(shapely.linestrings(segments[long]))).query(shapely.points(places.position[:, :2]), predicate="dwithin", distance=KERB_REACH)
    turn = np.abs((heading[kerb] - places.yaw[vehicle] + np.pi / 2) % np.pi - np.pi / 2)
    return np.unique(vehicle[turn < KERB_TURN])


def _places(proposal: Proposal, asset: Asset, job: Job, stock: Stock, rng: np.random.Generator) -> Places:
    n = len(proposal.yaw)
    return quantise(Places(
        asset.rows[proposal.variant], np.column_stack([proposal.xy, proposal.z]), proposal.yaw, stock.scales(asset, proposal.variant, rng),
        np.full(n, job.block, np.int32), np.full(n, job.rule, np.int16), np.zeros(n, np.int64), np.zeros(n, np.uint8),
    ))  # fmt: skip


def _region(function: str, class_name: str, sites: Sites) -> BaseGeometry | None:
    if function == "on_facade":
        return None
    if function in ("parked_at_kerb", "in_traffic"):
        return sites.carriageway
    if function == "in_rows":
        return sites.parking if class_name in VEHICLES else sites.open
    if function in ("on_pavement", "in_open_space"):
        return sites.paved if function == "on_pavement" else sites.soft if class_name in PLANTED else sites.open
    return sites.walkable
