"""A city as a task of Isaac Lab (direct workflow): fly a camera, see objects at as many places as possible.

All environments fly in one city, which is not copied: a city of 10,000 objects is there once, and the cameras cannot
collide with each other. Written for Isaac Lab 2.3; importing this file needs a running Isaac Sim.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import gymnasium as gym
import isaaclab.sim as sim_utils
import torch
from city_layout import CITY, city_facts, prepare_city
from coverage import Coverage, axes, unproject
from isaaclab.envs import DirectRLEnv, DirectRLEnvCfg
from isaaclab.scene import InteractiveSceneCfg
from isaaclab.sensors import TiledCamera, TiledCameraCfg
from isaaclab.sim import SimulationCfg
from isaaclab.utils import configclass
from torch import Tensor

IMAGE, FOCAL, APERTURE, RANGE = 128, 18.0, 36.0, 150.0  # pixels; millimetres: 90 degrees; metres
DEPTH, CLASSES = "distance_to_image_plane", "semantic_segmentation"


@configclass
class CityTaskCfg(DirectRLEnvCfg):
    usd_path: str = ""  # made by: flaneur export CITY --usd --out FILE.usdc
    light: str = "day"  # day, dusk, night, overcast
    cell: float = 4.0  # metres; a place
    speed: float = 8.0  # metres a second
    turn: float = 1.0  # radians a second
    altitude: tuple[float, float] = (2.0, 60.0)
    clearance: float = 0.5  # metres to whatever is nearest in the image
    reward_per_cell: float = 0.01
    reward_crash: float = -1.0

    decimation = 5
    episode_length_s = 60.0
    action_space = 5  # forward, left, up, turn, tilt: each from -1 to 1
    observation_space = gym.spaces.Dict({"depth": gym.spaces.Box(0.0, RANGE, (IMAGE, IMAGE)), "object": gym.spaces.Box(0.0, 1.0, (IMAGE, IMAGE)), "pose": gym.spaces.Box(-math.inf, math.inf, (5,))})
    state_space = 0
    num_rerenders_on_reset = 1  # the first picture of an episode is its own
    sim: SimulationCfg = SimulationCfg(dt=1 / 50, render_interval=decimation)
    # No copies of anything but the cameras, and all in the city's frame.
    scene: InteractiveSceneCfg = InteractiveSceneCfg(num_envs=16, env_spacing=0.0, replicate_physics=False)
    camera: TiledCameraCfg = TiledCameraCfg(
        prim_path="/World/envs/env_.*/Camera",
        data_types=["rgb", DEPTH, CLASSES],
        spawn=sim_utils.PinholeCameraCfg(focal_length=FOCAL, horizontal_aperture=APERTURE, clipping_range=(0.05, RANGE)),
        width=IMAGE,
        height=IMAGE,
        depth_clipping_behavior="max",
        semantic_filter=["class"],  # every object also has the semantics "instance"
        colorize_semantic_segmentation=False,
    )


class CityTask(DirectRLEnv):
    cfg: CityTaskCfg

    def __init__(self, cfg: CityTaskCfg, render_mode: str | None = None, **kwargs) -> None:
        self.facts = city_facts(cfg.usd_path)
        super().__init__(cfg, render_mode, **kwargs)
        n = self.num_envs
        self.position, self.yaw, self.pitch = (torch.zeros(n, *shape, device=self.device) for shape in ((3,), (), ()))
        self.actions = torch.zeros(n, 5, device=self.device)
        self.coverage = Coverage(n, self.facts.size, cfg.cell, self.device)

    def _setup_scene(self) -> None:
        city = sim_utils.UsdFileCfg(usd_path=self.cfg.usd_path)
        city.func(CITY, city)
        self.object_classes = prepare_city(sim_utils.get_current_stage(), self.cfg.light)
        self.camera = TiledCamera(self.cfg.camera)
        self.scene.clone_environments(copy_from_source=False)
        self.scene.sensors["camera"] = self.camera

    def _pre_physics_step(self, actions: Tensor) -> None:
        self.actions = actions.clamp(-1.0, 1.0)
        forward, right, _ = axes(self.yaw, torch.zeros_like(self.pitch))  # moves are level, wherever it looks
        up = torch.tensor([0.0, 0.0, 1.0], device=self.device)
        move = self.actions[:, 0:1] * forward - self.actions[:, 1:2] * right + self.actions[:, 2:3] * up
        self.position += self.cfg.speed * self.step_dt * move
        self.position[:, :2].clamp_(0.0, self.facts.size)
        self.position[:, 2].clamp_(*self.cfg.altitude)
        self.yaw += self.cfg.turn * self.step_dt * self.actions[:, 3]
        self.pitch = (self.pitch + self.cfg.turn * self.step_dt * self.actions[:, 4]).clamp(-1.5, 1.0)
        self._place()

    def _apply_action(self) -> None:
        """A camera has no body: it was placed before the step."""

    def _place(self, env_ids: Tensor | None = None) -> None:
        """From eye and target, as the order of a quaternion's components differs between versions of Isaac Lab."""
        forward, _, _ = axes(self.yaw, self.pitch)
        chosen = slice(None) if env_ids is None else env_ids
        self.camera.set_world_poses_from_view(self.position[chosen], (self.position + forward)[chosen], env_ids)

    def _images(self) -> tuple[Tensor, Tensor]:
        """Planar depth [N, H, W] metres, and where an object is seen [N, H, W]."""
        labels = self.camera.data.info[CLASSES]["idToLabels"]
        of_objects = [int(k) for k, label in labels.items() if label.get("class") in self.object_classes]
        classes = self.camera.data.output[CLASSES][..., 0]
        return self.camera.data.output[DEPTH][..., 0], torch.isin(classes, torch.tensor(of_objects, device=self.device, dtype=classes.dtype))

    def _get_dones(self) -> tuple[Tensor, Tensor]:
        depth, _ = self._images()
        self.crashed = depth.flatten(1).amin(1) < self.cfg.clearance
        return self.crashed, self.episode_length_buf >= self.max_episode_length - 1

    def _get_rewards(self) -> Tensor:
        depth, objects = self._images()
        points = unproject(depth, self.position, self.yaw, self.pitch, APERTURE / 2 / FOCAL)
        new = self.coverage.add(points, objects & (depth < RANGE))
        return self.cfg.reward_per_cell * new + self.cfg.reward_crash * self.crashed

    def _get_observations(self) -> dict:
        depth, objects = self._images()
        pose = torch.cat([self.position / self.facts.size, self.yaw[:, None], self.pitch[:, None]], 1)
        return {"policy": {"depth": depth, "object": objects.float(), "pose": pose}}

    def _reset_idx(self, env_ids: Sequence[int] | None) -> None:
        ids = torch.arange(self.num_envs, device=self.device) if env_ids is None else torch.as_tensor(env_ids, device=self.device)
        super()._reset_idx(ids)
        # Above all roofs that are lower than the ceiling, towards the middle, looking down.
        self.position[ids, :2] = (0.2 + 0.6 * torch.rand(len(ids), 2, device=self.device)) * self.facts.size
        self.position[ids, 2] = self.cfg.altitude[1]
        self.yaw[ids] = 2 * math.pi * torch.rand(len(ids), device=self.device)
        self.pitch[ids] = -0.8
        self.coverage.reset(ids)
        self._place(ids)


gym.register(id="Flaneur-City-Direct-v0", entry_point=f"{__name__}:CityTask", disable_env_checker=True, kwargs={"env_cfg_entry_point": f"{__name__}:CityTaskCfg"})
