"""What a planner may know: poses, maps and the task's numbers. Nothing here comes from the ground truth."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from flaneur.classes import ClassList
from flaneur.geometry import Camera, Grid


@dataclass(frozen=True)
class Context:
    """Views of the environment's tensors, valid until its next step."""

    poses: Tensor  # [B, 6] now
    history: Tensor  # [B, L, 6], the current pose last, NaN before the episode began
    probabilities: Tensor  # [B, C, Hm, Wm] planar map M[t-1]
    observation_map: Tensor  # [B, C, Hm, Wm] raw planar map of the pending observation
    affected: Tensor  # [B, Hm, Wm] u8 cells of the pending observation
    labels: Tensor  # [B, Hm, Wm] u8 argmax of M[t-1], 255 unexplored
    log_odds: Tensor  # [B, Z, Hm, Wm, C]
    observed: Tensor  # [B, Z, Hm, Wm] u8
    occupancy: Tensor  # [B, Z, Hm, Wm] u8: 0 unknown, 1 free, 2 occupied
    planar: Tensor  # [B, Hm, Wm] u8 the same from above
    time: Tensor  # [B] f32 t / T
    travelled: Tensor  # [B] f32 metres of the last move
    arrived: Tensor  # [B] bool: the last goal was reached
    blocked: Tensor  # [B] bool: the last goal cannot be reached
    ground: Tensor  # [B, Hm, Wm] f32 metres
    classes: ClassList
    grid: Grid
    camera: Camera
    pitches: tuple[float, ...]  # degrees
    flight: tuple[float, float]  # metres
    max_step: float  # metres
