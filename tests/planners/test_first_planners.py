from __future__ import annotations

import dataclasses

import pytest
import torch
from city_task import small_env

from flaneur.planners import Ceiling, Lawnmower, NearestFrontier, RandomGoals


def fly(env, planner, steps: int):
    ocr = []
    for _ in range(steps):
        goal, beta = planner.plan(env.context())
        assert goal.shape == (env.num_envs, 5) and torch.isfinite(goal).all() and beta is None
        *_, info = env.step(goal)
        ocr.append(info["score"].mean(1))
    return torch.stack(ocr)


@pytest.mark.parametrize("make", [lambda env: RandomGoals(1), lambda env: Lawnmower(), lambda env: NearestFrontier(), lambda env: Ceiling(env, pool=512)])
def test_planners_map_more_and_more(make):
    env = small_env(num_envs=2, reward="ccr")
    env.reset([0, 0], [0, 1])
    planner = make(env)
    planner.reset([0, 1])
    ocr = fly(env, planner, 40)
    assert (ocr[-1] > 0.3).all() and (ocr[-1] > ocr[3]).all()


def test_the_ceiling_is_above_the_rules():
    scores = {}
    for make in (lambda env: Ceiling(env, pool=1024), lambda env: RandomGoals(1), lambda env: NearestFrontier()):
        env = small_env(reward="ccr")
        env.reset([0], [0])
        planner = make(env)
        scores[planner.name] = fly(env, planner, 60)[-1].item()
    assert max(scores, key=scores.get) == "ceiling"


@pytest.mark.parametrize("make", [lambda: RandomGoals(1), Lawnmower, NearestFrontier])
def test_rule_based_planners_depend_on_the_context_alone(make):
    """Two copies of the context give the same goals; one environment's history does not leak into another's."""
    env = small_env(num_envs=2)
    env.reset([0, 0], [0, 1])
    goals = []
    for _ in range(2):
        context = env.context()
        copy = dataclasses.replace(context, **{f.name: getattr(context, f.name).clone() for f in dataclasses.fields(context) if isinstance(getattr(context, f.name), torch.Tensor)})
        goals.append(make().plan(copy)[0])
    assert torch.equal(*goals)


def test_the_lawnmower_covers_the_window_at_both_altitudes():
    path = Lawnmower().waypoints(200.0)
    assert set(path[:, 2].tolist()) == {45.0, 12.0}
    assert path[:, :2].min() >= 5 and path[:, :2].max() <= 195


def test_the_nearest_frontier_tries_dropped_goals_again_when_no_other_is_left():
    env = small_env(episode_length=8)
    env.reset([0], [0])
    planner = NearestFrontier()
    fresh = planner.plan(env.context())[0].clone()
    planner._dropped[:] = True  # every frontier has turned out blocked
    planner.reset([])
    planner._held.forget([0])
    turning, _ = planner.plan(env.context())
    torch.testing.assert_close(turning[:, :3], env.poses[:, :3])  # nothing is left: on the spot
    planner._held.forget([0])
    again, _ = planner.plan(env.context())
    torch.testing.assert_close(again, fresh)
