from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from city_task import CAMERA, scene_and_truth
from scenes import tiny_scene

from flaneur.classes import load_classes
from flaneur.errors import UserError
from flaneur.perception import Oracle, Twin, make_view
from flaneur.perception.patches import describe_patches
from flaneur.perception.twin_fit import fit, fit_and_report
from flaneur.perception.twin_match import error_correlations, match_report
from flaneur.perception.twin_memory import FEATURES, Memory, MemoryTwin, tabulate_patches
from flaneur.perception.twin_parameters import preset
from flaneur.perception.twin_samples import collect, paired_poses
from flaneur.sim import Simulator

CLASSES = load_classes()


@pytest.fixture(scope="module")
def sim():
    return Simulator([scene_and_truth(0)[0]], CAMERA)


def look(sim, poses, seed=0, light="day"):
    poses = torch.tensor(poses, dtype=torch.float32) if not isinstance(poses, torch.Tensor) else poses
    return make_view(sim.render(poses), poses, sim.camera, seed, light)


STREET = [[100.0, 60.0, 2.0, 0.0, 0.0, 1.2], [60.0, 100.0, 20.0, 0.0, -0.5, 0.3]]


def test_patches_against_plain_torch(sim):
    view = look(sim, STREET)
    p = describe_patches(view, len(CLASSES), 16)
    one_hot = torch.nn.functional.one_hot(view.frame.label.long(), len(CLASSES)).permute(0, 3, 1, 2).float()
    torch.testing.assert_close(p.mixture, torch.nn.functional.avg_pool2d(one_hot, 4), atol=1e-6, rtol=0)
    middle = view.frame.instance[:, 2::4, 2::4]
    assert torch.equal(p.instance, middle)
    i, j = 5, 9
    window = middle[0, 0:11, 4:15]
    assert p.fill[0, i, j] == pytest.approx((window == middle[0, i, j]).float().mean().item(), abs=1e-6)


def test_the_same_view_errs_the_same_way_and_another_does_not(sim):
    twin = Twin(replace(preset("hard", CLASSES), share_view=1.0, share_patch=0.0), CLASSES)
    quiet = Twin(replace(preset("hard", CLASSES), sigma=np.zeros((29, 29))), CLASSES)

    def errors(poses, seed=0):
        view = look(sim, poses, seed)
        return (twin.similarity(view) - quiet.similarity(view))[0], view

    base = [[61.0, 101.0, 21.0, 0.0, -0.5, 0.3]]
    a, view = errors(base)
    assert torch.equal(a, errors(base)[0])
    # 30 cm aside, in the same view cell: what is seen of the same surface errs alike.
    b, other = errors([[61.3, 101.0, 21.0, 0.0, -0.5, 0.3]])
    same = view.frame.instance[0, 1::2, 1::2] == other.frame.instance[0, 1::2, 1::2]
    assert np.corrcoef(a[:, same].flatten(), b[:, same].flatten())[0, 1] > 0.6
    far, _ = errors([[65.0, 101.0, 21.0, 0.0, -0.5, 0.3]])
    assert abs(np.corrcoef(a.flatten(), far.flatten())[0, 1]) < 0.2
    reseeded, _ = errors(base, seed=1)
    assert abs(np.corrcoef(a.flatten(), reseeded.flatten())[0, 1]) < 0.2


def test_noise_has_the_stated_size_and_neighbours_share_theirs(sim):
    for share_patch in (0.0, 1.0):
        twin = Twin(replace(preset("easy", CLASSES), sigma=np.full((29, 29), 0.02), share_view=0.0, share_patch=share_patch, patches=32, noise_distance=(1.0,) * 8), CLASSES)
        quiet = Twin(replace(twin.parameters, sigma=np.zeros((29, 29))), CLASSES)
        view = look(sim, STREET)
        error = twin.similarity(view) - quiet.similarity(view)
        assert error.std().item() == pytest.approx(0.02, rel=0.08)
        correlation = np.corrcoef(error[..., 1:].flatten(), error[..., :-1].flatten())[0, 1]
        assert correlation > 0.6 if share_patch else abs(correlation) < 0.05


def test_darkness_distance_and_closeness_make_it_worse(sim):
    generator = torch.Generator().manual_seed(0)
    poses = paired_poses(sim, 0, 24, generator)

    def accuracy(name, light):
        twin = Twin.named(name, CLASSES)
        view = look(sim, poses, light=light)
        p = describe_patches(view, len(CLASSES), 32)
        taken = (twin.similarity(view) - twin.class_mean[None, :, None, None]).argmax(1)
        pure = p.mixture.amax(1) > 0.99
        return (taken == p.mixture.argmax(1))[pure].float().mean()

    assert accuracy("easy", "day") > accuracy("hard", "day") > accuracy("hard", "night") > 1 / 29


