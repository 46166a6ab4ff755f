"""On CUDA a recorded step gives what the same kernels give one by one."""

from __future__ import annotations

import pytest
import torch
from city_task import scene_and_truth, small_env

from flaneur.agent.bench import bench_inference
from flaneur.agent.training import TrainConfig
from flaneur.perception import Twin

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")]


def flight(record: bool) -> list[torch.Tensor]:
    env = small_env(num_envs=3, seeds=(0, 1), source=Twin.named("hard", scene_and_truth(0, "cuda")[0].classes, "cuda"), device="cuda", record=record, episode_length=9, cell_credit=16)
    env.reset([0, 1, 1], [0, 1, 2], [5, 6, 7], stagger=True)
    generator = torch.Generator().manual_seed(1)
    seen = []
    for t in range(14):
        goal = (torch.rand(3, 5, generator=generator) * torch.tensor([200.0, 200.0, 60.0, 6.0, 0.0]) + torch.tensor([0.0, 0.0, 2.0, 0.0, -0.5])).cuda()
        beta = (0.2 + 1.6 * torch.rand(3, 4, 16, 16, generator=generator)).cuda() if t else None
        observation, reward, terminated, _, info = env.step(goal, beta)
        seen += [reward, terminated.float(), info["cell_gain"], info["travelled"], *(v.clone() for v in observation.values())]
    return seen


def test_recorded_steps_equal_eager_ones():
    for recorded, eager in zip(flight(True), flight(False), strict=True):
        assert torch.equal(torch.nan_to_num(recorded, -1.0), torch.nan_to_num(eager, -1.0))


def test_inference_runs():
    assert bench_inference(small_env(device="cuda"), TrainConfig(), 5)["map_and_policy_ms"] > 0
