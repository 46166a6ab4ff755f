"""One PPO update: minibatches, CLUB steps, group gradients, Nash weights, target-KL stop."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor, nn

from flaneur.agent import distributed
from flaneur.agent.club import ClubEstimator, club_bound, negative_log_likelihood
from flaneur.agent.gae import normalise
from flaneur.agent.heads import active_entropy, entry_log_prob
from flaneur.agent.losses import RatioMode, group_losses, policy_loss, value_loss
from flaneur.agent.nash import nash_weights
from flaneur.agent.network import PolicyNetwork, PolicyOutput
from flaneur.agent.views import Views
from flaneur.errors import UserError
from flaneur.sim.recorded import Recorded


@dataclass(frozen=True)
class PpoConfig:
    gamma: float = 0.99
    lam: float = 0.95  # GAE trace
    clip: float = 0.2  # epsilon
    value_clip: float = 0.2  # epsilon_v
    k1: float = 0.8  # value weight
    k2: float = 0.01  # entropy weight (the paper's is 0.005: decision 0070)
    k: float = 0.1  # MI weight
    mv: bool = True  # category-wise values
    po: bool = True  # Nash balancing
    mi: bool = True  # CLUB penalty
    ratio: RatioMode = "per_entry"
    calibration_clip: float = 0.2
    calibration_weight: float = 1.0
    learning_rate: float = 5e-4  # the paper's is 1e-4 (decision 0070)
    estimator_rate: float = 1e-3
    estimator_steps: int = 3
    epochs: int = 3
    minibatch: int = 1024
    max_gradient: float = 1.0
    target_kl: float = 0.05
    batched_backward: bool = False  # the group gradients in one vmapped backward instead of one each
    nash_every: int = 4  # minibatches between two bargains; in between the last weights are kept and one backward pass is enough

    def __post_init__(self) -> None:
        if self.po and not self.mv:
            raise UserError("config: po = true needs mv = true: there is nothing to balance with one value head")
        for name in ("minibatch", "epochs", "estimator_steps", "nash_every"):
            if getattr(self, name) < 1:
                raise UserError(f"config: field '{name}' is {getattr(self, name)}; it must be at least 1")


@dataclass
class Batch:
    """Collected transitions, flat over time and environments."""

    views: Views
    action: Tensor  # [N, factors] i64
    motion_log_prob: Tensor  # [N]
    entries: Tensor | None  # [N, K, g, g] i64 index into BETA_SUPPORT; None without LC
    entry_log_prob: Tensor | None  # [N, E]
    active: Tensor | None  # [N, E] bool
    advantages: Tensor  # [N, G]
    targets: Tensor  # [N, G]
    values: Tensor  # [N, G] of the collecting policy
    entry_advantages: Tensor | None = None  # [N, E, G]
    cell_targets: Tensor | None = None  # [N, G, g, g] what each coarse cell still gained

    def __len__(self) -> int:
        return len(self.action)

    def __getitem__(self, rows: Tensor) -> Batch:
        parts: dict[str, Any] = {}
        for f in fields(self):
            value = getattr(self, f.name)
            parts[f.name] = None if value is None else value[rows]
        return Batch(**parts)

    def fill(self, source: Batch, rows: Tensor) -> None:
        """Take these rows of another batch into this one's memory."""
        for f in fields(self):
            mine, theirs = getattr(self, f.name), getattr(source, f.name)
            if isinstance(mine, Views):
                for g in fields(mine):
                    torch.index_select(getattr(theirs, g.name), 0, rows, out=getattr(mine, g.name))
            elif mine is not None:
                torch.index_select(theirs, 0, rows, out=mine)


