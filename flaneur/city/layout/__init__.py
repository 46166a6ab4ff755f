"""From a street map, or from a seed, to a CityGraph."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flaneur.city.layout.auto import windows_auto
    from flaneur.city.layout.fetch import fetch_extract
    from flaneur.city.layout.graph import CityGraph
    from flaneur.city.layout.mapped import window_graph
    from flaneur.city.layout.osm import Extract, read_extract
    from flaneur.city.layout.synthetic import synthetic_graph
    from flaneur.city.layout.window import Window

# Looked up when used: the contract alone needs neither osmium nor pyproj.
_HOME = {
    "CityGraph": "graph", "Extract": "osm", "Window": "window", "fetch_extract": "fetch", "read_extract": "osm",
    "synthetic_graph": "synthetic", "window_graph": "mapped", "windows_auto": "auto",
}  # fmt: skip

__all__ = ["CityGraph", "Extract", "Window", "fetch_extract", "read_extract", "synthetic_graph", "window_graph", "windows_auto"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(name)
    return getattr(import_module(f"flaneur.city.layout.{_HOME[name]}"), name)
