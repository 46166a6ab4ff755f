"""Measures the layout on every window of the test data and on invented plans.

    python benchmarks/layout.py [DATA_FOLDER] [--seeds N]

Prints one line per window and a JSON line at the end: footprint IoU against osmium's own areas, heights, violations, seconds.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import time
from pathlib import Path

from flaneur.city.layout import Extract, Window, read_extract, synthetic_graph, window_graph
from flaneur.city.layout.check import Fidelity, fidelity, violations
from flaneur.city.layout.graph import PLACE_TYPES


def mapped_windows(osm: Path) -> dict[str, float]:
    """All windows of windows.csv."""
    extracts: dict[str, Extract] = {}
    reading: list[float] = []
    seconds: list[float] = []
    measured: list[Fidelity] = []
    broken = 0
    for row in csv.DictReader((osm / "windows.csv").open()):
        place, path = row["extract"], osm / f"{row['extract']}.osm.pbf"
        if place not in extracts:
            start = time.process_time()
            extracts[place] = read_extract(path)
            reading.append(time.process_time() - start)
        window = Window.from_box(*(float(row[k]) for k in ("west", "south", "east", "north")))
        start = time.process_time()
        graph = window_graph(extracts[place], window)
        seconds.append(time.process_time() - start)
        found = violations(graph)
        broken += len(found)
        m = fidelity(path, graph, window)
        measured.append(m)
        print(f"{place} {row['window']}: {graph.place_type}, IoU {m.footprint_iou:.4f}, {m.faithful} of {m.buildings} buildings faithful, {seconds[-1]:.2f} s", *found, sep="\n  ")
    return {
        "windows": len(measured), "violations": broken, "lowest_iou": round(min(m.footprint_iou for m in measured), 4), "buildings": sum(m.buildings for m in measured),
        "buildings_iou_98": sum(m.faithful for m in measured), "worst_building_iou": round(min(m.worst for m in measured), 3), "tagged_heights": sum(m.tagged for m in measured),
        "tagged_heights_right": sum(m.tagged_right for m in measured), "without_osm_id": sum(m.without_id for m in measured), "clipped_wrong": sum(m.clipped_wrong for m in measured),
        "slowest_reading_s": round(max(reading), 2), "slowest_window_s": round(max(seconds), 2), "mean_window_s": round(sum(seconds) / len(seconds), 2),
    }  # fmt: skip


def invented_plans(seeds: int) -> dict[str, float]:
    broken, slowest, count = 0, 0.0, 0
    for place_type in PLACE_TYPES:
        for seed in range(seeds):
            start = time.process_time()
            graph = synthetic_graph(place_type, seed)
            slowest = max(slowest, time.process_time() - start)
            found = violations(graph)
            broken, count = broken + len(found), count + 1
            if found:
                print(f"{place_type} {seed}:", *found, sep="\n  ")
    return {"plans": count, "plan_violations": broken, "slowest_plan_s": round(slowest, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", type=Path, default=Path(os.environ.get("FLANEUR_DATA", Path(__file__).parents[2] / "shared" / "data")))
    parser.add_argument("--seeds", type=int, default=20)
    options = parser.parse_args()
    print(json.dumps({**mapped_windows(options.data / "osm"), **invented_plans(options.seeds)}))


if __name__ == "__main__":
    main()
