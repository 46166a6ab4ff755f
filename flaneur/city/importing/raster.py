"""A cloud seen from above: labels, heights, colours and instances on a fine raster, and the ground below it all."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import ndimage
from shapely.geometry.base import BaseGeometry

from flaneur.city.importing.cloud import WINDOW, Cloud
from flaneur.classes import load_classes
from flaneur.errors import UserError

CELLS = 512  # per side: 0.39 m, two to the map's cell
SUB = 8  # votes per cell and side: 5 cm apart, since the points of a wall must not make its building thicker
NODES = 129  # of the height field per side: 1.5625 m apart, four cells
HIDDEN = 0.6  # metres below its neighbours on both sides: a point under a roof, a car or a crown, which no vote asks
GAP = 3  # cells over which a hole in the cloud takes its neighbour's label; beyond it is ground
SPECK = 3  # cells: smaller islands of an object class are noise
GROUND = ("terrain", "road", "pavement", "water")


def nearest_index(missing: np.ndarray) -> tuple[np.ndarray, ...]:
    """For every cell the index of the nearest one that is not missing."""
    return tuple(np.asarray(ndimage.distance_transform_edt(missing, return_distances=False, return_indices=True)))


def islands(mask: np.ndarray) -> tuple[np.ndarray, int]:
    """Connected cells numbered from 1 (0 outside the mask), and how many there are."""
    parts = np.zeros(mask.shape, np.int32)
    ndimage.label(mask, output=parts)
    return parts, int(parts.max(initial=0))


def without_pinholes(closed: np.ndarray, others: np.ndarray, width: int) -> np.ndarray:
    """Holes in which nothing else was seen are chance gaps between points, and those below the usual gap single stray points: a roof has thousands."""
    holes, count = islands(np.asarray(ndimage.binary_fill_holes(closed), bool) & ~closed)
    area = np.bincount(holes.ravel(), minlength=count + 1)
    seen = np.bincount(holes[others], minlength=count + 1)
    filled = (seen == 0) | (area <= width**2)
    filled[0] = False
    return closed | filled[holes]


@dataclass
class Raster:
    label: np.ndarray  # [n, n] u8: class seen from above
    top: np.ndarray  # [n, n] f32 metres: height of what is seen
    color: np.ndarray  # [n, n, 3] u8
    instance: np.ndarray  # [n, n] i32, -1 none
    ground_label: np.ndarray  # [n, n] u8: background class below objects too
    ground: np.ndarray  # [NODES, NODES] f32 metres
    covered: float  # share of cells that hold a point
    seen: np.ndarray  # [n * SUB, n * SUB] u8: class of the topmost point, 255 where there is none
    gap: int  # places of `seen` between neighbouring points, about
    footprints: dict[int, BaseGeometry] = field(default_factory=dict)  # by instance, where a map says them exactly

    @property
    def cell(self) -> float:  # metres
        return WINDOW / len(self.label)

    def ground_cells(self) -> np.ndarray:  # [n, n] f32: ground height at the cells' centres
        at = (np.arange(len(self.label)) + 0.5) / len(self.label) * (len(self.ground) - 1)
        return ndimage.map_coordinates(self.ground, np.meshgrid(at, at, indexing="ij"), order=1).astype(np.float32)


def rasterise(cloud: Cloud, name: str, cells: int = CELLS) -> Raster:
    """Votes of the topmost points; each cell is asked in SUB x SUB places, so that edges are not pushed outwards."""
    classes = load_classes()
    ground_ids = np.array([classes[c].id for c in GROUND])
    usable = cloud.label < len(classes)
    xyz, label = cloud.xyz[usable], cloud.label[usable]
    rgb, instance = cloud.rgb[usable], cloud.instance[usable]
    if not len(xyz):
        raise UserError(f"{name}: no labelled points in this window; choose another with --window X,Y")
    n = cells * SUB
    scale = n / WINDOW
    column, row = (np.clip((xyz[:, k] * scale).astype(np.int32), 0, n - 1) for k in range(2))
    at = row * n + column
    order = np.argsort(xyz[:, 2], kind="stable")
    winner = np.full(n * n, -1, np.int64)
    winner[at[order]] = order  # the highest is written last
    gap = max(1, round(1.5 / np.sqrt(len(xyz) / WINDOW**2) * scale))
    _drop_hidden(winner.reshape(n, n), xyz[:, 2], gap)
    blocks = winner.reshape(cells, SUB, cells, SUB).transpose(0, 2, 1, 3).reshape(cells * cells, SUB * SUB)
    best = _majority(np.where(blocks >= 0, label[blocks], 255), ground_ids, len(classes))
    mine = (blocks >= 0) & (label[blocks] == best[:, None])
    count = np.maximum(mine.sum(1), 1)
    top = np.where(mine, xyz[blocks, 2], 0).sum(1) / count
    color = np.where(mine[..., None], rgb[blocks], 0).sum(1) / count[:, None]
    which = np.where(mine, instance[blocks], -1).max(1)
    filled = best != 255
    ground_label, ground = _ground(xyz, label, ground_ids, cells, name)
    shape = (cells, cells)
    colors = np.rint(color).reshape(*shape, 3).astype(np.uint8)
    seen = np.where(winner >= 0, label[winner], 255).astype(np.uint8).reshape(n, n)
    raster = Raster(best.reshape(shape), top.reshape(shape).astype(np.float32), colors, which.reshape(shape), ground_label, ground, float(filled.mean()), seen, gap)
    _fill(raster, filled.reshape(shape))
    _despeckle(raster, ground_ids)
    return raster


def _drop_hidden(winner: np.ndarray, z: np.ndarray, gap: int) -> None:
    """Closing fills pits as wide as the gaps between points, and leaves the edges of things where they are."""
    width = 2 * gap + 1
    top = np.where(winner >= 0, z[winner], z.min()).astype(np.float32)
    closed = ndimage.grey_closing(top, (width, width))
    winner[(winner >= 0) & (top < closed - HIDDEN)] = -1


def _majority(votes: np.ndarray, ground_ids: np.ndarray, classes: int) -> np.ndarray:
    """[m] label with most of the votes [m, k]; a tie goes to the object, which is on top."""
    best, most = np.full(len(votes), 255, np.uint8), np.zeros(len(votes))
    for c in range(classes):
        count = (votes == c).sum(1) + (0.0 if c in ground_ids else 0.25)
        wins = (count > most) & (count >= 1)
        best[wins], most[wins] = c, count[wins]
    return best


def _ground(xyz: np.ndarray, label: np.ndarray, ground_ids: np.ndarray, cells: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    rows = np.isin(label, ground_ids)
    if not rows.any():
        raise UserError(f"{name}: no ground points (terrain, road or water) in this window; they carry everything else")
    p, kind = xyz[rows], label[rows]
    column, row = (np.clip((p[:, k] * cells / WINDOW).astype(np.int32), 0, cells - 1) for k in range(2))
    at, most, best = row * cells + column, np.zeros(cells * cells), np.full(cells * cells, 255, np.uint8)
    for c in ground_ids:
        count = np.bincount(at[kind == c], minlength=cells * cells)
        wins = count > most
        best[wins], most[wins] = c, count[wins]
    best = best.reshape(cells, cells)
    nearest = nearest_index(best == 255)
    node = [np.rint(p[:, k] / WINDOW * (NODES - 1)).astype(np.int32).clip(0, NODES - 1) for k in range(2)]
    at = node[1] * NODES + node[0]
    count, total = np.bincount(at, minlength=NODES**2), np.bincount(at, p[:, 2], NODES**2)
    with np.errstate(invalid="ignore", divide="ignore"):
        return best[nearest], fill_heights((total / count).reshape(NODES, NODES))


def fill_heights(heights: np.ndarray) -> np.ndarray:
    """NaN nodes [n, n] take the nearest known height, smoothed; known ones stay."""
    missing = np.isnan(heights)
    full = heights[nearest_index(missing)]
    for _ in range(8):
        full = np.where(missing, ndimage.uniform_filter(full, 5, mode="nearest"), full)
    return full.astype(np.float32)


def _fill(raster: Raster, filled: np.ndarray) -> None:
    nearest = nearest_index(~filled)
    for name in ("label", "top", "color", "instance"):
        setattr(raster, name, getattr(raster, name)[nearest])
    far = np.asarray(ndimage.distance_transform_edt(~filled)) > GAP
    raster.label[far], raster.instance[far] = raster.ground_label[far], -1


def _despeckle(raster: Raster, ground_ids: np.ndarray) -> None:
    for c in np.setdiff1d(np.unique(raster.label), ground_ids):
        parts, count = islands(raster.label == c)
        small = np.concatenate([[False], np.bincount(parts.ravel(), minlength=count + 1)[1:] < SPECK])[parts]
        raster.label[small], raster.instance[small] = raster.ground_label[small], -1
