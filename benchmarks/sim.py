"""The simulator against its bars on a CPU: rate beside Embree, agreement with it, start-up times, moves that stay outside matter.

    python benchmarks/sim.py SCENE... [--moves 10000] [--out benchmarks/results/sim_cpu.json]

Bars: >= 0.5 of Embree's rays on one thread; depth within 1 mm on 99.99 % and instance equal on 99.9 % of the pixels;
first frame within 15 s of a cold and 2 s of a warm kernel cache, imports of torch not counted; no move that ends
inside matter, nearer than the clearance, or outside the flight volume. Exit code 1 when one is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import shapely
import torch
from embreex import rtcore_scene
from embreex.mesh_construction import TriangleMesh

from flaneur.city.scene import Scene
from flaneur.geometry import Camera, rotation_from_angles
from flaneur.sim import Simulator
from flaneur.sim.bench import bench_render, bench_step, bench_views
from flaneur.sim.cameras import ray_table

CLEARANCE, STEP = 0.5, 8.0

FIRST_FRAME = """
import sys, time
import torch
start = time.perf_counter()
from flaneur.city.scene import Scene
from flaneur.sim import Simulator
sim = Simulator([Scene.load(sys.argv[1])])
poses = torch.tensor([[100.0, 100.0, 30.0, 0.0, -0.5, 0.0]])
sim.render(poses)
surface = time.perf_counter() - start
sim.render(poses, outputs=("rgb",))
print(surface, time.perf_counter() - start)
"""


def embree_scene(scene: Scene) -> rtcore_scene.EmbreeScene:
    vertices, faces, *_ = scene.triangles()
    tree = rtcore_scene.EmbreeScene()
    TriangleMesh(tree, vertices, faces)
    return tree


def agreement(scene: Scene, views: int, size: int) -> dict[str, float]:
    """Shares of pixels on which Embree finds the same depth and instance."""
    camera = Camera.from_fov(size, size)
    sim, tree, owner = Simulator([scene], camera), embree_scene(scene), scene.triangles()[4]
    poses, index = bench_views(sim, views, seed=2)
    frame = sim.render(poses, index)
    assert frame.depth is not None and frame.instance is not None
    rays = ray_table(camera).astype(np.float64)
    local = np.concatenate([rays, -np.ones_like(rays[..., :1])], -1).reshape(-1, 3)
    depth_same, instance_same = [], []
    for b, pose in enumerate(poses.double().numpy()):
        directions = (local @ rotation_from_angles(pose[3:]).T).astype(np.float32)
        hit = tree.run(np.repeat(pose[None, :3], len(local), 0).astype(np.float32), directions, output=True)
        face = hit["primID"]
        depth = np.where((face >= 0) & (hit["tfar"] <= camera.max_range), hit["tfar"], 0.0)
        depth_same.append(np.abs(frame.depth[b].numpy().reshape(-1) - depth) <= 1e-3)
        instance_same.append(frame.instance[b].numpy().reshape(-1) == np.where(face >= 0, owner[face], -1))
    return {"depth_1mm": float(np.mean(depth_same)), "instance": float(np.mean(instance_same))}


def moves(scenes: list[Scene], count: int) -> dict[str, float]:
    """Random moves toward free points and into objects; where they end is judged by Embree's crossings and by distance."""
    sim = Simulator(scenes)
    movers = max(count // len(scenes) // 20, 1)
    generator = np.random.default_rng(7)
    index = torch.arange(len(scenes), dtype=torch.int32).repeat_interleave(movers)
    poses = torch.cat([sim.sample_free(generator, movers, k, (1.5, 40.0), CLEARANCE) for k in range(len(scenes))])
    ends, jumps = [], 0.0
    while sum(map(len, ends)) < count:
        targets = torch.from_numpy(generator.uniform((-30, -30, -5, 0, 0, 0), (230, 230, 100, 0, 0, 0), (len(poses), 6)).astype(np.float32))
        for k, scene in enumerate(scenes):
            rows = torch.nonzero(index == k)[::2, 0]
            middles = scene.box[scene.is_object, 0]
            targets[rows, :3] = torch.from_numpy(middles[generator.integers(0, len(middles), len(rows))].astype(np.float32))
        moved = sim.move(poses, targets, STEP, CLEARANCE, index).poses
        jumps = max(jumps, float((moved[:, :3] - poses[:, :3]).norm(dim=1).max()))
        poses = moved
        ends.append(poses[:, :3].clone())
    points, owner = torch.cat(ends), index.repeat(len(ends))
    x, y, z = points.unbind(1)
    size = torch.tensor([s.size for s in scenes])[owner.long()]
    outside = (x < 0) | (y < 0) | (x > size) | (y > size) | (z < sim.low) | (z > sim.high)
    inside = 0
    for k, scene in enumerate(scenes):
        inside += int(crossings_odd(scene, points[owner == k].numpy()).sum())
    near = int((~sim.clear(points, CLEARANCE - 1e-3, owner)).sum())
    return {"moves": len(points), "cities": len(scenes), "inside_by_parity": inside, "too_near_or_inside": near, "escaped": int(outside.sum()), "longest_step_m": jumps}


def crossings_odd(scene: Scene, points: np.ndarray) -> np.ndarray:
    """Inside by the parity of two slanted rays' crossings with the objects' triangles, in float64 NumPy; both must say so."""
    vertices, faces, _, _, instance = scene.triangles()
    triangles = vertices[faces[scene.is_object[instance]]].astype(np.float64)
    verdict = np.ones(len(points), bool)
    for direction in (np.array([0.0137, 0.0291, 1.0]), np.array([-0.0371, 0.0193, 1.0])):
        # Sheared so that the ray is vertical: a triangle counts when its shadow holds the point and it lies above.
        sheared = triangles.copy()
        sheared[..., :2] -= triangles[..., 2:] * direction[:2]
        low, high = sheared[..., :2].min(1), sheared[..., :2].max(1)
        shadows = shapely.STRtree(shapely.box(low[:, 0], low[:, 1], high[:, 0], high[:, 1]))
        grounded = points[:, :2].astype(np.float64) - points[:, 2:] * direction[:2]
        which, found = shadows.query(shapely.points(grounded))
        parts = np.split(found, np.searchsorted(which, np.arange(1, len(points))))
        for k, point in enumerate(points.astype(np.float64)):
            at, near = grounded[k], sheared[parts[k]]
            a, b, c = (near[:, i] for i in range(3))
            u, v, w = (_area(p[:, :2], q[:, :2], at) for p, q in ((b, c), (c, a), (a, b)))
            total = u + v + w
            with np.errstate(divide="ignore", invalid="ignore"):
                height = (u * a[:, 2] + v * b[:, 2] + w * c[:, 2]) / total
            holds = ((u > 0) & (v > 0) & (w > 0)) | ((u < 0) & (v < 0) & (w < 0))
            verdict[k] &= np.count_nonzero(holds & (height > point[2])) % 2 == 1
    return verdict


def _area(p: np.ndarray, q: np.ndarray, at: np.ndarray) -> np.ndarray:
    return (p[:, 0] - at[0]) * (q[:, 1] - at[1]) - (p[:, 1] - at[1]) * (q[:, 0] - at[0])


def first_frame(folder: Path, cold: bool) -> tuple[float, float]:
    """Seconds from torch imported to the first depth image, and to the first RGB after it, in a process of its own."""
    with tempfile.TemporaryDirectory() as cache:
        changed = {"WARP_CACHE_PATH": cache, "FLANEUR_CACHE": cache} if cold else {}
        done = subprocess.run([sys.executable, "-c", FIRST_FRAME, str(folder)], env={**os.environ, **changed}, capture_output=True, text=True, check=True)
    surface, rgb = map(float, done.stdout.split())
    return surface, rgb


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", nargs="+", type=Path)
    parser.add_argument("--moves", type=int, default=10_000)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "sim_cpu.json")
    options = parser.parse_args()
    torch.set_num_threads(1)
    scenes = [Scene.load(folder) for folder in options.scenes]
    found: dict[str, Any] = {"render": bench_render(scenes[:1], views=16), "step": bench_step(scenes[:1], environments=16, size=128)}
    found["agreement"] = agreement(scenes[0], 12, 192)
    found["moves"] = moves(scenes, options.moves)
    first_frame(options.scenes[0], cold=False)
    warm, cold = first_frame(options.scenes[0], cold=False), first_frame(options.scenes[0], cold=True)
    found["first_frame_s"] = {"warm": warm[0], "warm_with_rgb": warm[1], "cold": cold[0], "cold_with_rgb": cold[1]}
    found["load"] = os.getloadavg()[0]
    bars = {
        "of_embree >= 0.5": found["render"]["of_embree"] >= 0.5,
        "depth_1mm >= 0.9999": found["agreement"]["depth_1mm"] >= 0.9999,
        "instance >= 0.999": found["agreement"]["instance"] >= 0.999,
        "warm <= 2 s": warm[0] <= 2.0,
        "cold <= 15 s": cold[0] <= 15.0,
        "moves inside, too near, escaped = 0": not any(found["moves"][k] for k in ("inside_by_parity", "too_near_or_inside", "escaped")),
    }
    found["bars"] = {name: bool(met) for name, met in bars.items()}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    temporary = options.out.with_suffix(".tmp")
    temporary.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    os.replace(temporary, options.out)
    print(json.dumps(found, indent=1))
    return 0 if all(bars.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
