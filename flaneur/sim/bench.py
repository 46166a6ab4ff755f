"""How fast the simulator is, with somebody else's renderer measured beside it on the same triangles.

On the CPU figures are per second of processor time, because Warp runs kernels on one thread: other load on the
machine does not blur them. On CUDA they are per second of wall clock around synchronised batches.
"""

from __future__ import annotations

import importlib.util
import math
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import warp as wp
from torch import Tensor

from flaneur.geometry import Camera, camera_to_world, quaternion_from_rotation, rotation_from_angles
from flaneur.sim.cameras import ray_table
from flaneur.sim.simulator import Simulator

if TYPE_CHECKING:
    from flaneur.city.scene import Scene

SURFACE = ("depth", "instance", "label")


def machine(device: torch.device) -> dict[str, Any]:
    """What the figures were measured on."""
    name = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), name)
    found = {"cpu": name, "cores": torch.get_num_threads(), "torch": torch.__version__, "warp": wp.__version__, "python": platform.python_version()}
    if device.type == "cuda":
        found["gpu"] = torch.cuda.get_device_name(device)
    return found


def rate(work: Callable[[], object], units: int, device: torch.device, seconds: float) -> float:
    """Best units per second over repetitions that fill `seconds` of wall clock, at least three."""
    work()
    best, repeats, end = 0.0, 0, time.perf_counter() + seconds
    while repeats < 3 or time.perf_counter() < end:
        if device.type == "cuda":
            torch.cuda.synchronize(device)
            start = time.perf_counter()
            work()
            torch.cuda.synchronize(device)
            best = max(best, units / (time.perf_counter() - start))
        else:
            start = time.process_time()
            work()
            best = max(best, units / max(time.process_time() - start, 1e-9))
        repeats += 1
    return best


def timed(work: Callable[[], object], device: torch.device, repeats: int) -> float:
    """Seconds of wall clock of one call, the mean over repeats."""
    wait = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    wait()
    start = time.perf_counter()
    for _ in range(repeats):
        work()
    wait()
    return (time.perf_counter() - start) / repeats


def bench_views(sim: Simulator, views: int, seed: int = 1) -> tuple[Tensor, Tensor]:
    """Poses [views, 6] and scenes [views]: half at eye level, half above the roofs' feet looking down."""
    generator = np.random.default_rng(seed)
    index = torch.arange(views, dtype=torch.int32, device=sim.device) % len(sim.scenes)
    poses = torch.zeros((views, 6), device=sim.device)
    for k in range(len(sim.scenes)):
        rows = (index == k).nonzero()[:, 0]
        low = len(rows) // 2
        if low:
            poses[rows[:low]] = sim.sample_free(generator, low, k, (1.5, 3.0))
        if len(rows) > low:
            poses[rows[low:]] = sim.sample_free(generator, len(rows) - low, k, (5.0, 60.0))
            poses[rows[low:], 4] = math.radians(-30)
    return poses, index


def embree_rate(sim: Simulator, poses: Tensor, index: Tensor, seconds: float) -> float | None:
    """Rays per processor second of Embree (embreex, one thread) on the same rays; None where it is not installed."""
    if importlib.util.find_spec("embreex") is None:
        return None
    from embreex import rtcore_scene
    from embreex.mesh_construction import TriangleMesh

    rays = ray_table(sim.camera).astype(np.float64)
    local = np.concatenate([rays, -np.ones_like(rays[..., :1])], -1).reshape(-1, 3)
    trees = []
    for scene in sim.scenes:
        vertices, faces, *_ = scene.triangles()
        trees.append(rtcore_scene.EmbreeScene())  # pyright: ignore[reportAttributeAccessIssue]  (no stubs)
        TriangleMesh(trees[-1], vertices, faces)
    work = []
    for pose, k in zip(poses.double().cpu().numpy(), index.tolist(), strict=True):
        directions = (local @ rotation_from_angles(pose[3:]).T).astype(np.float32)
        work.append((trees[k], np.repeat(pose[None, :3], len(local), 0).astype(np.float32), directions))

    def run() -> None:
        for tree, origins, directions in work:
            tree.run(origins, directions, output=True)

    return rate(run, len(work) * len(local), torch.device("cpu"), seconds)


