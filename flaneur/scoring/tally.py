"""The scores that rewards are made of, in one pass over the maps: counts per coarse cell and scale group.

`metrics` says what each score is; a training step needs their gains, also cell by cell, and cannot wait for a hundred
small operations.
"""

# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false, reportOperatorIssue=false, reportCallIssue=false, reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false, reportAssignmentType=false, reportReturnType=false

from __future__ import annotations

import torch
import warp as wp
from torch import Tensor

from flaneur.scoring.metrics import GROUP_COUNT, Target
from flaneur.sim.start import launch, start_warp

start_warp()
wp.set_module_options({"enable_backward": False})

SIZE, RIGHT, HIT, FALSE = range(4)  # cells of the group; of these the exact class, the group; others taken for the group
BACKGROUND = wp.constant(GROUP_COUNT)


@wp.kernel
def count(labels: wp.array3d(dtype=wp.uint8), truth: wp.array3d(dtype=wp.uint8), scored: wp.array3d(dtype=wp.uint8), group: wp.array(dtype=wp.int64), out: wp.array4d(dtype=int)):
    b, row, j = wp.tid()  # row of the map, coarse column
    side = out.shape[1]
    step = labels.shape[1] // side
    i = row // step
    for x in range(j * step, (j + 1) * step):
        if scored[b, row, x] != wp.uint8(0):
            t = int(group[int(truth[b, row, x])])
            m = int(group[int(labels[b, row, x])])
            if t <= BACKGROUND:
                if t < BACKGROUND:
                    wp.atomic_add(out, b, i, j, 4 * t, 1)
                    if labels[b, row, x] == truth[b, row, x]:
                        wp.atomic_add(out, b, i, j, 4 * t + 1, 1)
                    if t == m:
                        wp.atomic_add(out, b, i, j, 4 * t + 2, 1)
                if m < BACKGROUND and m != t:
                    wp.atomic_add(out, b, i, j, 4 * m + 3, 1)


def tally(labels: Tensor, target: Target, table: Tensor, cells: int) -> Tensor:
    """[B, cells, cells, 3, 4] i32 of the maps [B, Hm, Wm] u8: SIZE, RIGHT, HIT, FALSE of each group; `cells` divides the side."""
    b, side = labels.shape[:2]
    out = torch.zeros(b, cells, cells, 4 * GROUP_COUNT, dtype=torch.int32, device=labels.device)
    launch(count, (b, side, cells), [labels, target.labels, target.scored.view(torch.uint8), table, out], labels.device)
    return out.view(b, cells, cells, GROUP_COUNT, 4)


def score_of(counts: Tensor, reward: str) -> Tensor:
    """[B, 3] f64 the score whose gain is paid; an absent group stays 0."""
    size, right, hit, false = counts.sum((1, 2), dtype=torch.int64).double().unbind(-1)
    parts = {"ccr": right / size.clamp(min=1), "iou": torch.where(size > 0, hit / (size + false).clamp(min=1), 0.0)}
    return (parts["ccr"] + parts["iou"]) / 2 if reward == "both" else parts[reward]


def gain_by_cell(before: Tensor, after: Tensor, reward: str) -> Tensor:
    """[B, 3, cells, cells] f32: each coarse cell's share of the score's gain; they add up to it."""
    change = (after - before).float()
    size = after[..., SIZE].sum((1, 2)).float()
    false = [counts[..., FALSE].sum((1, 2)).float() for counts in (before, after)]
    covered = change[..., RIGHT] / size.clamp(min=1)[:, None, None]
    union = [(size + f).clamp(min=1)[:, None, None] for f in false]
    iou = before[..., HIT].sum((1, 2)).float()[:, None, None] / union[0]
    joined = (change[..., HIT] - iou * change[..., FALSE]) / union[1] * (size > 0)[:, None, None]
    parts = {"ccr": covered, "iou": joined}
    return ((covered + joined) / 2 if reward == "both" else parts[reward]).permute(0, 3, 1, 2)
