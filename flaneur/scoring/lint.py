"""Checks that a table of results is possible: OCR is the mean of the CCRs, Var their variance, F1 within what mIoU allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

CCR = ("small", "medium", "large")


def lint_row(row: Mapping[str, Any], digits: int = 1, columns: Sequence[str] = CCR, aggregated: bool = False) -> list[str]:
    """What is impossible in one row of percentages, one line each; values were rounded to `digits`.

    `aggregated`: the row is a mean over runs, so that Var is a mean of variances and cannot be checked from the CCRs:
    it can only be at least the variance of the mean CCRs.
    """
    half = 0.5 * 10.0**-digits
    problems = []
    values = [float(row[c]) for c in columns if c in row and not np.isnan(float(row[c]))]
    if values and "ocr" in row and abs(np.mean(values) - float(row["ocr"])) > 2 * half + 1e-9:
        problems.append(f"OCR {row['ocr']} is not the mean of the CCRs, {np.mean(values):.{digits + 1}f}")
    if len(values) == len(columns) and "var" in row:
        low, high = _variance_range(np.array(values), half)
        var = float(row["var"])
        if var < low - half - 1e-9 or (var > high + half + 1e-9 and not aggregated):
            problems.append(f"Var {row['var']} is outside {low:.2f} to {high:.2f}, the population variance of the CCRs")
    if "miou" in row and "f1" in row:
        iou = (float(row["miou"]) + half) / 100
        bound = 100 * 2 * iou / (1 + iou)
        if float(row["f1"]) - half > bound + 1e-9:
            problems.append(f"F1 {row['f1']} exceeds {bound:.1f}, the most that mIoU {row['miou']} allows")
    return problems


def _variance_range(values: np.ndarray, half: float) -> tuple[float, float]:
    """Variances that unrounded values can have: the extremes lie at corners of the box, or inside it at 0."""
    corners = np.stack(np.meshgrid(*[(v - half, v, v + half) for v in values], indexing="ij"), -1).reshape(-1, len(values))
    spread = corners.var(1)
    return (0.0 if np.ptp(values) <= 2 * half else float(spread.min()), float(spread.max()))


def lint_table(rows: Sequence[Mapping[str, Any]], **options: Any) -> dict[int, list[str]]:
    """Problems by row number; empty when the table is possible."""
    found = {i: lint_row(row, **options) for i, row in enumerate(rows)}
    return {i: problems for i, problems in found.items() if problems}
