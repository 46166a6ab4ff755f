"""Points -> Scene where there is no mesh: the ground as a height field, and a closed solid for every object on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import shapely
from manifold3d import Manifold
from scipy import ndimage
from shapely.geometry.base import BaseGeometry

from flaneur.city.importing.builder import INDEX, NAMES, SceneBuilder, nearest_material, plain, roofed
from flaneur.city.importing.cloud import WINDOW, Cloud
from flaneur.city.importing.ground import add_ground
from flaneur.city.importing.raster import GROUND, SUB, Raster, islands, nearest_index, rasterise, without_pinholes
from flaneur.city.importing.relief import outline, prism, relief
from flaneur.city.scene import Scene
from flaneur.classes import load_classes
from flaneur.errors import UserError

COVERED = 0.2  # share of the window's cells that must hold points
CROWN = 0.7  # share of a tree's height that its crown fills at most
TREE_SPACING = 3.5  # metres between tree tops
ROOFS = ("roof_red", "roof_brown", "roof_slate", "roof_bitumen", "roof_gravel", "roof_green", "roof_metal")
LEAVES = ("leaves_oak", "leaves_linden", "leaves_dark", "leaves_olive", "leaves_autumn", "needles")
STRAIGHT = 0.3  # metres by which walls may be straightened: about a cell, or a quarter of it where points say where they are
FLATTEN = 0.08  # metres by which simplifying may move a surface
GAPS = 4  # cells: holes of a map narrower than twice that are closed
VEHICLES = {"car": 12.0, "truck": 60.0, "bus": 95.0}  # m3: a clump above twice that is split


@dataclass
class Layers:
    """Polygons in the window's frame that overrule the points where they lie: footprints one by one, background by class."""

    buildings: list[BaseGeometry] = field(default_factory=list)
    background: list[tuple[str, BaseGeometry]] = field(default_factory=list)  # later ones lie on top


def scene_from_cloud(cloud: Cloud, name: str, origin: dict[str, Any], provenance: dict[str, Any], licence: str = "", layers: Layers | None = None) -> Scene:
    """One window's scene; the ground's median height becomes zero."""
    raster = rasterise(cloud, name)
    if raster.covered < COVERED:
        raise UserError(f"{name}: only {raster.covered:.0%} of the window holds labelled points; at least {COVERED:.0%} are needed, choose another with --window X,Y")
    if layers is not None:
        apply_layers(raster, layers)
    zero = float(np.round(np.median(raster.ground), 2))
    for heights in (raster.ground, raster.top):
        heights -= np.float32(zero)
    builder = SceneBuilder()
    builder.counts["points ignored by the source's labels"] += int((cloud.label >= len(load_classes())).sum())
    add_ground(builder, raster, cloud.colored)
    _add_buildings(builder, raster, cloud.colored)
    _add_trees(builder, raster, cloud.colored)
    _add_vehicles(builder, raster)
    _add_rest(builder, raster)
    return builder.finish(name, raster.ground, {**origin, "height": zero} if origin else {}, provenance, licence)


def apply_layers(raster: Raster, layers: Layers) -> None:
    """A map may end inside the window: a building of the points gives way only where the map says what is there instead."""
    classes = load_classes()
    n, objects = len(raster.label), ~np.isin(raster.label, [classes[c].id for c in GROUND])
    mapped = np.zeros((n, n), bool)
    for class_name, shape in layers.background:
        inside = cells_inside(shape, n)
        raster.ground_label[inside] = classes[class_name].id
        mapped |= inside
    raster.label[~objects] = raster.ground_label[~objects]
    if not layers.buildings:
        return
    building = classes["building"].id
    seen, height = raster.label == building, raster.top.copy()
    footprints = [cells_inside(shape, n) for shape in layers.buildings]
    mapped |= np.any(footprints, 0)
    # Between the polygons of a map there may be a wall or a gap, but no further building.
    mapped = ndimage.binary_closing(np.pad(mapped, GAPS), np.ones((3, 3)), iterations=GAPS)[GAPS:-GAPS, GAPS:-GAPS]
    away = seen & mapped
    raster.label[away] = raster.ground_label[away]
    raster.instance[seen] = -1
    nearest = nearest_index(~seen)
    for k, (shape, inside) in enumerate(zip(layers.buildings, footprints, strict=True)):
        if not (inside & seen).any():
            continue
        # A tree or a gap over the footprint: the roof below takes the nearest roof's height.
        raster.top[inside] = height[nearest][inside]
        raster.label[inside], raster.instance[inside] = building, k
        raster.footprints[k] = shape


