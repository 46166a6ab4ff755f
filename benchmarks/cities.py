"""Builds every window of a windows.csv and some synthetic cities, checks them, and writes what it measured.

python benchmarks/cities.py --osm-root ../shared/data/osm --synthetic 8 --out benchmarks/results/cities.json
"""

from __future__ import annotations

import argparse
import csv
import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from flaneur.city.check import check_scene
from flaneur.city.grammar.build import build_scene
from flaneur.city.layout.graph import PLACE_TYPES, CityGraph
from flaneur.city.layout.mapped import window_graph
from flaneur.city.layout.osm import read_extract
from flaneur.city.layout.synthetic import synthetic_graph
from flaneur.city.layout.window import Window
from flaneur.city.planning.builtin import plan_builtin
from flaneur.city.planning.rules import builtin_library


def graphs(osm_root: Path | None, synthetic: int, only: str) -> Iterator[tuple[str, float, CityGraph]]:
    """(name, CPU seconds of the layout, graph)."""
    extract = None
    for row in csv.DictReader((osm_root / "windows.csv").open()) if osm_root else []:
        name = f"{row['extract']}_{row['window']}"
        if only not in name:
            continue
        if extract is None or extract.path.name != f"{row['extract']}.osm.pbf":
            extract = read_extract(osm_root / f"{row['extract']}.osm.pbf")
        started = time.process_time()
        graph = window_graph(extract, Window.from_box(*(float(row[k]) for k in ("west", "south", "east", "north"))), 0, name)
        yield name, time.process_time() - started, graph
    for seed in range(synthetic):
        for place in PLACE_TYPES:
            if only in f"{place}_{seed}":
                started = time.process_time()
                graph = synthetic_graph(place, seed)
                yield f"{place}_{seed}", time.process_time() - started, graph


def measure(name: str, layout_seconds: float, graph: CityGraph, folder: Path) -> dict:
    library = builtin_library()
    plan = plan_builtin(graph, library, graph.seed)
    started = time.process_time()
    scene = build_scene(graph, library, plan, graph.seed)
    built = time.process_time() - started
    scene.save(folder / name)
    report = check_scene(scene, graph)
    names = np.array(scene.classes.names)[scene.class_id]
    ids = {(int(t), int(i)) for t, i in zip(scene.instances.osm_type, scene.instances.osm_id, strict=True) if i}
    nameless = int((np.isin(names, ("building", "skyscraper")) & (scene.instances.osm_id == 0)).sum()) if graph.source == "osm" else 0
    wanted = {({"node": 1, "way": 2, "relation": 3}[b.osm.type], b.osm.id) for b in graph.buildings if b.osm}
    return {
        "name": name, "place_type": graph.place_type, "source": graph.source, "layout_cpu_s": round(layout_seconds, 2), "build_cpu_s": round(built, 2), "check_s": round(report.seconds, 1),
        "objects": report.objects, "kB": sum(f.stat().st_size for f in (folder / name).iterdir()) // 1000, "triangles": int(sum(len(p.faces) for p in scene.prototypes)),
        "smallest_m3": round(float(scene.volume[scene.is_object].min()), 4), "largest_m3": round(float(scene.volume.max()), 1),
        "mapped_and_not_built": len(wanted - ids), "built_without_osm_id": nameless,
        "classes": dict(Counter(names[scene.is_object].tolist()).most_common()), "violations": report.counts, "first_violations": [v.text for v in report.violations[:5]],
    }  # fmt: skip


def summary(rows: list[dict]) -> dict:
    objects = sum(r["objects"] for r in rows)
    classes = sum((Counter(r["classes"]) for r in rows), Counter())
    total: Counter[str] = sum((Counter(r["violations"]) for r in rows), Counter())
    per_type = {t: [r["objects"] for r in rows if r["place_type"] == t] for t in PLACE_TYPES}
    return {
        "scenes": len(rows), "mean_objects": round(objects / len(rows)), "mean_kB": round(sum(r["kB"] for r in rows) / len(rows)), "largest_kB": max(r["kB"] for r in rows),
        "objects_by_type": {t: {"scenes": len(n), "least": min(n), "mean": round(sum(n) / len(n)), "most": max(n)} for t, n in per_type.items() if n},
        "class_shares": {k: round(n / objects, 4) for k, n in classes.most_common()}, "violations": dict(total),
        "slowest_cpu_s": max(r["layout_cpu_s"] + r["build_cpu_s"] for r in rows), "smallest_m3": min(r["smallest_m3"] for r in rows), "largest_m3": max(r["largest_m3"] for r in rows),
        # What is mapped and not built are canopies under 5 m3, the least volume of the class shed.
        "mapped_and_not_built": sum(r["mapped_and_not_built"] for r in rows), "built_without_osm_id": sum(r["built_without_osm_id"] for r in rows),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--osm-root", type=Path)
    parser.add_argument("--synthetic", type=int, default=8, help="cities per place type")
    parser.add_argument("--only", default="", help="part of a name")
    parser.add_argument("--scenes", type=Path, help="keep the scenes here")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/cities.json"))
    options = parser.parse_args()
    rows = []
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for name, seconds, graph in graphs(options.osm_root, options.synthetic, options.only):
            rows.append(measure(name, seconds, graph, options.scenes or Path(scratch)))
            r = rows[-1]
            options.out.write_text(json.dumps({"summary": summary(rows), "scenes": rows}, indent=1) + "\n")
            took = r["layout_cpu_s"] + r["build_cpu_s"]
            print(f"{name:28s} {r['place_type']:7s} {took:5.1f} s {r['objects']:6d} objects {r['kB']:4d} kB {r['violations'] or 'ok'} {r['first_violations'][:3] or ''}", flush=True)
    print(json.dumps(summary(rows), indent=1))


if __name__ == "__main__":
    main()
