"""Fit the twin to any evidence source, and say how well it matches.

Everything is estimated in closed form or by alternating least squares on patches of rendered frames. Poses come in
pairs: the second of a pair stands in the same view cell as the first, so that what repeats can be told from what does not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from flaneur.classes import ClassList
from flaneur.errors import UserError
from flaneur.perception.base import LIGHTS, EvidenceSource, make_view
from flaneur.perception.patches import describe_patches
from flaneur.perception.twin import Twin
from flaneur.perception.twin_parameters import DISTANCE_EDGES, DOWN_EDGES, FILL_EDGES, TwinParameters
from flaneur.sim import Simulator

RIDGE = 1e-2
ROUNDS = 6  # of alternating least squares
SALIENCES = (0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
FEW = 50  # samples below which a table entry keeps its neighbour's or the neutral value
KNOT_CORRELATION = 0.8  # of the noise that neighbours share, one patch apart


@dataclass(frozen=True)
class Samples:
    """Patches of N frames, flattened: M = N * h * w rows."""

    mixture: Tensor  # [M, C]
    similarity: Tensor  # [M, C]
    distance: Tensor  # [M] bin
    fill: Tensor  # [M] bin
    down: Tensor  # [M] bin
    light: Tensor  # [M]
    surface: Tensor  # [M] i64: instance and 4 m cell, the same in both views of a pair
    pair: Tensor  # [M] i64: which pair of frames
    second: Tensor  # [M] bool: of the pair's second view
    grid: tuple[int, int]  # h, w

    @property
    def largest(self) -> Tensor:  # [M] class with the largest share
        return self.mixture.argmax(1)

    def rows(self, keep: Tensor) -> Samples:
        return replace(self, **{k: getattr(self, k)[keep] for k in ("mixture", "similarity", "distance", "fill", "down", "light", "surface", "pair", "second")})


def paired_poses(sim: Simulator, scene: int, pairs: int, generator: torch.Generator, pitches: Sequence[float] = (0.0, -30.0, -60.0)) -> Tensor:
    """[2 * pairs, 6]: free poses at log-uniform heights, each followed by one in the same view cell (2 m, 30 degrees)."""
    parts = [sim.sample_free(generator, -(-pairs // 4), scene, z) for z in ((1.5, 4.0), (4.0, 11.0), (11.0, 30.0), (30.0, sim.high))]
    first = torch.cat(parts)[:pairs]
    first[:, 4] = torch.tensor([math.radians(p) for p in pitches], device=sim.device)[torch.randint(len(pitches), (len(first),), generator=generator).to(sim.device)]
    sector = math.pi / 6
    jitter = torch.rand(len(first), 4, generator=generator).to(sim.device)
    second = first.clone()
    second[:, :3] = (torch.floor(first[:, :3] / 2.0) + 0.1 + 0.8 * jitter[:, :3]) * 2.0
    second[:, 5] = (torch.floor(first[:, 5] / sector) + 0.1 + 0.8 * jitter[:, 3]) * sector
    clear = sim.clear(second[:, :3], 0.1, torch.full((len(second),), scene, dtype=torch.int32, device=sim.device))
    second[~clear] = first[~clear] + second.new_tensor([0.0, 0.0, 0.0, 0.0, 0.0, 1e-3])
    return torch.stack([first, second], 1).reshape(-1, 6)


def collect(source: EvidenceSource, sims: Sequence[Simulator], pairs: int, patches: int = 32, seed: int = 0, batch: int = 8) -> Samples:
    """Render each simulator's scenes from paired poses in its own light, and ask the source."""
    generator = torch.Generator().manual_seed(seed)
    parts: dict[str, list[Tensor]] = {k: [] for k in ("mixture", "similarity", "distance", "fill", "down", "light", "surface", "pair", "second")}
    edges = [torch.tensor(e) for e in (DISTANCE_EDGES, FILL_EDGES, [math.radians(d) for d in DOWN_EDGES])]
    count, grid = 0, (0, 0)
    outputs = tuple(sorted({"depth", "instance", "label", *source.outputs}))
    for number, sim in enumerate(sims):
        for scene in range(len(sim.scenes)):
            poses = paired_poses(sim, scene, pairs, generator)
            light = LIGHTS.index(sim.scenes[scene].light)
            for part in poses.split(2 * batch):
                frame = sim.render(part, torch.full((len(part),), scene, dtype=torch.int32, device=sim.device), outputs)
                view = make_view(frame, part, sim.camera, seed * 1009 + number, LIGHTS[light])
                p = describe_patches(view, len(source.classes), patches)
                similarity = source.similarity(view)
                b, c, h, w = p.mixture.shape
                if similarity.shape[-2:] != (h, w):
                    similarity = torch.nn.functional.interpolate(similarity, (h, w), mode="nearest")
                grid = (h, w)
                cell = torch.floor(p.point / 4.0).long() + 1024
                surface = ((p.instance.long() + 1) << 36) | (cell[..., 0] << 24) | (cell[..., 1] << 12) | cell[..., 2]
                ids = torch.arange(b, device=surface.device)[:, None, None].expand(b, h, w) + count
                count += b
                flat = {
                    "mixture": p.mixture.permute(0, 2, 3, 1).reshape(-1, c), "similarity": similarity.permute(0, 2, 3, 1).reshape(-1, c),
                    "distance": torch.bucketize(torch.where(p.distance > 0, p.distance, torch.inf).cpu(), edges[0]), "fill": torch.bucketize(p.fill.cpu(), edges[1]),
                    "down": torch.bucketize(p.down.cpu(), edges[2]), "light": torch.full((b, h, w), light), "surface": surface, "pair": ids // 2, "second": ids % 2 == 1,
                }  # fmt: skip
                for k, v in flat.items():
                    parts[k].append((v if k in ("mixture", "similarity") else v.reshape(-1)).cpu())
    return Samples(**{k: torch.cat(v) for k, v in parts.items()}, grid=grid)


