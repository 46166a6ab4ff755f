"""Fit the twin to any evidence source, and say how well it matches.

The source is asked about rendered frames; its answers are kept and sorted into trees (`twin_memory`). Poses come in
pairs: the second of a pair stands in the same view cell as the first, so that what repeats can be told from what does not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from flaneur.classes import GROUPS
from flaneur.errors import UserError
from flaneur.perception.base import EvidenceSource, make_view
from flaneur.perception.patches import describe_patches
from flaneur.perception.twin_memory import FEATURES, NONE, Memory, MemoryTwin, tabulate_patches
from flaneur.perception.twin_parameters import DISTANCE_EDGES, FILL_EDGES
from flaneur.sim import Simulator

# Where a tree may split, by feature.
SPLITS: dict[str, tuple[float, ...]] = {
    "distance": (4, 5, 7.5, 10, 15, 20, 25, 30, 37, 45, 60, 75, 90, 120), "fill": FILL_EDGES, "down": tuple(math.radians(d) for d in (-10, 0, 15, 30, 45, 65)),
    "share": (0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95, 0.99), "second": (0.02, 0.06, 0.12, 0.2, 0.3, 0.4), "rival": tuple(k + 0.5 for k in range(len(GROUPS))),
    "light": (0.5, 1.5, 2.5), "height": (3.0, 6.0, 12.0, 20.0, 30.0, 45.0),
}  # fmt: skip
LEAF = 120  # patches at least
DEPTH = 12
BANK = 48_000  # answers kept in all
FEW = 50  # samples below which a figure says nothing
ROUNDS = 4  # of setting the shares of the deviate


@dataclass(frozen=True)
class Samples:
    """Patches of N frames, flattened: M = N * h * w rows."""

    features: Tensor  # [M, F]
    largest: Tensor  # [M] class that fills most
    second: Tensor  # [M] the next one, -1 none
    similarity: Tensor  # [M, C] f16
    surface: Tensor  # [M] i64: scene, instance and 4 m cell
    pair: Tensor  # [M] i32: which pair of frames
    late: Tensor  # [M] bool: of the pair's second view
    grid: tuple[int, int]  # h, w

    def bin_of(self, feature: str, edges: Sequence[float]) -> Tensor:
        return torch.bucketize(self.features[:, FEATURES.index(feature)].contiguous(), torch.tensor(edges, device=self.features.device), right=True)


def paired_poses(sim: Simulator, scene: int, pairs: int, generator: torch.Generator, pitches: Sequence[float] = (0.0, -30.0, -60.0)) -> Tensor:
    """[2 * pairs, 6]: free poses at log-uniform heights, each followed by one in the same view cell (2 m, 30 degrees)."""
    parts = [sim.sample_free(generator, -(-pairs // 4), scene, z) for z in ((1.5, 4.0), (4.0, 11.0), (11.0, 30.0), (30.0, sim.high))]
    first = torch.cat(parts)[torch.randperm(4 * -(-pairs // 4), generator=generator)[:pairs].to(sim.device)]
    first[:, 4] = torch.tensor([math.radians(p) for p in pitches], device=sim.device)[torch.randint(len(pitches), (len(first),), generator=generator).to(sim.device)]
    sector = math.pi / 6
    jitter = torch.rand(len(first), 4, generator=generator).to(sim.device)
    second = first.clone()
    second[:, :3] = (torch.floor(first[:, :3] / 2.0) + 0.1 + 0.8 * jitter[:, :3]) * 2.0
    second[:, 5] = (torch.floor(first[:, 5] / sector) + 0.1 + 0.8 * jitter[:, 3]) * sector
    clear = sim.clear(second[:, :3], 0.1, torch.full((len(second),), scene, dtype=torch.int32, device=sim.device))
    second[~clear] = first[~clear] + second.new_tensor([0.0, 0.0, 0.0, 0.0, 0.0, 1e-3])
    return torch.stack([first, second], 1).reshape(-1, 6)


def collect(
    source: EvidenceSource, sims: Sequence[Simulator], pairs: int, patches: int = 32, seed: int = 0, batch: int = 16, lights: Sequence[str] | None = None
) -> Samples:  # fmt: skip
    """Ask the source about paired poses in every scene: once in each of `lights`, or in the scene's own."""
    generator = torch.Generator().manual_seed(seed)
    parts: dict[str, list[Tensor]] = {f.name: [] for f in fields(Samples) if f.name != "grid"}
    grid, frames, scenes = (0, 0), 0, 0
    outputs = tuple(sorted({"depth", "instance", "label", *source.outputs}))
    for sim in sims:
        before = sim.lights
        for scene, city in enumerate(sim.scenes):
            for light in lights or [city.light]:
                sim.set_light(light)
                poses = paired_poses(sim, scene, pairs, generator)
                for part in poses.split(2 * batch):
                    frame = sim.render(part, torch.full((len(part),), scene, dtype=torch.int32, device=sim.device), outputs, check=False)
                    view = make_view(frame, part, sim.camera, seed * 1009 + scenes, light)
                    p = describe_patches(view, len(source.classes), patches)
                    features, two = tabulate_patches(p, view, source.classes)
                    similarity = source.similarity(view)
                    b, _, h, w = p.mixture.shape
                    if similarity.shape[-2:] != (h, w):
                        similarity = torch.nn.functional.interpolate(similarity, (h, w), mode="nearest")
                    grid = (h, w)
                    cell = torch.floor(p.point / 4.0).long() + 512
                    surface = ((scenes * 65536 + p.instance.long() + 1) << 30) | (cell[..., 0] << 20) | (cell[..., 1] << 10) | cell[..., 2]
                    ids = (torch.arange(b, device=surface.device, dtype=torch.int32) + frames)[:, None, None].expand(b, h, w)
                    frames += b
                    flat = {
                        "features": features.flatten(0, 2), "largest": two[..., 0].flatten(), "second": two[..., 1].flatten(), "similarity": similarity.permute(0, 2, 3, 1).flatten(0, 2).half(),
                        "surface": surface.flatten(), "pair": (ids // 2).flatten(), "late": (ids % 2 == 1).flatten(),
                    }  # fmt: skip
                    for k, v in flat.items():
                        parts[k].append(v)
            scenes += 1
        sim.set_light(before[0] if len(set(before)) == 1 else None)
    return Samples(**{k: torch.cat(v) for k, v in parts.items()}, grid=grid)


# Trees --------------------------------------------------------------------------------------------------------------
@dataclass
class _Forest:
    """Nodes while they grow; a leaf keeps the rows that fell into it."""

    feature: list[int]
    threshold: list[float]
    child: list[int]
    rows: list[np.ndarray | None]

    def node(self) -> int:
        for column, value in ((self.feature, -1), (self.threshold, 0.0), (self.child, 0), (self.rows, None)):
            column.append(value)  # type: ignore[arg-type]
        return len(self.feature) - 1


def fit(source: EvidenceSource, samples: Samples) -> Memory:
    """A memory that answers as the source did; the shares of its deviate are still to be set."""
    classes = source.classes
    c = len(classes)
    if len(samples.largest) < 100 * c:
        raise UserError(f"twin fit: {len(samples.largest)} patches for {c} classes; give more frames (at least {100 * c} patches)")
    mean = source.class_mean
    neutral = mean.float().cpu().numpy() if mean is not None else np.zeros(c, np.float32)
    similarity, largest, second = samples.similarity.cpu().numpy(), samples.largest.cpu().numpy(), samples.second.cpu().numpy()
    centred = samples.similarity.float() - torch.from_numpy(neutral).to(samples.similarity.device)
    taken = centred.argmax(1).cpu().numpy()
    own = centred.gather(1, samples.largest.long()[:, None])[:, 0]
    margin = (own - centred.scatter(1, samples.largest.long()[:, None], -torch.inf).amax(1)).cpu().numpy()
    # Answers relative to the patch: what it was taken for, or its second class (C), or the right one (C + 1).
    code = np.where(taken == largest, c + 1, np.where(taken == second, c, taken)).astype(np.int64)
    bins = np.stack([samples.bin_of(name, SPLITS[name]).cpu().numpy().astype(np.uint8) for name in FEATURES], 1)
    forest, root = _Forest([], [], [], []), np.zeros(c, np.int32)
    by_group: dict[int, int] = {}
    group = classes.group_index
    for k in range(c):
        rows = np.flatnonzero(largest == k)
        if len(rows) >= LEAF:
            root[k] = _grow(forest, bins, code, rows, c + 2)
            continue
        # Hardly seen: answered as the other classes of its group were, its own name in the place of theirs.
        g = int(group[k])
        if g not in by_group:
            rows = np.flatnonzero(group[largest] == g)
            by_group[g] = _grow(forest, bins, code, rows if len(rows) >= LEAF else np.arange(len(largest)), c + 2)
        root[k] = by_group[g]
    leaves = [n for n, rows in enumerate(forest.rows) if rows is not None]
    each = int(np.clip(BANK // len(leaves), 16, 128))
    child, count, kept, at = np.array(forest.child, np.int32), np.zeros(len(forest.child), np.int32), [], 0
    rank = np.argsort(np.argsort(-np.bincount(taken, minlength=c)))  # wrong answers in a fixed order, so that neighbours in it err alike
    order_of_code = np.concatenate([rank, [c, c + 1]])
    for n in leaves:
        rows = forest.rows[n]
        assert rows is not None
        ordered = rows[np.lexsort((margin[rows], order_of_code[code[rows]]))]
        size = min(each, len(rows))
        # Evenly spaced in that order: the shares of right and wrong are kept to one part in `each`.
        kept.append(ordered[((np.arange(size) + 0.5) * len(ordered) / size).astype(int)])
        child[n], count[n], at = at, size, at + size
    rows = np.concatenate(kept)
    return Memory(
        f"fitted to {source.name}", tuple(classes.names), float(source.logit_scale), neutral.astype(np.float32), root, np.array(forest.feature, np.int8), np.array(forest.threshold, np.float32),
        child, count, (similarity[rows].astype(np.float32) - neutral).astype(np.float16), largest[rows].astype(np.uint8), np.where(second[rows] < 0, NONE, second[rows]).astype(np.uint8),
        samples.grid[1], mean is not None,
    )  # fmt: skip


def _grow(forest: _Forest, bins: np.ndarray, code: np.ndarray, rows: np.ndarray, codes: int, depth: int = 0, node: int | None = None) -> int:
    """Split where it says most about the answers, as long as it says more than chance would (BIC)."""
    node = forest.node() if node is None else node
    best = _best_split(bins, code, rows, codes) if depth < DEPTH and len(rows) >= 2 * LEAF else None
    if best is None:
        forest.rows[node] = rows
        return node
    f, cut = best
    low = bins[rows, f] <= cut
    forest.feature[node], forest.threshold[node] = f, float(SPLITS[FEATURES[f]][cut])
    first, _ = forest.node(), forest.node()
    forest.child[node] = first
    _grow(forest, bins, code, rows[low], codes, depth + 1, first)
    _grow(forest, bins, code, rows[~low], codes, depth + 1, first + 1)
    return node


def _best_split(bins: np.ndarray, code: np.ndarray, rows: np.ndarray, codes: int) -> tuple[int, int] | None:
    """Feature and bin after which to cut, or None."""
    mine = code[rows]
    kinds = int((np.bincount(mine, minlength=codes) > 0).sum())
    best, gain = None, 0.5 * kinds * math.log(len(rows)) + 1e-9
    for f, name in enumerate(FEATURES):
        table = np.bincount(bins[rows, f].astype(np.int64) * codes + mine, minlength=(len(SPLITS[name]) + 1) * codes).reshape(-1, codes)
        left = np.cumsum(table, 0)[:-1]
        right = table.sum(0) - left
        gains = _information(table.sum(0)[None])[0] - _information(left) - _information(right)
        gains[(left.sum(1) < LEAF) | (right.sum(1) < LEAF)] = -np.inf
        if gains.max() > gain:
            best, gain = (f, int(gains.argmax())), float(gains.max())
    return best


def _information(counts: np.ndarray) -> np.ndarray:
    """Entropy times size, nats, of each row."""
    n = counts.sum(1, keepdims=True)
    return -(counts * np.log(np.maximum(counts, 1) / np.maximum(n, 1))).sum(1)


# Errors that repeat -------------------------------------------------------------------------------------------------
def wrong(samples: Samples, neutral: Tensor) -> Tensor:
    """[M] f64: 1 where a patch was taken for another class than what fills most of it."""
    return (answers(samples, neutral) != samples.largest).double()


def answers(samples: Samples, neutral: Tensor) -> Tensor:
    """[M] class each patch is taken for, after the class's mean."""
    return (samples.similarity.float() - neutral.to(samples.similarity.device)).argmax(1)


def error_correlations(samples: Samples, neutral: Tensor) -> dict[str, float]:
    """How errors repeat: of a surface cell (its share of wrong patches in a frame) between the two views of a pair and
    between views from different places, and of neighbouring patches of different surfaces."""
    error = wrong(samples, neutral)
    frame = samples.pair.long() * 2 + samples.late
    keys, inverse = torch.unique(torch.stack([samples.surface, frame], 1), dim=0, return_inverse=True)
    total = torch.zeros(len(keys), dtype=torch.float64, device=error.device).index_add_(0, inverse, error)
    cell = total / torch.bincount(inverse, minlength=len(keys))
    cell = cell - cell.mean()
    by_pair = _products(torch.stack([keys[:, 0], keys[:, 1] // 2], 1), cell)
    by_surface = _products(keys[:, :1], cell)
    across = (by_surface[0] - by_pair[0], by_surface[1] - by_pair[1])
    h, w = samples.grid
    errors, surface = (error - error.mean()).view(-1, h, w), samples.surface.view(-1, h, w)
    apart = surface[:, :, 1:] != surface[:, :, :-1]
    beside = (float((errors[:, :, 1:] * errors[:, :, :-1])[apart].sum()), float(apart.sum()))
    share = lambda p, x: p[0] / p[1] / float((x**2).mean()) if p[1] >= FEW and float((x**2).mean()) > 0 else 0.0  # noqa: E731
    return {"view": share(by_pair, cell), "surface": share(across, cell), "patch": share(beside, errors)}


def _products(keys: Tensor, value: Tensor) -> tuple[float, float]:
    """Sum of products, and their number, over all pairs of rows with one key."""
    unique, inverse = torch.unique(keys, dim=0, return_inverse=True)
    zero = torch.zeros(len(unique), dtype=torch.float64, device=value.device)
    s, s2, n = (zero.clone().index_add_(0, inverse, v) for v in (value, value**2, torch.ones_like(value)))
    return float((s**2 - s2).sum() / 2), float((n**2 - n).sum() / 2)


def set_shares(memory: Memory, source: EvidenceSource, real: Samples, sims: Sequence[Simulator], pairs: int, patches: int, seed: int, lights: Sequence[str] | None) -> Memory:
    """Shares of the deviate with which errors repeat as the source's do: a few rounds of raising what is too low."""
    neutral = torch.from_numpy(memory.neutral)
    wanted = error_correlations(real, neutral)
    shares = {k: min(max(wanted[k], 0.0), 0.3) for k in ("surface", "view", "patch")}
    for _ in range(ROUNDS):
        memory = replace(memory, **{f"share_{k}": round(v, 4) for k, v in shares.items()})
        got = error_correlations(collect(MemoryTwin(memory, source.classes, real.features.device), sims, pairs, patches, seed, lights=lights), neutral)
        # What repeats from anywhere repeats from one place too, so the view's part is what that leaves over.
        gap = {k: wanted[k] - got[k] for k in shares}
        shares["surface"] += 1.5 * gap["surface"]
        shares["view"] += 1.5 * (gap["view"] - gap["surface"])
        shares["patch"] += 1.5 * gap["patch"]
        shares = {k: max(v, 0.0) for k, v in shares.items()}
        over = sum(shares.values())
        if over > 1:
            shares = {k: v / over for k, v in shares.items()}
    return replace(memory, **{f"share_{k}": math.floor(1e4 * v) / 1e4 for k, v in shares.items()})


# Match --------------------------------------------------------------------------------------------------------------
def match_report(real: Samples, twin: Samples, neutral: Tensor, minimum: int = 1000) -> dict[str, Any]:
    """Total-variation distance between confusion rows (true class x bin of distance, and of apparent size), and how alike errors repeat."""
    taken = [answers(s, neutral) for s in (real, twin)]
    out: dict[str, Any] = {}
    for axis, feature, edges in (("distance", "distance", DISTANCE_EDGES), ("apparent_size", "fill", FILL_EDGES)):
        rows = row_distances(real, twin, taken[0], taken[1], [s.bin_of(feature, edges) for s in (real, twin)], len(edges) + 1, minimum)
        values = [r["total_variation"] for r in rows]
        ending = "" if axis == "distance" else f"_{axis}"
        out[f"rows{ending}"] = len(rows)
        out[f"total_variation_macro{ending}"] = float(np.mean(values)) if values else math.nan
        out[f"total_variation_worst_decile{ending}"] = float(np.quantile(values, 0.9)) if values else math.nan
    correlation = [error_correlations(s, neutral) for s in (real, twin)]
    for k, name in (("view", "repeated_error_correlation"), ("surface", "surface_error_correlation"), ("patch", "neighbour_error_correlation")):
        out[name], out[f"{name}_twin"] = correlation[0][k], correlation[1][k]
    out["accuracy"], out["accuracy_twin"] = (float((t == s.largest).float().mean()) for s, t in zip((real, twin), taken, strict=True))
    return {k: round(v, 4) if isinstance(v, float) else v for k, v in out.items()}


def row_distances(real: Samples, twin: Samples, taken: Tensor, taken_twin: Tensor, bins: Sequence[Tensor], bin_count: int, minimum: int) -> list[dict[str, Any]]:
    """Total variation of every (class, bin) with enough patches."""
    c = real.similarity.shape[1]
    tables = []
    for s, t, b in zip((real, twin), (taken, taken_twin), bins, strict=True):
        key = (s.largest.long() * bin_count + b) * c + t
        tables.append(torch.bincount(key, minlength=c * bin_count * c).view(c, bin_count, c).double().cpu())
    out = []
    for k in range(c):
        for d in range(bin_count):
            a, b = tables[0][k, d], tables[1][k, d]
            if min(float(a.sum()), float(b.sum())) >= minimum:
                out.append({"class": k, "bin": d, "patches": int(a.sum()), "total_variation": float((a / a.sum() - b / b.sum()).abs().sum() / 2)})
    return out


def fit_and_report(
    source: EvidenceSource, training: Sequence[Simulator], held_out: Sequence[Simulator], pairs: int = 100, patches: int = 32, seed: int = 0, lights: Sequence[str] | None = None
) -> Memory:  # fmt: skip
    """Fit on some scenes, measure the match on others; the report is kept in the memory's `match`."""
    samples = collect(source, training, pairs, patches, seed, lights=lights)
    memory = set_shares(fit(source, samples), source, samples, training, pairs, patches, seed, lights)
    real = collect(source, held_out, pairs, patches, seed + 1, lights=lights)
    twin = collect(MemoryTwin(memory, source.classes, real.features.device), held_out, pairs, patches, seed + 1, lights=lights)
    return replace(memory, match=match_report(real, twin, torch.from_numpy(memory.neutral)))
