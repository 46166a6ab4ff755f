"""Figures of mapping, task and step rate. One JSON line each, appended to a results file.

python benchmarks/mapping.py sweep SCENE...     oracle evidence and a dense sweep of legal poses against the truth
python benchmarks/mapping.py ceiling SCENE...   what the task allows: the truth-knowing planner with oracle evidence
python benchmarks/mapping.py planners SCENE...  rule-based planners with the twin
python benchmarks/mapping.py step SCENE         environment steps per second with the twin
python benchmarks/mapping.py memory             device memory of one environment, by tensor
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from flaneur.city.scene import Scene
from flaneur.classes import load_classes
from flaneur.env import EnvConfig, SemanticEnv
from flaneur.env.bench import step_rate
from flaneur.geometry import Camera, Grid, camera_to_world
from flaneur.mapping import UNEXPLORED, MapConfig, SemanticMap
from flaneur.perception import Oracle, Twin, make_view
from flaneur.planners import Ceiling, Lawnmower, NearestFrontier, RandomGoals
from flaneur.scoring import CPU_LATTICE, Lattice, Target, ground_heights, load_truth, score
from flaneur.sim import Simulator


def lattice_of(device: str, spacing: float | None = None) -> Lattice:
    """With a spacing given: coarser in space, but at the task's full resolution."""
    if spacing is not None:
        return replace(CPU_LATTICE, spacing=spacing, coarsen=1)
    return CPU_LATTICE if device == "cpu" else Lattice()


def plain(values: torch.Tensor) -> Any:
    return [None if math.isnan(v) else round(v, 5) for v in values.flatten().tolist()]


def sweep(scene: Scene, folder: Path, camera: Camera, device: str, views: int, spacing: float | None) -> dict[str, Any]:
    """Poses of the truth's own lattice in random order, at the task's resolution."""
    lattice = lattice_of(device, spacing)
    truth = load_truth(folder, scene, camera, lattice=lattice, device=device)
    sim, source = Simulator([scene], camera, device), Oracle(scene.classes)
    poses = lattice.poses(sim)
    poses = poses[torch.randperm(len(poses), generator=torch.Generator().manual_seed(0))[:views].to(poses.device)]
    ground = ground_heights(scene, Grid())[None]
    maps = SemanticMap(scene.classes, config=MapConfig(), pixels=camera.width * camera.height, logit_scale=source.logit_scale, ground=ground, device=device)
    for pose in poses.split(1):
        frame = sim.render(pose, outputs=("depth", "label"))
        assert frame.depth is not None
        maps.accumulate(frame.depth, source.similarity(make_view(frame, pose, camera)), camera_to_world(pose), camera)
        maps.fuse()
    labels, scored = truth.planar()[None], truth.scored()[None]
    seen = maps.labels != UNEXPLORED
    over_observed = score(maps.probabilities, maps.labels, Target(labels, scored & seen), scene.classes)
    return {
        "views": len(poses), "ccr_over_observed": plain(over_observed["ccr"]), "strict_iou_over_observed": plain(over_observed["strict_iou"]),
        "observed_share": round((scored & seen).sum().item() / scored.sum().item(), 5), "instances": truth.instances, "instances_without_cell": truth.cellless,
        "class_ccr": {c.name: v for c, v in zip(scene.classes, plain(over_observed["class_ccr"]), strict=True) if v is not None},
    }  # fmt: skip


def episode(env: SemanticEnv, planner: Any, start: int) -> dict[str, Any]:
    env.reset([0] * env.num_envs, [start] * env.num_envs)
    planner.reset(range(env.num_envs))
    curve, path, began = [], 0.0, time.perf_counter()
    info: dict[str, Any] = {}
    for _ in range(env.config.episode_length):
        goal, beta = planner.plan(env.context())
        *_, info = env.step(goal, beta)
        curve.append(info["score"].mean(1)[0])
        path += float(info["travelled"][0])
    final = info["final_scores"]
    at = [curve[t - 1].item() for t in (16, 32, 64, 96, 128, 192, 256, 384) if t <= len(curve)]
    return {
        "planner": planner.name, "start": start, "ocr": plain(final["ocr"])[0], "ccr": plain(final["ccr"]), "strict_iou": plain(final["strict_iou"]),
        "background_wrong": plain(final["background_wrong"])[0], "path_m": round(path, 1), "ocr_at_16_32_64_96_128_192_256_384": [round(v, 4) for v in at],
        "seconds": round(time.perf_counter() - began, 1),
    }  # fmt: skip


def make_env(scene: Scene, folder: Path, camera: Camera, device: str, evidence: str, num_envs: int = 1) -> SemanticEnv:
    source = Oracle(scene.classes) if evidence == "oracle" else Twin.named(evidence, scene.classes, device)
    truth = load_truth(folder, scene, camera, lattice=lattice_of(device), device=device)
    return SemanticEnv([scene], [truth], source, EnvConfig(num_envs=num_envs, camera=camera, reward="ccr"), device)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("sweep", "ceiling", "planners", "step", "memory"))
    parser.add_argument("scenes", nargs="*", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--pixels", type=int, default=128)
    parser.add_argument("--views", type=int, default=3000)
    parser.add_argument("--spacing", type=float, default=None, help="of the sweep's lattice, metres")
    parser.add_argument("--starts", type=int, default=1)
    parser.add_argument("--envs", type=int, default=1)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--evidence", default="hard")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "mapping.jsonl")
    a = parser.parse_args()
    camera = Camera.from_fov(a.pixels, a.pixels)
    rows: list[dict[str, Any]] = []
    if a.what == "memory":
        by_tensor = SemanticMap(load_classes(), pixels=a.pixels**2).bytes_per_environment()
        rows.append({"bytes": by_tensor, "total_mb": round(sum(by_tensor.values()) / 1e6, 1)})
    for folder in a.scenes:
        scene = Scene.load(folder)
        common = {"scene": scene.name, "place_type": scene.place_type, "seed": scene.seed}
        if a.what == "sweep":
            rows.append(common | sweep(scene, folder, camera, a.device, a.views, a.spacing))
        elif a.what == "ceiling":
            env = make_env(scene, folder, camera, a.device, "oracle")
            planner = Ceiling(env)
            rows += [common | episode(env, planner, k) for k in range(a.starts)]
        elif a.what == "planners":
            env = make_env(scene, folder, camera, a.device, a.evidence)
            rows += [common | {"evidence": env.source.name} | episode(env, p, k) for p in (RandomGoals(), Lawnmower(), NearestFrontier()) for k in range(a.starts)]
        else:
            rows.append(common | step_rate(make_env(scene, folder, camera, a.device, a.evidence, a.envs), Lawnmower(), steps=a.steps))
    machine = {"machine": platform.machine(), "device": a.device if a.device == "cpu" else torch.cuda.get_device_name(), "threads": torch.get_num_threads(), "pixels": a.pixels}
    a.out.parent.mkdir(parents=True, exist_ok=True)
    with open(a.out, "a", encoding="utf-8") as file:
        for row in rows:
            line = json.dumps({"what": a.what} | row | machine)
            print(line, flush=True)
            file.write(line + "\n")


if __name__ == "__main__":
    main()
