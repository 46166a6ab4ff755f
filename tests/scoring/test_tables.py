"""Intervals, the linter, and the paper's own rows."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest

import flaneur
from flaneur.errors import UserError
from flaneur.scoring import bootstrap, lint_row, lint_table, paired

TABLES = tomllib.loads((Path(flaneur.__file__).parent / "data" / "paper_tables.toml").read_text("utf-8"))
SINGLE_RUN = ("ablation", "k_sweep", "fixed_scaling", "module_swap")


def test_variance_reproduces_the_papers_single_run_rows():
    rows = {tuple(r[c] for c in ("small", "medium", "large", "ocr", "var")) for name in SINGLE_RUN for r in TABLES[name]["rows"]}
    assert len(rows) == 17
    for *ccr, ocr, var in rows:
        half = 0.05
        spread = [np.var(np.array(ccr) + d) for d in np.array(np.meshgrid(*[(-half, half)] * 3)).T.reshape(-1, 3)]
        assert min(spread) - half <= var <= max(spread) + half
        assert np.mean(ccr) == pytest.approx(ocr, abs=0.101)


def test_the_linter_finds_the_papers_one_impossible_row():
    found = {
        (name, i): p
        for name in TABLES
        if "aggregated" in TABLES[name]
        for i, p in lint_table(TABLES[name]["rows"], aggregated=TABLES[name]["aggregated"], columns=("car", "building") if name == "urbanbis" else ("small", "medium", "large")).items()
    }
    ablation = {i for name, i in found if name == "ablation"}
    assert ablation == {2} and "F1 92.8 exceeds" in found["ablation", 2][0]
    assert not {name for name, _ in found} & {"k_sweep", "fixed_scaling", "module_swap"}


def test_the_linter_flags_each_rule():
    good = {"small": 50.0, "medium": 60.0, "large": 70.0, "ocr": 60.0, "var": 66.7, "miou": 50.0, "f1": 60.0}
    assert lint_row(good) == []
    assert "OCR" in lint_row({**good, "ocr": 61.0})[0]
    assert "Var" in lint_row({**good, "var": 100.0})[0]  # the sample variance
    assert lint_row({**good, "var": 100.0}, aggregated=True) == []
    assert "Var" in lint_row({**good, "var": 20.0}, aggregated=True)[0]
    assert "F1" in lint_row({**good, "f1": 70.0})[0]
    assert lint_row({**good, "medium": float("nan"), "ocr": 60.0}) == []


def test_bootstrap_covers_and_repeats():
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(100):
        interval = bootstrap(rng.normal(3, 1, 30), rng, samples=500)
        hits += interval.low <= 3 <= interval.high
    assert 85 <= hits <= 100
    values = rng.normal(0, 1, 20)
    assert bootstrap(values, np.random.default_rng(5)) == bootstrap(values, np.random.default_rng(5))
    assert bootstrap(np.append(values, np.nan), np.random.default_rng(5)) == bootstrap(values, np.random.default_rng(5))
    assert np.isnan(bootstrap(np.array([np.nan]), rng).mean)
    one = bootstrap(np.array([7.9, np.nan]), rng)
    assert one.mean == 7.9 and np.isnan([one.low, one.high]).all()  # one scene says nothing about others


def test_paired_sees_a_small_steady_difference():
    rng = np.random.default_rng(1)
    first = rng.normal(70, 10, 20)
    result = paired(first + 1 + rng.normal(0, 0.3, 20), first, rng)
    assert result.p < 0.01 and result.difference.low > 0
    assert paired(first, first, rng).p == 1.0
    with pytest.raises(UserError):
        paired(first, first[:5], rng)
