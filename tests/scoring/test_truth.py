from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from city_task import CAMERA, LATTICE, scene_and_truth

from flaneur.errors import UserError
from flaneur.geometry import camera_to_world
from flaneur.mapping import MapConfig, SemanticMap
from flaneur.mapping.projection import project_labels
from flaneur.perception import Oracle, make_view
from flaneur.scoring import Target, coverage, group_table, load_truth
from flaneur.scoring.truth import _settled, _vote
from flaneur.sim import Simulator


def test_oracle_evidence_and_a_sweep_agree_with_the_truth():
    scene, truth = scene_and_truth(0)
    sim, source = Simulator([scene], CAMERA), Oracle(scene.classes)
    poses = LATTICE.poses(sim)
    m = SemanticMap(scene.classes, config=MapConfig(), pixels=64 * 64, logit_scale=source.logit_scale)
    for pose in poses[torch.randperm(len(poses), generator=torch.Generator().manual_seed(0))].split(1):
        frame = sim.render(pose, outputs=("depth", "label"))
        m.accumulate(frame.depth, source.similarity(make_view(frame, pose, CAMERA)), camera_to_world(pose), CAMERA)
        m.fuse()
    target = Target(truth.planar()[None], (truth.scored() & (m.labels[0] != 255))[None])
    ccr = coverage(m.labels, target, group_table(scene.classes))
    assert (ccr >= 0.995).all(), ccr


def test_truth_shows_the_city():
    scene, truth = scene_and_truth(0)
    labels = truth.planar()
    for row in np.flatnonzero(scene.class_id == scene.classes.index["building"])[:5]:
        x, y = (scene.instances.position[row, :2] / (200 / 256)).astype(int)
        assert scene.classes[int(labels[y, x])].name == "building"
    assert truth.instances == (72, 99, 16) and max(truth.cellless) <= 3
    assert (labels != 255).float().mean() > 0.95 and truth.scored().any()


def test_votes_by_hand():
    # Two views of voxel 1: the first sees two pixels of class 0 and one of class 2, the second one of each.
    votes = torch.zeros(3 * 3)
    view, voxel, label = torch.tensor([[0, 0, 0, 1, 1], [1, 1, 1, 1, 1], [0, 0, 2, 0, 2]])
    _vote(votes, view, voxel, label, 3)
    assert votes.view(3, 3).tolist() == [[0, 0, 0], [1.5, 0, 0.5], [0, 0, 0]]


def test_projection_of_labels_by_hand():
    voxel = torch.full((4, 1, 4), 255, dtype=torch.uint8)
    voxel[:, 0, 0] = torch.tensor([7, 1, 2, 255])  # a tie: the topmost bin wins
    voxel[:, 0, 1] = torch.tensor([7, 1, 1, 2])  # the majority
    voxel[:, 0, 2] = torch.tensor([7, 255, 255, 255])  # ground alone
    labels, above = project_labels(voxel, 9)
    assert labels[0].tolist() == [2, 1, 7, 255] and above[0].tolist() == [True, True, False, False]
    assert project_labels(voxel, 9, of_log_odds=True)[0][0].tolist()[2:] == [7, 255]


def test_a_cell_is_settled_when_both_halves_of_the_views_agree():
    def column(*labels: int) -> torch.Tensor:
        return torch.tensor(labels, dtype=torch.uint8).view(-1, 1, 1)

    whole = column(7, 1, 2, 255)
    same, other, nothing, nearly = whole, column(7, 1, 1, 255), column(255, 255, 255, 255), column(7, 255, 2, 255)
    for halves, settled in (((same, same), True), ((same, other), False), ((same, nothing), True), ((nearly, same), True)):
        assert _settled(whole, list(halves), 9)[0].item() is settled


def test_cells_whose_label_depends_on_the_views_are_not_scored():
    _, truth = scene_and_truth(0)
    seen = replace(truth, settled=torch.ones_like(truth.settled)).scored()
    assert truth.scored().sum() < seen.sum() and not (truth.scored() & ~truth.settled[0]).any()


def test_the_label_projection_is_the_maps_own():
    """One-hot log-odds through the kernel and labels through the plain function."""
    rng = np.random.default_rng(0)
    m = SemanticMap(6, config=MapConfig(logit_scale=1.0), pixels=256)
    voxel = rng.integers(0, 6, (17, 256, 256)).astype(np.uint8)
    voxel[rng.random(voxel.shape) < 0.7] = 255
    at = torch.from_numpy(voxel)
    seen = at != 255
    m.log_odds[0] = torch.nn.functional.one_hot(at.long().clamp(max=5), 6).float() * 200 * seen[..., None]
    m.observed[0] = seen.to(torch.uint8)
    m.project_all()
    assert torch.equal(m.labels[0], project_labels(at, 6)[0])


def test_truth_is_kept_beside_the_scene_under_its_key(tmp_path):
    scene, truth = scene_and_truth(0)
    for _ in range(2):
        again = load_truth(tmp_path, scene, CAMERA, lattice=LATTICE)
        assert torch.equal(again.voxel, truth.voxel) and torch.equal(again.seen, truth.seen) and again.cellless == truth.cellless
    assert (tmp_path / "truth.npz").stat().st_size < 400_000
    (tmp_path / "truth.npz").write_bytes(b"no")
    with pytest.raises(UserError) as error:
        load_truth(tmp_path, scene, CAMERA, lattice=LATTICE)
    assert "\n" not in str(error.value)
