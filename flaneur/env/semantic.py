"""The task as a vector environment on torch tensors: map, look, move, look again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from flaneur.city.scene import Scene
from flaneur.env.config import EnvConfig
from flaneur.env.context import Context
from flaneur.env.executor import Executor
from flaneur.env.layers import planar_layers
from flaneur.errors import UserError
from flaneur.geometry import camera_to_world
from flaneur.mapping import SemanticMap
from flaneur.perception import LIGHTS, EvidenceSource, View
from flaneur.scoring import Merge, Target, Truth, coverage, ground_heights, group_table, score
from flaneur.scoring.metrics import affected_accuracy, global_accuracy
from flaneur.scoring.tally import gain_by_cell, score_of, tally
from flaneur.sim import Frame, Simulator


class SemanticEnv:
    """`step(goal, beta)` fuses the pending observation m[t] with beta into M[t], pays the score's gain from M[t-1] to
    M[t], moves, and makes m[t+1] pending. So beta is paid for in the same step and never sees the map it makes.

    Episodes end after `episode_length` observations; the environment is reset in the same step, and what the episode
    came to is in `info`. Which environments end is known on the host, so a step never waits for the device.
    """

    def __init__(
        self,
        scenes: Sequence[Scene],
        truths: Sequence[Truth],  # one per scene, of this camera and grid
        source: EvidenceSource,
        config: EnvConfig | None = None,
        device: str | torch.device = "cpu",
        seed: int = 0,
        merge: Merge | None = None,  # final scores for data with coarser classes; rewards stay in ours
    ) -> None:
        if len(truths) != len(scenes) or not scenes:
            raise UserError(f"environment: {len(scenes)} scenes and {len(truths)} truths; one truth per scene is needed")
        self.config = config = config or EnvConfig()
        self.merge = merge
        self.scenes, self.source, self.classes, self.num_envs = list(scenes), source, scenes[0].classes, config.num_envs
        self.sim = Simulator(scenes, config.camera, device, flight=config.flight)
        self.device = self.sim.device
        ground = torch.stack([ground_heights(s, config.grid) for s in scenes])
        camera = config.camera
        self.map = SemanticMap(self.classes, config.grid, config.map, config.num_envs, camera.width * camera.height, source.logit_scale, source.class_mean, ground, self.device)
        self.executor = Executor(self.sim, config.executor, config.pitches)
        of_log_odds = config.map.projection == "log_odds"
        self._labels = torch.stack([t.planar(of_log_odds) for t in truths]).to(self.device)
        self._scored = torch.stack([t.scored(of_log_odds) for t in truths]).to(self.device)
        self.starts = torch.stack([self.sim.start_poses(i, config.starts, config.executor.clearance) for i in range(len(scenes))])  # [S, n, 6]
        self._groups = group_table(self.classes, self.device)
        self._lights = torch.tensor([LIGHTS.index(s.light) for s in scenes], device=self.device)
        self.seed(seed)
        self._outputs = tuple(sorted({"depth", *source.outputs}))
        b = config.num_envs
        self.poses = torch.zeros(b, 6, device=self.device)
        self.history = torch.full((b, config.history, 6), torch.nan, device=self.device)
        self._score = torch.zeros(b, 3, dtype=torch.float64, device=self.device)
        self._seeds = torch.zeros(b, dtype=torch.int64, device=self.device)
        self._travelled = torch.zeros(b, device=self.device)
        self._arrived = torch.zeros(b, dtype=torch.bool, device=self.device)
        self._blocked = torch.zeros(b, dtype=torch.bool, device=self.device)
        self._clock = [0] * b  # host: observations fused so far
        self.scene_of = [0] * b  # host
        self.start_of = [0] * b  # host
        self._frame: Frame | None = None

    def seed(self, seed: int) -> None:
        """What is drawn from here on (scenes, starts, evidence noise) depends on this alone."""
        self._rng = np.random.default_rng([seed, 0xE4])

    # Episodes ---------------------------------------------------------------------------------------------------
    def reset(self, scenes: Sequence[int] | None = None, starts: Sequence[int] | None = None, seeds: Sequence[int] | None = None, stagger: bool = False) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Begin an episode everywhere, in the named scenes at the named start poses with the named seeds of the evidence (drawn by default).

        `stagger` spreads the first ends evenly over the episode's length, so that a learner's batches hold all times.
        """
        everyone = list(range(self.num_envs))
        self._begin(everyone, scenes, starts, seeds)
        if stagger:
            self._clock = [e * self.config.episode_length // self.num_envs for e in everyone]
        evidence = self._look()
        return self.observation(), {"evidence": evidence} if self.config.return_evidence else {}

    def _begin(self, ids: list[int], scenes: Sequence[int] | None = None, starts: Sequence[int] | None = None, seeds: Sequence[int] | None = None) -> None:
        scenes = [int(s) for s in self._rng.integers(0, len(self.scenes), len(ids))] if scenes is None else list(scenes)
        starts = [int(s) for s in self._rng.integers(0, self.config.starts, len(ids))] if starts is None else list(starts)
        if len(scenes) != len(ids) or len(starts) != len(ids) or (seeds is not None and len(seeds) != len(ids)):
            raise UserError(f"environment reset: {len(scenes)} scenes and {len(starts)} starts for {len(ids)} environments")
        if not all(0 <= s < len(self.scenes) for s in scenes) or not all(0 <= s < self.config.starts for s in starts):
            raise UserError(f"environment reset: scenes are counted from 0 to {len(self.scenes) - 1}, starts from 0 to {self.config.starts - 1}")
        noise = self._rng.integers(0, 2**62, len(ids)) if seeds is None else np.asarray(list(seeds), np.int64)
        self.map.reset(ids, scenes)
        at = torch.tensor([ids, scenes, starts], device=self.device)
        self.poses[at[0]] = self.starts[at[1], at[2]]
        self.history[at[0]] = torch.nan
        self.history[at[0], -1] = self.poses[at[0]]
        self._seeds[at[0]] = torch.from_numpy(noise).to(self.device)
        self._score[at[0]] = 0.0
        for flags in (self._arrived, self._blocked, self._travelled):
            flags[at[0]] = 0
        for e, s, k in zip(ids, scenes, starts, strict=True):
            self._clock[e], self.scene_of[e], self.start_of[e] = 0, s, k
        index = self.map.scene_index.long()
        self.target = Target(self._labels[index], self._scored[index])
        self._measure()  # of the empty maps, which the next gain starts from

    def _look(self) -> Tensor:
        """Render from the current poses and make the observation pending."""
        self._frame = self.sim.render(self.poses, self.map.scene_index, self._outputs, check=False)
        view = View(self._frame, self.poses, self.config.camera, self._seeds, self._lights[self.map.scene_index.long()])
        similarity = self.source.similarity(view)
        assert self._frame.depth is not None
        self.map.accumulate(self._frame.depth, similarity, camera_to_world(self.poses), self.config.camera)
        return similarity

    # A step -----------------------------------------------------------------------------------------------------
    def step(self, goal: Tensor, beta: Tensor | None = None) -> tuple[dict[str, Tensor], Tensor, Tensor, Tensor, dict[str, Any]]:
        """goal [B, 5] = x, y, z metres, yaw, pitch radians; beta [B, K, h, w] or None for ones.

        Returns observation, reward per scale group [B, 3], terminated [B], truncated [B], info.
        """
        if goal.shape != (self.num_envs, 5):
            raise UserError(f"environment: goals are of shape {tuple(goal.shape)}, expected [{self.num_envs}, 5] = x, y, z, yaw, pitch")
        before = self._tally
        self.map.fuse(beta)
        now = self._measure()
        reward = (now - self._score).float()
        self._score = now.clone()
        info: dict[str, Any] = {"score": now}
        if self.config.cell_credit:
            info["cell_gain"] = gain_by_cell(before, self._tally, self.config.reward)
        if self.config.step_metrics:
            info["global_accuracy"] = global_accuracy(self.map.labels, self.target)
            info["affected_accuracy"] = affected_accuracy(self.map.labels, self.target, self.map.affected)
        self._clock = [t + 1 for t in self._clock]
        done = [e for e, t in enumerate(self._clock) if t >= self.config.episode_length]
        if done:
            info |= self._conclude(done)
        moved = self.executor.move(self.poses, goal, self.map)
        self.poses, self._travelled, self._arrived, self._blocked = moved.poses, moved.travelled, moved.arrived, moved.blocked
        info |= {"travelled": moved.travelled, "arrived": moved.arrived, "blocked": moved.blocked}
        self.history = torch.cat([self.history[:, 1:], self.poses[:, None]], 1)
        terminated = torch.zeros(self.num_envs, dtype=torch.bool, device=self.device)
        if done:
            terminated[torch.tensor(done, device=self.device)] = True
            self._begin(done)
        evidence = self._look()
        if self.config.return_evidence:
            info["evidence"] = evidence
        return self.observation(), reward, terminated, torch.zeros_like(terminated), info

    def _measure(self) -> Tensor:
        """The configured score per group [B, 3] f64; an absent group stays 0 and pays nothing."""
        self._tally = tally(self.map.labels, self.target, self._groups, self.config.cell_credit or 1)
        return score_of(self._tally, self.config.reward)

    def coverage(self) -> Tensor:
        """CCR of the current maps [B, 3] f64."""
        if self.merge is not None:
            return self.merge.coverage(self.map.labels, self.target)
        return coverage(self.map.labels, self.target, self._groups)

    def _conclude(self, done: list[int]) -> dict[str, Any]:
        """What ended episodes came to: scores of their maps and, on request, their last observation."""
        rows = torch.tensor(done, device=self.device)
        maps = (self.map.probabilities[rows], self.map.labels[rows], self.target.rows(rows))
        final = score(*maps, self.classes) if self.merge is None else self.merge.score(*maps)
        out: dict[str, Any] = {"final_ids": done, "final_scores": final, "final_scenes": [self.scene_of[e] for e in done], "final_starts": [self.start_of[e] for e in done]}
        if self.config.final_observation:
            out["final_obs"] = {k: v[rows].clone() for k, v in self.observation().items()}
            out["final_obs"]["observation_map"].zero_()  # nothing is pending at the end
        return out

    # Views ------------------------------------------------------------------------------------------------------
    def observation(self) -> dict[str, Tensor]:
        """map M[t-1] and observation_map m[t] [B, C, Hm, Wm], layers [B, 3, Hm, Wm] (occupancy, frontier, agent), poses [B, L, 6], time [B]."""
        return {
            "map": self.map.probabilities, "observation_map": self.map.observation_map, "layers": self.layers(), "poses": self.history,
            "time": torch.tensor(self._clock, dtype=torch.float32, device=self.device) / self.config.episode_length,
        }  # fmt: skip

    def layers(self) -> Tensor:
        """[B, 3, Hm, Wm] f32: occupancy, frontier, agent's cell."""
        return planar_layers(self.map.planar, self.poses, self.config.grid)

    def context(self) -> Context:
        m, c = self.map, self.config
        time = torch.tensor(self._clock, dtype=torch.float32, device=self.device) / c.episode_length
        return Context(
            self.poses, self.history, m.probabilities, m.observation_map, m.affected, m.labels, m.log_odds, m.observed, m.occupancy, m.planar,
            time, self._travelled, self._arrived, self._blocked, m.ground[m.scene_index.long()], self.classes, c.grid, c.camera, c.pitches, c.flight, c.executor.max_step,
        )  # fmt: skip

    @property
    def frame(self) -> Frame:
        """The images of the pending observation."""
        assert self._frame is not None, "reset first"
        return self._frame
