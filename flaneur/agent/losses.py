"""The category-wise PPO losses (appendix, Category-Wise PPO Objective). G = number of scale groups (1 without MV)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

RatioMode = Literal["per_entry", "geo_mean", "joint"]
JOINT_CLAMP = 20.0  # |log ratio| of the joint product; exp of it still fits float32


def clipped_surrogate(log_ratio: Tensor, advantages: Tensor, clip: float) -> Tensor:
    """s_{t,c} = min(r A, clip(r, 1 - eps, 1 + eps) A): log_ratio [...], advantages [..., G] -> [..., G]."""
    ratio = log_ratio.exp()[..., None]
    return torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages)


@dataclass(frozen=True)
class PolicyLoss:
    per_group: Tensor  # [G]
    motion_clip_fraction: Tensor  # share of samples whose motion ratio left the trust region
    calibration_clip_fraction: Tensor  # the same over active entries
    motion_kl: Tensor  # approximate KL(old || new): mean of (r - 1) - log r
    calibration_kl: Tensor


def policy_loss(
    motion_log_ratio: Tensor,  # [N] log pi(a) / pi_old(a)
    calibration_log_ratio: Tensor | None,  # [N, E] per entry; None without LC
    active: Tensor | None,  # [N, E] bool: entries that the pending observation touches
    advantages: Tensor,  # [N, G]
    mode: RatioMode = "per_entry",
    clip: float = 0.2,
    calibration_clip: float = 0.2,
    calibration_weight: float = 1.0,
    entry_advantages: Tensor | None = None,  # [N, E, G] credit of each entry where it is known; else `advantages`
) -> PolicyLoss:
    """-E_t s_{t,c}, with the importance ratio of the factorised policy in one of three readings.

    joint: the product over motion and all entries, as printed (its log clamped). geo_mean: the entries enter as their
    geometric mean. per_entry: motion and every active entry are clipped by themselves, the entries averaged; over
    hundreds of entries the product either stalls or explodes (METHOD, Policy).
    """
    if calibration_log_ratio is None or active is None:
        surrogate = clipped_surrogate(motion_log_ratio, advantages, clip)
        zero = motion_log_ratio.new_zeros(())
        return PolicyLoss(-surrogate.mean(0), _outside(motion_log_ratio, clip), zero, _kl(motion_log_ratio), zero)
    weight = active.to(motion_log_ratio.dtype)
    count = weight.sum(-1).clamp_min(1)
    entries = torch.where(active, calibration_log_ratio, torch.zeros_like(calibration_log_ratio))
    if mode == "joint":
        log_ratio = (motion_log_ratio + entries.sum(-1)).clamp(-JOINT_CLAMP, JOINT_CLAMP)
        surrogate = clipped_surrogate(log_ratio, advantages, clip)
    elif mode == "geo_mean":
        surrogate = clipped_surrogate(motion_log_ratio, advantages, clip)
        surrogate = surrogate + calibration_weight * clipped_surrogate(entries.sum(-1) / count, advantages, calibration_clip)
    else:
        credit = advantages[:, None] if entry_advantages is None else entry_advantages
        per_entry = clipped_surrogate(entries, credit, calibration_clip)  # [N, E, G]
        surrogate = clipped_surrogate(motion_log_ratio, advantages, clip)
        surrogate = surrogate + calibration_weight * (per_entry * weight[..., None]).sum(1) / count[:, None]
    total = weight.sum().clamp_min(1)
    outside = ((entries.exp() - 1).abs() > calibration_clip).to(weight.dtype)
    return PolicyLoss(
        -surrogate.mean(0),
        _outside(motion_log_ratio, clip),
        (outside * weight).sum().detach() / total,
        _kl(motion_log_ratio),
        ((entries.exp() - 1 - entries) * weight).sum().detach() / total,
    )


def value_loss(values: Tensor, old_values: Tensor, targets: Tensor, clip: float = 0.2) -> Tensor:
    """E_t max(e^2, e_clipped^2) per group: all arguments [N, G] -> [G]."""
    clipped = old_values + (values - old_values).clamp(-clip, clip)
    return torch.maximum((values - targets).square(), (clipped - targets).square()).mean(0)


def group_losses(policy: Tensor, entropy: Tensor, mi: Tensor | None, k2: float | Tensor, k: float) -> Tensor:
    """What reaches the shared parameters, per group [G]: L_policy^(c) + (k2 / G) L_entropy + (k / G) L_MI.

    The value term k1 L_value^(c) belongs to the group's own head and is added by the caller, unweighted by Nash.
    The paper's C in these places counts the losses summed, which is G here.
    """
    groups = len(policy)
    shared = -k2 * entropy if mi is None else -k2 * entropy + k * mi.clamp_min(0)
    return policy + shared / groups


def _outside(log_ratio: Tensor, clip: float) -> Tensor:
    return ((log_ratio.exp() - 1).abs() > clip).float().mean().detach()


def _kl(log_ratio: Tensor) -> Tensor:
    return (log_ratio.exp() - 1 - log_ratio).mean().detach()
