"""Fit the twin to any evidence source, and say how well it matches.

The source is asked about rendered frames (`twin_samples`); its answers are kept and sorted into trees (`twin_memory`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from flaneur.classes import GROUPS
from flaneur.errors import UserError
from flaneur.perception.base import EvidenceSource
from flaneur.perception.twin_match import error_correlations, match_report
from flaneur.perception.twin_memory import FEATURES, NONE, Memory, MemoryTwin
from flaneur.perception.twin_parameters import FILL_EDGES
from flaneur.perception.twin_samples import Samples, collect, own_patches
from flaneur.sim import Simulator

# Where a tree may split, by feature.
SPLITS: dict[str, tuple[float, ...]] = {
    "distance": (4, 5, 7.5, 10, 15, 20, 25, 30, 37, 45, 60, 75, 90, 120), "fill": FILL_EDGES, "down": tuple(math.radians(d) for d in (-10, 0, 15, 30, 45, 65)),
    "share": (0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95, 0.99), "second": (0.02, 0.06, 0.12, 0.2, 0.3, 0.4), "rival": tuple(k + 0.5 for k in range(len(GROUPS))),
    "light": (0.5, 1.5, 2.5), "height": (3.0, 6.0, 12.0, 20.0, 30.0, 45.0),
}  # fmt: skip
LEAF = 250  # patches at least
DEPTH = 12
BANK = 96_000  # answers kept in all
ROUNDS = 4  # of setting the shares of the deviate
ENOUGH = 12_000_000  # patches the trees are grown from, spread over all frames


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
    samples = thinned(samples)
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


def thinned(samples: Samples, most: int = ENOUGH) -> Samples:
    """Every n-th patch; n is odd, so that it falls on every column of the images."""
    every = -(-len(samples.largest) // most) | 1
    return samples if len(samples.largest) <= most else samples.rows(slice(None, None, every))


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


def set_shares(
    memory: Memory, source: EvidenceSource, real: Samples, sims: Sequence[Simulator], pairs: int, patches: int, seed: int, lights: Sequence[str] | None, tick: Callable[[], None] | None = None
) -> Memory:
    """Shares of the deviate with which errors repeat as the source's do: a few rounds of raising what is too low."""
    neutral = torch.from_numpy(memory.neutral)
    wanted = error_correlations(real, neutral)
    shares = {k: min(max(wanted[k], 0.0), 0.3) for k in ("surface", "view", "patch")}
    for _ in range(ROUNDS):
        memory = replace(memory, **{f"share_{k}": round(v, 4) for k, v in shares.items()})
        got = error_correlations(collect(MemoryTwin(memory, source.classes, real.features.device), sims, pairs, patches, seed, lights=lights, tick=tick), neutral)
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


def fit_and_report(
    source: EvidenceSource, training: Sequence[Simulator], held_out: Sequence[Simulator], pairs: int = 100, patches: int | None = None, seed: int = 0, lights: Sequence[str] | None = None,
    minimum: int = 1000, tick: Callable[[int, int], None] | None = None,
) -> Memory:  # fmt: skip
    """Fit on some scenes, measure the match on others; the report is kept in the memory's `match`. `patches`: across the view, the source's own by default."""
    patches = patches or own_patches(source, training[0])
    done, of_each = 0, len(lights or [""])
    total = of_each * ((1 + ROUNDS) * sum(len(s.scenes) for s in training) + 2 * sum(len(s.scenes) for s in held_out))

    def count() -> None:
        nonlocal done
        done += 1
        if tick is not None:
            tick(done, total)

    samples = collect(source, training, pairs, patches, seed, lights=lights, tick=count)
    memory = set_shares(fit(source, samples), source, samples, training, pairs, patches, seed, lights, count)
    twin = MemoryTwin(memory, source.classes, samples.features.device)
    return replace(memory, match=measure_match(source, twin, held_out, pairs, patches, seed + 1, lights, minimum, count))


def measure_match(
    source: EvidenceSource, twin: MemoryTwin, sims: Sequence[Simulator], pairs: int = 100, patches: int = 64, seed: int = 1, lights: Sequence[str] | None = None,
    minimum: int = 1000, tick: Callable[[], None] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Both are asked about the same poses."""
    real, imitated = (collect(s, sims, pairs, patches, seed, lights=lights, tick=tick) for s in (source, twin))
    return match_report(real, imitated, torch.from_numpy(twin.memory.neutral), minimum)
