"""Measures a built dataset against its bars and prints pass or fail for each.

    flaneur city check DATASET/scenes/* --json > checked.json
    python benchmarks/dataset.py DATASET --verify --checked checked.json [--out benchmarks/results/dataset.json]

Exit code 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from flaneur.city.dataset.card import dataset_statistics
from flaneur.city.dataset.index import Index, load_index, verify
from flaneur.city.export.usd import write_usd
from flaneur.city.scene import Scene
from flaneur.classes import load_classes

MEAN_OBJECTS, CLASS_SHARE, SMALLEST, LARGEST, STREET_OBJECTS, SCENE_BYTES, USD_SECONDS = 9323, 0.35, 0.012, 208_000.0, 4000, 0.5e6, 5.0


def bars(index: Index, numbers: dict[str, Any], usd: dict[str, Any]) -> list[dict[str, Any]]:
    wanted = [c.name for c in load_classes() if c.group not in ("background", "sky")]
    missing = [n for n in wanted if n not in numbers["classes"]]
    top, top_count = next(iter(numbers["classes"].items()))
    thin = {r.name: r.statistics["objects"] for r in index.scenes if r.place_type != "rural" and r.statistics["objects"] < STREET_OBJECTS}
    bytes_each = numbers["bytes"] / len(index.scenes)
    usd_note = f"{usd['scene']}, {usd['objects']} objects, {usd['wall_seconds']} s on the clock"
    return [
        _bar("mean objects per scene", numbers["mean_objects"], f">= {MEAN_OBJECTS}", numbers["mean_objects"] >= MEAN_OBJECTS),
        _bar("largest class share", round(top_count / numbers["objects"], 4), f"<= {CLASS_SHARE}", top_count / numbers["objects"] <= CLASS_SHARE, top),
        _bar("smallest volume, m3", numbers["smallest_m3"], f"<= {SMALLEST}", numbers["smallest_m3"] <= SMALLEST),
        _bar("largest volume, m3", numbers["largest_m3"], f">= {LARGEST:.0f}", numbers["largest_m3"] >= LARGEST),
        _bar("classes present", len(wanted) - len(missing), f"= {len(wanted)}", not missing, ", ".join(missing)),
        _bar("cbd, town and suburb scenes under 4,000 objects", len(thin), "= 0", not thin, ", ".join(f"{k} {v}" for k, v in thin.items())),
        _bar("instances outside their class's volume range", numbers["outside_range"], "= 0", numbers["outside_range"] == 0),
        _bar("bytes per scene", round(bytes_each), f"<= {SCENE_BYTES:.0f}", bytes_each <= SCENE_BYTES),
        _bar("USD of the scene nearest 9,300 objects, CPU s", usd["cpu_seconds"], f"< {USD_SECONDS:g}", usd["cpu_seconds"] < USD_SECONDS, usd_note),
    ]  # fmt: skip


def placement(checked: Path, index: Index) -> list[dict[str, Any]]:
    """What `flaneur city check --json` found: every object's place and volume, by exact meshes."""
    reports = {r["scene"]: r for r in json.loads(checked.read_text("utf-8"))}
    missing = [r.name for r in index.scenes if r.name not in reports or reports[r.name]["objects"] != r.statistics["objects"]]
    if missing:
        sys.exit(f"{checked}: field 'scene': {missing[0]} of this dataset was not checked; run flaneur city check DATASET/scenes/* --json anew")
    found = Counter(v["kind"] for r in reports.values() for v in r["violations"])
    wrong = sum(found[k] for k in ("volume wrong", "volume out of range", "not watertight"))
    pairs = sum(r["pairs"] for r in reports.values())
    return [
        _bar("placement violations", found.total() - wrong, "= 0", found.total() == wrong, f"{pairs} pairs of neighbours intersected exactly"),
        _bar("volumes off by 1 % from trimesh's, out of range or not closed", wrong, "= 0", not wrong),
    ]


def _bar(name: str, value: Any, bar: str, passed: bool, note: str = "") -> dict[str, Any]:
    return {"name": name, "value": value, "bar": bar, "pass": bool(passed), "note": note}


def measure_usd(folder: Path, index: Index) -> dict[str, Any]:
    record = min(index.scenes, key=lambda r: abs(r.statistics["objects"] - 9300))
    scene = Scene.load(folder / record.path)
    # CPU time of all threads: at least the wall time of an idle machine, and the same on a busy one.
    with tempfile.TemporaryDirectory() as temporary:
        cpu, wall = time.process_time(), time.perf_counter()
        write_usd(scene, Path(temporary) / "city.usdc")
        seconds = {"cpu_seconds": round(time.process_time() - cpu, 2), "wall_seconds": round(time.perf_counter() - wall, 2)}
    return {"scene": record.name, "objects": record.statistics["objects"], **seconds}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/dataset.json"))
    parser.add_argument("--checked", type=Path, help="what flaneur city check --json wrote for its scenes")
    parser.add_argument("--verify", action="store_true", help="also compare every scene with its checksum")
    arguments = parser.parse_args()
    if arguments.checked and not arguments.checked.is_file():
        parser.error(f"--checked {arguments.checked}: no such file")
    index = verify(arguments.dataset) if arguments.verify else load_index(arguments.dataset)
    numbers = dataset_statistics(arguments.dataset)
    results = bars(index, numbers, measure_usd(arguments.dataset, index))
    if arguments.checked:
        results += placement(arguments.checked, index)
    for r in results:
        print(f"{'pass' if r['pass'] else 'FAIL'}  {r['name']}: {r['value']} ({r['bar']}){'  ' + r['note'] if r['note'] else ''}")
    machine = {"python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count()}
    document = {"dataset": index.name, "generator": index.generator, "manifest_sha256": index.manifest_sha256, "machine": machine, "bars": results, "statistics": numbers}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    return 0 if all(r["pass"] for r in results) else 1


if __name__ == "__main__":
    sys.exit(main())
