"""`flaneur export`: a built city as a file of another program."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from flaneur.cli.console import Command, print_json
from flaneur.errors import UserError

FORMATS = ("usd", "gltf", "geojson", "geoparquet", "parquet", "points", "cityengine")


@dataclass
class Export(Command):
    """Write a city as a file of another program.

    Examples:
      flaneur export out/city --usd --out city.usdc           for Isaac Sim and Newton
      flaneur export out/city --gltf --out city.glb           for everything else
      flaneur export out/city --points --out city.ply         labelled points (.laz with the extra realdata)
    """

    scene: tyro.conf.Positional[Path]
    """Folder of a built city."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """File to write; its folder is made."""
    usd: bool = False
    """USD: metres, z up, semantic labels, colliders, lights, camera."""
    gltf: bool = False
    """glTF 2.0 in one .glb."""
    geojson: bool = False
    """Footprints and points with annotations, WGS84."""
    geoparquet: bool = False
    """The same as GeoParquet."""
    parquet: bool = False
    """The annotation table, one row per object."""
    points: bool = False
    """Points on all surfaces with label, instance and colour."""
    cityengine: bool = False
    """CGA text of the rules, blocks and footprints as Shapefile and OSM; OUT is a folder."""
    deinstance: bool = False
    """USD without instancing, as Isaac Sim 4.5 needs it."""
    density: float = 20.0
    """Points per square metre."""

    def run(self) -> None:
        chosen = [name for name in FORMATS if getattr(self, name)]
        if len(chosen) != 1:
            raise UserError(f"export: give exactly one of {', '.join('--' + f for f in FORMATS)}")
        from flaneur.city.scene import Scene

        scene = Scene.load(self.scene)
        start = time.perf_counter()
        self._write(chosen[0], scene)
        report = {
            "scene": str(self.scene),
            "format": chosen[0],
            "out": str(self.out),
            "seconds": round(time.perf_counter() - start, 2),
            "bytes": self.out.stat().st_size if self.out.is_file() else None,
        }
        if self.json:
            print_json(report)
        else:
            print(f"{self.out}: {chosen[0]}, {len(scene.instances):,} instances, {report['seconds']} s")

    def _write(self, name: str, scene) -> None:
        self.out.parent.mkdir(parents=True, exist_ok=True)
        if name == "usd":
            from flaneur.city.export.usd import write_usd

            write_usd(scene, self.out, deinstance=self.deinstance)
        elif name == "gltf":
            from flaneur.city.export.gltf import write_gltf

            write_gltf(scene, self.out)
        elif name == "points":
            from flaneur.city.export.points import write_points

            write_points(scene, self.out, density=self.density)
        elif name == "cityengine":
            from flaneur.city.export.cityengine import read_design, write_cityengine

            write_cityengine(*read_design(self.scene), self.out)
        elif name == "parquet":
            from flaneur.city.export.annotations import write_parquet

            write_parquet(scene, self.out)
        else:
            from flaneur.city.export import geojson

            {"geojson": geojson.write_geojson, "geoparquet": geojson.write_geoparquet}[name](scene, self.out)
