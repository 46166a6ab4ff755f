"""What the map leaves open, as one frozen dataclass; the defaults are METHOD's, `PAPER` is the literal reading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from flaneur.classes import SCALE_GROUPS, ClassList
from flaneur.errors import UserError


@dataclass(frozen=True)
class MapConfig:
    logit_scale: float | None = None  # None: the evidence source's own trained temperature
    centred: bool = True  # subtract the per-class mean of training views and each voxel's mean over classes
    projection: Literal["softmax", "log_odds"] = "softmax"  # what is averaged over the height bins of a cell
    bound: float = 13.8  # of one update's |log(p / (1 - p))|: p = 1e-6
    carve_stride: int = 4  # pixels between two carved rays
    carve_misses: bool = True  # a pixel without depth is free to the camera's range (false for recordings)
    calibrate: Literal["group", "class"] = "group"  # what one channel of beta stands for

    def __post_init__(self) -> None:
        if self.logit_scale is not None and not self.logit_scale > 0:
            raise UserError(f"map configuration, field 'logit_scale': {self.logit_scale} is not positive")
        if not self.bound > 0 or self.carve_stride < 1:
            raise UserError("map configuration: 'bound' must be positive and 'carve_stride' at least 1")
        if self.calibrate not in ("group", "class") or self.projection not in ("softmax", "log_odds"):
            raise UserError(f"map configuration: 'calibrate' is '{self.calibrate}' (group or class), 'projection' '{self.projection}' (softmax or log_odds)")


PAPER = MapConfig(logit_scale=1.0, centred=False, projection="log_odds", calibrate="class")


def calibration_index(classes: ClassList, calibrate: str) -> np.ndarray:
    """[C] i32: the channel of beta that scales each class. Four groups (sky goes with the background) or one per class."""
    if calibrate == "class":
        return np.arange(len(classes), dtype=np.int32)
    return np.minimum(classes.group_index.astype(np.int32), len(SCALE_GROUPS))
