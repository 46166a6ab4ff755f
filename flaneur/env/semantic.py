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
from flaneur.scoring.tally import background_cells, gain_by_cell, score_of, tally
from flaneur.sim import Frame, Simulator
from flaneur.sim.recorded import Recorded


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
        self._background_of = background_cells(Target(self._labels, self._scored), self._groups)  # [S]
        self._lights = torch.tensor([LIGHTS.index(s.light) for s in scenes], device=self.device)
        self.seed(seed)
        self._outputs = tuple(sorted({"depth", *source.outputs}))
        b = config.num_envs
        new = lambda *shape, dtype=torch.float32, value=0.0: torch.full((b, *shape), value, dtype=dtype, device=self.device)  # noqa: E731
        # What a step reads and writes stays where it is, so that its kernels can be recorded.
        self.poses, self.history, self.time = new(6), new(config.history, 6, value=torch.nan), new()
        self.target = Target(self._labels[new(dtype=torch.int64)], self._scored[new(dtype=torch.int64)])
        self._score, self._reward, self._seeds = new(3, dtype=torch.float64), new(3), new(dtype=torch.int64)
        self._travelled, self._arrived, self._blocked = new(), new(dtype=torch.bool), new(dtype=torch.bool)
        self._goal, self._beta, self._layers = new(5), new(self.map.channels, 1, 1, value=1), new(3, config.grid.cells, config.grid.cells)
        # Counted on a coarse grid whether gains are asked for by cell or not: few threads wait for each other.
        self._count_grid = side = config.cell_credit or (16 if config.grid.cells % 16 == 0 else 1)
        self._tally, self._cell_gain = new(side, side, 3, 5, dtype=torch.int32), new(3, side, side)
        self._background = new()  # scored cells
        self._clock = [0] * b  # host: observations fused so far
        self.scene_of = [0] * b  # host
        self.start_of = [0] * b  # host
        self._frame: Frame | None = None
        # A step's three parts; between them the host decides which episodes end.
        self._fuse, self._move = (Recorded(work, self.device, config.record) for work in (self._fuse_now, self._move_now))
        self._look = Recorded(self._look_now, self.device, config.record and getattr(source, "recordable", False))

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
            self.time.copy_(torch.tensor(self._clock, device=self.device))
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
        for values in (self._score, self._arrived, self._blocked, self._travelled, self.time):
            values[at[0]] = 0
        for e, s, k in zip(ids, scenes, starts, strict=True):
            self._clock[e], self.scene_of[e], self.start_of[e] = 0, s, k
        self.target.labels[at[0]], self.target.scored[at[0]] = self._labels[at[1]], self._scored[at[1]]
        self._background[at[0]] = self._background_of[at[1]]
        self._measure()  # of the empty maps, which the next gain starts from

    # A step -----------------------------------------------------------------------------------------------------
    def step(self, goal: Tensor, beta: Tensor | None = None) -> tuple[dict[str, Tensor], Tensor, Tensor, Tensor, dict[str, Any]]:
        """goal [B, 5] = x, y, z metres, yaw, pitch radians; beta [B, K, h, w] or None for ones.

        Returns observation, reward per scale group [B, 3], terminated [B], truncated [B], info. Observation and the
        evidence in info are views of the environment's own tensors: clone what has to outlive the next step.
        """
        if goal.shape != (self.num_envs, 5):
            raise UserError(f"environment: goals are of shape {tuple(goal.shape)}, expected [{self.num_envs}, 5] = x, y, z, yaw, pitch")
        self._take(goal, beta)
        self._fuse()
        info: dict[str, Any] = {"score": self._score.clone()}
        reward = self._reward.clone()
        if self.config.cell_credit:
            info["cell_gain"] = self._cell_gain.clone()
        if self.config.step_metrics:
            info["global_accuracy"] = global_accuracy(self.map.labels, self.target)
            info["affected_accuracy"] = affected_accuracy(self.map.labels, self.target, self.map.affected)
        self._clock = [t + 1 for t in self._clock]
        done = [e for e, t in enumerate(self._clock) if t >= self.config.episode_length]
        if done:
            info |= self._conclude(done)
        self._move()
        info |= {"travelled": self._travelled.clone(), "arrived": self._arrived.clone(), "blocked": self._blocked.clone()}
        terminated = torch.zeros(self.num_envs, dtype=torch.bool, device=self.device)
        if done:
            terminated[done] = True
            self._begin(done)
        evidence = self._look()
        if self.config.return_evidence:
            info["evidence"] = evidence
        return self.observation(), reward, terminated, torch.zeros_like(terminated), info

    def _take(self, goal: Tensor, beta: Tensor | None) -> None:
        """Put the action where the recorded kernels read it."""
        self._goal.copy_(goal)
        if beta is None:
            self._beta.fill_(1.0)
        elif beta.shape == self._beta.shape:
            self._beta.copy_(beta)
        else:
            self._beta = beta.to(self.device, torch.float32).clone()
            self._fuse = Recorded(self._fuse_now, self.device, self.config.record)

    def _fuse_now(self) -> None:
        """M[t] of M[t-1], the pending observation and beta; the gain of the score, and where it was made."""
        before, score = self._tally.clone(), self._score.clone()
        self.map.fuse(self._beta, pending=True)
        self._score.copy_(self._measure())
        self._reward.copy_(self._score - score)
        if self.config.cell_credit:
            self._cell_gain.copy_(gain_by_cell(before, self._tally, self.config.reward, self._background))
        self.time += 1

    def _move_now(self) -> None:
        moved = self.executor.move(self.poses, self._goal, self.map)
        for mine, now in ((self.poses, moved.poses), (self._travelled, moved.travelled), (self._arrived, moved.arrived), (self._blocked, moved.blocked)):
            mine.copy_(now)
        self.history.copy_(torch.cat([self.history[:, 1:], self.poses[:, None]], 1))

    def _look_now(self) -> Tensor:
        """Render from the current poses and make the observation pending."""
        self._frame = self.sim.render(self.poses, self.map.scene_index, self._outputs, check=False)
        view = View(self._frame, self.poses, self.config.camera, self._seeds, self._lights[self.map.scene_index.long()])
        similarity = self.source.similarity(view)
        assert self._frame.depth is not None
        self.map.accumulate(self._frame.depth, similarity, camera_to_world(self.poses), self.config.camera)
        self._layers.copy_(planar_layers(self.map.planar, self.poses, self.config.grid))
        return similarity

    def _measure(self) -> Tensor:
        """The configured score per group [B, 3] f64; an absent group stays 0 and pays nothing."""
        self._tally.copy_(tally(self.map.labels, self.target, self._groups, self._count_grid))
        return score_of(self._tally, self.config.reward, self._background)

    def coverage(self) -> Tensor:
        """CCR of the current maps [B, 3] f64."""
        if self.merge is not None:
            return self.merge.coverage(self.map.labels, self.target)
        return coverage(self.map.labels, self.target, self._groups)

    def _conclude(self, done: list[int]) -> dict[str, Any]:
        """What ended episodes came to: scores of their maps and, on request, their last observation."""
        rows = torch.tensor(done, device=self.device)
        out: dict[str, Any] = {"final_ids": done, "final_scenes": [self.scene_of[e] for e in done], "final_starts": [self.start_of[e] for e in done]}
        if self.config.final_scores:
            maps = (self.map.probabilities[rows], self.map.labels[rows], self.target.rows(rows))
            out["final_scores"] = score(*maps, self.classes) if self.merge is None else self.merge.score(*maps)
            out["final_labels"] = maps[1]  # [len(done), Hm, Wm]
        else:
            out["final_scores"] = {"ccr": coverage(self.map.labels[rows], self.target.rows(rows), self._groups)}
        if self.config.final_observation:
            out["final_obs"] = {k: v[rows].clone() for k, v in self.observation().items()}
            out["final_obs"]["observation_map"].zero_()  # nothing is pending at the end
        return out

    # Views ------------------------------------------------------------------------------------------------------
    def observation(self) -> dict[str, Tensor]:
        """map M[t-1] and observation_map m[t] [B, C, Hm, Wm], layers [B, 3, Hm, Wm] (occupancy, frontier, agent), poses [B, L, 6], time [B]."""
        return {
            "map": self.map.probabilities, "observation_map": self.map.observation_map, "layers": self.layers(), "poses": self.history,
            "time": self.time / self.config.episode_length,
        }  # fmt: skip

    def layers(self) -> Tensor:
        """[B, 3, Hm, Wm] f32: occupancy, frontier, agent's cell, as the pending observation left them."""
        return self._layers

    def context(self) -> Context:
        m, c = self.map, self.config
        return Context(
            self.poses, self.history, m.probabilities, m.observation_map, m.affected, m.labels, m.log_odds, m.observed, m.occupancy, m.planar,
            self.time / c.episode_length, self._travelled, self._arrived, self._blocked, m.ground[m.scene_index.long()], self.classes, c.grid, c.camera, c.pitches, c.flight, c.executor.max_step,
        )  # fmt: skip

    @property
    def frame(self) -> Frame:
        """The images of the pending observation."""
        assert self._frame is not None, "reset first"
        return self._frame
