"""The class list as data: names, prompts, scale groups, volume ranges and colours (`flaneur/data/classes.toml`)."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from flaneur.errors import UserError

SCALE_GROUPS = ("small", "medium", "large")
GROUPS = (*SCALE_GROUPS, "background", "sky")
GROUP_BOUNDS_M3 = {"small": (0.01, 5.0), "medium": (5.0, 100.0), "large": (100.0, float("inf"))}
DEFAULT_FILE = Path(__file__).parent / "data" / "classes.toml"


@dataclass(frozen=True)
class SemanticClass:
    id: int
    name: str
    group: str  # one of GROUPS
    volume_m3: tuple[float, float]  # [low, high) of every instance; (0, 0) for background and sky
    color: tuple[int, int, int]
    prompts: tuple[str, ...]


@dataclass(frozen=True)
class ClassList:
    classes: tuple[SemanticClass, ...]

    def __len__(self) -> int:
        return len(self.classes)

    def __iter__(self):
        return iter(self.classes)

    def __getitem__(self, key: int | str) -> SemanticClass:
        if isinstance(key, str):
            if key not in self.index:
                raise UserError(f"unknown class '{key}': known are {', '.join(self.names)}")
            key = self.index[key]
        return self.classes[key]

    @cached_property
    def index(self) -> dict[str, int]:
        return {c.name: c.id for c in self.classes}

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.classes)

    @cached_property
    def group_index(self) -> np.ndarray:  # [C] u8, index into GROUPS
        return np.array([GROUPS.index(c.group) for c in self.classes], np.uint8)

    @cached_property
    def object_ids(self) -> np.ndarray:  # [n] ids of classes that belong to a scale group
        return np.flatnonzero(self.group_index < len(SCALE_GROUPS))

    @cached_property
    def colors(self) -> np.ndarray:  # [C, 3] u8
        return np.array([c.color for c in self.classes], np.uint8)

    @cached_property
    def sky(self) -> int:
        return self.index["sky"]


@lru_cache(maxsize=8)
def load_classes(path: Path = DEFAULT_FILE) -> ClassList:
    """Read a class file and check it: groups known, volume ranges inside their group's, objects first, sky last."""
    try:
        entries = tomllib.loads(Path(path).read_text("utf-8"))["class"]
    except (OSError, tomllib.TOMLDecodeError, KeyError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not a class file ({error}); expected [[class]] tables") from None
    classes = []
    for i, entry in enumerate(entries):
        name, group = entry.get("name"), entry.get("group")
        if group not in GROUPS:
            raise UserError(f"{path}: class '{name}', field 'group': '{group}' is none of {', '.join(GROUPS)}")
        low, high = entry.get("volume", (0.0, 0.0))
        if group in GROUP_BOUNDS_M3:
            group_low, group_high = GROUP_BOUNDS_M3[group]
            if not group_low <= low < high <= group_high:
                raise UserError(f"{path}: class '{name}', field 'volume': [{low}, {high}] leaves {group}'s [{group_low}, {group_high}]")
        if not entry.get("prompts"):
            raise UserError(f"{path}: class '{name}', field 'prompts': at least one is needed")
        classes.append(SemanticClass(i, name, group, (low, high), tuple(entry["color"]), tuple(entry["prompts"])))
    ranks = [max(GROUPS.index(c.group), len(SCALE_GROUPS) - 1) for c in classes]
    if ranks != sorted(ranks) or classes[-1].group != "sky":
        raise UserError(f"{path}: classes must come as objects, background, sky")
    if len({c.name for c in classes}) != len(classes):
        raise UserError(f"{path}: two classes share a name")
    return ClassList(tuple(classes))
