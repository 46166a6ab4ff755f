"""Chen et al., "Understanding while Exploring: Semantics-driven Active Mapping" (ActiveSGM), 2025.

A pool of views on a lattice, coarse first and fine when that is used up. A view's worth joins the way there, how much
of the unknown it sees, and how unsure the semantics of the surfaces in it are.
"""

# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false, reportOperatorIssue=false, reportCallIssue=false, reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false, reportAssignmentType=false, reportReturnType=false

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import warp as wp
from torch import Tensor

from flaneur.env import Context
from flaneur.planners.candidates import ClosedPlaces, free_places, goals_of, turn_on_the_spot, views_of, voxel_of
from flaneur.planners.goals import HeldGoals
from flaneur.planners.rays import Volume, camera_rays, launch, march, next_voxel, ray_direction, start_walk

wp.set_module_options({"enable_backward": False})  # nothing here is differentiated

WAITING, POOLED, GONE = 0, 1, 2
ENDS_UNKNOWN, ENDS_NOWHERE = -1.0, -2.0  # in the place of a ray's entropy


@dataclass(frozen=True)
class ActiveSGMConfig:
    spacing: float = 10.0  # metres of the lattice
    coarse_altitudes: tuple[float, ...] = (20.0,)  # metres above the ground
    fine_altitudes: tuple[float, ...] = (6.0, 20.0)
    coarse_directions: int = 5
    fine_directions: int = 15
    judged: int = 512  # views of the pool drawn for every choice, as many as the other rivals judge
    columns: int = 32  # rays across a view
    rows: int = 24
    top: int = 16  # most probable classes that the semantic entropy is over
    unseen: float = 0.005  # share of its rays that must end in the unknown for a view to stay in the pool
    visits: int = 3  # times a view is chosen before it leaves the pool
    patience: int = 40


@wp.kernel
def class_entropy(
    occupancy: wp.array2d(dtype=wp.uint8),  # [B, V]
    log_odds: wp.array3d(dtype=float),  # [B, V, C]
    active: wp.array(dtype=wp.bool),
    sky: int,
    top: int,
    out: wp.array2d(dtype=float),  # [B, V] nats
):
    """Shannon entropy of the `top` most probable classes of every occupied voxel, their probabilities summing to 1."""
    b, v = wp.tid()
    if not active[b] or occupancy[b, v] != wp.uint8(2):
        return
    classes = log_odds.shape[2]
    high = float(-1.0e30)
    for k in range(classes):
        if k != sky:
            high = wp.max(high, log_odds[b, v, k])
    total = float(0.0)
    weighted = float(0.0)
    for k in range(classes):
        if k != sky:
            a = log_odds[b, v, k]
            rank = int(0)
            for j in range(classes):
                if j != sky:
                    c = log_odds[b, v, j]
                    if c > a or (c == a and j < k):
                        rank += 1
            if rank < top:
                e = wp.exp(a - high)
                total += e
                weighted += e * (a - high)
    out[b, v] = wp.log(total) - weighted / total


@wp.kernel
def first_met(
    position: wp.array3d(dtype=float),
    rotation: wp.array4d(dtype=float),
    rays: wp.array(dtype=wp.vec3),
    active: wp.array(dtype=wp.bool),
    volume: Volume,
    occupancy: wp.array2d(dtype=wp.uint8),
    entropy: wp.array2d(dtype=float),
    out: wp.array3d(dtype=float),  # [B, N, R] entropy of the voxel hit, or how else the ray ends
):
    b, n, r = wp.tid()
    if not active[b]:
        return
    w = start_walk(wp.vec3(position[b, n, 0], position[b, n, 1], position[b, n, 2]), ray_direction(rotation, b, n, rays[r]), b, volume)
    end = float(ENDS_NOWHERE)
    going = bool(True)
    while going and w.z >= 0:
        v = (w.z * volume.cells + w.y) * volume.cells + w.x
        if occupancy[b, v] == wp.uint8(1):
            w = next_voxel(w, b, volume)
        else:
            going = bool(False)
            end = float(ENDS_UNKNOWN)
            if occupancy[b, v] == wp.uint8(2):
                end = entropy[b, v]
    out[b, n, r] = end