def newton_rates(sim: Simulator, poses: Tensor, seconds: float) -> dict[str, float] | None:
    """Frames per second of Newton's SensorCamera on the first scene: depth and shape ids, and colour; None where it is not installed."""
    if importlib.util.find_spec("newton") is None:
        return None
    import newton
    from newton.sensors import SensorCamera

    scene, camera = sim.scenes[0], sim.camera
    builder = newton.ModelBuilder(up_axis=newton.Axis.Z)
    meshes = [newton.Mesh(p.vertices, p.faces.reshape(-1), compute_inertia=False) for p in scene.prototypes]
    rows = scene.instances
    for k, prototype in enumerate(rows.prototype.tolist()):
        half = float(rows.yaw[k]) / 2
        place = wp.transform(rows.position[k].tolist(), [0.0, 0.0, math.sin(half), math.cos(half)])
        scale = float(rows.scale[k])
        builder.add_shape_mesh(-1, xform=place, mesh=meshes[prototype], scale=(scale, scale, scale))
    model = builder.finalize(device=str(sim.wp_device))
    sensor = SensorCamera(model, load_textures=False)
    rays = SensorCamera.compute_camera_rays_pinhole(camera.width, camera.height, camera_fov=2 * math.atan(camera.height / 2 / camera.fy), device=model.device)
    matrix = camera_to_world(poses.double().cpu().numpy())
    views = [wp.transform(m[:3, 3].tolist(), q.tolist()) for m, q in zip(matrix, quaternion_from_rotation(matrix[:, :3, :3]), strict=True)]
    placed = wp.array(views, dtype=wp.transformf, device=model.device)
    depth = sensor.allocate_image_depth_forward(len(views), camera.width, camera.height)
    shape = sensor.allocate_image_shape_index(len(views), camera.width, camera.height)
    color = sensor.allocate_image_color(len(views), camera.width, camera.height)
    world, state = wp.zeros(len(views), dtype=wp.int32, device=model.device), model.state()
    surface = rate(lambda: sensor.update(state, placed, rays, forward_depth_image=depth, shape_index_image=shape, world_indices=world), len(views), sim.device, seconds)
    shaded = rate(lambda: sensor.update(state, placed, rays, color_image=color, world_indices=world), len(views), sim.device, seconds)
    return {"surface_frames_per_s": surface, "rgb_frames_per_s": shaded}


def bench_render(scenes: Sequence[Scene], device: str = "cpu", views: int = 64, size: int = 256, seconds: float = 3.0, peer: bool = True) -> dict[str, Any]:
    """Frames and rays per second of a batch of views, and what a peer makes of the same views."""
    started = time.perf_counter()
    sim = Simulator(scenes, Camera.from_fov(size, size), device)
    poses, index = bench_views(sim, views)
    sim.render(poses[:1], index[:1], SURFACE)
    ready = time.perf_counter() - started
    pixels = size * size
    surface = rate(lambda: sim.render(poses, index, SURFACE, check=False), views, sim.device, seconds)
    shaded = rate(lambda: sim.render(poses, index, ("rgb",), check=False), views, sim.device, seconds)
    out: dict[str, Any] = {
        "bench": "render", "device": str(sim.device), "machine": machine(sim.device), "scenes": len(sim.scenes), "views": views, "size": size,
        "objects": int(np.mean([s.is_object.sum() for s in sim.scenes])), "triangles": int(sim.set.face_count.mean()),
        "ready_s": ready, "scene_bytes": int(np.mean(sim.set.bytes)),
        "surface_frames_per_s": surface, "surface_rays_per_s": surface * pixels, "rgb_frames_per_s": shaded,
    }  # fmt: skip
    if peer and sim.device.type == "cpu":
        theirs = embree_rate(sim, poses, index, seconds)
        if theirs is not None:
            out["embree_rays_per_s"], out["of_embree"] = theirs, surface * pixels / theirs
    elif peer:
        one = Simulator(scenes[:1], Camera.from_fov(size, size), device)
        own, _ = bench_views(one, views)
        theirs_newton = newton_rates(one, own, seconds)
        if theirs_newton is not None:
            alone = rate(lambda: one.render(own, None, SURFACE, check=False), views, one.device, seconds)
            alone_rgb = rate(lambda: one.render(own, None, ("rgb",), check=False), views, one.device, seconds)
            out["newton"] = theirs_newton
            out["times_newton_surface"] = alone / theirs_newton["surface_frames_per_s"]
            out["times_newton_rgb"] = alone_rgb / theirs_newton["rgb_frames_per_s"]
    return out


def bench_step(scenes: Sequence[Scene], device: str = "cpu", environments: int = 64, size: int = 256, seconds: float = 3.0) -> dict[str, Any]:
    """Steps per second of environments with raw sensors: move toward a goal, then depth, instance and label."""
    sim = Simulator(scenes, Camera.from_fov(size, size), device)
    poses, index = bench_views(sim, environments)
    goals = poses[torch.randperm(environments, generator=torch.Generator().manual_seed(0)).to(sim.device)]

    state = {"poses": poses, "turn": 0}

    def step() -> None:
        state["turn"] += 1
        moved = sim.move(state["poses"], goals.roll(state["turn"] // 8, 0), 8.0, 0.5, index, check=False)
        state["poses"] = moved.poses
        sim.render(moved.poses, index, SURFACE, check=False)

    steps = rate(step, environments, sim.device, seconds)
    return {"bench": "step", "device": str(sim.device), "machine": machine(sim.device), "scenes": len(sim.scenes), "environments": environments, "size": size, "steps_per_s": steps}