def fit(source: EvidenceSource, samples: Samples) -> TwinParameters:
    """Parameters under which the twin answers as the source did."""
    classes, s = source.classes, samples.similarity.double()
    c = len(classes)
    if len(s) < 100 * c:
        raise UserError(f"twin fit: {len(s)} patches for {c} classes; give more frames (at least {100 * c} patches)")
    prior = s.mean(0)
    salience = torch.ones(c, dtype=torch.float64)
    salience, response, neutral, gains = _fit_mean(samples, s, salience, prior)
    residual, spread = s - _mean_answer(samples, salience, response, neutral, gains), torch.zeros(c, c, dtype=torch.float64)
    overall = residual.std(0)
    for k in range(c):
        rows = samples.largest == k
        spread[k] = residual[rows].std(0) if rows.sum() >= FEW else overall
    spread = spread.clamp(min=1e-4)
    unit = residual / spread[samples.largest]
    noise_distance = _noise_table(unit, samples.distance, len(DISTANCE_EDGES) + 1)
    noise_light = _noise_table(unit, samples.light, len(LIGHTS))
    unit = unit / (noise_distance[samples.distance] * noise_light[samples.light])[:, None]
    share_view, share_patch = _shares(unit, samples)
    to_tuple = lambda t: tuple(round(float(x), 4) for x in t)  # noqa: E731
    return TwinParameters(
        f"fitted to {source.name}", tuple(classes.names), response.numpy(), neutral.numpy(), spread.numpy(), salience.numpy(), float(source.logit_scale), samples.grid[1],
        gain_distance=to_tuple(gains[0]), gain_fill=to_tuple(gains[1]), gain_down=to_tuple(gains[2]), gain_light=to_tuple(gains[3]),
        noise_distance=to_tuple(noise_distance), noise_light=to_tuple(noise_light), share_view=share_view, share_patch=share_patch,
    )  # fmt: skip


def _weighted(samples: Samples, salience: Tensor) -> Tensor:
    q = samples.mixture.double() * salience
    return q / q.sum(1, keepdim=True).clamp(min=1e-9)


def _mean_answer(samples: Samples, salience: Tensor, response: Tensor, neutral: Tensor, gains: list[Tensor]) -> Tensor:
    return neutral + _gain(samples, gains)[:, None] * (_weighted(samples, salience) @ response - neutral)


def _gain(samples: Samples, gains: list[Tensor]) -> Tensor:
    index = (samples.distance, samples.fill, samples.down, samples.light)
    return torch.stack([g[i] for g, i in zip(gains, index, strict=True)]).prod(0)


