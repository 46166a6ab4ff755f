"""A labelled point cloud in one window: what every point format is read into."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flaneur.classes import load_classes
from flaneur.errors import UserError

IGNORED = 255
WINDOW = 200.0  # metres
POINT = np.dtype([("x", "<f8"), ("y", "<f8"), ("z", "<f4"), ("red", "u1"), ("green", "u1"), ("blue", "u1"), ("label", "u1"), ("instance", "<i4")])


@dataclass
class Cloud:
    """Points in the window's frame: x and y from its south-west corner, z as in the source."""

    xyz: np.ndarray  # [n, 3] f32 metres
    rgb: np.ndarray  # [n, 3] u8
    label: np.ndarray  # [n] u8: class ids of ours, IGNORED where the source has none
    instance: np.ndarray  # [n] i32, -1 where the source has none
    colored: bool = True

    def __len__(self) -> int:
        return len(self.label)

    @classmethod
    def of_points(cls, points: np.ndarray, corner: tuple[float, float], colored: bool = True) -> Cloud:
        """From rows of dtype POINT and the window's south-west corner in the source's coordinates."""
        xyz = np.stack([points["x"] - corner[0], points["y"] - corner[1], points["z"]], 1).astype(np.float32)
        return cls(xyz, np.stack([points["red"], points["green"], points["blue"]], 1), points["label"], points["instance"], colored)


def class_table(names: dict[int, str | None]) -> np.ndarray:
    """[256] u8 from a source's codes to our class ids; None is ignored. Codes the source does not define stay 254."""
    classes = load_classes()
    table = np.full(256, 254, np.uint8)
    for code, name in names.items():
        table[code & 255] = IGNORED if name is None else classes[name].id
    return table


def check_metric(name: str, low: np.ndarray, high: np.ndarray) -> None:
    """Coordinates [2] that fit on the globe and span less than a hundredth of it are longitude and latitude."""
    if max(abs(low[0]), abs(high[0])) <= 180 and max(abs(low[1]), abs(high[1])) <= 90 and max(high[0] - low[0], high[1] - low[1]) < 2.0:
        raise UserError(f"{name}: x {low[0]:.4f}..{high[0]:.4f}, y {low[1]:.4f}..{high[1]:.4f} look like degrees; project the data to metres first (e.g. UTM)")
