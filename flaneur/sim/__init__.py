"""Scene to RGB, depth, instance and class images, in batch; motion and free poses against the same triangles."""

from flaneur.sim.cameras import Distortion, rig_poses
from flaneur.sim.frame import Frame, Motion
from flaneur.sim.noise import DepthNoise
from flaneur.sim.poses import pose_lattice
from flaneur.sim.simulator import Simulator

__all__ = ["DepthNoise", "Distortion", "Frame", "Motion", "Simulator", "pose_lattice", "rig_poses"]
