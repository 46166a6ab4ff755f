"""The task's numbers. The observable mask depends on camera, pitches and ceiling, so they are never tuned after a comparison."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from flaneur.errors import UserError
from flaneur.geometry import Camera, Grid
from flaneur.mapping import MapConfig


@dataclass(frozen=True)
class ExecutorConfig:
    max_step: float = 8.0  # metres of path per step
    clearance: float = 0.5  # metres to any triangle
    altitudes: tuple[float, ...] = (3.0, 6.0, 12.0, 24.0, 32.0, 48.0, 64.0, 80.0)  # metres above ground tried for detours
    directions: int = 16  # of sideways detours
    radii: tuple[float, ...] = (4.0, 10.0, 25.0, 60.0)  # metres of sideways detours


@dataclass(frozen=True)
class EnvConfig:
    num_envs: int = 1
    episode_length: int = 384  # observations; the last one ends the episode
    camera: Camera = field(default_factory=Camera)
    grid: Grid = field(default_factory=Grid)
    map: MapConfig = field(default_factory=MapConfig)
    executor: ExecutorConfig = field(default_factory=ExecutorConfig)
    pitches: tuple[float, ...] = (0.0, -30.0, -60.0)  # degrees; a goal's pitch becomes the nearest
    flight: tuple[float, float] = (1.5, 80.0)  # metres: lowest and highest z
    history: int = 30  # poses, the current one last
    reward: Literal["iou", "ccr", "balanced"] = "balanced"  # gain of strict IoU, of coverage (the paper's), or of their mean less false alarms on background
    cell_credit: int = 0  # cells a side of the grid on which every step's info says where the gain was made; 0: nowhere
    starts: int = 3  # start poses per scene, derived from its seed
    step_metrics: bool = False  # global-map and affected-grid accuracy in every step's info
    return_evidence: bool = False  # the raw similarities in every step's info
    final_observation: bool = True  # keep the last observation of an episode in info (costs a copy of its maps)
    final_scores: bool = True  # all metrics of ended episodes in info; else their coverage alone, which is all that training looks at
    record: bool = True  # on CUDA: a step's kernels are recorded once and replayed

    def __post_init__(self) -> None:
        for name in ("num_envs", "episode_length", "history", "starts"):
            if getattr(self, name) < 1:
                raise UserError(f"environment configuration, field '{name}': {getattr(self, name)}; it must be at least 1")
        if not 0 < self.flight[0] < self.flight[1]:
            raise UserError(f"environment configuration, field 'flight': {self.flight}; expected 0 < lowest < highest")
        if self.reward not in ("iou", "ccr", "balanced"):
            raise UserError(f"environment configuration, field 'reward': '{self.reward}'; known are iou, ccr and balanced")
