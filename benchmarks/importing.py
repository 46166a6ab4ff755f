"""Measures the importers: how fast points stream in, whether labels come back, whether a real place agrees with its map.

    python benchmarks/importing.py --only stream              50 million points of UrbanBIS text, 2.2 GB below --work
    python benchmarks/importing.py --only labels --osm-root ../shared/data/osm
    python benchmarks/importing.py --only delft --delft ../shared/data/delft

Each writes its part of benchmarks/results/importing.json. Exit code 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from flaneur.city.importing.urbanbis_writing import SEMANTIC
from flaneur.city.scene import Scene

POINTS, SIDE, MEMORY, RATE = 50_000_000, 5, 2 << 30, 1e6  # SIDE x SIDE windows
CLASS_IOU, BUILDING_IOU, DENSITY, IMAGE = 0.95, 0.9, 50.0, 128
CORNER = (84830.0, 447430.0)
NAMES = {0: "terrain", 1: "vegetation", 2: "water", 4: "vehicle", 6: "building"}
IGNORED, FINE = 255, 8


# Streaming ----------------------------------------------------------------------------------------------------------
def write_text(path: Path) -> None:
    """One city on SIDE x SIDE windows; every part of the file holds points of all of them, which sorting likes least."""
    import pyarrow as pa
    import pyarrow.csv as csv

    from flaneur.city.export.points import sample

    scene, windows = synthetic("town", 3), SIDE**2
    points = sample(scene, 20.0)
    points = np.random.default_rng(0).permutation(points)[: POINTS // windows]
    assert len(points) * windows == POINTS
    semantic = np.array([SEMANTIC.get(n, -100) for n in scene.classes.names])[points["label"]]
    instance = np.where(semantic == 6, points["instance"], -100)
    shift = np.stack(np.meshgrid(np.arange(SIDE), np.arange(SIDE)), -1).reshape(-1, 2) * scene.size
    inside = np.clip(np.stack([points["x"], points["y"]], 1).astype(float), 0, scene.size - 0.001)
    with path.open("wb") as file:
        for k in range(0, len(points), 40_000):
            rows = slice(k, k + 40_000)
            xy = np.round((inside[rows] + shift[:, None]).reshape(-1, 2), 3)
            rest = (np.round(points["z"][rows].astype(float), 3), *(points[c][rows] for c in ("red", "green", "blue")), semantic[rows], instance[rows], np.where(semantic[rows] == 6, 0, -100))
            columns = [xy[:, 0], xy[:, 1], *(np.tile(c, windows) for c in rest)]
            csv.write_csv(pa.table(columns, names=list("xyzrgbsit")), file, csv.WriteOptions(include_header=False, delimiter=" "))


def stream_child(path: Path) -> None:
    """In a process of its own: every point into its window's file, and every window read back once."""
    from flaneur.city.importing.tiles import Tiles
    from flaneur.city.importing.urbanbis import read_blocks

    clock, cpu, count = time.perf_counter(), time.process_time(), 0
    with Tiles(parent=path.parent) as tiles:
        for block in read_blocks(path):
            tiles.add(block)
        seconds, cpu = time.perf_counter() - clock, time.process_time() - cpu
        for _, points in tiles.windows():
            count += len(points)
        windows = len(tiles.counts)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"points": count, "windows": windows, "seconds": round(seconds, 1), "cpu_seconds": round(cpu, 1), "peak_bytes": peak}))


