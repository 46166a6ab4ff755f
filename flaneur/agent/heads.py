"""The two policies' distributions and the category-wise values."""

from __future__ import annotations

import torch
from torch import Tensor, nn

BETA_SUPPORT = tuple(round(0.2 * i, 1) for i in range(1, 10))  # the paper's B = {0.2, 0.4, ..., 1.8}


class FactorisedCategorical:
    def __init__(self, logits: list[Tensor]) -> None:
        self.log_p = [x.log_softmax(-1) for x in logits]

    def sample(self, generator: torch.Generator | None = None, temperature: float = 1.0) -> Tensor:
        """[B, factors]; temperature 0 takes the most probable."""
        if temperature == 0:
            return torch.stack([x.argmax(-1) for x in self.log_p], -1)
        draws = [draw((x / temperature).softmax(-1), generator) for x in self.log_p]
        return torch.stack(draws, -1)

    def log_prob(self, action: Tensor) -> Tensor:  # [B, factors] -> [B]
        picked = [x.gather(-1, a[:, None])[:, 0] for x, a in zip(self.log_p, action.unbind(-1), strict=True)]
        return torch.stack(picked).sum(0)

    def entropy(self) -> Tensor:  # [B]
        terms = [-(x.exp() * x.masked_fill(x == -torch.inf, 0)).sum(-1) for x in self.log_p]
        return torch.stack(terms).sum(0)


class CalibrationHead(nn.Module):
    """pi^beta(beta | Z_beta): nine values per entry of a coarse grid x K, upsampled by nearest, constant over height.

    Z_beta is decoded to the grid and joined by what each coarse cell holds (the local part of the context), because
    a single vector cannot say where in the map the evidence of this step lies.
    """

    def __init__(self, size: int, local_channels: int, kinds: int, grid: int = 16, hidden: int = 64) -> None:
        super().__init__()
        self.kinds, self.grid = kinds, grid
        self.local = nn.Sequential(nn.Conv2d(local_channels, hidden, 1), nn.ReLU(), nn.Conv2d(hidden, hidden, 1))
        self.from_latent = nn.Linear(size, hidden)
        self.out = nn.Sequential(nn.ReLU(), nn.Conv2d(hidden, hidden, 1), nn.ReLU(), nn.Conv2d(hidden, kinds * len(BETA_SUPPORT), 1))
        last = self.out[-1]
        assert isinstance(last, nn.Conv2d) and last.bias is not None
        nn.init.orthogonal_(last.weight, 0.01)
        nn.init.zeros_(last.bias)
        self.support: Tensor
        self.register_buffer("support", torch.tensor(BETA_SUPPORT), persistent=False)

    def forward(self, z_beta: Tensor, local: Tensor) -> Tensor:
        """[B, 256] and [B, local_channels, g, g] -> log-probabilities [B, K, g, g, 9]."""
        x = self.local(local) + self.from_latent(z_beta)[:, :, None, None]
        logits = self.out(x).unflatten(1, (self.kinds, len(BETA_SUPPORT))).movedim(2, -1)
        return logits.log_softmax(-1)

    def sample(self, log_p: Tensor, generator: torch.Generator | None = None) -> Tensor:  # -> indices [B, K, g, g]
        return draw(log_p.exp(), generator)

    def value(self, index: Tensor) -> Tensor:
        return self.support[index]

    def expectation(self, log_p: Tensor) -> Tensor:  # [B, K, g, g]
        return log_p.exp() @ self.support

    def most_probable(self, log_p: Tensor) -> Tensor:
        return self.support[log_p.argmax(-1)]


def draw(probabilities: Tensor, generator: torch.Generator | None = None) -> Tensor:  # [..., n] -> indices [...]
    """A sample of each row: of exponential clocks with these rates the first to ring. torch.multinomial looks at the values on the host."""
    clocks = torch.empty_like(probabilities).exponential_(1.0, generator=generator)
    return (probabilities / clocks).argmax(-1)


def entry_log_prob(log_p: Tensor, index: Tensor) -> Tensor:
    """[B, K, g, g, 9], [B, K, g, g] -> log-probability of every entry [B, E]."""
    return log_p.gather(-1, index[..., None])[..., 0].flatten(1)


def active_entropy(log_p: Tensor, active: Tensor) -> Tensor:
    """Entropy averaged per active entry [B]; inactive ones (nothing observed there) do not count. active [B, E] bool."""
    entropy = -(log_p.exp() * log_p).sum(-1).flatten(1)
    weight = active.to(entropy.dtype)
    return (entropy * weight).sum(-1) / weight.sum(-1).clamp_min(1)


class ValueHead(nn.Module):
    """V_c(h) for every category at once; a single column without MV. Linear on the shared feature h."""

    def __init__(self, size: int, groups: int) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(size, 128), nn.ReLU(), nn.Linear(128, groups))

    def forward(self, h: Tensor) -> Tensor:  # [B, size] -> [B, G]
        return self.net(h)


class CellValueHead(nn.Module):
    """What each coarse cell will still gain, for every category: the baseline of the calibration entries' own advantages.

    One number for the whole map cannot tell which of hundreds of entries earned a reward.
    """

    def __init__(self, size: int, local_channels: int, groups: int, hidden: int = 64) -> None:
        super().__init__()
        self.local = nn.Sequential(nn.Conv2d(local_channels, hidden, 1), nn.ReLU(), nn.Conv2d(hidden, hidden, 1))
        self.from_feature = nn.Linear(size, hidden)
        self.out = nn.Sequential(nn.ReLU(), nn.Conv2d(hidden, hidden, 3, padding=1), nn.ReLU(), nn.Conv2d(hidden, groups, 1))

    def forward(self, h: Tensor, local: Tensor) -> Tensor:
        """[B, size] and [B, local_channels, g, g] -> [B, G, g, g]."""
        return self.out(self.local(local) + self.from_feature(h)[:, :, None, None])
