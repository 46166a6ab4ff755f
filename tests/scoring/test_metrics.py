"""Metrics against scikit-learn and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_tally import cell_gain, reward_score
from sklearn.metrics import confusion_matrix, f1_score, jaccard_score, log_loss, roc_auc_score

from flaneur.classes import load_classes
from flaneur.scoring import Target, coverage, group_table, overall_coverage, score, strict_iou
from flaneur.scoring.metrics import affected_accuracy, auc, background_wrong, class_coverage, confusion, group_auc, group_probabilities, membership, reliability, variance
from flaneur.scoring.tally import background_cells, gain_by_cell, score_of, tally

CLASSES = load_classes()
TABLE = group_table(CLASSES)
PERSON, BENCH, CAR, TREE, BUILDING, ROAD, WATER = (CLASSES.index[n] for n in ("person", "bench", "car", "tree", "building", "road", "water"))


def grid(*rows) -> torch.Tensor:
    return torch.tensor([rows], dtype=torch.uint8)


def everything(labels: torch.Tensor) -> Target:
    return Target(labels, torch.ones_like(labels, dtype=torch.bool))


def random_case(seed: int, cells: int = 40, absent: int | None = None):
    """Probabilities with ties and unexplored cells, truth over all classes but the sky, some cells unscored."""
    rng = np.random.default_rng(seed)
    c = len(CLASSES)
    truth = rng.integers(0, c - 1, (2, cells, cells)).astype(np.uint8)
    if absent is not None:
        truth[CLASSES.group_index[truth] == absent] = ROAD
    p = np.round(rng.dirichlet(np.full(c, 0.1), (2, cells, cells)), 2).transpose(0, 3, 1, 2)
    p[:, :, rng.random((cells, cells)) < 0.2] = 0
    p = torch.from_numpy(p.astype(np.float32))
    labels = torch.where(p.amax(1) > 0, p.argmax(1), 255).to(torch.uint8)
    target = Target(torch.from_numpy(truth), torch.from_numpy(rng.random((2, cells, cells)) < 0.7))
    return p, labels, target


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("absent", [None, 1])
def test_against_scikit_learn(seed, absent):
    p, labels, target = random_case(seed, absent=absent)
    got = score(p, labels, target, CLASSES)
    group = np.append(CLASSES.group_index.clip(max=3), [9] * (256 - len(CLASSES)))
    for e in range(2):
        keep = target.scored[e].numpy()
        truth, mapped = target.labels[e].numpy()[keep], labels[e].numpy()[keep]
        objects = group[truth] < 3
        sums = group_probabilities(p, TABLE)[e].numpy()[:, keep]
        for g in range(3):
            of_group = group[truth] == g
            if not of_group.any():
                for name in ("ccr", "auc", "strict_iou"):
                    assert math.isnan(got[name][e, g])
                continue
            assert got["ccr"][e, g] == pytest.approx((mapped == truth)[of_group].mean(), abs=1e-12)
            assert got["auc"][e, g] == pytest.approx(roc_auc_score(of_group[objects], sums[g][objects]), abs=1e-12)
            assert got["iou"][e, g] == pytest.approx(jaccard_score(of_group[objects], (group[mapped] == g)[objects]), abs=1e-12)
            assert got["strict_iou"][e, g] == pytest.approx(jaccard_score(of_group, group[mapped] == g), abs=1e-12)
            f1 = membership(labels, target, TABLE, False).f1[e, g]
            assert f1 == pytest.approx(f1_score(of_group[objects], (group[mapped] == g)[objects]), abs=1e-12)
        background = group[truth] == 3
        assert got["background_wrong"][e] == pytest.approx((group[mapped[background]] < 3).mean(), abs=1e-12)
        c = len(CLASSES)
        matrix = confusion_matrix(truth, np.where(mapped == 255, c, mapped), labels=range(c + 1))[:c]
        np.testing.assert_array_equal(confusion(labels, target, c)[e].numpy(), matrix)
        with np.errstate(invalid="ignore"):
            np.testing.assert_allclose(class_coverage(labels, target, c)[e].numpy(), matrix.diagonal() / matrix.sum(1), equal_nan=True)
        explored = keep & (p[e].amax(0).numpy() > 0)
        probabilities, true = p[e].double().numpy()[:, explored].T, target.labels[e].numpy()[explored]
        trust = reliability(p, target)
        rows = probabilities / probabilities.sum(1, keepdims=True)
        loss = -np.log(np.clip(probabilities[np.arange(len(true)), true], 1e-12, None)).mean()
        assert trust.nll[e] == pytest.approx(loss, rel=1e-9)
        assert log_loss(true, rows, labels=range(c)) > 0
        assert trust.brier[e] == pytest.approx(((probabilities - np.eye(c)[true]) ** 2).sum(1).mean(), rel=1e-9)


def test_coverage_by_hand():
    truth = grid([PERSON, PERSON, BENCH, CAR], [CAR, BUILDING, ROAD, 255])
    mapped = grid([PERSON, BENCH, BENCH, 255], [CAR, BUILDING, CAR, CAR])
    ccr = coverage(mapped, everything(truth), TABLE)
    # A bench for a person is the right group but the wrong class: the paper's CCR counts exact classes.
    torch.testing.assert_close(ccr, torch.tensor([[2 / 3, 1 / 2, 1.0]], dtype=torch.float64))
    assert overall_coverage(ccr)[0] == pytest.approx((2 / 3 + 1 / 2 + 1) / 3)
    # Small: 3 right of 3. Medium: one right, one missed, and the road called a car.
    torch.testing.assert_close(strict_iou(mapped, everything(truth), TABLE), torch.tensor([[1.0, 1 / 3, 1.0]], dtype=torch.float64))
    assert background_wrong(mapped, everything(truth), TABLE)[0] == 1.0


def test_an_absent_group_is_left_out_of_the_mean():
    truth = grid([PERSON, BUILDING], [ROAD, ROAD])
    got = score(torch.zeros(1, len(CLASSES), 2, 2), grid([PERSON, 255], [ROAD, ROAD]), everything(truth), CLASSES)
    assert math.isnan(got["ccr"][0, 1]) and got["ocr"][0] == 0.5
    assert got["var"][0] == 2500.0


def test_empty_map_scores_zero_and_chance():
    truth = grid([PERSON, CAR], [BUILDING, ROAD])
    got = score(torch.zeros(1, len(CLASSES), 2, 2), torch.full((1, 2, 2), 255, dtype=torch.uint8), everything(truth), CLASSES)
    assert got["ocr"][0] == 0 and got["miou"][0] == 0 and got["f1"][0] == 0
    assert got["mauc"][0] == 0.5  # all ties
    assert math.isnan(got["nll"][0])  # nothing was observed


def test_all_one_class():
    truth = torch.full((1, 3, 3), CAR, dtype=torch.uint8)
    p = torch.zeros(1, len(CLASSES), 3, 3)
    p[:, CAR] = 1.0
    got = score(p, truth, everything(truth), CLASSES)
    assert got["ocr"][0] == 1 and got["var"][0] == 0 and got["miou"][0] == 1
    assert math.isnan(got["mauc"][0])  # no negative cell
    assert got["nll"][0] == 0 and got["brier"][0] == 0 and got["ece"][0] == 0


def test_group_auc_of_ties_by_hand():
    # Positives 0.5, 0.2; negatives 0.5, 0.1: wins 1/2 + 1 + 0 + 1 of 4.
    got = auc(torch.tensor([[0.5, 0.2, 0.5, 0.1, 9.0]]), torch.tensor([[True, True, False, False, True]]), torch.tensor([[True, True, True, True, False]]))
    assert got[0] == pytest.approx(2.5 / 4)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=2, max_size=40))
def test_auc_is_the_share_of_won_pairs(cells):
    score_, positive = torch.tensor([[float(s) for s, _ in cells]]), torch.tensor([[p for _, p in cells]])
    got = auc(score_, positive, torch.ones_like(positive))[0]
    pos, neg = score_[positive], score_[~positive]
    if not len(pos) or not len(neg):
        assert math.isnan(got)
    else:
        wins = (pos[:, None] > neg).double() + 0.5 * (pos[:, None] == neg).double()
        assert got == pytest.approx(wins.mean().item())


def test_variance_is_of_the_population():
    assert variance(torch.tensor([[0.822, 0.974, 0.991]]))[0] == pytest.approx(np.var([82.2, 97.4, 99.1]), rel=1e-5)


def test_affected_cells_only():
    truth, mapped = grid([PERSON, CAR], [BUILDING, ROAD]), grid([PERSON, PERSON], [255, ROAD])
    touched = torch.tensor([[[1, 1], [0, 0]]], dtype=torch.uint8)
    assert affected_accuracy(mapped, everything(truth), touched)[0] == 0.5


def test_group_auc_uses_sums_over_the_group():
    truth = grid([PERSON, CAR])
    p = torch.zeros(1, len(CLASSES), 1, 2)
    p[0, PERSON, 0, 0], p[0, BENCH, 0, 0], p[0, PERSON, 0, 1] = 0.2, 0.3, 0.4
    assert group_auc(p, everything(truth), TABLE)[0, 0] == 1.0  # 0.5 against 0.4


@pytest.mark.parametrize("reward", ["ccr", "iou", "balanced"])
def test_what_coarse_cells_gain_adds_up_to_the_gain(reward):
    _, before, target = random_case(0)
    _, after, _ = random_case(1)
    counts = [tally(labels, target, TABLE, 8) for labels in (before, after)]
    background = background_cells(target, TABLE)
    gain = gain_by_cell(*counts, reward, background)
    torch.testing.assert_close(gain, cell_gain(before, after, target, TABLE, reward, 8), atol=1e-6, rtol=1e-5)
    for labels, c in zip((before, after), counts, strict=True):
        torch.testing.assert_close(score_of(c, reward, background), reward_score(labels, target, TABLE, reward))
    whole = score_of(counts[1], reward, background) - score_of(counts[0], reward, background)
    torch.testing.assert_close(gain.sum((2, 3)).double(), whole, atol=1e-5, rtol=0)
    one = before.clone()
    one[:, :5, :5] = after[:, :5, :5]
    local = gain_by_cell(counts[0], tally(one, target, TABLE, 8), reward, background)
    assert local[:, :, 0, 0].abs().sum() > 0 and not local[:, :, 1:].any() and not local[:, :, :, 1:].any()