def cells_inside(shape: BaseGeometry, n: int) -> np.ndarray:
    """[n, n] bool: cells whose centre lies in the shape."""
    x0, y0, x1, y1 = (np.clip(v / WINDOW * n, 0, n) for v in shape.bounds)
    out = np.zeros((n, n), bool)
    rows, columns = np.arange(int(y0), min(n, int(y1) + 1)), np.arange(int(x0), min(n, int(x1) + 1))
    if len(rows) and len(columns):
        shapely.prepare(shape)
        x, y = np.meshgrid((columns + 0.5) * WINDOW / n, (rows + 0.5) * WINDOW / n)
        out[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] = shapely.contains_xy(shape, x, y)
    return out


def components(raster: Raster, class_name: str, by_instance: bool = False):
    """Slices and masks of connected cells of a class; of one instance each where the source counts them, and the whole of one whose footprint is known."""
    mask = raster.label == load_classes()[class_name].id
    groups = {-1: mask}
    if by_instance:
        groups = {int(i): mask & (raster.instance == i) for i in np.unique(raster.instance[mask])}
    for instance, group in groups.items():
        parts = group.astype(np.int32) if instance in raster.footprints else islands(group)[0]
        for k, where in enumerate(ndimage.find_objects(parts)):
            yield where, parts[where] == k + 1


def _corner(raster: Raster, where: tuple[slice, slice]) -> tuple[float, float]:
    return where[1].start * raster.cell, where[0].start * raster.cell


def _at_edge(raster: Raster, where: tuple[slice, slice]) -> bool:
    n = len(raster.label)
    return any(s.start == 0 or s.stop == n for s in where)


def _add_buildings(builder: SceneBuilder, raster: Raster, colored: bool) -> None:
    ground = raster.ground_cells()
    for where, mask in components(raster, "building", by_instance=True):
        foot = float(ground[where][mask].min()) - 0.3
        top = np.where(mask, raster.top[where], 0)
        top = np.maximum(_calm(top, mask), ground[where] + 1.0)
        solid = _shaped(raster, where, mask, top, foot, ("building",), raster.footprints.get(int(raster.instance[where][mask][0])))
        height = float(np.median((top - ground[where])[mask]))
        roof = NAMES[int(nearest_material(ROOFS, np.median(raster.color[where][mask], 0)))] if colored else "roof_red" if height < 14 else "roof_gravel"
        wall = "brick_row_window" if height < 14 else "modern_apartment_window" if height < 40 else "glass_tower_window"
        builder.solid("building", solid, roofed(wall, roof), clipped=_at_edge(raster, where))


