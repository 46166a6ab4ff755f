"""dataset.json: what a built dataset holds, with a checksum per scene."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from flaneur.city.scene import Scene
from flaneur.errors import UserError

FORMAT = 1
FILE = "dataset.json"


@dataclass(frozen=True)
class Record:
    """One built scene."""

    name: str
    path: str  # relative to the dataset's folder
    split: str
    light: str
    place: str
    place_type: str
    checksum: str  # of the scene's content
    licence: str
    statistics: dict[str, Any]


@dataclass(frozen=True)
class Index:
    name: str
    description: str
    generator: str
    manifest_sha256: str
    scenes: tuple[Record, ...]

    def text(self) -> str:
        data = {"format": FORMAT, **asdict(self)}
        return json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False) + "\n"

    def save(self, folder: Path) -> None:
        target = Path(folder) / FILE
        temporary = target.with_name(f".{FILE}.{os.getpid()}")
        try:
            temporary.write_text(self.text(), "utf-8")
            os.replace(temporary, target)
        except OSError as error:
            raise UserError(f"{target}: cannot write ({error.strerror}); run again to resume") from None
        finally:
            temporary.unlink(missing_ok=True)

    def split(self, name: str) -> list[Record]:
        return [r for r in self.scenes if r.split == name]


def load_index(folder: Path) -> Index:
    file = Path(folder) / FILE
    try:
        data = json.loads(file.read_text("utf-8"))
        if data["format"] != FORMAT:
            raise UserError(f"{file}: field 'format': {data['format']}, this version reads {FORMAT}; build the dataset again")
        scenes = tuple(Record(**s) for s in data["scenes"])
        return Index(data["name"], data["description"], data["generator"], data["manifest_sha256"], scenes)
    except FileNotFoundError:
        raise UserError(f"{folder}: no dataset here ({FILE} is missing); build it with flaneur dataset build") from None
    except (OSError, json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise UserError(f"{file}: not a dataset's index ({error}); build the dataset again") from None


def verify(folder: Path) -> Index:
    """Load every scene and compare its checksum with the index; the first difference is an error."""
    index = load_index(folder)
    for record in index.scenes:
        Scene.load(Path(folder) / record.path, verify=True)
        found = checksum_of(Path(folder) / record.path)
        if found != record.checksum:
            raise UserError(f"{Path(folder) / record.path}: checksum {found[:12]}..., {FILE} says {record.checksum[:12]}...; build or pull the scene again")
    return index


def checksum_of(folder: Path) -> str:
    """The checksum that a scene folder states about itself."""
    return json.loads((folder / "scene.json").read_text("utf-8"))["checksum"]


def size_of(folder: Path) -> int:
    """Bytes of the files a scene travels with; the computed truth is not among them."""
    return sum((folder / name).stat().st_size for name in ("scene.json", "instances.npz", "prototypes.npz"))
