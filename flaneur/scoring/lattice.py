"""The legal poses that decide what can be seen: a stated lattice over the flight volume."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from flaneur.geometry import Camera
from flaneur.sim import Simulator


@dataclass(frozen=True)
class Lattice:
    """Positions `spacing` apart in both directions at each altitude, all headings and pitches. Coarser on a CPU."""

    spacing: float = 4.0  # metres
    altitudes: tuple[float, ...] = (1.6, 4.0, 8.0, 14.0, 22.0, 35.0, 55.0, 80.0)  # metres
    headings: int = 8
    pitches: tuple[float, ...] = (0.0, -30.0, -60.0)  # degrees
    coarsen: int = 1  # render every n-th pixel; the pixel count that makes a cell scored shrinks with it
    clearance: float = 0.5  # metres to matter

    def camera(self, task: Camera) -> Camera:
        k = self.coarsen
        return Camera(task.width // k, task.height // k, task.fx / k, task.fy / k, task.cx / k, task.cy / k, task.max_range)

    def positions(self, sim: Simulator) -> Tensor:
        """Free positions [N, 3] of the simulator's first scene."""
        size = sim.scenes[0].size
        n = max(1, round(size / self.spacing))
        at = (torch.arange(n) + 0.5) * size / n
        z, y, x = torch.meshgrid(torch.tensor(self.altitudes), at, at, indexing="ij")
        position = torch.stack([x, y, z], -1).reshape(-1, 3).to(sim.device)
        return position[sim.clear(position, self.clearance)]

    def poses(self, sim: Simulator) -> Tensor:  # [N, 6]
        position = self.positions(sim)
        yaw = torch.arange(self.headings, device=sim.device) * (2 * math.pi / self.headings)
        pitch = torch.tensor([math.radians(p) for p in self.pitches], device=sim.device)
        turn = torch.cartesian_prod(pitch, yaw)  # [T, 2]
        n, t = len(position), len(turn)
        position, turn = position[:, None].expand(n, t, 3), turn[None].expand(n, t, 2)
        return torch.cat([position, torch.zeros_like(turn[..., :1]), turn], -1).reshape(-1, 6)


# A CPU renders some hundred small frames a second: 4 headings of 90 degrees and two pitches still cover every direction
# between straight down and 45 degrees up.
CPU_LATTICE = Lattice(spacing=14.0, altitudes=(1.6, 6.0, 18.0, 45.0, 80.0), headings=4, pitches=(0.0, -60.0), coarsen=2)
