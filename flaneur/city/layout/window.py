"""Windows: the square piece of the world that becomes one city, and its projection to metres."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import shapely
from pyproj import Proj

from flaneur.city.layout.graph import Origin
from flaneur.errors import UserError

SIZE = 200.0  # metres
_BOX_TOLERANCE = 0.05  # a box typed in degrees is rarely exact


@dataclass(frozen=True)
class Window:
    """A square of `size` metres around a centre in degrees."""

    lon: float
    lat: float
    size: float = SIZE

    def __post_init__(self) -> None:
        if not (math.isfinite(self.lon) and math.isfinite(self.lat) and -180 <= self.lon <= 180 and -85 <= self.lat <= 85):
            raise UserError(f"window: centre {self.lat},{self.lon} is no LAT,LON; latitudes are -85 to 85, longitudes -180 to 180")

    @classmethod
    def from_box(cls, west: float, south: float, east: float, north: float, size: float = SIZE) -> Window:
        """The window in the middle of a box in degrees, which must measure about `size` metres each way."""
        if not (west < east and south < north):
            raise UserError(f"--window {west},{south},{east},{north}: west must be less than east and south less than north (order W,S,E,N)")
        window = cls((west + east) / 2, (south + north) / 2, size)
        x, y = window.project(np.array([[west, window.lat], [east, window.lat], [window.lon, south], [window.lon, north]])).T
        width, height = x[1] - x[0], y[3] - y[2]
        if max(abs(width - size), abs(height - size)) > size * _BOX_TOLERANCE:
            remedy = f"give --center {window.lat:.6f},{window.lon:.6f} or --auto N"
            raise UserError(f"--window {west},{south},{east},{north}: measures {width:.0f} x {height:.0f} m, a window is {size:.0f} x {size:.0f} m; {remedy}")
        return window

    @classmethod
    def parse_box(cls, text: str, size: float = SIZE) -> Window:
        return cls.from_box(*_numbers(text, 4, "--window", "W,S,E,N in degrees"), size=size)

    @classmethod
    def parse_center(cls, text: str, size: float = SIZE) -> Window:
        lat, lon = _numbers(text, 2, "--center", "LAT,LON in degrees")
        return cls(lon, lat, size)

    @property
    def crs(self) -> str:
        return f"+proj=tmerc +lat_0={self.lat:.7f} +lon_0={self.lon:.7f} +k=1 +x_0=0 +y_0=0 +ellps=WGS84 +units=m +no_defs"

    @cached_property
    def _proj(self) -> Proj:
        return Proj(self.crs)

    def project(self, lonlat: np.ndarray) -> np.ndarray:
        """Degrees [..., 2] to metres [..., 2] in the window's frame."""
        x, y = self._proj(lonlat[..., 0], lonlat[..., 1])
        return np.stack([x, y], -1) + self.size / 2

    def unproject(self, xy: np.ndarray) -> np.ndarray:
        """Metres [..., 2] in the window's frame to degrees [..., 2]."""
        lon, lat = self._proj(xy[..., 0] - self.size / 2, xy[..., 1] - self.size / 2, inverse=True)
        return np.stack([lon, lat], -1)

    @property
    def origin(self) -> Origin:
        lon, lat = self.unproject(np.zeros(2)).tolist()
        return Origin(lon=round(lon, 9), lat=round(lat, 9), crs=self.crs, easting=-self.size / 2, northing=-self.size / 2)

    @property
    def square(self) -> shapely.Polygon:
        return shapely.box(0, 0, self.size, self.size)

    def degrees(self, margin: float = 0.0) -> tuple[float, float, float, float]:
        """West, south, east, north that hold the window and a margin in metres."""
        m, s = margin, self.size + margin
        corners = self.unproject(np.array([[-m, -m], [s, -m], [s, s], [-m, s]]))
        return (*corners.min(0).tolist(), *corners.max(0).tolist())


def parse_bounds(text: str) -> tuple[float, float, float, float]:
    """W,S,E,N in degrees of any size."""
    west, south, east, north = _numbers(text, 4, "--window", "W,S,E,N in degrees")
    return west, south, east, north


def _numbers(text: str, n: int, option: str, meaning: str) -> list[float]:
    try:
        values = [float(v) for v in text.split(",")]
    except ValueError:
        values = []
    if len(values) != n or not all(map(math.isfinite, values)):
        raise UserError(f"{option} '{text}': give {meaning}, {n} numbers separated by commas")
    return values
