"""What the workers of the cluster's tests run: a module of its own, because they import it by name."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from scenes import tiny_scene

from flaneur.city.dataset.manifest import Entry, Manifest
from flaneur.errors import UserError

ENTRIES = tuple(Entry(f"s{k}", f"p{k}", ("train", "validation", "test")[k % 3], "day", k, synthetic="town") for k in range(8))
MANIFEST = Manifest("tiny", "A test.", {}, ENTRIES, "0" * 64)


def make(entry, osm_root):
    return tiny_scene(entry.seed)


def make_slowly(entry, osm_root):
    time.sleep(0.5)
    return tiny_scene(entry.seed)


def make_and_be_killed(entry, osm_root, marks: Path):
    """The worker of scenes 2 and 5 is killed when all of the scene is written and only its name is missing."""
    if entry.seed in (2, 5) and not (marks / entry.name).exists():
        (marks / entry.name).write_text(str(os.getpid()))
        os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[assignment]
        os.rename = os.replace
    return tiny_scene(entry.seed)


def make_and_always_be_killed(entry, osm_root):
    if entry.seed == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return tiny_scene(entry.seed)


def square(x: int) -> int:
    if x == 13:
        raise UserError("no thirteen")
    return x * x
