"""Writes the manifest of our benchmark: 50 real windows in 13 places and 30 invented cities.

    python -m flaneur.city.dataset.benchmark --osm-root FOLDER > flaneur/data/benchmark.toml

FOLDER holds the extracts and windows.csv (extract, window, west, south, east, north, ...).
"""

from __future__ import annotations

import argparse
import csv
import hashlib
from pathlib import Path

ATTRIBUTION = "(c) OpenStreetMap contributors, ODbL 1.0"
TRAIN_PLACES = ("fr_paris_9e", "at_krems_town", "us_austin_east")
# Invented cities per split and type; with the real windows 16, 4 and 60 scenes.
SYNTHETIC = {"train": {"cbd": 2, "rural": 2}, "validation": {"cbd": 1, "town": 1, "suburb": 1, "rural": 1}, "test": {"cbd": 7, "town": 6, "suburb": 5, "rural": 4}}
# Every split meets every light, mostly day; dealt out in this order over the scenes of a split.
LIGHTS = {
    "train": ("day", "day", "day", "dusk", "day", "day", "day", "night", "day", "day", "day", "overcast", "day", "day", "dusk", "day"),
    "validation": ("day", "dusk", "day", "night"),
    "test": ("day", "day", "dusk", "day", "day", "overcast", "day", "day", "night", "day"),
}


def entries(windows: list[dict[str, str]]) -> list[dict[str, object]]:
    scenes: list[dict[str, object]] = []
    for row in windows:
        split = "train" if row["extract"] in TRAIN_PLACES else "test"
        box = [float(row[k]) for k in ("west", "south", "east", "north")]
        scenes.append({"name": f"{row['extract']}-{row['window']}", "place": row["extract"], "split": split, "osm": f"{row['extract']}.osm.pbf", "window": box})
    seed = 0
    for split, types in SYNTHETIC.items():
        for kind, count in types.items():
            for _ in range(count):
                scenes.append({"name": f"synthetic_{kind}-{seed}", "place": f"synthetic_{kind}-{seed}", "split": split, "synthetic": kind})
                seed += 1
    for split, lights in LIGHTS.items():
        chosen = [s for s in scenes if s["split"] == split]
        # A stride coprime to the list's length keeps a place's windows from sharing one light.
        for k, scene in enumerate(chosen):
            scene["light"] = lights[(k * 3) % len(lights)] if len(lights) % 3 else lights[k % len(lights)]
    for k, scene in enumerate(scenes):
        scene["seed"] = k
    return sorted(scenes, key=lambda s: ("train", "validation", "test").index(str(s["split"])))


def manifest_text(osm_root: Path) -> str:
    with (osm_root / "windows.csv").open(encoding="utf-8", newline="") as file:
        windows = list(csv.DictReader(file))
    scenes = entries(windows)
    lines = [
        "# Written by `python -m flaneur.city.dataset.benchmark`; change that, not this.",
        'name = "flaneur-80"',
        'description = "80 annotated cities of 200 m x 200 m: 50 windows of OpenStreetMap in 13 places and 30 invented ones, split by place."',
    ]
    for name in sorted({str(s["osm"]) for s in scenes if "osm" in s}):
        digest = hashlib.sha256((osm_root / name).read_bytes()).hexdigest()
        lines += ["", f'[files."{name}"]', f'sha256 = "{digest}"', f'attribution = "{ATTRIBUTION}"']
    for scene in scenes:
        lines += ["", "[[scene]]"]
        for key in ("name", "place", "split", "light", "seed", "synthetic", "osm", "window"):
            if key in scene:
                value = scene[key]
                lines.append(f'{key} = "{value}"' if isinstance(value, str) else f"{key} = {value}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--osm-root", type=Path, required=True)
    print(manifest_text(parser.parse_args().osm_root), end="")
