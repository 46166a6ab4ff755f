"""Where on Earth a scene lies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flaneur.city.scene import Scene
from flaneur.errors import UserError


def anchor(scene: Scene) -> tuple[Any, np.ndarray] | None:
    """The pyproj CRS and the coordinates [2] of the window's south-west corner in it; None for an invented city."""
    if not scene.origin:
        return None
    from pyproj import CRS, Transformer
    from pyproj.exceptions import CRSError

    try:
        crs = CRS.from_user_input(scene.origin["crs"])
        if "easting" in scene.origin:
            return crs, np.array([scene.origin["easting"], scene.origin["northing"]], np.float64)
        corner = Transformer.from_crs("EPSG:4326", crs, always_xy=True).transform(scene.origin["lon"], scene.origin["lat"])
        return crs, np.array(corner, np.float64)
    except (KeyError, CRSError, TypeError, ValueError) as error:
        raise UserError(f"scene '{scene.name}', field 'origin': needs lon, lat and crs ({error}); build the scene again") from None


def to_degrees(scene: Scene) -> Callable[[np.ndarray], np.ndarray] | None:
    """Window metres [n, 2] -> longitude and latitude [n, 2] (WGS 84); None for an invented city."""
    found = anchor(scene)
    if found is None:
        return None
    from pyproj import Transformer

    crs, corner = found
    transformer = Transformer.from_crs(crs, "EPSG:4326", always_xy=True)

    def convert(xy: np.ndarray) -> np.ndarray:
        return np.stack(transformer.transform(xy[:, 0] + corner[0], xy[:, 1] + corner[1]), 1)

    return convert
