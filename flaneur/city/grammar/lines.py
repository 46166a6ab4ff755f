"""Polylines: offsets, cuts and samples. Everything street-like is made from these few functions."""

from __future__ import annotations

import numpy as np


def clean_line(points: np.ndarray, shortest: float = 0.05) -> np.ndarray:
    """[n, 2] without points that follow their predecessor by less than `shortest` metres; the last point stays."""
    points = np.asarray(points, np.float64)
    kept = [points[0]]
    for p in points[1:-1]:
        if np.hypot(*(p - kept[-1])) >= shortest:
            kept.append(p)
    if len(kept) > 1 and np.hypot(*(points[-1] - kept[-1])) < shortest:
        kept.pop()
    kept.append(points[-1])
    return np.array(kept)


def arc_lengths(line: np.ndarray) -> np.ndarray:  # [n] metres from the start, for [n, 2]
    return np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(line, axis=0).T))])


def offset_line(line: np.ndarray, distance: float) -> np.ndarray:
    """[n, 2] moved to its left by `distance` metres; bends are mitred, sharp ones at most twice as far."""
    steps = np.diff(line, axis=0)
    steps = steps / np.maximum(np.hypot(steps[:, 0], steps[:, 1]), 1e-9)[:, None]
    normals = np.stack([-steps[:, 1], steps[:, 0]], 1)
    before, after = np.vstack([normals[:1], normals]), np.vstack([normals, normals[-1:]])
    return line + (before + after) * (distance / np.maximum(1.0 + (before * after).sum(1), 0.5))[:, None]


def cut_line(line: np.ndarray, start: float, end: float) -> np.ndarray | None:
    """The piece between two arc lengths, or None when nothing is left."""
    s = arc_lengths(line)
    start, end = max(start, 0.0), min(end, s[-1])
    if end - start < 0.1:
        return None
    inner = line[(s > start + 1e-6) & (s < end - 1e-6)]
    return np.vstack([_at(line, s, np.array([start])), inner, _at(line, s, np.array([end]))])


def _at(line: np.ndarray, s: np.ndarray, at: np.ndarray) -> np.ndarray:
    return np.stack([np.interp(at, s, line[:, 0]), np.interp(at, s, line[:, 1])], 1)


def sample_line(line: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points [m, 2] and headings [m] (radians) at arc lengths [m]."""
    s = arc_lengths(line)
    piece = np.clip(np.searchsorted(s, at, side="right") - 1, 0, len(line) - 2)
    step = np.diff(line, axis=0)[piece]
    return _at(line, s, at), np.arctan2(step[:, 1], step[:, 0])


def dashes(line: np.ndarray, width: float, length: float, gap: float) -> list[np.ndarray]:
    """Quads [4, 2], counter-clockwise, along a line: solid pieces where `gap` is 0."""
    s = arc_lengths(line)
    starts = s[:-1] if gap <= 0 else np.arange(gap / 2, max(s[-1] - length, gap / 2 + 1e-6), length + gap)
    ends = s[1:] if gap <= 0 else np.minimum(starts + length, s[-1])
    a, b = _at(line, s, starts), _at(line, s, ends)
    return [band(p, q, width) for p, q in zip(a, b, strict=True) if np.hypot(*(q - p)) > 0.2]


def band(a: np.ndarray, b: np.ndarray, width: float) -> np.ndarray:
    """The rectangle [4, 2] of `width` metres along the segment from a to b, counter-clockwise."""
    d = (b - a) / max(np.hypot(*(b - a)), 1e-9)
    n = np.array([-d[1], d[0]]) * width / 2
    return np.array([a - n, b - n, b + n, a + n])
