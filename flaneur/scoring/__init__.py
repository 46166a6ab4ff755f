"""Ground truth, what is observable, metrics and intervals."""

from flaneur.scoring.intervals import Interval, Paired, bootstrap, paired
from flaneur.scoring.lattice import CPU_LATTICE, Lattice
from flaneur.scoring.lint import lint_row, lint_table
from flaneur.scoring.merge import Merge
from flaneur.scoring.metrics import Target, coverage, group_table, overall_coverage, score, strict_iou
from flaneur.scoring.truth import Truth, compute_truth, ground_heights, load_truth

__all__ = [
    "CPU_LATTICE", "Interval", "Lattice", "Merge", "Paired", "Target", "Truth", "bootstrap", "compute_truth", "coverage", "ground_heights",
    "group_table", "lint_row", "lint_table", "load_truth", "overall_coverage", "paired", "score", "strict_iou",
]  # fmt: skip
