"""Layers of the Dutch BGT (SQLite files as ogr2ogr writes them): building footprints, roads, pavements and water as polygons."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import shapely
from shapely.geometry.base import BaseGeometry

from flaneur.city.importing.cloud import WINDOW
from flaneur.city.importing.surface import Layers
from flaneur.errors import UserError

WALKED = ("voetpad", "voetgangersgebied", "fietspad", "inrit")  # a part of the road whose function begins so is pavement
LAYERS = (  # later ones lie on top
    ("bgt_onbegroeidterreindeel.sqlite", "pavement"),
    ("bgt_begroeidterreindeel.sqlite", "terrain"),
    ("bgt_wegdeel.sqlite", "road"),
    ("bgt_waterdeel.sqlite", "water"),
    ("bgt_overbruggingsdeel.sqlite", "road"),
)


def read_layers(folder: Path, corner: tuple[float, float]) -> Layers:
    """What lies in the window, in its frame; absent files are absent layers, but one must be there."""
    folder = Path(folder)
    layers = Layers([_moved(shape, corner) for shape, _ in read_polygons(folder / "bgt_pand.sqlite", corner)])
    for file, name in LAYERS:
        for shape, function in read_polygons(folder / file, corner):
            walked = name == "road" and function.startswith(WALKED)
            layers.background.append(("pavement" if walked else name, _moved(shape, corner)))
    if not layers.buildings and not layers.background:
        raise UserError(f"{folder}: no BGT layer (bgt_pand.sqlite, bgt_wegdeel.sqlite, ...) reaches into this window")
    return layers


def _moved(shape: BaseGeometry, corner: tuple[float, float]) -> BaseGeometry:
    return shapely.transform(shape, lambda xy: xy - corner)


def read_polygons(path: Path, corner: tuple[float, float]) -> Iterator[tuple[BaseGeometry, str]]:
    """Polygons that touch the window, in the file's coordinates, with their function."""
    if not path.is_file():
        return
    window = shapely.box(*corner, corner[0] + WINDOW, corner[1] + WINDOW)
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
            found = database.execute("select f_table_name, f_geometry_column from geometry_columns").fetchall()
            for table, column in found:
                names = [row[1] for row in database.execute(f'pragma table_info("{table}")')]
                chosen = '"function"' if "function" in names else "''"
                # Ended versions and what lies below ground are kept in the same table.
                kept = [f'"{n}" is null' for n in ("terminationdate", "eindregistratie") if n in names]
                kept += ['"relatievehoogteligging" >= 0'] if "relatievehoogteligging" in names else []
                where = f"where {' and '.join(kept)}" if kept else ""
                for blob, kind in database.execute(f'select "{column}", {chosen} from "{table}" {where} order by rowid'):
                    shape = polygon(path, blob)
                    if shape.intersects(window):
                        yield shape, str(kind or "")
    except sqlite3.Error as error:
        raise UserError(f"{path}: no readable SpatiaLite file ({error})") from None


def polygon(path: Path, blob: bytes) -> BaseGeometry:
    try:
        return shapely.make_valid(shapely.force_2d(shapely.from_wkb(blob)))
    except shapely.errors.ShapelyError:
        raise UserError(f"{path}: a geometry is no WKB; export the layer with ogr2ogr -f SQLite") from None
