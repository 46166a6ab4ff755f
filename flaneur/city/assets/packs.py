"""Asset packs of the user's own: a folder of GLB, OBJ, PLY, STL or USD meshes and one `pack.toml`.

name = "our street"

[[asset]]
file = "statue.glb"        # inside the folder
class = "bench"            # an object class of flaneur/data/classes.toml
fine_name = "iron bench"
scale = 1.0                # optional: metres per unit of the file, on top of the file's own unit
up = "y"                   # optional: y or z; default: the format's own (a USD file says it itself)
turn = 90                  # optional: degrees about the vertical, until the front looks along +x
material = "wood"          # optional: a name in MATERIALS; or
color = [120, 80, 40]      # optional: a colour of its own
mount = "ground"           # optional: ground, roof or wall
weight = 1.0               # optional: how common among its class
"""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import Any

import numpy as np

from flaneur.city.assets.catalogue import Catalogue, Variant
from flaneur.city.assets.pack_meshes import read_mesh
from flaneur.city.assets.recipes import MOUNTS, WHITE
from flaneur.city.assets.shapes import MATERIAL_INDEX, assemble, map_faces
from flaneur.city.scene import QUANTUM
from flaneur.classes import SCALE_GROUPS, load_classes
from flaneur.errors import UserError

PACK_FILE = "pack.toml"
MAX_TRIANGLES = 20_000
MAX_EXTENT = 250.0  # metres: more than a window
MIN_EXTENT = 0.02
DEFAULT_MATERIAL = "plastic"  # tinted, so that a pack's colour shows
_FIELDS = {"file": str, "class": str, "fine_name": str, "scale": (int, float), "up": str, "turn": (int, float), "material": str, "color": list, "mount": str, "weight": (int, float)}
_REQUIRED = ("file", "class", "fine_name")


def load_pack(folder: Path) -> list[Variant]:
    """Read and check every asset of a pack; volumes are exact. The first thing wrong is a UserError."""
    folder = Path(folder)
    pack = folder / PACK_FILE
    try:
        table = tomllib.loads(pack.read_text("utf-8"))
    except FileNotFoundError:
        raise UserError(f"{folder}: no {PACK_FILE} here; an asset pack is a folder of meshes with one") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"{pack}: not readable as TOML ({error})") from None
    name, entries = table.get("name", folder.name), table.get("asset")
    if not isinstance(name, str) or not name:
        raise UserError(f"{pack}: field 'name' must be text")
    if not isinstance(entries, list) or not entries or not all(isinstance(e, dict) for e in entries):
        raise UserError(f"{pack}: field 'asset': at least one [[asset]] table is needed")
    unknown = sorted(set(table) - {"name", "asset"})
    if unknown:
        raise UserError(f"{pack}: unknown field '{unknown[0]}'; known are name, asset")
    variants = [_variant(folder, name, entry, f"{pack}: asset {k + 1}") for k, entry in enumerate(entries)]
    names = [v.prototype.name for v in variants]
    for n in names:
        if names.count(n) > 1:
            raise UserError(f"{pack}: field 'fine_name': '{n.split('/')[-1]}' appears twice in one class")
    return variants


def with_packs(catalogue: Catalogue, folders: list[Path], replace: bool = False) -> Catalogue:
    """The catalogue and the packs' assets together; with `replace`, a class that a pack serves loses the procedural ones."""
    added: dict[str, list[Variant]] = {}
    classes = load_classes()
    for folder in folders:
        for variant in load_pack(folder):
            added.setdefault(classes[variant.prototype.class_id].name, []).append(variant)
    order = [c.name for c in classes if c.name in catalogue.variants or c.name in added]
    kept = {n: [] if replace and n in added else list(catalogue.variants.get(n, [])) for n in order}
    return Catalogue({n: kept[n] + added.get(n, []) for n in order}, catalogue.material_names)


