"""Plain torch readings of `flaneur.scoring.tally`."""

import torch
from torch import Tensor

from flaneur.scoring.metrics import GROUP_COUNT, Target, coverage, strict_iou


def reward_score(labels: Tensor, target: Target, table: Tensor, reward: str) -> Tensor:
    """[B, 3] the score whose gain is paid: `ccr` coverage, `iou` strict IoU, `balanced` their mean less false alarms. An absent group stays 0."""
    covered, iou = (torch.nan_to_num(m(labels, target, table), nan=0.0) for m in (coverage, strict_iou))
    if reward == "balanced":
        return (covered + iou) / 2 - torch.stack([_alarms(labels, target, table, g).flatten(1).sum(1) for g in range(GROUP_COUNT)], 1)
    return covered if reward == "ccr" else iou


def _alarms(labels: Tensor, target: Target, table: Tensor, group: int) -> Tensor:
    """[B, Hm, Wm]: every background cell taken for the group, as a share of the background."""
    background = target.scored & (table[target.labels.long()] == GROUP_COUNT)
    return (background & (table[labels.long()] == group)) / background.flatten(1).sum(1).clamp(min=1)[:, None, None].double()


def cell_gain(before: Tensor, after: Tensor, target: Target, table: Tensor, reward: str, cells: int) -> Tensor:
    """[B, 3, cells, cells]: each coarse cell's share of the score's gain from one map to the next; they add up to it.

    Coverage counts cells, so its gain splits by itself. Of strict IoU = TP / U the gain is exactly
    (dTP - IoU_before dFP) / U_after, since U = TP + FN + FP and TP + FN never change.
    """
    group, scored = table[target.labels.long()], target.scored
    codes = [table[m.long()] for m in (before, after)]
    if reward == "balanced":
        alarms = torch.stack([_alarms(after, target, table, g) - _alarms(before, target, table, g) for g in range(GROUP_COUNT)], 1)
        lost = torch.nn.functional.adaptive_avg_pool2d(alarms, cells) * (before.shape[-1] / cells) ** 2
        return (cell_gain(before, after, target, table, "ccr", cells) + cell_gain(before, after, target, table, "iou", cells)) / 2 - lost.float()
    out = []
    for g in range(GROUP_COUNT):
        true = scored & (group == g)
        if reward == "ccr":
            change = (true & (after == target.labels)).float() - (true & (before == target.labels)).float()
            part = change / true.flatten(1).sum(1).clamp(min=1)[:, None, None]
        else:
            other = scored & (group != g) & (group <= GROUP_COUNT)
            hit, false = [(true & (c == g)).float() for c in codes], [(other & (c == g)).float() for c in codes]
            size = true.flatten(1).sum(1)
            union = [(size + f.flatten(1).sum(1)).clamp(min=1)[:, None, None] for f in false]
            iou = hit[0].flatten(1).sum(1)[:, None, None] / union[0]
            present = (size > 0)[:, None, None]
            part = (hit[1] - hit[0] - iou * (false[1] - false[0])) / union[1] * present
        out.append(part)
    return torch.nn.functional.adaptive_avg_pool2d(torch.stack(out, 1), cells) * (before.shape[-1] / cells) ** 2