def _fit_mean(samples: Samples, s: Tensor, salience: Tensor, neutral: Tensor) -> tuple[Tensor, Tensor, Tensor, list[Tensor]]:
    """Alternate: the response by ridge regression, each gain table by projection; salience per scale group by search."""
    sizes = (len(DISTANCE_EDGES) + 1, len(FILL_EDGES) + 1, len(DOWN_EDGES) + 1, len(LIGHTS))
    gains = [torch.ones(n, dtype=torch.float64) for n in sizes]
    index = (samples.distance, samples.fill, samples.down, samples.light)
    response = _ridge(_weighted(samples, salience), s - neutral) + neutral
    for round_ in range(ROUNDS):
        if round_ in (1, 3):
            salience = _search_salience(samples, s, salience, neutral, gains)
        q = _weighted(samples, salience)
        response = _ridge(q * _gain(samples, gains)[:, None], s - neutral) + neutral
        model = q @ response - neutral
        for t, i in enumerate(index):
            others = (_gain(samples, gains) / gains[t][i].clamp(min=1e-6))[:, None] * model
            over = torch.zeros(sizes[t], dtype=torch.float64).index_add_(0, i, (others * (s - neutral)).sum(1))
            under = torch.zeros(sizes[t], dtype=torch.float64).index_add_(0, i, (others**2).sum(1))
            count = torch.bincount(i, minlength=sizes[t])
            table = torch.where(count >= FEW, over / under.clamp(min=1e-12), 1.0).clamp(0.02, 3.0)
            # The tables share one scale: each averages to 1 over the samples, the response carries the rest.
            gains[t] = torch.where(count >= FEW, table / table[i].mean(), 1.0)
    q = _weighted(samples, salience)
    return salience, _ridge(q * _gain(samples, gains)[:, None], s - neutral) + neutral, neutral, gains


def _ridge(x: Tensor, y: Tensor) -> Tensor:
    """Least squares [C, C] with a ridge that leaves classes never seen at zero, which is the neutral answer."""
    return torch.linalg.solve(x.T @ x + RIDGE * torch.eye(x.shape[1], dtype=x.dtype), x.T @ y)


def _search_salience(samples: Samples, s: Tensor, salience: Tensor, neutral: Tensor, gains: list[Tensor]) -> Tensor:
    """Class by class, the salience with the least error; on the mixed patches, which alone depend on it."""
    mixed = torch.nonzero(samples.mixture.amax(1) < 0.95)[:, 0][:20_000]
    if len(mixed) < FEW:
        return salience
    part, target = samples.rows(mixed), s[mixed] - neutral
    gain = _gain(part, gains)[:, None]
    response = _ridge(_weighted(samples, salience) * _gain(samples, gains)[:, None], s - neutral)
    for k in torch.nonzero(part.mixture.sum(0) > FEW / 10)[:, 0].tolist():
        rows = part.mixture[:, k] > 0
        errors = []
        for value in SALIENCES:
            trial = salience.clone()
            trial[k] = value
            errors.append(((gain * (_weighted(part, trial) @ response) - target)[rows] ** 2).sum())
        salience = salience.clone()
        salience[k] = SALIENCES[int(torch.stack(errors).argmin())]
    return salience


def _noise_table(unit: Tensor, index: Tensor, size: int) -> Tensor:
    square = torch.zeros(size, dtype=torch.float64).index_add_(0, index, (unit**2).mean(1))
    count = torch.bincount(index, minlength=size)
    return torch.where(count >= FEW, (square / count.clamp(min=1)).sqrt(), 1.0)


def _shares(unit: Tensor, samples: Samples) -> tuple[float, float]:
    """Parts of the variance that repeat with the surface from the same place, and that neighbouring patches share."""
    h, w = samples.grid
    frames = unit.view(-1, h, w, unit.shape[1])
    surface = samples.surface.view(-1, h, w)
    # Neighbours on different surfaces have only the image's own noise in common.
    apart = surface[:, :, 1:] != surface[:, :, :-1]
    product = (frames[:, :, 1:] * frames[:, :, :-1]).mean(-1)
    neighbour = float(product[apart].mean()) if apart.sum() >= FEW else 0.0
    patch = min(max(neighbour / KNOT_CORRELATION, 0.0), 0.9)
    # A heading changed by up to 30 degrees moves a surface by several patches: what image neighbours share does not repeat.
    again = revisit_correlation(unit, samples)
    return round(min(max(again, 0.0), 1.0 - patch), 4), round(patch, 4)