def on_terminal(command: list[str]) -> tuple[int, str, int]:
    """Exit code, what a terminal showed, and the peak memory in bytes."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(command[0], command)
    shown = b""
    while True:
        try:
            data = os.read(fd, 1 << 16)
        except OSError:
            break
        if not data:
            break
        shown += data
    _, status, usage = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), shown.decode(errors="replace"), usage.ru_maxrss * 1024


def stream(work: Path) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(dir=work) as folder:
        path = Path(folder) / "city.txt"
        write_text(path)
        size = path.stat().st_size
        load = os.getloadavg()[0]
        ran = subprocess.run([sys.executable, __file__, "--stream-child", str(path)], capture_output=True, text=True, check=True)
        found = json.loads(ran.stdout)
        clock = time.perf_counter()
        code, shown, peak = on_terminal([sys.executable, "-m", "flaneur", "city", "import", str(path), "--format", "urbanbis", "--window", "0,0", "--out", f"{folder}/scene"])
        if code:
            sys.exit(f"flaneur city import: exit code {code}: {shown[-300:]}")
        steps = len(set(re.findall(rf"(\d+)/{size}", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown))))
        command = {"seconds": round(time.perf_counter() - clock, 1), "peak_bytes": peak, "progress_steps_shown": steps}
    rate = round(found["points"] / found["seconds"])
    passed = found["points"] == POINTS and rate >= RATE and max(found["peak_bytes"], peak) <= MEMORY and steps > 10
    return {
        "bytes": size,
        **found,
        "points_per_second": rate,
        "points_per_cpu_second": round(found["points"] / found["cpu_seconds"]),
        "load": round(load, 1),
        "command_one_window": command,
        "pass": passed,
    }


# Labels -------------------------------------------------------------------------------------------------------------
def synthetic(place: Any, seed: int) -> Scene:
    from flaneur.city.layout.synthetic import synthetic_graph

    return built(synthetic_graph(place, seed))


def built(graph: Any) -> Scene:
    from flaneur.city.grammar.build import build_scene
    from flaneur.city.planning.builtin import plan_builtin
    from flaneur.city.planning.rules import builtin_library

    library = builtin_library()
    return build_scene(graph, library, plan_builtin(graph, library, graph.seed), graph.seed, name=graph.name)


def mapped(osm_root: Path, extract: str) -> Scene:
    from flaneur.city.layout.auto import windows_auto
    from flaneur.city.layout.mapped import window_graph
    from flaneur.city.layout.osm import read_extract

    read = read_extract(osm_root / f"{extract}.osm.pbf")
    return built(window_graph(read, windows_auto(read, 1)[0], 0, extract))


def planar(scene: Scene) -> tuple[np.ndarray, np.ndarray]:
    """The scene's planar map in UrbanBIS's classes (IGNORED where it has none), and which cells count: [256, 256]."""
    from flaneur.geometry import Camera
    from flaneur.scoring import CPU_LATTICE
    from flaneur.scoring.truth import compute_truth

    truth = compute_truth(scene, Camera.from_fov(IMAGE, IMAGE, 90.0), lattice=CPU_LATTICE)
    table = np.full(256, IGNORED)
    table[: len(scene.classes)] = [SEMANTIC.get(n, IGNORED) for n in scene.classes.names]
    return table[truth.planar().numpy()], truth.scored().numpy()


def labels(scene: Scene, work: Path) -> dict[str, Any]:
    from flaneur.city.importing.urbanbis import read_blocks
    from flaneur.city.importing.urbanbis_writing import write_urbanbis
    from flaneur.city.importing.windows import Source, scenes_from_points

    with tempfile.TemporaryDirectory(dir=work) as folder:
        path = Path(folder) / "city.txt"
        count = write_urbanbis(scene, path, DENSITY)
        started = time.process_time()
        back = next(scenes_from_points(read_blocks(path), Source(scene.name, (path.name,)), (0.0, 0.0), parent=Path(folder)))
        seconds = time.process_time() - started
    (true, scored), (found, _) = planar(scene), planar(back)
    scored &= true != IGNORED
    classes = {}
    for k, name in NAMES.items():
        wanted, got = (true == k) & scored, (found == k) & scored
        if wanted.any():
            classes[name] = {"iou": round(float((wanted & got).sum() / (wanted | got).sum()), 4), "cells": int(wanted.sum())}
    return {"scene": scene.name, "points": count, "import_cpu_seconds": round(seconds, 1), "cells": int(scored.sum()), "classes": classes, "pass": min(c["iou"] for c in classes.values()) >= CLASS_IOU}


# Delft --------------------------------------------------------------------------------------------------------------
def delft(folder: Path) -> dict[str, Any]:
    """Cells where the register says what is there. The map calls a cell by what stands in it, so a footprint counts in every cell
    that it reaches into; by the cells' halves (`iou_by_half`) walls make every building half a cell thicker on the map."""
    from flaneur.city.importing import las
    from flaneur.city.importing.bgt import read_layers
    from flaneur.city.importing.surface import cells_inside
    from flaneur.city.importing.windows import Source, scenes_from_points

    files = sorted(folder.glob("*.laz"))
    layers = read_layers(folder, CORNER)
    fine = np.any([cells_inside(shape, 256 * FINE) for shape in layers.buildings], 0)
    share = fine.reshape(256, FINE, 256, FINE).mean((1, 3))
    known = (share > 0) | np.any([cells_inside(shape, 256) for _, shape in layers.background], 0)
    out: dict[str, Any] = {"buildings": len(layers.buildings), "known_share": round(float(known.mean()), 4)}
    for name, given in (("with_footprints", layers), ("points_alone", None)):
        source = Source("delft", tuple(f.name for f in files), "EPSG:28992", colored=False)
        scene = next(scenes_from_points((b for f in files for b in las.read_chunks(f)), source, CORNER, lambda _, given=given: given))
        label, scored = planar(scene)
        got = (label == 6) & known
        row: dict[str, Any] = {"objects": int(scene.is_object.sum())}
        for key, wanted, counted in (("iou", share > 0, scored), ("iou_all_cells", share > 0, True), ("iou_by_half", share >= 0.5, scored)):
            row[key] = round(float((wanted & got & counted).sum() / ((wanted | got) & counted).sum()), 4)
        out[name] = row
    out["pass"] = out["with_footprints"]["iou"] >= BUILDING_IOU
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("stream", "labels", "delft"), required=True)
    parser.add_argument("--cities", nargs="+", default=["town-3", "at_krems_town", "sg_marina_bay"], help="invented (town-3) or the first window of a map (at_krems_town)")
    parser.add_argument("--osm-root", type=Path, default=Path("../shared/data/osm"))
    parser.add_argument("--delft", type=Path, default=Path("../shared/data/delft"))
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/importing.json"))
    options = parser.parse_args()
    passed = True
    if options.only == "labels":
        for name in options.cities:
            place, _, number = name.partition("-")
            scene = synthetic(place, int(number)) if number else mapped(options.osm_root, name)
            passed &= keep(options.out, {"labels": {scene.name: labels(scene, options.work)}})
    else:
        passed = keep(options.out, {options.only: stream(options.work) if options.only == "stream" else delft(options.delft)})
    return 0 if passed else 1


def keep(path: Path, found: dict[str, Any]) -> bool:
    """Add to the result file at once: the parts take minutes each."""
    document = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    if "labels" in found:
        found = {"labels": {**document.get("labels", {}), **found["labels"]}}
    path.write_text(json.dumps({**document, **found}, indent=1, sort_keys=True) + "\n", "utf-8")
    print(json.dumps(found, indent=1), flush=True)
    return all(r["pass"] for key, r in found.items() if key != "labels") and all(r["pass"] for r in found.get("labels", {}).values())


if __name__ == "__main__":
    if sys.argv[1:2] == ["--stream-child"]:
        stream_child(Path(sys.argv[2]))
    else:
        sys.exit(main())
