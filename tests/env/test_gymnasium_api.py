from __future__ import annotations

import subprocess
import sys

import gymnasium
import numpy as np
import torch
from city_task import CAMERA, LATTICE, scene_and_truth, small_env

import flaneur.env.gym
from flaneur.env import EnvConfig, SensorConfig, SensorEnv
from flaneur.env.gym import CityVectorEnv


def test_core_does_not_import_gymnasium():
    code = "import sys, flaneur.env, flaneur.planners; assert 'gymnasium' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_single_environment_through_gymnasium(tmp_path):
    scene, _ = scene_and_truth(0)
    scene.save(tmp_path / "city")
    config = EnvConfig(camera=CAMERA, episode_length=3)
    env = gymnasium.make("flaneur/City-v0", scene=tmp_path / "city", evidence="oracle", config=config, lattice=LATTICE, render_mode="rgb_array")
    observation, _ = env.reset(seed=1, options={"start": 1})
    assert env.observation_space.contains(observation)
    env.action_space.seed(0)
    for t in range(3):
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
        assert env.observation_space.contains(observation) and isinstance(reward, float) and info["group_reward"].shape == (3,)
        assert terminated == (t == 2) and not truncated
    assert observation["time"] == 1 and observation["map"].any()
    assert env.render().shape == (256, 256, 3)
    assert (tmp_path / "city" / "truth.npz").exists()
    again = gymnasium.make("flaneur/City-v0", scene=tmp_path / "city", evidence="oracle", config=config, lattice=LATTICE)
    first, _ = again.reset(seed=1, options={"start": 1})
    second, _ = again.reset(seed=1, options={"start": 1})
    np.testing.assert_array_equal(first["observation_map"], second["observation_map"])


def test_vector_environment():
    env = CityVectorEnv(small_env(num_envs=2, episode_length=2))
    assert flaneur.env.gym.CityVectorEnv.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.SAME_STEP
    env.reset(seed=0)
    env.action_space.seed(0)
    for t in range(3):
        observation, reward, terminated, _, info = env.step(env.action_space.sample())
        assert isinstance(reward, torch.Tensor) and reward.shape == (2, 3)
        assert terminated.all() == (t == 1) and ("final_obs" in info) == (t == 1)
    assert observation["map"].shape == env.observation_space["map"].shape


def test_raw_sensors():
    scene, _ = scene_and_truth(0)
    env = SensorEnv([scene], SensorConfig(num_envs=2, camera=CAMERA, episode_length=2, outputs=("depth", "label")))
    observation, _ = env.reset()
    assert set(observation) == {"depth", "label", "pose"} and observation["depth"].shape == (2, 64, 64)
    targets = env.poses.clone()
    targets[:, 2] += 5
    _, reward, terminated, _, info = env.step(targets)
    assert not reward.any() and not terminated.any() and info["travelled"].min() > 1
    observation, _, terminated, _, info = env.step(targets)
    assert terminated.all() and info["final_obs"]["depth"].shape == (2, 64, 64)
    assert not torch.equal(observation["pose"], info["final_obs"]["pose"])