@pytest.fixture(scope="module")
def fitted():
    """The twin of a twin, and what it was fitted to; measured on a city that neither saw."""
    truth = replace(preset("easy", CLASSES), share_view=0.5, share_patch=0.2, patches=16)
    source = Twin(truth, CLASSES)
    train, held_out = (Simulator([tiny_scene(s)], CAMERA) for s in (0, 1))
    return source, train, held_out, fit_and_report(source, [train], [held_out], pairs=48, patches=16)


def test_fit_imitates_a_known_twin(fitted):
    match = fitted[3].match
    assert match["total_variation_macro"] <= 0.10 and match["rows"] >= 5
    assert match["total_variation_macro_apparent_size"] <= 0.10 and match["rows_apparent_size"] >= 5
    assert abs(match["repeated_error_correlation"] - match["repeated_error_correlation_twin"]) <= 0.1
    assert abs(match["neighbour_error_correlation"] - match["neighbour_error_correlation_twin"]) <= 0.1
    assert abs(match["accuracy"] - match["accuracy_twin"]) < 0.05


def test_oracle_is_imitated_without_an_error():
    """A model that is always right has a twin that is always right, where one class fills the patch."""
    sim = Simulator([tiny_scene(0)], CAMERA)
    samples = collect(Oracle(CLASSES), [sim], 32, 16)
    assert len(samples.pair.unique()) == 32 and samples.similarity.shape == (2 * 32 * 256, len(CLASSES))
    twin = MemoryTwin(fit(Oracle(CLASSES), samples), CLASSES)
    view = look(sim, STREET)
    p = describe_patches(view, len(CLASSES), 16)
    pure = p.mixture.amax(1) > 0.99
    right = (twin.answer(p, view).argmax(1) == p.mixture.argmax(1))[pure].float().mean()
    assert right > 0.98


def test_features_say_what_is_in_the_patch(sim):
    view = look(sim, STREET, light="dusk")
    p = describe_patches(view, len(CLASSES), 16)
    features, two = tabulate_patches(p, view, CLASSES)
    share, order = torch.sort(p.mixture, stable=True, dim=1, descending=True)
    distance, fill, down, first, second, rival, light, height = (features[..., k] for k in range(len(FEATURES)))
    clear = (share[:, 0] > share[:, 1]) & (share[:, 1] > share[:, 2])
    assert torch.equal(two[..., 0][clear].long(), order[:, 0][clear])
    mixed = clear & (share[:, 1] > 0.01)
    assert torch.equal(two[..., 1][mixed].long(), order[:, 1][mixed]) and (two[..., 1][share[:, 1] == 0] == -1).all()
    torch.testing.assert_close(first, share[:, 0])
    torch.testing.assert_close(second[mixed], share[:, 1][mixed])
    assert torch.equal(rival[mixed], torch.from_numpy(CLASSES.group_index.astype(np.float32))[order[:, 1][mixed]])
    assert torch.equal(fill, p.fill) and torch.equal(down, p.down) and (light == 2).all()
    assert (distance[p.distance == 0] == 1e4).all() and torch.equal(distance[p.distance > 0], p.distance[p.distance > 0])
    assert (height[0] == 2).all() and (height[1] == 20).all()


def small_memory(answers: np.ndarray, largest: list[int], second: list[int], **changes) -> Memory:
    """One leaf for every class, with the given answers."""
    c, n = len(CLASSES), len(answers)
    zero = np.zeros(1, np.int32)
    return Memory("test", CLASSES.names, 100.0, np.zeros(c, np.float32), np.zeros(c, np.int32), np.array([-1], np.int8), zero.astype(np.float32), zero, zero + n,
                  answers.astype(np.float16), np.array(largest, np.uint8), np.array(second, np.uint8), patches=16, **changes)  # fmt: skip


def test_classes_change_places(sim):
    """An answer to a bench before a car, given for a person before a tree, speaks of person and tree."""
    names = ("bench", "car", "road")
    bench, car, road = (CLASSES.index[k] for k in names)
    answer = np.zeros((1, len(CLASSES)))
    answer[0, [bench, car, road]] = 1.0, 0.5, 0.25
    twin = MemoryTwin(small_memory(answer, [bench], [car]), CLASSES)
    view = look(sim, STREET)
    p = describe_patches(view, len(CLASSES), 16)
    _, two = tabulate_patches(p, view, CLASSES)
    out = twin.answer(p, view)
    others = torch.tensor([bench, car, road])
    for b, i, j in torch.nonzero((two[..., 1] >= 0) & ~torch.isin(two, others).any(-1))[:50].tolist():
        best, rival = two[b, i, j].tolist()
        assert out[b, best, i, j] == 1.0 and out[b, rival, i, j] == 0.5
        assert out[b, bench, i, j] == 0 and out[b, car, i, j] == 0
        assert out[b, :, i, j].sum() == 1.75 and sorted(out[b, :, i, j].tolist()) == sorted(answer[0].tolist())


