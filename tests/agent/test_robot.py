"""The agent on a stream equals the agent in the environment, and refuses what is no observation."""

import numpy as np
import pytest
import torch
from worlds import CAMERA, world

from flaneur.agent.network import NetworkConfig, PolicyNetwork
from flaneur.agent.robot import MappingAgent
from flaneur.errors import UserError
from flaneur.sim import Simulator


class FromLabels:
    """Perfect evidence that hides the class id in the first colour channel, as a robot's own model would bring it."""

    outputs, logit_scale, class_mean, name = ("rgb",), 100.0, None, "painted"

    def __init__(self, classes) -> None:
        self.classes = classes

    def similarity(self, view):
        label = view.frame.rgb[..., 0].long().clamp(max=len(self.classes) - 1)
        return torch.nn.functional.one_hot(label, len(self.classes)).movedim(-1, 1).float()


@pytest.fixture
def agent() -> tuple[MappingAgent, Simulator]:
    scenes, _ = world()
    torch.manual_seed(0)
    network = PolicyNetwork(NetworkConfig(classes=len(scenes[0].classes), history=6, widths=(8, 8, 16), latent=32, grid=8), 16, 16)
    return MappingAgent(network, FromLabels(scenes[0].classes), CAMERA), Simulator(scenes, CAMERA, "cpu")


def stream(sim: Simulator, n: int = 5):
    pose = sim.start_poses(0, 1)
    for _ in range(n):
        pose[0, 5] += 0.9
        frame = sim.render(pose, torch.zeros(1, dtype=torch.int32), ("depth", "label"))
        rgb = np.repeat(frame.label[0].numpy()[..., None], 3, 2)
        yield rgb, frame.depth[0].numpy(), pose[0].numpy().copy()


def test_a_stream_becomes_a_map_and_goals(agent) -> None:
    robot, sim = agent
    for rgb, depth, pose in stream(sim):
        goal = robot.observe(rgb, depth, pose)
        assert np.isfinite(goal.position).all() and goal.beta.shape == (4, 8, 8) and goal.beta.min() >= 0.2 and goal.beta.max() <= 1.8
        assert ((goal.position[:2] > 0) & (goal.position[:2] < 200)).all()
    assert robot.steps == 5 and (robot.labels != 255).sum() > 100
    seen = robot.labels[robot.labels != 255]
    assert set(np.unique(seen)) <= set(range(len(robot.source.classes) - 1))


def test_what_is_no_observation_is_refused(agent) -> None:
    robot, sim = agent
    rgb, depth, pose = next(stream(sim, 1))
    with pytest.raises(UserError, match="six finite numbers"):
        robot.observe(rgb, depth, pose[:5])
    with pytest.raises(UserError, match="must both be"):
        robot.observe(rgb[:10], depth, pose)
    depth[:] = np.nan
    robot.observe(rgb, depth, pose)
    assert (robot.labels == 255).all()
