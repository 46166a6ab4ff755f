"""Lee et al., "Uncertainty Guided Policy for Active Robotic 3D Reconstruction using NeRF", 2022: the next best view by ray entropy.

The geometric uncertainty of a view is the mean entropy of where its rays end, with the occupancy grid in the place of
a radiance field. Semantics are fused on the way and play no part in the choice.
"""

# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false, reportOperatorIssue=false, reportCallIssue=false, reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false, reportAssignmentType=false, reportReturnType=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import warp as wp
from torch import Tensor

from flaneur.env import Context
from flaneur.planners.candidates import ClosedPlaces, draw_views, goals_of, turn_on_the_spot, views_of
from flaneur.planners.goals import HeldGoals
from flaneur.planners.rays import Volume, camera_rays, march, next_voxel, ray_direction, start_walk

wp.set_module_options({"enable_backward": False})  # nothing here is differentiated

SPENT = wp.constant(float(1.0e-5))  # transmittance below which nothing is left to say


@dataclass(frozen=True)
class UncertaintyConfig:
    candidates: int = 512  # views per choice
    columns: int = 32  # rays across a view
    rows: int = 24
    unknown: float = 0.5  # P(occupied) where nothing was seen; known free is 0, known occupied 1
    useful: float = 0.5  # a goal whose entropy fell below this share of what it was is given up
    patience: int = 40  # steps after which a goal is given up


@wp.kernel
def ray_entropy(
    position: wp.array3d(dtype=float),
    rotation: wp.array4d(dtype=float),
    rays: wp.array(dtype=wp.vec3),
    active: wp.array(dtype=wp.bool),
    volume: Volume,
    occupancy: wp.array2d(dtype=wp.uint8),  # [B, V]
    unknown: float,
    out: wp.array3d(dtype=float),  # [B, N, R] nats
):
    """H = -sum w log w - w_bg log w_bg with w = T a over the voxels of a ray, w_bg = 1 - sum w."""
    b, n, r = wp.tid()
    if not active[b]:
        return
    w = start_walk(wp.vec3(position[b, n, 0], position[b, n, 1], position[b, n, 2]), ray_direction(rotation, b, n, rays[r]), b, volume)
    through = float(1.0)
    entropy = float(0.0)
    while w.z >= 0 and through > SPENT:
        state = int(occupancy[b, (w.z * volume.cells + w.y) * volume.cells + w.x])
        if state != 1:
            weight = through
            if state == 0:
                weight = through * unknown
            entropy -= weight * wp.log(weight)
            through -= weight
        w = next_voxel(w, b, volume)
    if through > SPENT:
        entropy -= through * wp.log(through)
    out[b, n, r] = entropy


class Uncertainty:
    """The view of the highest mean ray entropy among reachable ones; greedy, held until reached, blocked or used up."""

    name = "uncertainty"

    def __init__(self, config: UncertaintyConfig | None = None, seed: int = 0) -> None:
        self.config = config or UncertaintyConfig()
        self._generator = torch.Generator().manual_seed(seed)
        self._held = HeldGoals(self.config.patience)
        self._closed = ClosedPlaces()
        self._promised: Tensor | None = None  # [B] entropy of the held goal's view when it was chosen

    def reset(self, env_ids: Sequence[int]) -> None:
        self._held.forget(env_ids)
        self._closed.forget(env_ids)

    def entropy(self, context: Context, views: Tensor, active: Tensor) -> Tensor:
        """[B, N] nats: mean ray entropy of views [B, N, 6]."""
        c = self.config
        rays = camera_rays(context.camera, c.columns, c.rows, views.device)
        return march(ray_entropy, context, views, rays, active, context.occupancy.flatten(1), c.unknown).mean(2)

    def plan(self, context: Context) -> tuple[Tensor, Tensor | None]:
        goal, _ = self._held.ready(context)
        self._closed.note(goal, context.blocked)
        open_ = self._held.open(context)
        if self._promised is not None:
            left = self.entropy(context, views_of(goal)[:, None], ~open_)[:, 0]
            open_ = open_ | (left < self.config.useful * self._promised)
        if open_.any():
            fresh, promised = self.choose(context, open_)
            self._promised = promised if self._promised is None else torch.where(open_, promised, self._promised)
        else:
            fresh = goal
        return self._held.take(context, fresh, open_), None

    def choose(self, context: Context, active: Tensor) -> tuple[Tensor, Tensor]:
        """New goals [B, 5] and what they promise [B] nats, for the environments `active` [B]."""
        views, some = draw_views(context, self.config.candidates, self._generator)
        entropy = self.entropy(context, views, active)
        entropy = torch.where(self._closed.near(views[..., :3]), -1.0, entropy)
        best, index = entropy.max(1)
        fresh = goals_of(views[torch.arange(len(views), device=views.device), index])
        found = some & (best > 0)
        return torch.where(found[:, None], fresh, turn_on_the_spot(context)), torch.where(found, best, 0.0)
