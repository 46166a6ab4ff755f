"""Scores of planar maps, batched on the device. Everything is a share in [0, 1]; an absent group or class is NaN.

Cells that were never observed have probability 0 everywhere and label 255: they count as wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from flaneur.classes import SCALE_GROUPS, ClassList
from flaneur.mapping import UNEXPLORED

GROUP_COUNT = len(SCALE_GROUPS)
BINS = 15  # of the reliability diagram


@dataclass(frozen=True)
class Target:
    """What maps are scored against: true labels [B, Hm, Wm] u8 (255 nothing there) and scored cells [B, Hm, Wm] bool."""

    labels: Tensor
    scored: Tensor

    def rows(self, index: Tensor) -> Target:
        return Target(self.labels[index], self.scored[index])


def group_table(classes: ClassList, device: torch.device | str = "cpu") -> Tensor:
    """[256] i64: scale group of a label, 3 for background and sky, 4 for 255 (nothing, unexplored)."""
    table = torch.full((256,), GROUP_COUNT + 1, dtype=torch.int64)
    table[: len(classes)] = torch.from_numpy(classes.group_index.astype("int64")).clamp(max=GROUP_COUNT)
    return table.to(device)


def ratio(part: Tensor, whole: Tensor) -> Tensor:
    """part / whole in float64, NaN where whole is 0."""
    return torch.where(whole > 0, part.double() / whole.double(), torch.nan)


def _by_group(mask: Tensor, group: Tensor) -> Tensor:
    """Cells of `mask` [B, ...] in each scale group [B, 3] i64."""
    return torch.stack([(mask & (group == g)).flatten(1).sum(1) for g in range(GROUP_COUNT)], 1)


def coverage(labels: Tensor, target: Target, table: Tensor) -> Tensor:
    """CCR [B, 3]: share of each group's scored cells that have the exact class."""
    group = table[target.labels.long()]
    right = target.scored & (labels == target.labels)
    return ratio(_by_group(right, group), _by_group(target.scored, group))


def overall_coverage(ccr: Tensor) -> Tensor:
    """OCR [B] of CCR [B, 3]."""
    return ccr.nanmean(-1)


def variance(ccr: Tensor) -> Tensor:
    """Population variance [B] among the CCRs, in squared percentage points as the paper prints it."""
    percent = 100 * ccr
    return ((percent - percent.nanmean(-1, keepdim=True)) ** 2).nanmean(-1)


def class_coverage(labels: Tensor, target: Target, class_count: int) -> Tensor:
    """Share right per class [B, C]."""
    b = len(labels)
    keep = target.scored & (target.labels != UNEXPLORED)
    index = torch.arange(b, device=labels.device)[:, None, None] * class_count + target.labels.long().clamp(max=class_count - 1)
    size = b * class_count
    whole = torch.bincount(index[keep], minlength=size).view(b, class_count)
    part = torch.bincount(index[keep & (labels == target.labels)], minlength=size).view(b, class_count)
    return ratio(part, whole)


def confusion(labels: Tensor, target: Target, class_count: int) -> Tensor:
    """[B, C, C + 1] i64 scored cells by true class and mapped class; the last column is unexplored."""
    b, columns = len(labels), class_count + 1
    keep = target.scored & (target.labels != UNEXPLORED)
    batch = torch.arange(b, device=labels.device)[:, None, None]
    index = (batch * class_count + target.labels.long()) * columns + labels.long().clamp(max=class_count)
    return torch.bincount(index[keep], minlength=b * class_count * columns).view(b, class_count, columns)


@dataclass(frozen=True)
class Membership:
    """Cells per group [B, 3]: membership by group, not by class. A group that the truth has no cell of scores NaN, not 0 at the first false alarm."""

    true_positive: Tensor
    false_positive: Tensor
    false_negative: Tensor

    @property
    def iou(self) -> Tensor:
        return self._present(ratio(self.true_positive, self.true_positive + self.false_positive + self.false_negative))

    @property
    def f1(self) -> Tensor:
        return self._present(ratio(2 * self.true_positive, 2 * self.true_positive + self.false_positive + self.false_negative))

    def _present(self, share: Tensor) -> Tensor:
        return torch.where(self.true_positive + self.false_negative > 0, share, torch.nan)


def membership(labels: Tensor, target: Target, table: Tensor, with_background: bool) -> Membership:
    """The paper evaluates object cells; `with_background` is the strict variant over all scored cells."""
    truth, mapped = table[target.labels.long()], table[labels.long()]
    evaluated = target.scored & (truth <= (GROUP_COUNT if with_background else GROUP_COUNT - 1))
    right = _by_group(evaluated & (truth == mapped), truth)
    return Membership(right, _by_group(evaluated, mapped) - right, _by_group(evaluated, truth) - right)


def strict_iou(labels: Tensor, target: Target, table: Tensor) -> Tensor:
    """[B, 3] group IoU over all scored cells, background included; NaN where the scene has no cell of the group."""
    return membership(labels, target, table, with_background=True).iou


