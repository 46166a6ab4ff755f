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
from flaneur.perception import Oracle, Twin, TwinParameters, make_view
from flaneur.perception.patches import describe_patches
from flaneur.perception.twin_fit import collect, fit_and_report, paired_poses
from flaneur.perception.twin_parameters import preset
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


def test_fit_recovers_a_known_twin():
    """The twin fitted to a twin answers like it on cities neither fit saw."""
    truth = replace(preset("easy", CLASSES), share_view=0.5, share_patch=0.2, patches=16)
    source = Twin(truth, CLASSES)
    train, held_out = (Simulator([tiny_scene(s)], CAMERA) for s in (0, 1))
    fitted = fit_and_report(source, [train], [held_out], pairs=48, patches=16)
    assert fitted.match["total_variation_macro"] <= 0.10 and fitted.match["rows"] >= 5
    assert abs(fitted.match["repeated_error_correlation"] - fitted.match["repeated_error_correlation_twin"]) <= 0.1
    assert abs(fitted.match["accuracy"] - fitted.match["accuracy_twin"]) < 0.05
    assert fitted.share_view == pytest.approx(0.5, abs=0.2) and fitted.share_patch == pytest.approx(0.2, abs=0.15)


def test_oracle_can_be_imitated_too():
    sim = Simulator([tiny_scene(0)], CAMERA)
    samples = collect(Oracle(CLASSES), [sim], 8, 16)
    assert samples.similarity.shape == samples.mixture.shape and len(samples.pair.unique()) == 8


def test_parameters_survive_a_file(tmp_path):
    p = preset("hard", CLASSES)
    p.save(tmp_path / "twin.json")
    q = TwinParameters.load(tmp_path / "twin.json")
    np.testing.assert_allclose(q.response, p.response, atol=1e-6)
    assert q.gain_fill == p.gain_fill and q.origin == "invented"
    assert isinstance(Twin.named(tmp_path / "twin.json", CLASSES), Twin)


@pytest.mark.parametrize(
    "make",
    [
        lambda p: preset("harder", CLASSES),
        lambda p: TwinParameters.load(p / "none.json"),
        lambda p: (p / "bad.json").write_text("{") and TwinParameters.load(p / "bad.json"),
        lambda p: (p / "odd.json").write_text('{"colour": 1}') and TwinParameters.load(p / "odd.json"),
        lambda p: replace(preset("easy", CLASSES), share_view=0.9, share_patch=0.5),
        lambda p: replace(preset("easy", CLASSES), neutral=np.full(29, math.nan)),
        lambda p: Twin(replace(preset("easy", CLASSES), classes=tuple(reversed(CLASSES.names))), CLASSES),
    ],
)
def test_bad_input_is_one_line(make, tmp_path):
    with pytest.raises(UserError) as error:
        make(tmp_path)
    assert "\n" not in str(error.value)
