"""What comes back from the simulator: images of a batch of views, and where cameras came to."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

OUTPUTS = ("depth", "instance", "label", "rgb", "normal")


@dataclass(frozen=True)
class Frame:
    """Images of B views on the simulator's device. Only what was asked for is not None."""

    depth: Tensor | None = None  # [B, H, W] f32 metres along the optical axis; 0 where nothing or beyond the camera's range
    instance: Tensor | None = None  # [B, H, W] i32, row in the scene's instances; -1 sky
    label: Tensor | None = None  # [B, H, W] u8 class id
    rgb: Tensor | None = None  # [B, H, W, 3] u8 sRGB
    normal: Tensor | None = None  # [B, H, W, 3] f32 world, towards the camera; 0 where nothing


@dataclass(frozen=True)
class Motion:
    """Where B cameras came to, on the simulator's device."""

    poses: Tensor  # [B, 6]
    travelled: Tensor  # [B] f32 metres of path
    blocked: Tensor  # [B] bool: matter or the edge of the flight volume ended the move early
