"""`flaneur city import`: real places, as points, CityJSON or meshes, to cities."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from flaneur.cli.console import Command, print_json, progress
from flaneur.errors import UserError

if TYPE_CHECKING:
    from flaneur.city.importing.windows import Source
    from flaneur.city.scene import Scene


@dataclass
class Import(Command):
    """Make cities of a labelled point cloud, a CityJSON model or a labelled mesh: one for each window of 200 m.

    Examples:
      flaneur city import Qingdao_*.txt --format urbanbis --out out/qingdao
      flaneur city import ahn3.laz --format las --crs EPSG:28992 --window 84830,447430 --out out/delft
      flaneur city import delft.json --format cityjson --window 84830,447430 --out out/delft
      flaneur city import town.glb --format mesh --table classes.toml --scale 0.001 --out out/town
      flaneur city import photos.obj --format mesh --cloud Qingdao_*.txt --window 2000,1400 --out out/block
    """

    files: tyro.conf.Positional[list[Path]]
    """Point clouds, CityJSON models or meshes."""
    format: Literal["urbanbis", "las", "cityjson", "mesh"]
    """What the files are."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """Folder to write; one folder per window in it when there are several."""
    window: str | None = None
    """X,Y of the south-west corner of the one window wanted, in the source's coordinates."""
    crs: str = ""
    """Coordinate system of the source, such as EPSG:28992; read from the file where it says so."""
    layers: Path | None = None
    """Folder of BGT layers (SQLite) in the same coordinates: building footprints, roads and water overrule the points."""
    label: list[str] = field(default_factory=list)
    """CODE=CLASS for further LAS classes, such as 64=car."""
    table: Path | None = None
    """For meshes: which material, object or label number is which class (TOML)."""
    cloud: list[Path] = field(default_factory=list)
    """For meshes without labels, such as one made from photos: UrbanBIS text or LAS whose labels the mesh takes."""
    scale: float | None = None
    """For meshes: metres in one unit, 0.001 for millimetres."""
    up: Literal["y", "z"] | None = None
    """For meshes: the axis that points up; GLB is y-up by its standard, others are taken as z-up."""
    sha256: Path | None = None
    """List as sha256sum writes it; the files are compared with it first."""
    licence: str = ""
    """Attribution line that travels with the city."""

    def run(self) -> None:
        if not self.files:
            raise UserError("city import: name at least one file")
        missing = [f for f in (*self.files, *self.cloud, *(f for f in (self.table, self.layers, self.sha256) if f)) if not f.exists()]
        if missing:
            raise UserError(f"{missing[0]}: no such file")
        if self.sha256 is not None:
            from flaneur.city.importing.checksums import verify_files

            verify_files([*self.files, *self.cloud], self.sha256)
        start = time.perf_counter()
        reports = []
        skipped: list[str] = []
        single = self.window is not None or self.format in ("cityjson", "mesh")
        for scene in self._scenes(skipped):
            folder = self.out if single else self.out / scene.name
            scene.save(folder)
            reports.append({"scene": str(folder), "name": scene.name, "objects": int(scene.is_object.sum()), "triangles": sum(len(p.faces) for p in scene.prototypes), **scene.provenance})
        seconds = round(time.perf_counter() - start, 2)
        if self.json:
            print_json({"scenes": reports, "skipped": skipped, "seconds": seconds})
            return
        for r in reports:
            print(f"{r['scene']}: {r['objects']:,} objects, {r['triangles']:,} triangles")
            for what, count in r["left_out"].items():
                if count:
                    print(f"  {count:,} {what}")
        for line in skipped:
            print(f"skipped {line}")
        print(f"look at it: flaneur view {reports[0]['scene']}")

    def _corner(self) -> tuple[float, float] | None:
        if self.window is None:
            return None
        try:
            x, y = (float(v) for v in self.window.split(","))
        except ValueError:
            raise UserError(f"--window {self.window}: give X,Y of the south-west corner in the source's coordinates") from None
        return x, y

    def _scenes(self, skipped: list[str]) -> Iterator[Scene]:
        if self.format in ("urbanbis", "las"):
            yield from self._from_points(skipped)
        elif self.format == "cityjson":
            from flaneur.city.importing.cityjson import scene_from_cityjson

            yield scene_from_cityjson(self.files[0], self._corner(), self.crs, self.licence, self.out.name)
        else:
            from flaneur.city.importing.mesh import scene_from_mesh

            yield scene_from_mesh(self.files, self.table, self.cloud, self.scale, self.up, self._corner(), self.crs, self.licence, self.out.name)

    def _from_points(self, skipped: list[str]) -> Iterator[Scene]:
        from flaneur.city.importing import las, urbanbis
        from flaneur.city.importing.bgt import read_layers
        from flaneur.city.importing.windows import scenes_from_points

        source = self._source()
        self.out.parent.mkdir(parents=True, exist_ok=True)
        layers = None
        if self.layers is not None:
            folder = self.layers
            layers = lambda corner: read_layers(folder, corner)  # noqa: E731
        with progress("reading", sum(f.stat().st_size for f in self.files)) as advance:
            before = 0

            def blocks():
                nonlocal before
                for file in self.files:
                    if self.format == "urbanbis":
                        yield from urbanbis.read_blocks(file, advance=lambda done: advance(before + done, file.name))  # noqa: B023
                    else:
                        yield from las.read_chunks(file, las.parse_labels(self.label))
                    before += file.stat().st_size
                    advance(before, "building")

            yield from scenes_from_points(blocks(), source, self._corner(), layers, self.out.parent, skipped)

    def _source(self) -> Source:
        from flaneur.city.importing import las
        from flaneur.city.importing.windows import Source

        names = tuple(f.name for f in self.files)
        if self.format == "urbanbis":
            return Source(self.out.name, names, self.crs, self.licence)
        crs = self.crs or las.crs_of(self.files[0])
        return Source(self.out.name, names, crs, self.licence, all(las.has_color(f) for f in self.files))