def revisit_correlation(unit: Tensor, samples: Samples) -> float:
    """Mean product of unit residuals of one surface in the two views of a pair."""
    key = (samples.pair << 40) ^ (samples.surface * 0x9E3779B1 & 0xFFFFFFFFFF)
    first, second = ~samples.second, samples.second
    keys, inverse = torch.unique(key, return_inverse=True)
    c = unit.shape[1]
    sums = [torch.zeros(len(keys), c, dtype=torch.float64).index_add_(0, inverse[m], unit[m]) for m in (first, second)]
    counts = [torch.bincount(inverse[m], minlength=len(keys)) for m in (first, second)]
    pairs = counts[0] * counts[1]
    if pairs.sum() < FEW:
        return 0.0
    return float((sums[0] * sums[1]).mean(1).sum() / pairs.sum())


# Match --------------------------------------------------------------------------------------------------------------
def answers(samples: Samples, neutral: Tensor) -> Tensor:
    """[M] class each patch is taken for, after the class's mean."""
    return (samples.similarity - neutral.float()).argmax(1)


def match_report(real: Samples, twin: Samples, neutral: Tensor, minimum: int = 1000) -> dict[str, float]:
    """Total-variation distance between confusion rows (true class x distance bin), and how alike errors repeat."""
    c = real.mixture.shape[1]
    taken = [answers(s, neutral) for s in (real, twin)]
    distances = []
    for k in range(c):
        for d in range(len(DISTANCE_EDGES) + 1):
            rows = [(s.largest == k) & (s.distance == d) for s in (real, twin)]
            if min(int(r.sum()) for r in rows) < minimum:
                continue
            shares = [torch.bincount(t[r], minlength=c).double() / r.sum() for t, r in zip(taken, rows, strict=True)]
            distances.append(float((shares[0] - shares[1]).abs().sum() / 2))
    worst = float(np.quantile(distances, 0.9)) if distances else math.nan
    errors = [_error_correlation(s, t) for s, t in zip((real, twin), taken, strict=True)]
    accuracy = [float((t == s.largest).float().mean()) for s, t in zip((real, twin), taken, strict=True)]
    return {
        "rows": len(distances), "total_variation_macro": float(np.mean(distances)) if distances else math.nan, "total_variation_worst_decile": worst,
        "accuracy": accuracy[0], "accuracy_twin": accuracy[1], "repeated_error_correlation": errors[0], "repeated_error_correlation_twin": errors[1],
    }  # fmt: skip


def _error_correlation(samples: Samples, taken: Tensor) -> float:
    """Correlation of being wrong on a surface between the two views of a pair."""
    wrong = (taken != samples.largest).double()
    centred = wrong - wrong.mean()
    variance = float((centred**2).mean())
    return revisit_correlation(centred[:, None], samples) / variance if variance > 0 else math.nan


def fit_and_report(source: EvidenceSource, training: Sequence[Simulator], held_out: Sequence[Simulator], pairs: int = 100, patches: int = 32, seed: int = 0) -> TwinParameters:
    """Fit on some scenes, measure the match on others; the report is kept in the parameters' `match`."""
    parameters = fit(source, collect(source, training, pairs, patches, seed))
    twin = Twin(parameters, source.classes)
    real = collect(source, held_out, pairs, patches, seed + 1)
    imitated = collect(twin, held_out, pairs, patches, seed + 1)
    report = match_report(real, imitated, torch.from_numpy(parameters.neutral))
    return replace(parameters, match={k: round(float(v), 4) for k, v in report.items()})


def class_accuracy(samples: Samples, classes: ClassList, neutral: Tensor) -> dict[str, float]:
    """Share of patches taken for what fills most of them, per class with at least one sample."""
    taken = answers(samples, neutral)
    return {c.name: round(float((taken[samples.largest == c.id] == c.id).float().mean()), 4) for c in classes if (samples.largest == c.id).any()}
