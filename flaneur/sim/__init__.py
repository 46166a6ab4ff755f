"""Scene to RGB, depth, instance and class images, in batch; motion and free poses against the same triangles."""

from flaneur.sim.cameras import Distortion, rig_poses
from flaneur.sim.frame import Frame
from flaneur.sim.simulator import Simulator

__all__ = ["Distortion", "Frame", "Simulator", "rig_poses"]
