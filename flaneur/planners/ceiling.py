"""The ceiling: greedy with the ground truth in hand. It shows what the task allows; every OCR is also given as its share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from flaneur.env import Context, SemanticEnv
from flaneur.geometry import Camera, camera_to_world
from flaneur.mapping.backproject import points, voxels
from flaneur.planners.goals import HeldGoals
from flaneur.scoring import group_table
from flaneur.sim import Simulator

CHUNK = 128  # poses rendered at a time


@dataclass(frozen=True)
class Pool:
    """Reachable poses of a scene and the scored cells whose true surface each sees, as rows of a sparse matrix."""

    poses: Tensor  # [P, 6]
    pose_of: Tensor  # [N] i64
    cell_of: Tensor  # [N] i64


class Ceiling:
    """Among `candidates` reachable poses the one with the largest gain of newly right cells per second of travel.

    A cell counts by its group's share of OCR. Poses are drawn anew for every choice from a larger pool rendered once
    per scene.
    """

    name = "ceiling"

    def __init__(self, env: SemanticEnv, candidates: int = 512, pool: int = 4096, seed: int = 0, resolution: int = 64) -> None:
        self.env, self.candidates, self.device = env, candidates, env.device
        self._generator = torch.Generator().manual_seed(seed)
        self._held = HeldGoals(patience=40)
        self._chosen = [-1] * env.num_envs  # row of the pool each environment flies to
        self._banned: list[set[int]] = [set() for _ in range(env.num_envs)]  # rows it has been to, or cannot reach
        camera = env.config.camera
        k = max(1, camera.width // resolution)
        view = Camera(camera.width // k, camera.height // k, camera.fx / k, camera.fy / k, camera.cx / k, camera.cy / k, camera.max_range)
        self._groups = group_table(env.classes, self.device)
        self._pools = [self._render_pool(i, view, pool) for i in range(len(env.scenes))]

    def _render_pool(self, scene: int, camera: Camera, count: int) -> Pool:
        env, config = self.env, self.env.config
        sim = Simulator([env.scenes[scene]], camera, self.device, flight=config.flight)
        # Log-uniform heights: most of what is hard to see is low.
        low, high = (math.log(z) for z in config.flight)
        parts = [sim.sample_free(self._generator, count // 8, 0, (math.exp(low + i * (high - low) / 8), math.exp(low + (i + 1) * (high - low) / 8))) for i in range(8)]
        poses = torch.cat(parts)
        pitches = torch.tensor([math.radians(p) for p in config.pitches], device=self.device)
        poses[:, 4] = pitches[torch.randint(len(pitches), (len(poses),), generator=self._generator).to(self.device)]
        target, scored, ground = env._labels[scene].flatten(), env._scored[scene].flatten(), env.map.ground[scene]
        layer = config.grid.cells**2
        above = (target < len(env.classes)) & (self._groups[target.long()] < 3)
        pose_of, cell_of = [], []
        for start in range(0, len(poses), CHUNK):
            batch = poses[start : start + CHUNK]
            frame = sim.render(batch, outputs=("depth", "label"))
            assert frame.depth is not None and frame.label is not None
            voxel, inside = voxels(points(frame.depth, camera_to_world(batch), camera), config.grid, ground)
            cell = voxel % layer
            right = inside & (frame.depth > 0) & scored[cell] & (frame.label == target[cell]) & ((voxel >= layer) | ~above[cell])
            row = torch.arange(start, start + len(batch), device=self.device)[:, None, None].expand_as(cell)
            key = torch.unique(row[right] * layer + cell[right])
            pose_of.append(key // layer)
            cell_of.append(key % layer)
        return Pool(poses, torch.cat(pose_of), torch.cat(cell_of))

    def reset(self, env_ids: Sequence[int]) -> None:
        self._held.forget(env_ids)
        for e in env_ids:
            self._chosen[e], self._banned[e] = -1, set()

    def plan(self, context: Context) -> tuple[Tensor, Tensor | None]:
        env = self.env
        open_ = self._held.open(context)
        fresh = torch.zeros(len(context.poses), 5, device=self.device)
        # The truth-knowing planner is a reference, not a competitor: it may look at flags on the host.
        done_with = (context.blocked | context.arrived).tolist()
        for e in open_.nonzero()[:, 0].tolist():
            if done_with[e] and self._chosen[e] >= 0:
                # What is still wrong after a look from there will be so after the next.
                self._banned[e].add(self._chosen[e])
            pool = self._pools[env.scene_of[e]]
            labels, scored = env.target.labels[e].flatten(), env.target.scored[e].flatten()
            group = self._groups[labels.long()]
            size = torch.stack([(scored & (group == g)).sum() for g in range(3)]).clamp(min=1)
            worth = torch.where(group < 3, 1.0 / size[group.clamp(max=2)], 0.0)
            worth = torch.where(scored & (env.map.labels[e].flatten() != labels), worth, 0.0)
            gain = torch.zeros(len(pool.poses), device=self.device).index_add_(0, pool.pose_of, worth[pool.cell_of])
            steps = ((pool.poses[:, :3] - context.poses[e, :3]).norm(dim=1) / context.max_step).ceil().clamp(min=1)
            drawn = torch.randperm(len(pool.poses), generator=self._generator)[: self.candidates].to(self.device)
            value = gain / steps
            value[list(self._banned[e])] = -1.0
            best = drawn[value[drawn].argmax()]
            self._chosen[e] = int(best)
            pose = pool.poses[best]
            fresh[e] = torch.stack([pose[0], pose[1], pose[2], pose[5], pose[4]])
        return self._held.take(context, fresh, open_), None
