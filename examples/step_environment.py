"""A batch of environments: goals and trust in, rewards per scale group out.

python examples/step_environment.py --scenes out/town
"""

import math
from pathlib import Path
from typing import Literal

import torch
import tyro

from flaneur.evaluation.setup import TaskConfig, load_world


def main(scenes: Path, steps: int = 40, num_envs: int = 2, image: int = 128, lattice: Literal["dense", "cpu", "smoke"] = "cpu") -> None:
    # What can be seen in a city is computed once and kept beside it as truth.npz.
    task = TaskConfig(image=image, episode_length=steps, lattice=lattice, evidence="twin:easy")
    env = load_world(scenes, task).env(num_envs)
    observation, _ = env.reset()
    for name, value in observation.items():
        print(f"{name:16s} {list(value.shape)}")

    generator = torch.Generator().manual_seed(0)
    size, channels = env.config.grid.size, env.map.channels
    for t in range(steps):
        if t % 8 == 0:  # a new place to fly to, every eight steps
            place = torch.rand(num_envs, 2, generator=generator) * size
            height = 5 + 25 * torch.rand(num_envs, 1, generator=generator)
            yaw = 2 * math.pi * torch.rand(num_envs, 1, generator=generator)
            goal = torch.cat([place, height, yaw, torch.full((num_envs, 1), math.radians(-30))], 1)  # x, y, z, yaw, pitch
        # beta [B, K, h, w]: how far the pending observation is trusted, here less for small objects than for the rest.
        beta = torch.ones(num_envs, channels, 16, 16)
        beta[:, 0] = 0.8
        observation, reward, _, _, info = env.step(goal.to(env.device), beta.to(env.device))
        if t % 8 == 7:
            print(f"step {t + 1:3d}: reward small/medium/large {[round(float(r), 4) for r in reward.mean(0)]}, score {[round(float(s), 3) for s in info['score'].mean(0)]}")
    for scene, ccr in zip(info["final_scenes"], info["final_scores"]["ccr"], strict=True):
        print(f"scene {scene}: CCR small/medium/large {[round(100 * float(c), 1) for c in ccr]} %")


if __name__ == "__main__":
    tyro.cli(main)
