"""A trained agent on a robot: colour, depth and pose in, map and next goal out.

The five lines that count are marked; the robot here is a camera in a simulated city.

python examples/load_agent.py --agent runs/a/best.safetensors --scene out/town --evidence lens
"""

from pathlib import Path

import numpy as np
import torch
import tyro

from flaneur.agent.robot import MappingAgent
from flaneur.city.scene import Scene
from flaneur.geometry import Camera
from flaneur.sim import Simulator


class Robot:
    """A stand-in for yours: takes pictures where it is, and flies where it is told to."""

    def __init__(self, scene: Scene, camera: Camera) -> None:
        self.sim = Simulator([scene], camera)
        self.pose = self.sim.start_poses(0, 1)  # [1, 6] x, y, z metres, roll, pitch, yaw radians

    def look(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        frame = self.sim.render(self.pose, outputs=("rgb", "depth"))
        assert frame.rgb is not None and frame.depth is not None
        return frame.rgb[0].numpy(), frame.depth[0].numpy(), self.pose[0].numpy()

    def fly_to(self, position: np.ndarray, yaw: float, pitch: float) -> None:
        self.pose = self.sim.move(self.pose, torch.tensor([[*position, 0.0, pitch, yaw]]), max_step=8.0).poses


def main(agent: Path, scene: Path, evidence: str = "lens", steps: int = 20, image: int = 128) -> None:
    camera = Camera.from_fov(image, image, 90.0, 150.0)
    robot = Robot(Scene.load(scene), camera)

    mapper = MappingAgent.load(agent, evidence, camera)  # 1
    for _ in range(steps):
        rgb, depth, pose = robot.look()  # 2  [H, W, 3] u8, [H, W] metres, [6]
        goal = mapper.observe(rgb, depth, pose)  # 3
        robot.fly_to(goal.position, goal.yaw, goal.pitch)  # 4
    labels = mapper.labels  # 5  [256, 256] class ids, 255 where nothing was seen

    seen = labels[labels != 255]
    print(f"{len(seen) / labels.size:.0%} of the map seen after {steps} observations; next goal {np.round(goal.position, 1).tolist()}")
    for c in np.bincount(seen).argsort()[::-1][:5]:
        print(f"{mapper.source.classes[int(c)].name}: {(seen == c).sum()} cells")


if __name__ == "__main__":
    tyro.cli(main)
