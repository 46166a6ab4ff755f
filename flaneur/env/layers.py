"""What the policy sees of the map besides its classes: occupancy, frontier, and where the agent is."""

# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false, reportOperatorIssue=false, reportCallIssue=false, reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false, reportAssignmentType=false, reportReturnType=false

from __future__ import annotations

import torch
import warp as wp
from torch import Tensor

from flaneur.geometry import Grid
from flaneur.mapping import FREE, OCCUPIED
from flaneur.sim.start import launch, start_warp

start_warp()
wp.set_module_options({"enable_backward": False})

MATTER = wp.constant(float(OCCUPIED))
OPEN = wp.constant(FREE)


@wp.func
def unknown(planar: wp.array3d(dtype=wp.uint8), b: int, y: int, x: int) -> bool:
    if y < 0 or x < 0 or y >= planar.shape[1] or x >= planar.shape[2]:
        return False
    return planar[b, y, x] == wp.uint8(0)


@wp.kernel
def draw(planar: wp.array3d(dtype=wp.uint8), poses: wp.array2d(dtype=float), cell: float, out: wp.array4d(dtype=float)):
    b, y, x = wp.tid()
    state = int(planar[b, y, x])
    out[b, 0, y, x] = float(state) / MATTER
    edge = float(0.0)
    if state == OPEN and (unknown(planar, b, y - 1, x) or unknown(planar, b, y + 1, x) or unknown(planar, b, y, x - 1) or unknown(planar, b, y, x + 1)):
        edge = 1.0
    out[b, 1, y, x] = edge
    last = planar.shape[1] - 1
    here = float(0.0)
    if wp.clamp(int(poses[b, 0] / cell), 0, last) == x and wp.clamp(int(poses[b, 1] / cell), 0, last) == y:
        here = 1.0
    out[b, 2, y, x] = here


def planar_layers(planar: Tensor, poses: Tensor, grid: Grid) -> Tensor:
    """[B, 3, Hm, Wm] f32: occupancy (0 unknown, 0.5 free, 1 occupied), frontier, agent's cell."""
    b, height, width = planar.shape
    out = torch.empty(b, 3, height, width, device=planar.device)
    launch(draw, (b, height, width), [planar, poses.float().contiguous(), grid.cell, out], planar.device)
    return out


def frontier(planar: Tensor) -> Tensor:
    """[B, Hm, Wm] bool: free cells beside an unknown one (four neighbours) of a planar occupancy."""
    blank = planar == 0
    beside = torch.zeros_like(blank)
    beside[:, 1:] |= blank[:, :-1]
    beside[:, :-1] |= blank[:, 1:]
    beside[:, :, 1:] |= blank[:, :, :-1]
    beside[:, :, :-1] |= blank[:, :, 1:]
    return beside & (planar == FREE)
