"""Scores for data whose classes are coarser than ours: several of our classes count as one, and only some are scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from flaneur.classes import SCALE_GROUPS, ClassList
from flaneur.errors import UserError
from flaneur.scoring.metrics import GROUP_COUNT, Target, coverage, group_table, score


class Merge:
    """`into` names the class that another counts as; `scored` the classes whose coverage counts, one per scale group.

    An object of any other class is background here: a tree on the map is neither right nor wrong about a car.
    """

    def __init__(self, classes: ClassList, into: Mapping[str, str], scored: Sequence[str]) -> None:
        self.classes, self.scored = classes, tuple(scored)
        self.groups = {classes[name].group: name for name in scored}
        if len(self.groups) != len(self.scored) or not set(self.groups) <= set(SCALE_GROUPS):
            raise UserError(f"merged classes {', '.join(scored)}: each must be an object of a scale group of its own")
        self._target = torch.arange(256, dtype=torch.uint8)
        for name, other in into.items():
            self._target[classes[name].id] = classes[other].id
        # Group of a label, as `group_table`: other objects are background.
        self._table = group_table(classes)
        kept = torch.zeros(256, dtype=torch.bool)
        kept[[classes[name].id for name in scored]] = True
        self._table[(self._table < GROUP_COUNT) & ~kept] = GROUP_COUNT

    def labels(self, labels: Tensor) -> Tensor:
        return self._target.to(labels.device)[labels.long()]

    def coverage(self, labels: Tensor, target: Target) -> Tensor:
        """CCR [B, 3], NaN in the groups without a scored class."""
        return coverage(self.labels(labels), self._merged(target), self._table.to(labels.device))

    def score(self, probabilities: Tensor, labels: Tensor, target: Target) -> dict[str, Tensor]:
        """As `metrics.score`; the probabilities of classes that count as one are added up."""
        index = self._target[: probabilities.shape[1]].long().to(labels.device)
        summed = torch.zeros_like(probabilities).index_add_(1, index, probabilities)
        return score(summed, self.labels(labels), self._merged(target), self.classes, self._table.to(labels.device))

    def _merged(self, target: Target) -> Target:
        return Target(self.labels(target.labels), target.scored)
