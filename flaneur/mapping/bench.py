"""How fast observations enter the map: accumulation and fusion alone, on frames rendered beforehand."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from flaneur.geometry import camera_to_world
from flaneur.mapping.semantic_map import SemanticMap
from flaneur.perception import Twin, make_view
from flaneur.sim import Simulator
from flaneur.sim.bench import bench_views, rate


def bench_fusion(sim: Simulator, ground: Tensor, environments: int, seconds: float = 3.0) -> dict[str, Any]:
    """Map updates per second, one view of each environment at a time; ground: [S, Hm, Wm] metres.

    Twenty views a map are rendered and asked about before the clock runs, so that maps fill as they do in an episode.
    """
    source = Twin.named("easy", sim.scenes[0].classes, sim.device)
    pixels = sim.camera.width * sim.camera.height
    maps = SemanticMap(sim.scenes[0].classes, num_envs=environments, pixels=pixels, logit_scale=source.logit_scale, class_mean=source.class_mean, ground=ground, device=sim.device)
    observations = []
    for seed in range(20):
        poses, scene = bench_views(sim, environments, seed)
        frame = sim.render(poses, scene, ("depth", *source.outputs), check=False)
        observations.append((frame.depth, source.similarity(make_view(frame, poses, sim.camera)), camera_to_world(poses)))
    maps.reset(scenes=scene.tolist())
    turn = 0

    def update() -> None:
        nonlocal turn
        turn += 1
        depth, similarity, matrix = observations[turn % len(observations)]
        maps.accumulate(depth, similarity, matrix, sim.camera)
        maps.fuse()

    updates = rate(update, environments, sim.device, seconds)
    memory = maps.bytes_per_environment()
    return {
        "environments": environments, "scenes": len(sim.scenes), "size": sim.camera.width, "evidence": source.name, "updates_per_s": updates, "pixels_per_s": updates * pixels,
        "map_bytes": sum(memory.values()), "bytes_by_tensor": memory,
    }  # fmt: skip
