"""Which search tree casts fastest on a GPU: building time, first surfaces, RGB and moves for every constructor and leaf size of Warp.

    python benchmarks/trees.py --scenes DATA [--out benchmarks/results/trees.json]

The first 8 cities of DATA. Frames of 256 x 256 pixels a second: `surface` 64 views, `surface256` 256 views, `blockN` with N threads a block.
"""

from __future__ import annotations

import argparse
import json
import time
from functools import partial
from pathlib import Path
from typing import Any

import torch
import warp as wp

from flaneur.city.scene import Scene
from flaneur.evaluation.setup import scene_folders
from flaneur.geometry import Camera
from flaneur.sim import Simulator, bench, upload

TREES = (("lbvh", None), ("lbvh", 1), ("lbvh", 2), ("lbvh", 8), ("cubql", None), ("cubql", 2), ("cubql", 8), ("sah", 4))


def make_mesh(kind: str, leaf: int | None, scene_set: upload.SceneSet, part: upload.Geometry) -> wp.Mesh:
    points = wp.array(part.vertices, dtype=wp.vec3, device=scene_set.wp_device)
    return wp.Mesh(points, wp.array(part.faces.reshape(-1), dtype=wp.int32, device=scene_set.wp_device), bvh_constructor=kind, bvh_leaf_size=leaf)


def measure(scenes: list[Scene], kind: str, leaf: int | None, seconds: float) -> dict[str, Any]:
    upload.SceneSet._mesh = lambda self, part: make_mesh(kind, leaf, self, part)  # type: ignore[method-assign]
    began = time.perf_counter()
    sim = Simulator(scenes, Camera.from_fov(256, 256), "cuda")
    torch.cuda.synchronize()
    row: dict[str, Any] = {"kind": kind, "leaf": leaf, "build_s": round(time.perf_counter() - began, 2)}
    best = lambda work, units: round(bench.rate(work, units, sim.device, seconds))  # noqa: E731
    poses, index = bench.bench_views(sim, 64)
    row["surface"] = best(lambda: sim.render(poses, index, bench.SURFACE, check=False), 64)
    row["rgb"] = best(lambda: sim.render(poses, index, ("rgb",), check=False), 64)
    launch = sim._launch
    for block in (64, 128, 256):
        sim._launch = partial(_with_block, launch, block)  # type: ignore[method-assign]
        row[f"block{block}"] = best(lambda: sim.render(poses, index, bench.SURFACE, check=False), 64)
    sim._launch = launch  # type: ignore[method-assign]
    many, where = bench.bench_views(sim, 256)
    row["surface256"] = best(lambda: sim.render(many, where, bench.SURFACE, check=False), 256)
    row["move256_per_s"] = best(lambda: sim.move(many, many.roll(1, 0), 8.0, 0.5, where, check=False), 256)
    return row


def _with_block(launch: Any, block: int, kernel: Any, dim: Any, inputs: list, _own: int = 0) -> None:
    launch(kernel, dim, inputs, block)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=0.4, help="per figure")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "trees.json")
    a = parser.parse_args()
    scenes = [Scene.load(p) for p in scene_folders(a.scenes)[:8]]
    rows = []
    for kind, leaf in TREES:
        rows.append(measure(scenes, kind, leaf, a.seconds))
        print(json.dumps(rows[-1]), flush=True)
        a.out.write_text(json.dumps({"machine": bench.machine(torch.device("cuda")), "cities": len(scenes), "rows": rows}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
