"""Any point format -> one scene for each 200 m window that it covers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from flaneur.city.importing.cloud import WINDOW, Cloud, check_metric
from flaneur.city.importing.surface import Layers, scene_from_cloud
from flaneur.city.importing.tiles import Tiles
from flaneur.city.scene import Scene
from flaneur.errors import UserError

FULL = 0.2 * WINDOW**2  # points a window must have at the least: one on 5 m2


@dataclass(frozen=True)
class Source:
    name: str  # of the scene
    files: tuple[str, ...]  # named in the provenance
    crs: str = ""  # of the coordinates, EPSG:... or empty when local
    licence: str = ""
    colored: bool = True


def scenes_from_points(
    blocks: Iterable[np.ndarray],
    source: Source,
    corner: tuple[float, float] | None = None,
    layers: Callable[[tuple[float, float]], Layers | None] | None = None,
    parent: Path | None = None,
    skipped: list[str] | None = None,
) -> Iterator[Scene]:
    """Sort blocks (dtype POINT) into windows, then build each; windows too sparse to build are named in `skipped`."""
    with Tiles(corner, parent) as tiles:
        for block in blocks:
            tiles.add(block)
        if np.isfinite(tiles.low).all():
            check_metric(", ".join(source.files), tiles.low, tiles.high)
        built, reasons = 0, []
        for place, points in tiles.windows():
            name = source.name if corner is not None or len(tiles.counts) == 1 else f"{source.name}_{place[0]:.0f}_{place[1]:.0f}"
            if len(points) < FULL:
                reasons.append(f"{name}: {len(points):,} points, at least {FULL:,.0f} are needed")
                continue
            cloud = Cloud.of_points(points, place, source.colored)
            try:
                scene = scene_from_cloud(cloud, name, georeference(source.crs, place), {"source": list(source.files), "points": len(points)}, source.licence, layers(place) if layers else None)
            except UserError as error:
                if corner is not None:
                    raise
                reasons.append(str(error))
                continue
            built += 1
            yield scene
        if not built:
            extent = f"x {tiles.low[0]:.0f}..{tiles.high[0]:.0f}, y {tiles.low[1]:.0f}..{tiles.high[1]:.0f}" if np.isfinite(tiles.low).all() else "nothing"
            where = f"window {corner[0]:g},{corner[1]:g} is empty or nearly so" if corner is not None else "no window of 200 m is covered well enough"
            raise UserError(f"{', '.join(source.files)}: {where}; the points cover {extent}" + (f" ({reasons[0]})" if reasons else ""))
        if skipped is not None:
            skipped += reasons


def georeference(crs: str, corner: tuple[float, float]) -> dict[str, Any]:
    """Scene.origin of a window's south-west corner; empty for local coordinates."""
    if not crs:
        return {}
    from pyproj import CRS, Transformer
    from pyproj.exceptions import CRSError

    try:
        lon, lat = Transformer.from_crs(CRS.from_user_input(crs), "EPSG:4326", always_xy=True).transform(*corner)
    except CRSError:
        raise UserError(f"--crs {crs}: unknown coordinate system; give an EPSG code such as EPSG:28992") from None
    return {"crs": crs, "easting": corner[0], "northing": corner[1], "lon": round(lon, 7), "lat": round(lat, 7)}
