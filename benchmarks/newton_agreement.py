"""Somebody else's renderer against ours: a city's USD in Newton's camera, depth and labels pixel by pixel.

    python benchmarks/newton_agreement.py SCENE... [--out benchmarks/results/newton_agreement.json]

Bars: depth within 1 cm on 99.5 % of the pixels, labels equal on 99.5 %. Exit code 1 when one is missed.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from flaneur.city.export.usd import write_usd
from flaneur.city.scene import Scene
from flaneur.geometry import Camera, camera_to_world, quaternion_from_rotation
from flaneur.sim import Simulator
from flaneur.sim.bench import bench_views

DEPTH_TOLERANCE, SHARE = 0.01, 0.995


def free_poses(scene: Scene, camera: Camera, count: int) -> np.ndarray:
    """[count, 6] poses in the open, half at eye level, half above: inside a wall Newton shows what is behind it and we its back."""
    return bench_views(Simulator([scene], camera), count)[0].double().numpy()


def newton_view(file: Path, camera: Camera, poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Planar depth [B, H, W] metres (0: none) and instance id [B, H, W] (-1: none) by Newton's camera."""
    import newton
    import warp as wp
    from newton.sensors import SensorCamera

    builder = newton.ModelBuilder(up_axis=newton.Axis.Z)
    found = builder.add_usd(str(file), skip_mesh_approximation=True)
    instance_of = np.full(builder.shape_count, -1, np.int32)
    for path, shape in found["path_shape_map"].items():
        instance_of[shape] = int(path.split("/")[-2].rsplit("_", 1)[1])  # .../car_000012/mesh
    model = builder.finalize(device="cpu")
    sensor = SensorCamera(model, load_textures=False)
    rays = SensorCamera.compute_camera_rays_pinhole(camera.width, camera.height, camera_fov=2 * math.atan(camera.height / 2 / camera.fy), device=model.device)
    matrix = camera_to_world(poses)
    views = [wp.transform(m[:3, 3].tolist(), q.tolist()) for m, q in zip(matrix, quaternion_from_rotation(matrix[:, :3, :3]), strict=True)]
    depth = sensor.allocate_image_depth_forward(len(poses), camera.width, camera.height)
    shape = sensor.allocate_image_shape_index(len(poses), camera.width, camera.height)
    world = wp.zeros(len(views), dtype=wp.int32, device=model.device)
    sensor.update(model.state(), wp.array(views, dtype=wp.transformf, device=model.device), rays, forward_depth_image=depth, shape_index_image=shape, world_indices=world)
    planar, index = depth.numpy(), shape.numpy().astype(np.int64)
    none = (index < 0) | (index >= builder.shape_count) | (planar <= 0)
    return np.where(none, 0.0, planar), np.where(none, -1, instance_of[np.where(none, 0, index)])


def agreement(scene: Scene, camera: Camera, poses: np.ndarray) -> dict[str, float]:
    """Shares of pixels in which both renderers see the same depth, label and instance."""
    with tempfile.TemporaryDirectory() as folder:
        write_usd(scene, Path(folder) / "city.usdc")
        depth, instance = newton_view(Path(folder) / "city.usdc", camera, poses)
    frame = Simulator([scene], camera).render(torch.tensor(poses, dtype=torch.float32), torch.zeros(len(poses), dtype=torch.int32), outputs=("depth", "instance", "label"))
    ours, label = frame.depth.numpy(), frame.label.numpy()
    # Beyond the range our depth is 0, while labels go on to the horizon.
    theirs = np.where(depth > camera.max_range, 0.0, depth)
    their_label = np.where(instance >= 0, scene.class_id[np.maximum(instance, 0)], scene.classes.sky)
    return {
        "depth": float((np.abs(ours - theirs) <= DEPTH_TOLERANCE).mean()),
        "label": float((label == their_label).mean()),
        "instance": float((frame.instance.numpy() == instance).mean()),
        "covered": float((theirs > 0).mean()),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/newton_agreement.json"))
    parser.add_argument("--views", type=int, default=8)
    parser.add_argument("--pixels", type=int, default=256)
    arguments = parser.parse_args()
    camera = Camera.from_fov(arguments.pixels, arguments.pixels)
    results: dict[str, Any] = {}
    for folder in arguments.scenes:
        scene = Scene.load(folder)
        results[scene.name] = agreement(scene, camera, free_poses(scene, camera, arguments.views))
        print(scene.name, results[scene.name], flush=True)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps({"views": arguments.views, "pixels": arguments.pixels, "scenes": results}, indent=1) + "\n", "utf-8")
    return 0 if all(r["depth"] >= SHARE and r["label"] >= SHARE for r in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
