"""The agent on a robot's own stream: colour, depth and pose in, map and next goal out. No simulator, no scene."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from flaneur.agent.checkpoint import load_agent
from flaneur.agent.network import PolicyNetwork
from flaneur.agent.policy import decide, observe
from flaneur.classes import load_classes
from flaneur.env.layers import planar_layers
from flaneur.errors import UserError
from flaneur.geometry import Camera, Grid, camera_to_world
from flaneur.mapping import MapConfig, SemanticMap
from flaneur.perception.base import EvidenceSource, make_view
from flaneur.perception.sources import make_source
from flaneur.sim.frame import Frame


@dataclass(frozen=True)
class NextGoal:
    position: np.ndarray  # [3] x, y, z metres in the map's frame
    yaw: float  # radians
    pitch: float
    beta: np.ndarray | None  # [K, g, g] how far the last observation was trusted


class MappingAgent:
    """
    agent = MappingAgent.load("agent.safetensors", "lens", camera)
    for rgb, depth, pose in stream:          # [H, W, 3] u8, [H, W] metres, [6] x, y, z, roll, pitch, yaw
        goal = agent.observe(rgb, depth, pose)
        fly_to(goal.position, goal.yaw, goal.pitch)
    labels = agent.labels                    # [Hm, Wm] u8, 255 where nothing was seen
    """

    def __init__(self, network: PolicyNetwork, source: EvidenceSource, camera: Camera, horizon: int = 384, seed: int = 0, temperature: float = 1.0) -> None:
        config = network.config
        self.network, self.source, self.camera, self.horizon, self.temperature = network.eval(), source, camera, horizon, temperature
        self.device = next(network.parameters()).device
        self.grid = Grid(size=config.window)
        # A pixel without depth says nothing on a real sensor.
        self.map = SemanticMap(source.classes, self.grid, MapConfig(carve_misses=False), 1, camera.width * camera.height, source.logit_scale, source.class_mean, device=self.device)
        self.history = torch.full((1, config.history, 6), torch.nan, device=self.device)
        self._generator = torch.Generator(self.device).manual_seed(seed)
        self.steps = 0

    @classmethod
    def load(cls, agent: Path | str, evidence: str, camera: Camera, device: str = "cpu") -> MappingAgent:
        classes = load_classes()
        network, _ = load_agent(Path(agent), classes.names, device)
        return cls(network, make_source(evidence, classes, device), camera)

    @torch.no_grad()
    def observe(self, rgb: np.ndarray, depth: np.ndarray, pose: np.ndarray) -> NextGoal:
        """Take one observation into the map and say where to look next. The map's frame begins at the window's south-west corner."""
        pose6 = torch.as_tensor(np.asarray(pose, np.float32), device=self.device)[None]
        if pose6.shape != (1, 6) or not torch.isfinite(pose6).all():
            raise UserError("observe: 'pose' must be six finite numbers: x, y, z in metres, roll, pitch, yaw in radians")
        if depth.shape != (self.camera.height, self.camera.width) or rgb.shape[:2] != depth.shape:
            raise UserError(f"observe: rgb {rgb.shape} and depth {depth.shape} must both be {self.camera.height} x {self.camera.width}, as the camera")
        metres = np.nan_to_num(np.asarray(depth, np.float32), nan=0.0, posinf=0.0, neginf=0.0)
        frame = Frame(depth=torch.from_numpy(metres)[None].to(self.device), rgb=torch.from_numpy(np.ascontiguousarray(rgb))[None].to(self.device))
        similarity = self.source.similarity(make_view(frame, pose6, self.camera))
        assert frame.depth is not None
        self.map.accumulate(frame.depth, similarity, camera_to_world(pose6), self.camera)
        self.history = torch.cat([self.history[:, 1:], pose6[:, None]], 1)
        decision = decide(self.network, observe(self._observation(pose6), self.network), self._generator, self.temperature, "expected")
        self.map.fuse(decision.beta)
        self.steps += 1
        goal = decision.goal[0].cpu().numpy()
        return NextGoal(goal[:3], float(goal[3]), float(goal[4]), None if decision.beta is None else decision.beta[0].cpu().numpy())

    @property
    def labels(self) -> np.ndarray:
        return self.map.labels[0].cpu().numpy()

    @property
    def probabilities(self) -> np.ndarray:  # [C, Hm, Wm]
        return self.map.probabilities[0].cpu().numpy()

    def _observation(self, pose: Tensor) -> dict[str, Tensor]:
        time = torch.full((1,), min(self.steps / self.horizon, 1.0), device=self.device)
        layers = planar_layers(self.map.planar, pose, self.grid)
        return {"map": self.map.probabilities, "observation_map": self.map.observation_map, "layers": layers, "poses": self.history, "time": time}
