from __future__ import annotations

import math

import pytest
import torch
from city_task import CAMERA, scene_and_truth, small_env
from reference_tally import reward_score

from flaneur.env import EnvConfig, frontier, planar_layers
from flaneur.errors import UserError
from flaneur.geometry import Grid, camera_to_world
from flaneur.mapping import SemanticMap
from flaneur.perception import Oracle, Twin, make_view
from flaneur.scoring import Target, group_table


def goals(env, z=20.0):
    """Fly to the middle, turning."""
    at = torch.tensor([100.0, 100.0, z, 0.0, -0.5])
    g = at.repeat(env.num_envs, 1)
    g[:, 3] = env.poses[:, 5] + 0.7
    return g


@pytest.mark.parametrize("reward", ["iou", "ccr", "balanced"])
def test_step_fuses_the_pending_observation_then_pays_its_gain(reward):
    """A second map, fed by hand in METHOD's order, earns the same rewards."""
    env = small_env(reward=reward)
    observation, _ = env.reset([0], [0])
    scene, _ = scene_and_truth(0)
    other = SemanticMap(scene.classes, pixels=64 * 64, logit_scale=100.0)
    table, before = group_table(scene.classes), torch.zeros(1, 3, dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    assert not observation["map"].any() and observation["observation_map"].any()
    for _ in range(6):
        poses = env.poses.clone()
        frame = env.sim.render(poses, outputs=("depth", "label"))
        other.accumulate(frame.depth, Oracle(scene.classes).similarity(make_view(frame, poses, CAMERA)), camera_to_world(poses), CAMERA)
        torch.testing.assert_close(other.observation_map, observation["observation_map"])
        beta = torch.rand(1, 4, 16, 16, generator=generator) * 1.6 + 0.2
        other.fuse(beta)
        observation, got, _, _, _ = env.step(goals(env), beta)
        torch.testing.assert_close(observation["map"], other.probabilities)
        target = Target(env.target.labels, env.target.scored)
        now = reward_score(other.labels, target, table, reward)
        torch.testing.assert_close(got, (now - before).float())
        before = now


def test_an_episodes_balanced_rewards_add_up_to_what_a_fitted_calibration_is_judged_by():
    from flaneur.evaluation.calibration_fit import earned

    env = small_env(num_envs=2, seeds=(0, 1), episode_length=6, source=Twin.named("easy", scene_and_truth(0)[0].classes))
    env.reset([0, 1], [0, 0], [1, 2])
    total, info = torch.zeros(2, 3), {}
    for _ in range(6):
        _, reward, _, _, info = env.step(goals(env), torch.tensor([1.8, 1.8, 1.8, 0.2])[None, :, None, None].expand(2, -1, 1, 1))
        total += reward
    scores = info["final_scores"]
    assert scores["background_wrong"].max() > 0.01  # there is something to lose
    for e in range(2):
        row = {k: float(scores[k][e]) for k in ("ocr", "strict_miou", "background_wrong")}
        assert earned(row, "balanced") == pytest.approx(float(total[e].mean()), abs=1e-5)


def test_rewards_add_up_to_the_final_score_and_the_episode_ends_on_time():
    env = small_env(num_envs=2, episode_length=7, reward="ccr")
    env.reset([0, 0], [0, 1])
    total, ends = torch.zeros(2, 3), []
    for t in range(14):
        first = t < 7
        observation, reward, terminated, truncated, info = env.step(goals(env))
        assert not truncated.any()
        if first:
            total += reward
        if terminated.any():
            ends.append(t)
            assert terminated.all() and info["final_ids"] == [0, 1]
            if first:
                torch.testing.assert_close(total.double(), info["final_scores"]["ccr"], atol=1e-5, rtol=0)
            assert (info["final_obs"]["time"] == 1).all() and info["final_obs"]["map"].any()
            # The next episode has begun in the same step.
            assert not observation["map"].any() and (observation["time"] == 0).all() and observation["observation_map"].any()
            assert torch.isnan(observation["poses"][:, :-1]).all()
    assert ends == [6, 13]


def test_staggered_starts_end_one_after_the_other():
    env = small_env(num_envs=3, episode_length=6)
    env.reset([0] * 3, [0, 1, 2], stagger=True)
    ended = [env.step(goals(env))[2].nonzero()[:, 0].tolist() for _ in range(8)]
    assert ended == [[], [2], [], [1], [], [0], [], [2]]


def test_environments_of_different_scenes_do_not_mix():
    together = small_env(num_envs=2, seeds=(0, 1))
    together.reset([0, 1], [1, 2])
    alone = small_env(num_envs=1, seeds=(0, 1))
    alone.reset([1], [2])
    for _ in range(4):
        a, _, _, _, _ = together.step(goals(together))
        b, _, _, _, _ = alone.step(goals(alone))
    assert torch.equal(a["map"][1], b["map"][0]) and not torch.equal(a["map"][0], a["map"][1])
    assert torch.equal(together.target.labels[1], alone.target.labels[0])


def test_the_same_seed_gives_the_same_episode():
    runs = []
    for _ in range(2):
        env = small_env(source=Twin.named("hard", scene_and_truth(0)[0].classes), seed=5)
        env.reset()
        for _ in range(5):
            observation, reward, *_ = env.step(goals(env))
        runs.append((observation["map"].clone(), reward, env.poses))
    for a, b in zip(*runs, strict=True):
        assert torch.equal(a, b)


def test_goals_become_legal_poses():
    env = small_env()
    env.reset([0], [0])
    start = env.poses.clone()
    env.step(torch.tensor([[500.0, -30.0, 300.0, 1.0, -0.9]]))
    pose = env.poses[0]
    assert pose[3] == 0 and pose[4] == pytest.approx(math.radians(-60)) and pose[5] == 1.0
    assert 0 < (pose[:3] - start[0, :3]).norm() <= 8.001
    before = env.poses.clone()
    env.step(torch.full((1, 5), math.nan))
    torch.testing.assert_close(env.poses[:, :3], before[:, :3])


def test_flights_never_touch_matter_and_reach_their_goals():
    env = small_env(num_envs=4, seeds=(0, 1))
    env.reset([0, 0, 1, 1], [0, 1, 0, 1])
    generator = torch.Generator().manual_seed(3)
    goal = torch.rand(4, 5, generator=generator) * torch.tensor([200.0, 200.0, 70.0, 6.0, 0.0]) + torch.tensor([0.0, 0.0, 2.0, 0.0, -0.5])
    arrivals = 0
    for _ in range(60):
        *_, info = env.step(goal)
        assert env.sim.clear(env.poses[:, :3], 0.4, env.map.scene_index).all()
        done = info["arrived"] | info["blocked"]
        arrivals += int(info["arrived"].sum())
        fresh = torch.rand(4, 5, generator=generator) * torch.tensor([200.0, 200.0, 70.0, 6.0, 0.0]) + torch.tensor([0.0, 0.0, 2.0, 0.0, -0.5])
        goal = torch.where(done[:, None], fresh, goal)
    assert arrivals >= 8


def test_observation_is_what_the_docstring_says():
    env = small_env(num_envs=2, history=5)
    observation, _ = env.reset([0, 0], [0, 1])
    c, n = len(env.classes), 256
    assert {k: tuple(v.shape) for k, v in observation.items()} == {"map": (2, c, n, n), "observation_map": (2, c, n, n), "layers": (2, 3, n, n), "poses": (2, 5, 6), "time": (2,)}
    assert (observation["layers"][:, 2].flatten(1).sum(1) == 1).all()
    assert set(observation["layers"][:, 0].unique().tolist()) == {0.0, 0.5, 1.0}
    env.step(goals(env))
    assert not torch.isnan(env.history[:, -2:]).any() and torch.isnan(env.history[:, :-2]).all()


def test_frontier_by_hand():
    planar = torch.tensor([[[0, 1, 1], [1, 1, 2], [1, 1, 0]]], dtype=torch.uint8)
    assert frontier(planar)[0].tolist() == [[False, True, False], [True, False, False], [False, True, False]]


@pytest.mark.parametrize(
    "make",
    [
        lambda: small_env(num_envs=0),
        lambda: EnvConfig(reward="gain"),  # type: ignore[arg-type]
        lambda: EnvConfig(flight=(5.0, 2.0)),
        lambda: small_env().step(torch.zeros(1, 3)),
        lambda: small_env().reset([4], [0]),
        lambda: small_env().reset([0], [0, 1]),
    ],
)
def test_bad_input_is_one_line(make):
    with pytest.raises(UserError) as error:
        make()
    assert "\n" not in str(error.value)


def test_layers_are_those_of_the_plain_reading():
    generator = torch.Generator().manual_seed(0)
    planar = torch.randint(3, (2, 256, 256), generator=generator, dtype=torch.uint8)
    poses = torch.tensor([[10.0, 199.9, 5, 0, 0, 0], [-3.0, 100, 5, 0, 0, 0]])
    layers = planar_layers(planar, poses, Grid())
    torch.testing.assert_close(layers[:, 0], planar.float() / 2)
    assert torch.equal(layers[:, 1].bool(), frontier(planar))
    assert layers[:, 2].sum() == 2 and layers[0, 2, 255, 12] == 1 and layers[1, 2, 128, 0] == 1
