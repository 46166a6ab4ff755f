"""The planar label of voxel labels: the map's own projection applied to one-hot evidence."""

from __future__ import annotations

import torch
from torch import Tensor

from flaneur.mapping.semantic_map import UNEXPLORED


def bin_weights(bins: int, device: torch.device | str = "cpu") -> Tensor:
    """[Z]: 1 and a little more with height, as `kernels.bin_weight`."""
    return 1.0 + torch.exp2(torch.arange(bins, device=device) - float(bins)) / 64.0


def project_labels(voxel: Tensor, class_count: int, of_log_odds: bool = False) -> tuple[Tensor, Tensor]:
    """Planar labels [Hm, Wm] u8 of voxel labels [Z, Hm, Wm] u8 (255 none), and whether object bins gave them [Hm, Wm] bool."""
    bins = len(voxel)
    known = voxel != UNEXPLORED
    above = known[1:].any(0)
    weight = torch.ones(bins, device=voxel.device) if of_log_odds else bin_weights(bins, voxel.device)
    share = known * weight[:, None, None]
    if not of_log_odds:
        share[0] *= ~above
    votes = torch.zeros(class_count + 1, *voxel.shape[1:], device=voxel.device)
    votes.scatter_add_(0, voxel.long().clamp(max=class_count), share)
    labels = votes[:class_count].argmax(0).to(torch.uint8)
    return torch.where(known.any(0), labels, torch.full_like(labels, UNEXPLORED)), above & (not of_log_odds)
