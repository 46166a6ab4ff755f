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

SIZE, RIGHT, HIT, FALSE, ALARM = range(5)  # cells of the group; of these the exact class, the group; others taken for the group; background among these
WIDTH = wp.constant(5)
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
                    wp.atomic_add(out, b, i, j, WIDTH * t, 1)
                    if labels[b, row, x] == truth[b, row, x]:
                        wp.atomic_add(out, b, i, j, WIDTH * t + 1, 1)
                    if t == m:
                        wp.atomic_add(out, b, i, j, WIDTH * t + 2, 1)
                if m < BACKGROUND and m != t:
                    wp.atomic_add(out, b, i, j, WIDTH * m + 3, 1)
                    if t == BACKGROUND:
                        wp.atomic_add(out, b, i, j, WIDTH * m + 4, 1)


def tally(labels: Tensor, target: Target, table: Tensor, cells: int) -> Tensor:
    """[B, cells, cells, 3, 5] i32 of the maps [B, Hm, Wm] u8: SIZE, RIGHT, HIT, FALSE, ALARM of each group; `cells` divides the side."""
    b, side = labels.shape[:2]
    out = torch.zeros(b, cells, cells, 5 * GROUP_COUNT, dtype=torch.int32, device=labels.device)
    launch(count, (b, side, cells), [labels, target.labels, target.scored.view(torch.uint8), table, out], labels.device)
    return out.view(b, cells, cells, GROUP_COUNT, 5)


def background_cells(target: Target, table: Tensor) -> Tensor:
    """[B] f32 scored cells of the background."""
    return (target.scored & (table[target.labels.long()] == GROUP_COUNT)).flatten(1).sum(1).float()


def score_of(counts: Tensor, reward: str, background: Tensor) -> Tensor:
    """[B, 3] f64 the score whose gain is paid; an absent group stays 0. background [B] from `background_cells`.

    `balanced` is the mean of coverage and strict IoU, less the share of the background that is taken for the group:
    IoU hardly feels a false cell while it is small, and a learned beta finds that out (decision 0082).
    """
    size, right, hit, false, alarm = counts.sum((1, 2), dtype=torch.int64).double().unbind(-1)
    covered, iou = right / size.clamp(min=1), torch.where(size > 0, hit / (size + false).clamp(min=1), 0.0)
    if reward == "balanced":
        return (covered + iou) / 2 - alarm / background.clamp(min=1)[:, None]
    return covered if reward == "ccr" else iou


def gain_by_cell(before: Tensor, after: Tensor, reward: str, background: Tensor) -> Tensor:
    """[B, 3, cells, cells] f32: each coarse cell's share of the score's gain; they add up to it."""
    change = (after - before).float()
    size = after[..., SIZE].sum((1, 2)).float()
    false = [counts[..., FALSE].sum((1, 2)).float() for counts in (before, after)]
    covered = change[..., RIGHT] / size.clamp(min=1)[:, None, None]
    union = [(size + f).clamp(min=1)[:, None, None] for f in false]
    iou = before[..., HIT].sum((1, 2)).float()[:, None, None] / union[0]
    joined = (change[..., HIT] - iou * change[..., FALSE]) / union[1] * (size > 0)[:, None, None]
    if reward == "balanced":
        return ((covered + joined) / 2 - change[..., ALARM] / background.clamp(min=1)[:, None, None, None]).permute(0, 3, 1, 2)
    return (covered if reward == "ccr" else joined).permute(0, 3, 1, 2)