def fibonacci_directions(count: int, pitches: tuple[float, ...]) -> Tensor:
    """[count, 2] pitch, yaw in radians: a Fibonacci lattice over the band of the sphere between the legal pitches, each moved to the nearest legal one."""
    legal = torch.tensor([math.radians(p) for p in pitches])
    low, high = math.sin(float(legal.min())), math.sin(float(legal.max()))
    k = torch.arange(count)
    elevation = torch.asin(low + (k + 0.5) / count * (high - low))
    pitch = legal[(elevation[:, None] - legal).abs().argmin(1)]
    return torch.stack([pitch, torch.remainder(k * (math.pi * (3 - math.sqrt(5))), 2 * math.pi)], 1)


def utility(distance: Tensor, unseen: Tensor, entropy: Tensor, valid: Tensor) -> Tensor:
    """U = (1 - softmax(distance)) softmax(log N_unseen) softmax(H_sem) over the valid views of each row [B, N]; -1 elsewhere."""
    share = lambda x: torch.softmax(torch.where(valid, x, -torch.inf), 1)  # noqa: E731
    u = (1 - share(distance)) * share(unseen.clamp(min=1e-6).log()) * share(entropy)
    return torch.where(valid, u, -1.0)


class ActiveSGM:
    """Greedy over a pool of lattice views; a view leaves it when it has nothing unseen left or was visited enough."""

    name = "activesgm"

    def __init__(self, config: ActiveSGMConfig | None = None, seed: int = 0) -> None:
        self.config = config or ActiveSGMConfig()
        self._generator = torch.Generator().manual_seed(seed)
        self._held = HeldGoals(self.config.patience)
        self._closed = ClosedPlaces()
        self.state: Tensor | None = None  # [B, P] u8 of every lattice view
        self.visits: Tensor | None = None  # [B, P] u8
        self.fine: Tensor | None = None  # [B] bool: the fine stage has begun
        self._entropy: Tensor | None = None  # [B, V] f32 room for the voxels' entropies; old ones stay in it

    def reset(self, env_ids: Sequence[int]) -> None:
        self._held.forget(env_ids)
        self._closed.forget(env_ids)
        for memory in (self.state, self.visits, self.fine):
            if memory is not None:
                memory[list(env_ids)] = 0

    def lattice(self, context: Context) -> tuple[Tensor, Tensor]:
        """Views [B, P, 6] of both stages, and which belong to the fine one [P] bool."""
        c, size, device = self.config, context.grid.size, context.poses.device
        n = max(1, int(size / c.spacing))
        at = (torch.arange(n) + 0.5) * size / n
        rows, fine = [], []
        for stage, (altitudes, count) in enumerate(((c.coarse_altitudes, c.coarse_directions), (c.fine_altitudes, c.fine_directions))):
            directions = fibonacci_directions(count, context.pitches)
            place = torch.cartesian_prod(at, at, torch.tensor([min(max(a, context.flight[0]), context.flight[1]) for a in altitudes]))
            views = torch.zeros(len(place), count, 6)
            views[..., :3], views[..., 4:] = place[:, None], directions
            rows.append(views.flatten(0, 1))
            fine.append(torch.full((len(rows[-1]),), bool(stage)))
        views = torch.cat(rows).to(device).repeat(len(context.poses), 1, 1)
        cell = (views[0, :, :2] / context.grid.cell).long()
        views[..., 2] += context.ground[:, cell[:, 1], cell[:, 0]]
        views[..., 2].clamp_(*context.flight)
        return views, torch.cat(fine).to(device)

    def ends(self, context: Context, views: Tensor, active: Tensor) -> Tensor:
        """[B, N, R] of `first_met`, with the entropies as they were last computed."""
        c, occupancy = self.config, context.occupancy.flatten(1)
        rays = camera_rays(context.camera, c.columns, c.rows, views.device)
        return march(first_met, context, views, rays, active, occupancy, self._room(occupancy))

    def _room(self, occupancy: Tensor) -> Tensor:
        if self._entropy is None or self._entropy.shape != occupancy.shape:
            self._entropy = torch.zeros(occupancy.shape, device=occupancy.device)
        return self._entropy

    def look(self, context: Context, views: Tensor, active: Tensor) -> tuple[Tensor, Tensor]:
        """Share of the rays of views [B, N, 6] that end in the unknown [B, N], and mean entropy over voxels they hit [B, N]."""
        occupancy, sky = context.occupancy.flatten(1), context.classes.sky
        launch(class_entropy, tuple(occupancy.shape), views.device, occupancy, context.log_odds.flatten(1, 3), active, sky, self.config.top, self._room(occupancy))
        end = self.ends(context, views, active)
        hit = end >= 0
        return (end == ENDS_UNKNOWN).float().mean(2), torch.where(hit, end, 0.0).sum(2) / hit.sum(2).clamp(min=1)

    def plan(self, context: Context) -> tuple[Tensor, Tensor | None]:
        goal, _ = self._held.ready(context)
        self._closed.note(goal, context.blocked)
        open_ = self._held.open(context)
        open_ = open_ | (self.unseen(context, goal, ~open_) < self.config.unseen)
        fresh = self.choose(context, open_) if open_.any() else goal
        return self._held.take(context, fresh, open_), None

    def unseen(self, context: Context, goal: Tensor, active: Tensor) -> Tensor:
        """[B] share of the rays of a goal's view that end in the unknown: whether it is still useful."""
        return (self.ends(context, views_of(goal)[:, None], active)[:, 0] == ENDS_UNKNOWN).float().mean(1)

    def pool(self, context: Context, views: Tensor, is_fine: Tensor, active: Tensor) -> Tensor:
        """[B, P] bool: views to choose from. Views join when their place is found free; the fine ones wait until no coarse one is left."""
        if self.state is None or self.visits is None or self.fine is None or self.state.shape != views.shape[:2]:
            self.state = torch.zeros(views.shape[:2], dtype=torch.uint8, device=views.device)
            self.visits, self.fine = torch.zeros_like(self.state), torch.zeros(len(views), dtype=torch.bool, device=views.device)
        z, y, x = voxel_of(context, views[..., :3]).unbind(-1)
        free = free_places(context)[torch.arange(len(views), device=views.device)[:, None], z, y, x]
        self.state = torch.where(active[:, None] & free & (self.state == WAITING), POOLED, self.state).to(torch.uint8)
        coarse = self.state[:, ~is_fine]
        self.fine = self.fine | (active & ~(coarse == POOLED).any(1) & (coarse == GONE).any(1))
        return (self.state == POOLED) & (~is_fine | self.fine[:, None]) & ~self._closed.near(views[..., :3])

    def choose(self, context: Context, active: Tensor) -> Tensor:
        """New goals [B, 5] for the environments `active` [B]."""
        c = self.config
        views, is_fine = self.lattice(context)
        pool = self.pool(context, views, is_fine, active)
        assert self.state is not None and self.visits is not None
        order = torch.rand(pool.shape, generator=self._generator).to(views.device) + (~pool).float() * 2
        key, index = order.topk(min(c.judged, pool.shape[1]), largest=False)
        drawn = key < 2
        judged = views.gather(1, index[..., None].expand(-1, -1, 6))
        unseen, entropy = self.look(context, judged, active)
        used_up = drawn & active[:, None] & (unseen < c.unseen)
        valid = drawn & ~used_up
        worth = utility((judged[..., :3] - context.poses[:, None, :3]).norm(dim=-1), unseen * c.columns * c.rows, entropy, valid)
        k = worth.argmax(1)
        found = valid.any(1)
        picked = index.gather(1, k[:, None])
        self.visits.scatter_add_(1, picked, (found & active)[:, None].to(torch.uint8))
        left = torch.zeros_like(pool).scatter(1, index, used_up) | (self.visits >= c.visits)
        self.state = torch.where(left, GONE, self.state).to(torch.uint8)
        fresh = goals_of(judged[torch.arange(len(views), device=views.device), k])
        return torch.where(found[:, None], fresh, turn_on_the_spot(context))