def background_wrong(labels: Tensor, target: Target, table: Tensor) -> Tensor:
    """[B] share of scored background cells that the map calls an object."""
    background = target.scored & (table[target.labels.long()] == GROUP_COUNT)
    wrong = background & (table[labels.long()] < GROUP_COUNT)
    return ratio(wrong.flatten(1).sum(1), background.flatten(1).sum(1))


def group_probabilities(probabilities: Tensor, table: Tensor) -> Tensor:
    """[B, 3, ...] sums of the classes' probabilities [B, C, ...]."""
    group = table[: probabilities.shape[1]]
    return torch.stack([probabilities[:, group == g].double().sum(1) for g in range(GROUP_COUNT)], 1)


def auc(score: Tensor, positive: Tensor, evaluated: Tensor) -> Tensor:
    """One-vs-rest area under the ROC curve [B] of scores [B, N], ties one half; NaN without positives or negatives."""
    infinite = torch.full_like(score, torch.inf)
    pos, neg = positive & evaluated, evaluated & ~positive
    ranked = torch.where(neg, score, infinite).sort(1).values
    below = torch.searchsorted(ranked, score.contiguous()) + torch.searchsorted(ranked, score.contiguous(), right=True)
    return ratio((below * pos).sum(1), 2 * pos.sum(1) * neg.sum(1))


def group_auc(probabilities: Tensor, target: Target, table: Tensor) -> Tensor:
    """AUC [B, 3] over the scored object cells; p_g is the sum of the group's classes."""
    truth = table[target.labels.long()].flatten(1)
    evaluated = target.scored.flatten(1) & (truth < GROUP_COUNT)
    scores = group_probabilities(probabilities, table).flatten(2)
    return torch.stack([auc(scores[:, g], truth == g, evaluated) for g in range(GROUP_COUNT)], 1)


@dataclass(frozen=True)
class Reliability:
    """How far the map's probabilities can be trusted, over scored cells that were observed. Each [B] f64."""

    nll: Tensor
    brier: Tensor
    ece: Tensor


def reliability(probabilities: Tensor, target: Target) -> Reliability:
    """Negative log likelihood, Brier score and expected calibration error (15 bins of confidence)."""
    keep = target.scored & (target.labels != UNEXPLORED) & (probabilities.amax(1) > 0)
    count = keep.flatten(1).sum(1)
    index = target.labels.long().clamp(max=probabilities.shape[1] - 1)[:, None]
    p_true = probabilities.gather(1, index)[:, 0].double()
    confidence, mapped = probabilities.max(1)
    total = lambda x: torch.where(keep, x, 0.0).flatten(1).sum(1)  # noqa: E731
    nll = ratio(total(-p_true.clamp(min=1e-12).log()), count)
    squares = (probabilities.double() ** 2).sum(1)
    brier = ratio(total(squares - 2 * p_true + 1), count)
    gap = (confidence.double() - (mapped == index[:, 0]).double()).where(keep, torch.zeros_like(p_true))
    bin_of = (confidence.double() * BINS).long().clamp(max=BINS - 1).flatten(1)
    per_bin = torch.zeros(len(count), BINS, dtype=torch.float64, device=keep.device).scatter_add_(1, bin_of, gap.flatten(1))
    return Reliability(nll, brier, ratio(per_bin.abs().sum(1), count))


def affected_accuracy(labels: Tensor, target: Target, affected: Tensor) -> Tensor:
    """[B] share of the scored cells that this update changed which are right after it."""
    cells = target.scored & (affected > 0)
    return ratio((cells & (labels == target.labels)).flatten(1).sum(1), cells.flatten(1).sum(1))


def global_accuracy(labels: Tensor, target: Target) -> Tensor:
    """[B] share of all scored cells that are right."""
    return ratio((target.scored & (labels == target.labels)).flatten(1).sum(1), target.scored.flatten(1).sum(1))


def curve_area(curve: Tensor) -> Tensor:
    """Area under a curve per step [..., T], as the mean over the steps."""
    return curve.mean(-1)


def score(probabilities: Tensor, labels: Tensor, target: Target, classes: ClassList, table: Tensor | None = None) -> dict[str, Tensor]:
    """Everything the tables print, per map: [B] or [B, 3] or [B, C] f64. `table`: another `group_table` than the classes' own."""
    table = group_table(classes, labels.device) if table is None else table
    ccr, plain = coverage(labels, target, table), membership(labels, target, table, with_background=False)
    trust = reliability(probabilities, target)
    return {
        "ccr": ccr, "ocr": overall_coverage(ccr), "var": variance(ccr), "class_ccr": class_coverage(labels, target, len(classes)),
        "auc": group_auc(probabilities, target, table), "mauc": group_auc(probabilities, target, table).nanmean(1),
        "iou": plain.iou, "miou": plain.iou.nanmean(1), "f1": plain.f1.nanmean(1), "strict_iou": strict_iou(labels, target, table),
        "strict_miou": strict_iou(labels, target, table).nanmean(1), "background_wrong": background_wrong(labels, target, table),
        "global_accuracy": global_accuracy(labels, target), "nll": trust.nll, "brier": trust.brier, "ece": trust.ece,
    }  # fmt: skip
