"""What the network sees of the maps, small enough to store: the whole window coarsely, the surroundings finely.

A full input of 2C + 3 channels at 256 x 256 is 16 MB a step in float32. Both views are kept as bytes: 0.3 MB a step.
The kernels read the maps where they lie; gathering them into one picture first took four times as long.
"""

# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false, reportOperatorIssue=false, reportCallIssue=false, reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false, reportAssignmentType=false, reportReturnType=false

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
import warp as wp
from torch import Tensor

from flaneur.sim.start import launch, start_warp

start_warp()
wp.set_module_options({"enable_backward": False})


@dataclass
class Views:
    """One batch of network inputs. F = 2C + 3 channels: previous map, raw observation map, occupancy layers."""

    coarse: Tensor  # [B, F, g, g] u8: map channels averaged over the window, 255 = 1
    near: Tensor  # [B, F, n, n] u8: the map's own resolution around the agent; 0 outside the window
    poses: Tensor  # [B, L, 6] f32: history, the current pose last; NaN where there was none yet
    time: Tensor  # [B] f32: t / T

    def __getitem__(self, rows: Tensor | slice) -> Views:
        return Views(*(getattr(self, f.name)[rows] for f in fields(self)))

    @classmethod
    def stack(cls, parts: list[Views]) -> Views:
        return cls(*(torch.cat([getattr(p, f.name) for p in parts]) for f in fields(cls)))


@wp.func
def channel(maps: wp.array4d(dtype=float), observed: wp.array4d(dtype=float), layers: wp.array4d(dtype=float), b: int, f: int, y: int, x: int) -> float:
    """Channel f of the three pictures laid one behind the other."""
    c = maps.shape[1]
    if f < c:
        return maps[b, f, y, x]
    if f < 2 * c:
        return observed[b, f - c, y, x]
    return layers[b, f - 2 * c, y, x]


@wp.func
def byte(x: float) -> wp.uint8:
    return wp.uint8(wp.clamp(wp.rint(x * 255.0), 0.0, 255.0))


@wp.kernel
def draw_coarse(maps: wp.array4d(dtype=float), observed: wp.array4d(dtype=float), layers: wp.array4d(dtype=float), out: wp.array4d(dtype=wp.uint8)):
    b, i, j, f = wp.tid()
    height = maps.shape[2]
    width = maps.shape[3]
    r0 = i * height // out.shape[2]
    r1 = ((i + 1) * height + out.shape[2] - 1) // out.shape[2]
    c0 = j * width // out.shape[3]
    c1 = ((j + 1) * width + out.shape[3] - 1) // out.shape[3]
    total = float(0.0)
    for y in range(r0, r1):
        for x in range(c0, c1):
            total += channel(maps, observed, layers, b, f, y, x)
    out[b, f, i, j] = byte(total / float((r1 - r0) * (c1 - c0)))


@wp.kernel
def draw_near(
    maps: wp.array4d(dtype=float), observed: wp.array4d(dtype=float), layers: wp.array4d(dtype=float), poses: wp.array3d(dtype=float), window: float, out: wp.array4d(dtype=wp.uint8)
):  # fmt: skip
    b, i, j, f = wp.tid()
    last = poses.shape[1] - 1
    y = int(wp.floor(poses[b, last, 1] / window * float(maps.shape[2]))) + i - out.shape[2] // 2
    x = int(wp.floor(poses[b, last, 0] / window * float(maps.shape[3]))) + j - out.shape[3] // 2
    value = wp.uint8(0)
    if y >= 0 and x >= 0 and y < maps.shape[2] and x < maps.shape[3]:
        value = byte(channel(maps, observed, layers, b, f, y, x))
    out[b, f, i, j] = value


@wp.kernel
def shift(picture: wp.array4d(dtype=wp.uint8), at: wp.array2d(dtype=float), out: wp.array4d(dtype=wp.uint8)):
    b, f, i, j = wp.tid()
    side = picture.shape[2]
    y = int(wp.floor(at[b, 1] * float(side))) + i - side
    x = int(wp.floor(at[b, 0] * float(side))) + j - side
    value = wp.uint8(0)
    if y >= 0 and x >= 0 and y < side and x < side:
        value = wp.uint8(255)
        if f < picture.shape[1]:
            value = picture[b, f, y, x]
    out[b, f, i, j] = value


def make_views(maps: Tensor, observed: Tensor, layers: Tensor, poses: Tensor, time: Tensor, window: float, coarse: int = 32, near: int = 64) -> Views:
    """Previous map and raw observation map [B, C, H, W], occupancy layers [B, 3, H, W], in [0, 1]; `window` in metres."""
    b, channels = len(maps), maps.shape[1] + observed.shape[1] + layers.shape[1]
    poses, pictures = poses.float().contiguous(), [x.float() for x in (maps, observed, layers)]
    wide, fine = (torch.empty(b, channels, n, n, dtype=torch.uint8, device=maps.device) for n in (coarse, near))
    launch(draw_coarse, (b, coarse, coarse, channels), [*pictures, wide], maps.device)
    launch(draw_near, (b, near, near, channels), [*pictures, poses, window, fine], maps.device)
    return Views(wide, fine, poses, time.float())


def centred(picture: Tensor, at: Tensor) -> Tensor:
    """[B, F, g, g] u8 -> [B, F + 1, 2 g, 2 g] with the place `at` [B, 2] (x, y as shares of the side) in the middle.

    Twice the side holds all of the picture wherever the place is; the last channel says what lies inside it.
    """
    b, f, side, _ = picture.shape
    out = torch.empty(b, f + 1, 2 * side, 2 * side, dtype=torch.uint8, device=picture.device)
    launch(shift, tuple(out.shape), [picture.contiguous(), at.float().contiguous(), out], picture.device)
    return out
