"""Gymnasium's face of the environment: a vector environment on torch tensors, and one environment with NumPy.

    import gymnasium
    import flaneur.env.gym  # registers
    env = gymnasium.make("flaneur/City-v0", scene="path/to/scene")

An action is a dict: `goal` [5] = x, y, z metres, yaw, pitch radians, and `beta` [K, h, w]; a bare goal means beta = 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from torch import Tensor

from flaneur.city.scene import Scene
from flaneur.classes import ClassList
from flaneur.env.config import EnvConfig
from flaneur.env.semantic import SemanticEnv
from flaneur.mapping import calibration_index
from flaneur.perception import EvidenceSource, Oracle, Twin
from flaneur.scoring import CPU_LATTICE, Lattice, load_truth

CALIBRATION_GRID = 16  # entries of beta along each side, by default
BETA_RANGE = (0.0, 2.0)


def observation_space(config: EnvConfig, classes: ClassList) -> spaces.Dict:
    n, c = config.grid.cells, len(classes)
    unit = lambda *shape: spaces.Box(0.0, 1.0, shape, np.float32)  # noqa: E731
    return spaces.Dict({
        "map": unit(c, n, n), "observation_map": unit(c, n, n), "layers": unit(3, n, n),
        "poses": spaces.Box(-np.inf, np.inf, (config.history, 6), np.float32), "time": unit(),
    })  # fmt: skip


def action_space(config: EnvConfig, classes: ClassList, calibration_grid: int = CALIBRATION_GRID) -> spaces.Dict:
    channels = int(calibration_index(classes, config.map.calibrate).max()) + 1
    size, (low, high) = config.grid.size, config.flight
    goal_low = np.array([0, 0, low, -np.pi, min(np.radians(config.pitches))], np.float32)
    goal_high = np.array([size, size, high, np.pi, max(np.radians(config.pitches))], np.float32)
    return spaces.Dict({"goal": spaces.Box(goal_low, goal_high, dtype=np.float32), "beta": spaces.Box(*BETA_RANGE, (channels, calibration_grid, calibration_grid), np.float32)})


class CityVectorEnv(VectorEnv):
    """Observations, rewards [B, 3] and flags are torch tensors on the environment's device; SAME_STEP autoreset."""

    metadata: ClassVar[dict[str, Any]] = {"autoreset_mode": AutoresetMode.SAME_STEP}

    def __init__(self, env: SemanticEnv) -> None:
        self.env, self.num_envs = env, env.num_envs
        self.single_observation_space = observation_space(env.config, env.classes)
        self.single_action_space = action_space(env.config, env.classes)
        batch = gymnasium.vector.utils.batch_space
        self.observation_space, self.action_space = batch(self.single_observation_space, self.num_envs), batch(self.single_action_space, self.num_envs)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[str, Tensor], dict[str, Any]]:  # type: ignore[override]
        if seed is not None:
            self.env.seed(seed)
        options = options or {}
        return self.env.reset(options.get("scenes"), options.get("starts"), stagger=bool(options.get("stagger")))

    def step(self, actions: Any) -> tuple[dict[str, Tensor], Tensor, Tensor, Tensor, dict[str, Any]]:  # type: ignore[override]
        goal, beta = (actions["goal"], actions.get("beta")) if isinstance(actions, dict) else (actions, None)
        as_tensor = lambda x: None if x is None else torch.as_tensor(x, dtype=torch.float32, device=self.env.device)  # noqa: E731
        return self.env.step(as_tensor(goal), as_tensor(beta))  # type: ignore[arg-type]


class CityEnv(gymnasium.Env):
    """One environment with NumPy and the mean of the group rewards; the groups' own are in info["group_reward"]."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"]}

    def __init__(
        self,
        scene: str | Path | Scene | Sequence[str | Path | Scene],
        evidence: str | EvidenceSource = "hard",  # `oracle`, a twin preset or file, or a source
        config: EnvConfig | None = None,
        lattice: Lattice | None = None,  # poses that decide what is scored; the coarse one by default
        device: str = "cpu",
        render_mode: str | None = None,
    ) -> None:
        config = replace(config or EnvConfig(), num_envs=1)
        given = [scene] if isinstance(scene, str | Path | Scene) else list(scene)
        scenes = [s if isinstance(s, Scene) else Scene.load(Path(s)) for s in given]
        folders = [None if isinstance(s, Scene) else Path(s) for s in given]
        truths = [load_truth(f, s, config.camera, config.grid, lattice or CPU_LATTICE, device) for f, s in zip(folders, scenes, strict=True)]
        classes = scenes[0].classes
        source: Any = evidence
        if isinstance(evidence, str):
            source = Oracle(classes) if evidence == "oracle" else Twin.named(evidence, classes, device)
        self.env = SemanticEnv(scenes, truths, source, config, device)
        self.observation_space, self.action_space = observation_space(config, classes), action_space(config, classes)
        self.render_mode = render_mode

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self.env.seed(seed)
        options = options or {}
        pick = lambda name: [int(options[name])] if name in options else None  # noqa: E731
        observation, info = self.env.reset(pick("scene"), pick("start"))
        return _numpy(observation), _numpy(info)

    def step(self, action: Any) -> tuple[dict[str, np.ndarray], float, bool, bool, dict[str, Any]]:
        goal, beta = (action["goal"], action.get("beta")) if isinstance(action, dict) else (action, None)
        as_batch = lambda x: None if x is None else torch.as_tensor(np.asarray(x, np.float32))[None].to(self.env.device)  # noqa: E731
        observation, reward, terminated, truncated, info = self.env.step(as_batch(goal), as_batch(beta))  # type: ignore[arg-type]
        ended = bool(terminated[0])
        # A single environment is reset by its user: the last observation is the episode's own.
        observation = info.pop("final_obs") if ended else observation
        out = _numpy(info)
        out["group_reward"] = reward[0].cpu().numpy()
        return _numpy(observation), float(reward.mean()), ended, bool(truncated[0]), out

    def render(self) -> np.ndarray | None:
        """The map in the classes' colours, north up; white where unexplored."""
        if self.render_mode != "rgb_array":
            return None
        colors = np.full((256, 3), 255, np.uint8)
        colors[: len(self.env.classes)] = self.env.classes.colors
        return colors[self.env.map.labels[0].cpu().numpy()][::-1].copy()


def _numpy(x: Any) -> Any:
    """Batches of one without their first axis, as NumPy. A pose that was not yet is zero: NaN lies in no space."""
    if isinstance(x, Tensor):
        return np.nan_to_num(x[0].float().cpu().numpy()) if x.is_floating_point() else x[0].cpu().numpy()
    if isinstance(x, dict):
        return {k: _numpy(v) for k, v in x.items()}
    return x


def register() -> None:
    """Make `flaneur/City-v0` known to Gymnasium; also the package's `gymnasium.envs` entry point."""
    if "flaneur/City-v0" not in gymnasium.registry:
        gymnasium.register("flaneur/City-v0", entry_point="flaneur.env.gym:CityEnv", disable_env_checker=True)


register()