def test_draws_are_even_and_keyed(sim):
    """Every answer of a leaf is given as often as any other; the same view gives the same, another seed others."""
    answers = np.zeros((8, len(CLASSES)))
    answers[:, 0] = np.arange(8)
    make = lambda **shares: MemoryTwin(small_memory(answers, [0] * 8, [255] * 8, **shares), CLASSES)  # noqa: E731
    poses = paired_poses(sim, 0, 24, torch.Generator().manual_seed(3))
    views = [look(sim, poses, seed=s) for s in (0, 0, 1)]
    patches = [describe_patches(v, len(CLASSES), 16) for v in views]
    for shares in ({"share_view": 0.0, "share_patch": 0.0}, {"share_surface": 0.2, "share_view": 0.3, "share_patch": 0.5}):
        drawn = [make(**shares).answer(p, v).sum(1) for p, v in zip(patches, views, strict=True)]
        spread = np.bincount(drawn[0].long().flatten(), minlength=8) / drawn[0].numel()
        assert abs(spread - 1 / 8).max() < (0.01 if not shares["share_view"] else 0.05)
        assert torch.equal(drawn[0], drawn[1])
        assert abs(np.corrcoef(drawn[0].flatten(), drawn[2].flatten())[0, 1]) < 0.05


@pytest.mark.parametrize(("share", "statistic"), [("share_surface", "surface"), ("share_view", "view"), ("share_patch", "patch")])
def test_each_share_raises_its_own_correlation(fitted, share, statistic):
    _, train, _, memory = fitted
    neutral = torch.from_numpy(memory.neutral)
    none = {"share_surface": 0.0, "share_view": 0.0, "share_patch": 0.0}
    low, high = (error_correlations(collect(MemoryTwin(replace(memory, **(none | {share: value})), CLASSES), [train], 24, 16), neutral)[statistic] for value in (0.0, 0.9))
    assert high > low + 0.15


def test_the_match_sees_a_difference(fitted):
    """A twin with other answers does not pass for the model."""
    source, train, _, memory = fitted
    real = collect(source, [train], 24, 16, 7)
    other = collect(Twin(replace(preset("hard", CLASSES), patches=16), CLASSES), [train], 24, 16, 7)
    neutral = torch.from_numpy(memory.neutral)
    same = match_report(real, real, neutral, 300)
    assert same["total_variation_macro"] == 0 and match_report(real, other, neutral, 300)["total_variation_macro"] > 0.15


def test_a_memory_survives_a_file(fitted, tmp_path):
    memory = fitted[3]
    memory.save(tmp_path / "twin.safetensors")
    again = Memory.load(tmp_path / "twin.safetensors")
    assert np.array_equal(again.answer, memory.answer) and again.match == memory.match and again.origin == memory.origin
    twin = Twin.named(tmp_path / "twin.safetensors", CLASSES)
    assert isinstance(twin, MemoryTwin) and twin.name.startswith("twin (fitted to")


@pytest.mark.parametrize(
    "make",
    [
        lambda p: preset("harder", CLASSES),
        lambda p: Memory.load(p / "none.safetensors"),
        lambda p: (p / "bad.safetensors").write_text("{") and Memory.load(p / "bad.safetensors"),
        lambda p: Twin.named("shipped_nowhere", CLASSES),
        lambda p: replace(preset("easy", CLASSES), share_view=0.9, share_patch=0.5),
        lambda p: replace(preset("easy", CLASSES), neutral=np.full(29, math.nan)),
        lambda p: Twin(replace(preset("easy", CLASSES), classes=tuple(reversed(CLASSES.names))), CLASSES),
        lambda p: small_memory(np.zeros((4, 28)), [0] * 4, [255] * 4),
        lambda p: small_memory(np.zeros((4, 29)), [0] * 4, [255] * 4, share_view=0.9, share_patch=0.5),
        lambda p: replace(small_memory(np.zeros((4, 29)), [0] * 4, [255] * 4), count=np.array([5], np.int32)),
        lambda p: MemoryTwin(replace(small_memory(np.zeros((4, 29)), [0] * 4, [255] * 4), classes=tuple(reversed(CLASSES.names))), CLASSES),
        lambda p: fit(Oracle(CLASSES), collect(Oracle(CLASSES), [Simulator([tiny_scene(0)], CAMERA)], 4, 4)),
    ],
)
def test_bad_input_is_one_line(make, tmp_path):
    with pytest.raises(UserError) as error:
        make(tmp_path)
    assert "\n" not in str(error.value)
