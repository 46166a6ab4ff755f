"""True labels as evidence: the upper bound of a planner."""

from __future__ import annotations

import torch
from torch import Tensor

from flaneur.classes import ClassList
from flaneur.errors import UserError
from flaneur.perception.base import View


class Oracle:
    name = "oracle"
    recordable = True
    outputs = ("depth", "label")
    logit_scale = 100.0
    class_mean: Tensor | None = None

    def __init__(self, classes: ClassList):
        self.classes = classes

    def similarity(self, view: View) -> Tensor:
        """One-hot labels at full resolution [B, C, H, W]."""
        if view.frame.label is None:
            raise UserError("oracle evidence: the frame has no label image; render it with outputs=('depth', 'label')")
        label = view.frame.label
        out = torch.zeros(len(label), len(self.classes), *label.shape[1:], device=label.device)
        return out.scatter_(1, label.long()[:, None], 1.0)