class Updater:
    """Owns the optimisers and the persistent CLUB estimator."""

    def __init__(self, network: PolicyNetwork, config: PpoConfig) -> None:
        if config.mi and not network.config.calibration:
            raise UserError("config: mi = true needs lc = true: without calibration there is only one branch")
        self.network, self.config = network, config
        self.shared = network.shared_parameters()
        self.values = network.value_parameters()
        self.device = self.shared[0].device
        self.optimiser = make_adam([*self.shared, *self.values], config.learning_rate, self.device, eps=1e-5)
        self.estimator: ClubEstimator | None = None
        if config.mi:
            self.estimator = ClubEstimator(network.config.latent, network.config.latent).to(self.shared[0])
            self.estimator_optimiser = make_adam(self.estimator.parameters(), config.estimator_rate, self.device)
        self.entropy_weight = torch.tensor(config.k2, device=self.device)  # on the device, so that a recorded step follows it
        self._minibatch: Batch | None = None  # where the recorded step reads
        self._names: list[str] = []  # of what a step logs
        groups = network.config.groups
        self._alpha = torch.ones(groups, device=self.device)  # as last bargained
        self._cosine = torch.ones(groups * (groups - 1) // 2, device=self.device)  # between the groups' gradients, likewise
        self._steps = 0
        # Ranks exchange gradients within the step, which is not recorded.
        alone = distributed.world_size() == 1
        self._recorded, self._recorded_kept = (Recorded(work, self.device, alone) for work in (self._step_now, self._step_kept))

    def update(self, batch: Batch, generator: torch.Generator) -> dict[str, float]:
        """Epochs of minibatches over one rollout; stops early when either branch has moved too far."""
        config = self.config
        batch.advantages = normalise(batch.advantages, *distributed.moments(batch.advantages))
        if batch.entry_advantages is not None:
            # Over the active entries: most cells are not looked at and gain nothing.
            assert batch.active is not None
            square = (batch.entry_advantages.square() * batch.active[..., None]).sum((0, 1)) / batch.active.sum().clamp_min(1)
            batch.entry_advantages = batch.entry_advantages / distributed.mean(square).sqrt().clamp_min(1e-6)
        rows_of: list[Tensor] = []
        for _ in range(config.epochs):
            order = torch.randperm(len(batch), generator=generator).to(batch.action.device)
            began = len(rows_of)
            for rows in order.split(config.minibatch):
                rows_of.append(self._minibatch_step(batch, rows))
            # One look at the values per epoch: a look per minibatch would stall the device each time.
            means = dict(zip(self._names, distributed.mean(torch.stack(rows_of[began:]).mean(0)).tolist(), strict=True))
            if not math.isfinite(means["loss"]):
                raise FloatingPointError("the loss is not finite")
            if max(means["motion_kl"], means["calibration_kl"]) > config.target_kl:
                break
        means = dict(zip(self._names, torch.stack(rows_of).mean(0).tolist(), strict=True))
        return means | {"minibatches": float(len(rows_of))}

    def _minibatch_step(self, batch: Batch, rows: Tensor) -> Tensor:
        """What the step logs, in the order of `_names`. Full minibatches on CUDA go through the recording."""
        bargain = self._steps % self.config.nash_every == 0
        self._steps += 1
        if not self._recorded.enabled or len(rows) != self.config.minibatch:
            return self._logged(self.step(batch[rows], bargain))
        if self._minibatch is None:
            self._minibatch = batch[rows]
        self._minibatch.fill(batch, rows)
        return (self._recorded() if bargain else self._recorded_kept()).clone()

    def _step_now(self) -> Tensor:
        assert self._minibatch is not None
        return self._logged(self.step(self._minibatch))

    def _step_kept(self) -> Tensor:
        assert self._minibatch is not None
        return self._logged(self.step(self._minibatch, bargain=False))

    def _logged(self, log: dict[str, Tensor]) -> Tensor:
        self._names = list(log)
        return torch.stack([value.float() for value in log.values()])

    def step(self, batch: Batch, bargain: bool = True) -> dict[str, Tensor]:
        """One minibatch: three estimator steps on frozen features, then one policy step against the frozen estimator."""
        log: dict[str, Tensor] = {}
        output = self.network(batch.views)
        if self.estimator is not None:
            log["estimator_nll"] = self._fit_estimator(output.z_alpha.detach(), output.z_beta.detach())
        ppo, common, parts = self._losses(batch, output)
        log |= parts
        log["loss"] = ppo.sum() + common
        self.optimiser.zero_grad(set_to_none=True)
        alive, log["common_to_ppo"] = self._at_the_outputs(ppo, common, output)
        # By linearity the common part travels with the others: one backward pass per group for a bargain, else one in all.
        losses = ppo + common / len(ppo)
        if self.config.po and bargain:
            gradients = distributed.mean(self.group_gradients(losses))  # [G, P]
            self._alpha.copy_(nash_weights(gradients @ gradients.T, alive))
            self._cosine.copy_(_cosines(gradients))
            direction = self._alpha.to(gradients) @ gradients
        else:
            direction = distributed.mean(self.group_gradients((losses * self._alpha.to(losses)).sum()[None]))[0]
        direction = self._clipped(direction)
        self._write(direction)
        # The value heads are each their own group's: their gradient is neither weighted nor mixed.
        value_gradients = torch.autograd.grad(self.config.k1 * parts["value_loss_sum"], self.values)
        for parameter, gradient in zip(self.values, value_gradients, strict=True):
            parameter.grad = distributed.mean(gradient)
        nn.utils.clip_grad_norm_(self.values, self.config.max_gradient)
        self.optimiser.step()
        log.pop("value_loss_sum")
        log |= {f"log_alpha_{c}": a.clamp_min(1e-30).log() for c, a in enumerate(self._alpha)}
        if self.config.po:
            log |= {f"cosine_{i}{j}": c for (i, j), c in zip(itertools.combinations(range(len(ppo)), 2), self._cosine, strict=True)}
        return {name: value.detach() for name, value in log.items()}

    def group_gradients(self, losses: Tensor) -> Tensor:
        """d losses[c] / d shared parameters, flat [G, P]."""
        if self.config.batched_backward and len(losses) > 1:
            eye = torch.eye(len(losses), dtype=losses.dtype, device=losses.device)
            gradients = torch.autograd.grad(losses, self.shared, eye, retain_graph=True, allow_unused=True, is_grads_batched=True)
            return torch.cat([(g if g is not None else p.new_zeros(len(losses), *p.shape)).reshape(len(losses), -1) for g, p in zip(gradients, self.shared, strict=True)], 1)
        return torch.stack([self._flat(torch.autograd.grad(loss, self.shared, retain_graph=True, allow_unused=True)) for loss in losses])

    def _fit_estimator(self, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
        assert self.estimator is not None
        first = None
        for _ in range(self.config.estimator_steps):
            loss = negative_log_likelihood(self.estimator, z_alpha, z_beta)
            # Before the first step these samples are unseen: a held-out likelihood for free.
            first = loss.detach() if first is None else first
            gradients = torch.autograd.grad(loss, list(self.estimator.parameters()))
            for parameter, gradient in zip(self.estimator.parameters(), gradients, strict=True):
                parameter.grad = distributed.mean(gradient)
            self.estimator_optimiser.step()
        assert first is not None
        return first

    def _losses(self, batch: Batch, output) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        """Per-group PPO parts [G], the common part (entropy and MI), and what is logged."""
        config = self.config
        ratio = output.motion.log_prob(batch.action) - batch.motion_log_prob
        entropy = motion_entropy = output.motion.entropy().mean()
        entry_ratio = None
        log: dict[str, Tensor] = {}
        if output.calibration is not None:
            assert batch.entries is not None and batch.active is not None and batch.entry_log_prob is not None
            entry_ratio = entry_log_prob(output.calibration, batch.entries) - batch.entry_log_prob
            calibration_entropy = active_entropy(output.calibration, batch.active).mean()
            entropy = entropy + calibration_entropy
            log["calibration_entropy"] = calibration_entropy
        policy = policy_loss(ratio, entry_ratio, batch.active, batch.advantages, config.ratio, config.clip, config.calibration_clip, config.calibration_weight, batch.entry_advantages)
        value = value_loss(output.values, batch.values, batch.targets, config.value_clip)
        mi = None
        if self.estimator is not None:
            mi = self._mutual_information(output.z_alpha, output.z_beta)
            log["club"] = mi
        value_sum = value.sum()
        if output.cell_values is not None and batch.cell_targets is not None:
            # Cells gain thousandths: in units of the targets' own spread, so that the learning rate fits.
            error = (output.cell_values - batch.cell_targets).square().mean()
            value_sum = value_sum + error / batch.cell_targets.square().mean().clamp_min(1e-12)
            log["cell_value_error"] = error / batch.cell_targets.var().clamp_min(1e-12)
        groups = len(policy.per_group)
        common = group_losses(torch.zeros_like(policy.per_group), entropy, mi, self.entropy_weight, config.k).sum()
        log |= {
            "motion_kl": policy.motion_kl, "calibration_kl": policy.calibration_kl, "motion_clip": policy.motion_clip_fraction,
            "calibration_clip": policy.calibration_clip_fraction, "motion_entropy": motion_entropy, "value_loss": value.mean(), "value_loss_sum": value_sum,
        }  # fmt: skip
        assert groups == value.shape[0]
        return policy.per_group + config.k1 * value, common, log

    def _mutual_information(self, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
        assert self.estimator is not None
        for parameter in self.estimator.parameters():
            parameter.requires_grad_(False)
        world = distributed.world_size()
        if world == 1:
            mi = club_bound(self.estimator, z_alpha, z_beta)
        else:
            # The negatives are all samples of all ranks: their moments, with gradient, are all that is exchanged.
            n = len(z_beta) * world
            centre = distributed.sum_with_gradient(z_beta.sum(0)) / n
            variance = distributed.sum_with_gradient((z_beta - centre).square().sum(0)) / n
            local = club_bound(self.estimator, z_alpha, z_beta, (centre, variance)) * n / (n - 1)
            # max(0, .) applies to the estimate of all samples, not to each rank's share.
            mi = distributed.sum_with_gradient(local) / world
        for parameter in self.estimator.parameters():
            parameter.requires_grad_(True)
        return mi

    def _at_the_outputs(self, ppo: Tensor, common: Tensor, output: PolicyOutput) -> tuple[Tensor, Tensor]:
        """Which groups' own losses have any gradient [G] bool, and |grad common| / |grad PPO|, both at what the branches give out.

        There the gradients cost next to nothing; through the trunk a look would cost another backward pass each.
        """
        heads = [*output.motion.log_p, output.values, *(() if output.calibration is None else (output.calibration,))]
        size = torch.stack([sum((g.square().sum() for g in _gradients(loss, heads)), loss.new_zeros(())) for loss in ppo])
        features = [z for z in (output.z_alpha, output.z_beta) if z is not None]
        ratio = [torch.stack([g.square().sum() for g in _gradients(loss, features)]).sum().sqrt() for loss in (common, ppo.sum())]
        return distributed.mean(size) > 0, (ratio[0] / ratio[1].clamp_min(1e-12)).detach()

    def _clipped(self, direction: Tensor) -> Tensor:
        """|G alpha|^2 = n always, however small the gradients: with PO the step is brought to the common length, without it is at most that."""
        length = direction.norm()
        return direction * (self.config.max_gradient / (length.clamp_min(1e-12) if self.config.po else length.clamp_min(self.config.max_gradient)))

    def _flat(self, gradients: Iterable[Tensor | None]) -> Tensor:
        return torch.cat([(torch.zeros_like(p) if g is None else g).flatten() for g, p in zip(gradients, self.shared, strict=True)])

    def _write(self, direction: Tensor) -> None:
        for parameter, part in zip(self.shared, direction.split([p.numel() for p in self.shared]), strict=True):
            parameter.grad = part.view_as(parameter).clone()


def make_adam(parameters: Iterable[nn.Parameter], rate: float, device: torch.device, eps: float = 1e-8) -> torch.optim.Adam:
    """On CUDA the rate is a tensor and the step counts on the device, so that a recorded step follows a decaying rate."""
    if device.type == "cuda":
        return torch.optim.Adam(parameters, lr=torch.tensor(rate, device=device), eps=eps, capturable=True)
    return torch.optim.Adam(parameters, lr=rate, eps=eps)


def set_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    for group in optimiser.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate


def _gradients(loss: Tensor, inputs: list[Tensor]) -> list[Tensor]:
    found = torch.autograd.grad(loss, inputs, retain_graph=True, allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for g, x in zip(found, inputs, strict=True)]


def _cosines(gradients: Tensor) -> Tensor:
    """Of every pair of rows, in the order of itertools.combinations."""
    unit = gradients / gradients.norm(dim=1, keepdim=True).clamp_min(1e-12)
    rows, columns = torch.triu_indices(len(unit), len(unit), 1, device=unit.device)
    return (unit @ unit.T)[rows, columns]