def _calm(top: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Median of 3 x 3 cells of the same object: chimneys and stray points go, ridges stay."""
    known = np.pad(np.where(mask, top, np.nan), 1, constant_values=np.nan)
    h, w = mask.shape
    around = np.stack([known[i : i + h, j : j + w] for i, j in np.ndindex(3, 3)])
    around[:, ~mask] = 0.0
    return np.where(mask, np.nanmedian(around, 0), top)


def _grown(mask: np.ndarray) -> np.ndarray:
    return ndimage.binary_dilation(np.pad(mask, 2), np.ones((3, 3)), iterations=2)


def _spread(top: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return np.pad(top, 2)[nearest_index(~np.pad(mask, 2))]


def _moved(corner: tuple[float, float], cell: float) -> tuple[float, float]:
    return corner[0] - 2 * cell, corner[1] - 2 * cell


def _shaped(raster: Raster, where: tuple[slice, slice], mask: np.ndarray, top: np.ndarray, foot: float, kinds: tuple[str, ...], shape: BaseGeometry | None = None) -> Manifold:
    """The relief of cells, cut by its footprint or by the outline of its points; what lies in one plane is merged."""
    solid = relief(_grown(mask), _spread(top, mask), foot, raster.cell, _moved(_corner(raster, where), raster.cell))
    shape = points_outline(raster, where, mask, kinds) if shape is None else shape
    shape = shape.intersection(shapely.box(0, 0, WINDOW, WINDOW))
    return (solid.simplify(FLATTEN) ^ prism(shape, foot - 1, 400.0)).simplify(FLATTEN)


def points_outline(raster: Raster, where: tuple[slice, slice], mask: np.ndarray, kinds: tuple[str, ...]) -> BaseGeometry:
    """Outline in metres of the points that a set of cells stands for: 5 cm fine, where cells alone would push every edge about.

    Cells around the set belong to it as far as its points reach into them.
    """
    classes = load_classes()
    ids = [classes[k].id for k in kinds]
    n = len(raster.label)
    rows, columns = (np.arange(s.start - 1, s.stop + 1).clip(0, n - 1) for s in where)
    own = np.pad(mask, 1)
    allowed = own | (np.asarray(ndimage.binary_dilation(own, np.ones((3, 3))), bool) & ~np.isin(raster.label[np.ix_(rows, columns)], ids))
    fine_rows, fine_columns = ((r[:, None] * SUB + np.arange(SUB)).ravel() for r in (rows, columns))
    seen = raster.seen[np.ix_(fine_rows, fine_columns)]
    points = np.isin(seen, ids)
    # Closing joins points that lie apart by the usual gap and leaves the outer edge where it is; what others were seen in stays theirs.
    width = 2 * raster.gap + 1
    closed = np.asarray(ndimage.binary_closing(np.pad(points, width), np.ones((width, width))), bool)[width:-width, width:-width] & (points | (seen == 255))
    closed = closed & np.kron(allowed, np.ones((SUB, SUB), bool))
    closed = ndimage.binary_opening(without_pinholes(closed, ~points & (seen != 255), width), np.ones((3, 3)))
    cell = raster.cell / SUB
    corner = (where[1].start - 1) * raster.cell, (where[0].start - 1) * raster.cell
    if not closed.any():
        return outline(mask, raster.cell, _corner(raster, where), STRAIGHT)
    return outline(closed, cell, corner, STRAIGHT / 4)


def _add_trees(builder: SceneBuilder, raster: Raster, colored: bool) -> None:
    ground, classes = raster.ground_cells(), load_classes()
    mask = np.isin(raster.label, [classes["tree"].id, classes["shrub"].id])
    height = np.where(mask, raster.top - ground, 0)
    for where, cells in crowns(mask, height, raster.cell):
        foot, top = float(ground[where][cells].mean()), raster.top[where]
        tall = float(height[where][cells].max())
        area = float(cells.sum()) * raster.cell**2
        mean = float(np.maximum(height[where][cells], 0.1).mean())
        # A crown may hold 100 m3 at most, so wide ones are flatter; low growth reaches the ground.
        depth = min(mean * CROWN, 85.0 / area) if tall > 2.5 else mean
        base = max(foot, foot + mean - depth)
        solid = _shaped(raster, where, cells, np.maximum(_calm(np.where(cells, top, 0), cells), base + 0.2), base, ("tree", "shrub"))
        leaves = NAMES[int(nearest_material(LEAVES, np.median(raster.color[where][cells], 0)))] if colored else "leaves_linden"
        if base - foot > 0.5:
            i, j = _inner(cells)
            x, y = _corner(raster, where)
            trunk = Manifold.cylinder(base - foot + 0.3, 0.18, 0.14, 6).translate((x + (j + 0.5) * raster.cell, y + (i + 0.5) * raster.cell, foot))
            solid = solid + trunk
        else:
            base = foot - 1
        builder.solid("tree", solid, _leafed(leaves, base), clipped=_at_edge(raster, where))


def _leafed(leaves: str, base: float):
    return lambda centre, normal: np.where((centre[:, 2] < base - 1e-3) & (np.abs(normal[:, 2]) < 0.5), INDEX["bark"], INDEX[leaves])


def _inner(cells: np.ndarray) -> tuple[int, int]:
    depth = np.asarray(ndimage.distance_transform_edt(np.pad(cells, 1)))[1:-1, 1:-1]
    i, j = np.unravel_index(int(np.argmax(depth)), depth.shape)
    return int(i), int(j)


def crowns(mask: np.ndarray, height: np.ndarray, cell: float):
    """Cut a canopy at its tops: every cell goes to the nearest local maximum of its own clump."""
    smooth = ndimage.gaussian_filter(height, 1.0 / cell / 2)
    reach = 2 * round(TREE_SPACING / cell / 2) + 1
    tops = mask & (smooth == ndimage.maximum_filter(smooth, reach))
    clumps, count = islands(mask)
    found = np.unique(clumps[tops])
    for missing in np.setdiff1d(np.arange(1, count + 1), found):  # a clump below a taller neighbour's reach
        i, j = np.argwhere(clumps == missing)[0]
        tops[i, j] = True
    seeds = np.argwhere(tops)
    owner = np.zeros(mask.shape, np.int32)
    owner[tuple(seeds.T)] = np.arange(1, len(seeds) + 1)
    owner = np.where(mask, owner[nearest_index(~tops)], 0)
    for k, box in enumerate(ndimage.find_objects(owner)):
        if box is None:
            continue
        parts, _ = islands(owner[box] == k + 1)
        for m, inner in enumerate(ndimage.find_objects(parts)):
            rows, columns = (slice(b.start + s.start, b.start + s.stop) for b, s in zip(box, inner, strict=True))
            yield (rows, columns), parts[inner] == m + 1


def _add_vehicles(builder: SceneBuilder, raster: Raster) -> None:
    ground = raster.ground_cells()
    for class_name, usual in VEHICLES.items():
        for where, mask in components(raster, class_name):
            height = np.clip(raster.top[where] - ground[where], 0.3, 4.5)
            count = max(1, round(float(height[mask].sum()) * raster.cell**2 / usual)) if (height[mask].sum() * raster.cell**2) > 2 * usual else 1
            for part in split_along(mask, count):
                foot = float(ground[where][part].min())
                solid = _shaped(raster, where, part, _calm(np.where(part, foot + height, 0), part), foot, tuple(VEHICLES))
                tint = np.clip(np.median(raster.color[where][part], 0) * 1.15, 25, 255).astype(int)
                builder.solid(class_name, solid, plain("car_paint"), (int(tint[0]), int(tint[1]), int(tint[2])), _at_edge(raster, where))


def split_along(mask: np.ndarray, count: int) -> list[np.ndarray]:
    """Cut cells into `count` equal shares along their longest extent: a row of parked cars."""
    if count == 1:
        return [mask]
    at = np.argwhere(mask).astype(float)
    at -= at.mean(0)
    direction = np.linalg.svd(at, full_matrices=False)[2][0]
    rank = np.argsort(np.argsort(at @ direction, kind="stable"), kind="stable")
    share = rank * count // len(at)
    parts = []
    for k in range(count):
        part = np.zeros_like(mask)
        part[mask] = share == k
        parts.append(part)
    return parts


def _add_rest(builder: SceneBuilder, raster: Raster) -> None:
    """Other object classes (a labelled cloud may name any of ours): upright solids."""
    ground, classes = raster.ground_cells(), load_classes()
    done = {"building", "tree", "shrub", *VEHICLES}
    for c in np.unique(raster.label):
        name = classes.names[c]
        if name in done or c not in classes.object_ids:
            continue
        for where, mask in components(raster, name):
            foot = float(ground[where][mask].min())
            solid = relief(mask, np.maximum(raster.top[where], foot + 0.1), foot, raster.cell, _corner(raster, where)).simplify(FLATTEN)
            builder.solid(name, solid, plain("concrete"), clipped=_at_edge(raster, where))
