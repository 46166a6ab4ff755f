from __future__ import annotations

import pytest
import torch
from worlds import make_env, tiny_training

from flaneur.agent.checkpoint import load_agent
from flaneur.agent.gleam import GleamNetwork
from flaneur.agent.network import NetworkConfig
from flaneur.agent.policy import decide, observe
from flaneur.agent.ppo import PpoConfig, Updater
from flaneur.agent.rollout import Collector
from flaneur.agent.training import Trainer
from flaneur.errors import UserError


@pytest.fixture
def env():
    env = make_env(2)
    env.reset([0, 0], [0, 1])
    return env


def network(env) -> GleamNetwork:
    torch.manual_seed(0)
    return GleamNetwork(NetworkConfig(classes=len(env.classes), history=env.config.history, calibration=False))


def test_a_map_of_144_tokens_and_a_goal_without_beta(env):
    net = network(env)
    views = observe(env.observation(), net)
    assert net.map_tokens(views.coarse, views.poses).shape == (2, 144, 64)
    decision = decide(net, views, torch.Generator().manual_seed(0))
    assert decision.goal.shape == (2, 5) and decision.beta is None and decision.values.shape == (2, 3)
    assert torch.isfinite(decision.goal).all() and sum(p.numel() for p in net.parameters()) < 400_000


def test_the_egocentric_map_has_the_agent_in_the_middle_and_one_state_per_cell(env):
    net = network(env)
    views = observe(env.observation(), net)
    net_input = net.egocentric(views.coarse, views.poses)
    state = net_input[:, -4:-1].int() // 255
    assert net_input.shape == (2, 2 * len(env.classes) + 4, 96, 96)
    inside = state.sum(1)
    assert set(inside.unique().tolist()) == {0, 1} and (inside.sum((1, 2)) == 48 * 48).all()
    for b in range(2):
        x, y = (views.poses[b, -1, :2] / 200 * 48).long().tolist()
        assert inside[b, 48 - y : 96 - y, 48 - x : 96 - x].all()


def test_our_trainer_updates_every_parameter(env):
    net, ppo = network(env), PpoConfig(mi=False, po=False, minibatch=4, epochs=1)
    before = {k: v.clone() for k, v in net.named_parameters()}
    batch = Collector(env, net, ppo, 10.0, torch.Generator().manual_seed(0)).collect(2)
    Updater(net, ppo).update(batch, torch.Generator().manual_seed(0))
    still = [k for k, v in net.named_parameters() if torch.equal(before[k], v)]
    assert not still, still


def test_calibration_is_refused(env):
    with pytest.raises(UserError, match="calibration"):
        GleamNetwork(NetworkConfig(classes=29))


def test_a_run_with_gleams_network_and_a_fixed_scaling(tmp_path) -> None:
    plain = PpoConfig(mv=False, po=False, mi=False, epochs=1)
    config = tiny_training(network="gleam", lc=False, ppo=plain, scaling=0.6, steps=16, num_envs=2, rollout=8)
    agent, about = load_agent(Trainer(config, make_env(), None, tmp_path, {}).run())
    assert isinstance(agent, GleamNetwork) and about["network"]["scaling"] == 0.6
    env = make_env()
    env.reset()
    decision = decide(agent, observe(env.observation(), agent))
    assert decision.beta is not None and decision.beta.unique().tolist() == pytest.approx([0.6])
    with pytest.raises(UserError):
        tiny_training(network="gleam")
    with pytest.raises(UserError):
        tiny_training(scaling=0.6)
