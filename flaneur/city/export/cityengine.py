"""A CityEngine project: the rule library as .cga, blocks and footprints as Shapefiles, the plan as OSM XML.

A Shapefile's column names end after ten letters, so the planned parameters travel in the OSM file, whose tags
CityEngine turns into shape attributes under their full names.
"""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np
import shapely
from pydantic import ValidationError

from flaneur.city.export.cga import cga_text, identifier
from flaneur.city.export.files import replacing
from flaneur.city.export.shapefile import write_shapefile
from flaneur.city.layout.graph import CityGraph, Polygon
from flaneur.city.planning.library import Assignment, CityPlan, RuleLibrary
from flaneur.errors import UserError

METRES_PER_DEGREE = 111_320.0


def write_cityengine(graph: CityGraph, plan: CityPlan, library: RuleLibrary, path: Path) -> None:
    """Write the folder `path`: rules/<library>.cga, maps/{blocks,footprints,lots}.shp and maps/city.osm."""
    with replacing(path) as target:
        (target / "rules").mkdir(parents=True)
        (target / "maps").mkdir()
        (target / "assets").mkdir()
        (target / "rules" / f"{identifier(library.name)}.cga").write_text(cga_text(library), "utf-8")
        assigned = {a.block: a for a in plan.assignments}
        _shapefiles(target / "maps", graph, assigned)
        (target / "maps" / "city.osm").write_text(osm_text(graph, assigned), "utf-8")
        (target / "README.txt").write_text(_readme(graph), "utf-8")


def _shape(p: Polygon) -> shapely.Polygon:
    return shapely.Polygon(p.exterior, p.holes)


def _shapefiles(folder: Path, graph: CityGraph, assigned: dict[int, Assignment]) -> None:
    wkt, shift = "", np.zeros(2)
    if graph.origin:
        from pyproj import CRS

        wkt = CRS.from_user_input(graph.origin.crs).to_wkt("WKT1_ESRI")
        shift = np.array([graph.origin.easting, graph.origin.northing])

    def placed(polygons: list[Polygon]) -> list[shapely.Polygon]:
        return [shapely.transform(_shape(p), lambda xy: xy + shift) for p in polygons]

    blank = Assignment(block=-1, rule="")
    plans = [assigned.get(b.id, blank) for b in graph.blocks]
    blocks = {
        "block": [b.id for b in graph.blocks], "type": [b.type for b in graph.blocks], "name": [b.name for b in graph.blocks],
        "rule": [a.rule for a in plans], "startRule": [identifier(a.rule) if a.rule else "" for a in plans],
        "style": [a.style or "" for a in plans], "semantics": [a.semantics for a in plans],
    }  # fmt: skip
    write_shapefile(folder / "blocks.shp", placed([b.polygon for b in graph.blocks]), blocks, wkt)
    buildings = {
        "building": [b.id for b in graph.buildings], "block": [b.block for b in graph.buildings], "height": [float(b.height) for b in graph.buildings],
        "levels": [b.levels for b in graph.buildings], "roof": [b.roof_shape for b in graph.buildings], "use": [b.use for b in graph.buildings],
        "name": [b.name for b in graph.buildings], "osm": [f"{b.osm.type}/{b.osm.id}" if b.osm else "" for b in graph.buildings],
    }  # fmt: skip
    write_shapefile(folder / "footprints.shp", placed([b.polygon for b in graph.buildings]), buildings, wkt)
    write_shapefile(folder / "lots.shp", placed([lot.polygon for lot in graph.lots]), {"lot": [lot.id for lot in graph.lots], "block": [lot.block for lot in graph.lots]}, wkt)


def osm_text(graph: CityGraph, assigned: dict[int, Assignment]) -> str:
    """Streets and blocks as OSM XML with negative ids (never to be uploaded); outer rings only."""
    nodes: dict[tuple[float, float], int] = {}
    ways: list[str] = []

    def way(points: list[tuple[float, float]], tags: dict[str, object]) -> None:
        refs = [nodes.setdefault(p, -len(nodes) - 1) for p in points]
        body = "".join(f'<nd ref="{r}"/>' for r in refs) + "".join(f"<tag k={quoteattr(k)} v={quoteattr(str(v))}/>" for k, v in tags.items() if v != "")
        ways.append(f'<way id="{-len(ways) - 1_000_001}" version="1">{body}</way>')

    for s in graph.streets:
        way(s.line, {"highway": s.kind, "name": s.name, "lanes": s.lanes, "width": round(s.width, 2), "sidewalkWidth": round(s.pavement, 2), "oneway": "yes" if s.oneway else ""})
    for b in graph.blocks:
        a = assigned.get(b.id)
        tags: dict[str, object] = {"flaneur:block": b.id, "landuse": b.type, "name": b.name}
        if a:
            tags |= {"startRule": identifier(a.rule), "style": a.style or "", "semantics": a.semantics}
            tags |= {f"{identifier(a.rule)}_{k.removeprefix('architecture.').replace('.', '_')}": v for k, v in a.parameters.items()}
        way([*b.polygon.exterior, b.polygon.exterior[0]], tags)
    place = _degrees(graph)
    lines = [f'<node id="{k}" version="1" lat="{lat:.8f}" lon="{lon:.8f}"/>' for (lon, lat), k in zip(place(list(nodes)), nodes.values(), strict=True)]
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', '<osm version="0.6" generator="flaneur" upload="false">', *lines, *ways, "</osm>", ""])


def _degrees(graph: CityGraph):
    if not graph.origin:
        return lambda xy: np.array(xy).reshape(-1, 2) / METRES_PER_DEGREE
    from pyproj import Transformer

    o = graph.origin
    convert = Transformer.from_crs(o.crs, "EPSG:4326", always_xy=True)

    def place(xy: list[tuple[float, float]]) -> np.ndarray:
        at = np.array(xy).reshape(-1, 2)
        return np.stack(convert.transform(at[:, 0] + o.easting, at[:, 1] + o.northing), 1)

    return place


def _readme(graph: CityGraph) -> str:
    return (
        f"CityEngine project of '{graph.name}', written by Flaneur.\n{graph.attribution}\n"
        "Copy the folders into a CityEngine workspace. Import maps/blocks.shp (or maps/city.osm, which also carries the planned parameters),\n"
        "assign rules/*.cga and let each shape's attribute startRule name its start rule. Put one OBJ per class into assets/.\n"
    )


def read_design(folder: Path) -> tuple[CityGraph, CityPlan, RuleLibrary]:
    """Graph, plan and rule library of a built city's folder: graph.json, plan.json and, unless it is ours, library.json."""
    from flaneur.city.planning.rules import builtin_library, load_library

    folder = Path(folder)
    graph = CityGraph.load(folder / "graph.json")
    try:
        plan = CityPlan.model_validate_json((folder / "plan.json").read_text("utf-8"))
    except (OSError, ValidationError) as error:
        raise UserError(f"{folder}/plan.json: no plan here ({str(error).splitlines()[0]}); build the city with flaneur city build") from None
    library = load_library(folder / "library.json") if (folder / "library.json").exists() else builtin_library()
    if library.name != plan.library:
        raise UserError(f"{folder}/plan.json: field 'library': made with '{plan.library}', which is not beside it; save it there as library.json")
    return graph, plan, library
