"""Raw sensors: images and motion without mapping, for own methods and for measuring the simulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from flaneur.city.scene import Scene
from flaneur.errors import UserError
from flaneur.geometry import Camera
from flaneur.sim import Simulator


@dataclass(frozen=True)
class SensorConfig:
    num_envs: int = 1
    episode_length: int = 384
    camera: Camera = field(default_factory=Camera)
    outputs: tuple[str, ...] = ("depth", "instance", "label")
    flight: tuple[float, float] = (1.5, 80.0)  # metres
    max_step: float = 8.0  # metres
    clearance: float = 0.5  # metres
    starts: int = 3  # start poses per scene


class SensorEnv:
    """Target poses in, images out. A target is [x, y, z, roll, pitch, yaw]; motion is clamped before matter."""

    def __init__(self, scenes: Sequence[Scene], config: SensorConfig | None = None, device: str | torch.device = "cpu", seed: int = 0) -> None:
        self.config = config = config or SensorConfig()
        if config.num_envs < 1 or config.episode_length < 1:
            raise UserError(f"sensor environment: num_envs {config.num_envs}, episode_length {config.episode_length}; both must be at least 1")
        self.num_envs, self.scenes = config.num_envs, list(scenes)
        self.sim = Simulator(scenes, config.camera, device, flight=config.flight)
        self.device = self.sim.device
        self.starts = torch.stack([self.sim.start_poses(i, config.starts, config.clearance) for i in range(len(scenes))])
        self._rng = np.random.default_rng([seed, 0x5E])
        self.poses = torch.zeros(config.num_envs, 6, device=self.device)
        self.scene_index = torch.zeros(config.num_envs, dtype=torch.int32, device=self.device)
        self._clock = [0] * config.num_envs

    def reset(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        self._begin(list(range(self.num_envs)))
        return self._look(), {}

    def _begin(self, ids: list[int]) -> None:
        scenes, starts = self._rng.integers(0, len(self.scenes), len(ids)), self._rng.integers(0, self.config.starts, len(ids))
        at = torch.tensor(np.stack([ids, scenes, starts]), device=self.device)
        self.scene_index[at[0]] = at[1].int()
        self.poses[at[0]] = self.starts[at[1], at[2]]
        for e in ids:
            self._clock[e] = 0

    def _look(self) -> dict[str, Tensor]:
        frame = self.sim.render(self.poses, self.scene_index, self.config.outputs, check=False)
        images = {name: getattr(frame, name) for name in self.config.outputs}
        return images | {"pose": self.poses.clone()}

    def step(self, targets: Tensor) -> tuple[dict[str, Tensor], Tensor, Tensor, Tensor, dict[str, Any]]:
        """targets [B, 6]; returns images and poses, reward [B] (zero: there is no task), terminated, truncated, info."""
        if targets.shape != (self.num_envs, 6):
            raise UserError(f"sensor environment: targets are of shape {tuple(targets.shape)}, expected [{self.num_envs}, 6]")
        motion = self.sim.move(self.poses, targets, self.config.max_step, self.config.clearance, self.scene_index, check=False)
        self.poses = motion.poses
        info: dict[str, Any] = {"travelled": motion.travelled, "blocked": motion.blocked}
        self._clock = [t + 1 for t in self._clock]
        done = [e for e, t in enumerate(self._clock) if t >= self.config.episode_length]
        terminated = torch.zeros(self.num_envs, dtype=torch.bool, device=self.device)
        if done:
            rows = torch.tensor(done, device=self.device)
            terminated[rows] = True
            info |= {"final_ids": done, "final_obs": {k: v[rows].clone() for k, v in self._look().items()}}
            self._begin(done)
        return self._look(), torch.zeros(self.num_envs, device=self.device), terminated, torch.zeros_like(terminated), info