def _check_fields(entry: dict[str, Any], where: str) -> None:
    for field in _REQUIRED:
        if field not in entry:
            raise UserError(f"{where}: field '{field}' is missing")
    for field, value in entry.items():
        if field not in _FIELDS:
            raise UserError(f"{where}: unknown field '{field}'; known are {', '.join(_FIELDS)}")
        if not isinstance(value, _FIELDS[field]) or isinstance(value, bool):
            raise UserError(f"{where}: field '{field}' has the wrong type ({type(value).__name__})")
    classes = load_classes()
    if entry["class"] not in classes.index or classes[entry["class"]].group not in SCALE_GROUPS:
        objects = ", ".join(c.name for c in classes if c.group in SCALE_GROUPS)
        raise UserError(f"{where}: field 'class': unknown object class '{entry['class']}'; known are {objects}")
    if not entry["fine_name"].strip():
        raise UserError(f"{where}: field 'fine_name' is empty")
    scale, weight, turn = entry.get("scale", 1.0), entry.get("weight", 1.0), entry.get("turn", 0.0)
    if not (math.isfinite(scale) and scale > 0):
        raise UserError(f"{where}: field 'scale' must be above 0, not {scale}")
    if not (math.isfinite(weight) and weight > 0) or not math.isfinite(turn):
        raise UserError(f"{where}: fields 'weight' (above 0) and 'turn' must be finite numbers")
    if entry.get("up", "y") not in ("y", "z"):
        raise UserError(f"{where}: field 'up' must be y or z, not '{entry['up']}'")
    if entry.get("mount", "ground") not in MOUNTS:
        raise UserError(f"{where}: field 'mount' must be one of {', '.join(MOUNTS)}, not '{entry['mount']}'")
    if "material" in entry and entry["material"] not in MATERIAL_INDEX:
        raise UserError(f"{where}: field 'material': no material '{entry['material']}'; see flaneur/city/assets/materials.py for the names")
    color = entry.get("color", [255] * 3)
    if len(color) != 3 or not all(isinstance(c, int) and not isinstance(c, bool) and 0 <= c <= 255 for c in color):
        raise UserError(f"{where}: field 'color' must be three whole numbers from 0 to 255")


def _variant(folder: Path, pack: str, entry: dict[str, Any], where: str) -> Variant:
    _check_fields(entry, where)
    path = folder / entry["file"]
    if not path.resolve().is_relative_to(folder.resolve()):
        raise UserError(f"{where}: field 'file': '{entry['file']}' lies outside the pack's folder")
    mesh = read_mesh(path, entry.get("up"))
    points, faces = mesh.points * entry.get("scale", 1.0), mesh.faces
    if len(faces) > MAX_TRIANGLES:
        raise UserError(f"{path}: {len(faces)} triangles, at most {MAX_TRIANGLES} are allowed; simplify the mesh (for example Blender's Decimate)")
    angle = math.radians(entry.get("turn", 0.0))
    c, s = math.cos(angle), math.sin(angle)
    points = points @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1.0]])
    low, high = points.min(0), points.max(0)
    extent = float((high - low).max())
    if not MIN_EXTENT <= extent <= MAX_EXTENT:
        raise UserError(f"{path}: {extent:.4g} m long, expected {MIN_EXTENT} to {MAX_EXTENT} m; correct the field 'scale' in {PACK_FILE} (metres per unit)")
    points = np.rint((points - [(low[0] + high[0]) / 2, (low[1] + high[1]) / 2, low[2]]) / QUANTUM) * QUANTUM
    classes = load_classes()
    material = entry.get("material", DEFAULT_MATERIAL)
    uv = map_faces(material, "box", points[faces])
    name = f"{pack}/{entry['class']}/{entry['fine_name'].strip().replace(' ', '_')}"
    prototype = assemble(name, classes[entry["class"]].id, entry["fine_name"].strip(), points, faces, uv, np.full(len(faces), MATERIAL_INDEX[material]))
    least, most = classes[entry["class"]].volume_m3
    if not least <= prototype.volume < most:
        factor = (max(least, 1e-9) * 1.01 / prototype.volume) ** (1 / 3) if prototype.volume < least else (most * 0.99 / prototype.volume) ** (1 / 3)
        raise UserError(
            f"{path}: {prototype.volume:.4g} m3, but class '{entry['class']}' holds {least:g} to {most:g} m3; set 'scale' to about {entry.get('scale', 1.0) * factor:.3g} or choose another class"
        )
    color = entry.get("color") or (mesh.color if "material" not in entry else None)
    palette = ((int(color[0]), int(color[1]), int(color[2])),) if color else WHITE
    return Variant(prototype, entry.get("mount", "ground"), palette, float(entry.get("weight", 1.0)))
