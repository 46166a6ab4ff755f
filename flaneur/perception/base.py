"""One interface for everything that turns images into class evidence."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from flaneur.classes import ClassList
from flaneur.errors import UserError
from flaneur.geometry import Camera
from flaneur.sim import Frame


@dataclass(frozen=True)
class View:
    """A batch of frames and where they were taken. A source reads only the images it names in `outputs`."""

    frame: Frame
    poses: Tensor  # [B, 6]
    camera: Camera
    seeds: Tensor  # [B] i64: changes per episode; a source that draws noise keys it on this
    lights: Tensor  # [B] i64, index into LIGHTS


DATA = Path(__file__).parents[1] / "data"
LIGHTS = ("day", "dusk", "night", "overcast")


@runtime_checkable
class EvidenceSource(Protocol):
    """`similarity` [B, C, h, w] f32: raw cosines at the source's own resolution. The mapper centres, scales and resizes.

    A source whose `similarity` never looks at values on the host may say so with `recordable = True`; on CUDA its
    kernels then become part of the environment's recorded step.
    """

    name: str  # printed with every result
    classes: ClassList

    @property
    def outputs(self) -> tuple[str, ...]:  # images it reads: of flaneur.sim.frame.OUTPUTS
        ...

    logit_scale: float  # the model's own trained temperature
    class_mean: Tensor | None  # [C] mean similarity per class over training views; None: zero

    def similarity(self, view: View) -> Tensor: ...


def make_view(frame: Frame, poses: Tensor, camera: Camera, seed: int = 0, light: str = "day") -> View:
    """A view of frames that share a seed and a light."""
    fill = lambda value: torch.full((len(poses),), value, dtype=torch.int64, device=poses.device)  # noqa: E731
    return View(frame, poses, camera, fill(seed), fill(LIGHTS.index(light)))


def shipped(file: str, instead: str) -> Path:
    """A file of weights that comes with the package, or one line that says what to give instead."""
    path = DATA / file
    if not path.is_file():
        raise UserError(f"flaneur/data/{file} is not there; give {instead}")
    return path
