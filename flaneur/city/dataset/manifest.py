"""The manifest: which scenes a dataset has, from what, in which split and light.

name = "flaneur-80"
[files."de_berlin_neukoelln.osm.pbf"]         # below --osm-root
sha256 = "..."
attribution = "(c) OpenStreetMap contributors, ODbL 1.0"
[[scene]]
name = "de_berlin_neukoelln-0"
place = "de_berlin_neukoelln"                 # no place lies in two splits
split = "test"
light = "day"
seed = 7
osm = "de_berlin_neukoelln.osm.pbf"
window = [13.437829, 52.47262, 13.440779, 52.474428]   # west, south, east, north
[[scene]]
synthetic = "cbd"                             # instead of osm and window
"""

from __future__ import annotations

import hashlib
import math
import re
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from flaneur.errors import UserError

SPLITS = ("train", "validation", "test")
LIGHTS = ("day", "dusk", "night", "overcast")
SYNTHETIC = ("cbd", "town", "suburb", "rural")
PLANNERS = ("builtin", "openai", "local")
BENCHMARK = Path(__file__).parents[2] / "data" / "benchmark.toml"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@dataclass(frozen=True)
class SourceFile:
    name: str
    sha256: str
    attribution: str = ""


@dataclass(frozen=True)
class Entry:
    name: str
    place: str
    split: str
    light: str
    seed: int
    planner: str = "builtin"
    synthetic: str = ""  # a place type, or empty
    osm: str = ""  # a file below the OSM root, or empty
    window: tuple[float, float, float, float] | None = None  # west, south, east, north

    def facts(self) -> dict[str, Any]:
        """What decides the scene's bytes, as JSON values; a built scene carries it, so that a resumed build knows its own."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items() if v not in ("", None)}


@dataclass(frozen=True)
class Manifest:
    name: str
    description: str
    files: dict[str, SourceFile]
    scenes: tuple[Entry, ...]
    sha256: str  # of the manifest file

    def split(self, name: str) -> list[Entry]:
        return [e for e in self.scenes if e.split == name]


def load_manifest(path: Path) -> Manifest:
    """Read and check a manifest; one line names the scene, the field and what would be right."""
    path = Path(path)
    try:
        raw = path.read_bytes()
        data = tomllib.loads(raw.decode())
    except FileNotFoundError:
        raise UserError(f"{path}: no such manifest") from None
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not a TOML file ({error})") from None
    _known(path, "the top level", data, {"name", "description", "files", "scene"})
    if not isinstance(data.get("name"), str) or not _NAME.fullmatch(data["name"]):
        raise UserError(f"{path}: field 'name': a word of letters, digits, '-', '_' and '.' is needed")
    files = {name: _file(path, name, table) for name, table in data.get("files", {}).items()}
    scenes = tuple(_entry(path, k, table, files) for k, table in enumerate(data.get("scene", [])))
    if not scenes:
        raise UserError(f"{path}: no [[scene]] in it")
    names = [e.name.lower() for e in scenes]
    double = next((n for n in names if names.count(n) > 1), None)
    if double:
        raise UserError(f"{path}: two scenes are named '{double}'")
    home: dict[str, str] = {}
    for e in scenes:
        if home.setdefault(e.place, e.split) != e.split:
            raise UserError(f"{path}: scene '{e.name}', field 'split': place '{e.place}' is in '{home[e.place]}' already; a place lies in one split")
    return Manifest(data["name"], data.get("description", ""), files, scenes, hashlib.sha256(raw).hexdigest())


def _known(path: Path, where: str, table: dict[str, Any], fields: set[str]) -> None:
    unknown = sorted(set(table) - fields)
    if unknown:
        raise UserError(f"{path}: {where}, field '{unknown[0]}' is unknown; known are {', '.join(sorted(fields))}")


def _file(path: Path, name: str, table: dict[str, Any]) -> SourceFile:
    _known(path, f'[files."{name}"]', table, {"sha256", "attribution"})
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise UserError(f'{path}: [files."{name}"]: a path below --osm-root is needed')
    if not re.fullmatch("[0-9a-f]{64}", str(table.get("sha256", ""))):
        raise UserError(f"{path}: [files.\"{name}\"], field 'sha256': 64 hexadecimal digits are needed")
    return SourceFile(name, table["sha256"], table.get("attribution", ""))


def _entry(path: Path, k: int, t: dict[str, Any], files: dict[str, SourceFile]) -> Entry:
    where = f"scene '{t['name']}'" if isinstance(t.get("name"), str) else f"scene {k + 1}"
    _known(path, where, t, set(Entry.__dataclass_fields__))

    def fail(field: str, need: str) -> UserError:
        return UserError(f"{path}: {where}, field '{field}': {need}")

    if not isinstance(t.get("name"), str) or not _NAME.fullmatch(t["name"]):
        raise fail("name", "a word of letters, digits, '-', '_' and '.' is needed")
    for field, allowed in (("split", SPLITS), ("light", LIGHTS), ("planner", PLANNERS)):
        if t.get(field, "builtin") not in allowed:
            raise fail(field, f"'{t.get(field)}' is none of {', '.join(allowed)}")
    for field in ("split", "light", "seed", "place"):
        if field not in t:
            raise fail(field, "is missing")
    if not isinstance(t["seed"], int) or isinstance(t["seed"], bool) or not 0 <= t["seed"] < 2**31:
        raise fail("seed", "a whole number from 0 to 2147483647 is needed")
    if ("synthetic" in t) == ("osm" in t):
        raise fail("synthetic", "either 'synthetic' or 'osm' with 'window' is needed")
    if "synthetic" in t:
        if t["synthetic"] not in SYNTHETIC:
            raise fail("synthetic", f"'{t['synthetic']}' is none of {', '.join(SYNTHETIC)}")
        if "window" in t:
            raise fail("window", "goes with 'osm' only")
        return Entry(**t)
    if t["osm"] not in files:
        raise fail("osm", f"'{t['osm']}' has no [files.\"{t['osm']}\"] table with its sha256")
    window = t.get("window")
    if not isinstance(window, list) or len(window) != 4 or not all(isinstance(v, (int, float)) and math.isfinite(v) for v in window) or window[0] >= window[2] or window[1] >= window[3]:
        raise fail("window", "[west, south, east, north] in degrees is needed")
    return Entry(**{**t, "window": tuple(float(v) for v in window)})


def check_files(manifest: Manifest, osm_root: Path | None, entries: list[Entry]) -> None:
    """Every street map that `entries` need is there and is the one the manifest was made with."""
    for name in sorted({e.osm for e in entries if e.osm}):
        if osm_root is None:
            raise UserError(f"{name}: needed by the manifest; name its folder with --osm-root")
        file = Path(osm_root) / name
        if not file.is_file():
            raise UserError(f"{file}: no such file; the manifest needs it below --osm-root")
        found = hashlib.sha256(file.read_bytes()).hexdigest()
        if found != manifest.files[name].sha256:
            raise UserError(f"{file}: its sha256 is {found[:12]}..., the manifest says {manifest.files[name].sha256[:12]}...; get the original file or change the manifest")
