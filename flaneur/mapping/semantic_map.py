"""The calibrated voxel map of a batch of environments: pending observation, log-odds, planar map and occupancy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
import warp as wp
from torch import Tensor

from flaneur.classes import ClassList
from flaneur.errors import UserError
from flaneur.geometry import Camera, Grid
from flaneur.mapping import kernels
from flaneur.mapping.carving import carve
from flaneur.mapping.config import MapConfig, calibration_index
from flaneur.sim.start import current_stream

UNEXPLORED = 255  # in `labels`
UNKNOWN, FREE, OCCUPIED = 0, 1, 2  # in `occupancy` and `planar`


class SemanticMap:
    """Fuses evidence into voxel log-odds and keeps the planar map of what it touched.

    The order of a step is `fuse(beta)`, which fuses the pending observation m[t], then `accumulate(...)`, which makes
    m[t+1] pending; so beta comes between an observation's accumulation and its fusion. The tensors below are updated
    in place: clone what has to outlive a step.

    log_odds         [B, Z, Hm, Wm, C] f32
    observed         [B, Z, Hm, Wm] u8: an observation of it was fused
    occupancy        [B, Z, Hm, Wm] u8: 0 unknown, 1 free, 2 occupied; the pending observation counts
    probabilities    [B, C, Hm, Wm] f32 planar map M; zero where never observed
    labels           [B, Hm, Wm] u8 its argmax, 255 where never observed
    observation_map  [B, C, Hm, Wm] f32 (classes last in memory, as probabilities) raw planar map m_obs of the pending observation
    affected         [B, Hm, Wm] u8 cells of the pending observation
    planar           [B, Hm, Wm] u8 the same per column: occupied when an object bin was hit, free when the ground was hit or a ray passed below 2 m
    """

    def __init__(
        self,
        classes: ClassList | int,
        grid: Grid | None = None,
        config: MapConfig | None = None,
        num_envs: int = 1,
        pixels: int = 256 * 256,
        logit_scale: float = 1.0,  # of the evidence source, used when the configuration names none
        class_mean: Tensor | None = None,  # [C] mean similarity of each class over training views, used when centred
        ground: Tensor | None = None,  # [S, Hm, Wm] f32 metres, height of the local ground; flat at 0 by default
        device: str | torch.device = "cpu",
    ) -> None:
        grid, config = grid or Grid(), config or MapConfig()
        self.grid, self.config, self.num_envs, self.device = grid, config, num_envs, torch.device(device)
        self.class_count = classes if isinstance(classes, int) else len(classes)
        if not 2 <= self.class_count < UNEXPLORED:
            raise UserError(f"map: {self.class_count} classes; between 2 and {UNEXPLORED - 1} fit")
        self.sky = -1 if isinstance(classes, int) else classes.sky
        channel = np.arange(classes, dtype=np.int32) if isinstance(classes, int) else calibration_index(classes, config.calibrate)
        self.channels = int(channel.max()) + 1  # K
        self.logit_scale = config.logit_scale if config.logit_scale is not None else logit_scale
        mean = class_mean if class_mean is not None and config.centred else torch.zeros(self.class_count)
        if mean.shape != (self.class_count,):
            raise UserError(f"map: class means are of shape {tuple(mean.shape)}, the map has {self.class_count} classes")

        b, c, z, n, p = num_envs, self.class_count, grid.bins, grid.cells, pixels
        new = lambda *shape, dtype=torch.float32, value=0: torch.full(shape, value, dtype=dtype, device=self.device)  # noqa: E731
        self.log_odds, self.observed = new(b, z, n, n, c), new(b, z, n, n, dtype=torch.uint8)
        self.occupancy, self.planar = new(b, z, n, n, dtype=torch.uint8), new(b, n, n, dtype=torch.uint8)
        # Classes last in memory: a thread writes a column's classes side by side.
        self.probabilities, self.observation_map = (new(b, n, n, c).permute(0, 3, 1, 2) for _ in range(2))
        self.labels = new(b, n, n, dtype=torch.uint8, value=UNEXPLORED)
        self.affected = new(b, n, n, dtype=torch.uint8)
        self._slot_of, self._touched = new(b, z * n * n, dtype=torch.int32, value=-1), new(b, p, dtype=torch.int32)
        self._used, self._counts = new(b, dtype=torch.int32), new(b, p, dtype=torch.int32)
        self._sums, self._logits = new(b, p, c, dtype=torch.int64), new(b, p, c)
        self._pending = False
        self.ground = new(1, n, n) if ground is None else ground.to(self.device, torch.float32).contiguous()
        self.scene_index = new(b, dtype=torch.int32)
        self._edges = torch.tensor(grid.height_edges, device=self.device)
        self.class_mean, self._channel = mean.to(self.device, torch.float32), torch.from_numpy(channel).to(self.device)
        self._ones = new(b, self.channels, 1, 1, value=1)
        self.views = self._warp_views()

    def _warp_views(self) -> dict[str, Any]:
        b, c, v, layer = self.num_envs, self.class_count, self.grid.bins * self.grid.cells**2, self.grid.cells**2
        shaped = {
            "log_odds": self.log_odds.view(b, v, c), "observed": self.observed.view(b, v), "occupancy": self.occupancy.view(b, v),
            "planar": self.planar.view(b, layer), "probabilities": self.probabilities.permute(0, 2, 3, 1).view(b, layer, c), "labels": self.labels.view(b, layer),
            "observation_map": self.observation_map.permute(0, 2, 3, 1).view(b, layer, c), "affected": self.affected.view(b, layer), "slot_of": self._slot_of,
            "touched": self._touched, "used": self._used, "counts": self._counts, "sums": self._sums, "logits": self._logits, "ground": self.ground,
            "scene": self.scene_index, "edges": self._edges, "mean": self.class_mean, "channel": self._channel,
        }  # fmt: skip
        return {name: wp.from_torch(t) for name, t in shaped.items()}

    def launch(self, kernel: Any, dim: tuple[int, ...], *inputs: Any, block: int = 256) -> None:
        views = self.views
        arguments = [views[i] if isinstance(i, str) else wp.from_torch(i) if isinstance(i, Tensor) else i for i in inputs]
        wp.launch(kernel, dim, arguments, device=wp.device_from_torch(self.device), stream=current_stream(self.device), record_tape=False, block_dim=block)

    # A step -----------------------------------------------------------------------------------------------------
    def accumulate(self, depth: Tensor, similarity: Tensor, camera_to_world: Tensor, camera: Camera) -> None:
        """Make one observation of every environment pending.

        depth [B, H, W] planar metres (0, negative or NaN: none), similarity [B, C, h, w] raw, camera_to_world [B, 4, 4].
        """
        b, height, width = depth.shape
        if similarity.shape[:2] != (b, self.class_count) or b != self.num_envs:
            raise UserError(f"map: evidence of shape {tuple(similarity.shape)} and depth {tuple(depth.shape)} do not fit {self.num_envs} environments x {self.class_count} classes")
        if (height, width) != (camera.height, camera.width) or height * width > self._touched.shape[1]:
            raise UserError(f"map: depth is {width}x{height}, the camera {camera.width}x{camera.height}, room is for {self._touched.shape[1]} pixels")
        depth, similarity = depth.float().contiguous(), similarity.float().contiguous()
        matrix = camera_to_world.float().contiguous()
        self.forget()
        focal, centre, cells = wp.vec2(camera.fx, camera.fy), wp.vec2(camera.cx, camera.cy), self.grid.cells
        voxel = torch.empty(b, height, width, dtype=torch.int32, device=self.device)
        place = ("ground", "scene", "edges", self.grid.cell, cells)
        self.launch(kernels.locate, (b, height, width), depth, matrix, focal, centre, *place, voxel, "slot_of", "touched", "used", "occupancy", "planar")
        self.launch(kernels.accumulate, (b, height, similarity.shape[3]), similarity, voxel, "slot_of", "counts", "sums")
        self.launch(kernels.average, (b, height * width), "used", "counts", "sums", "mean", self.logit_scale, "logits")
        self.launch(kernels.observe, (b, height * width), "used", "touched", "slot_of", "logits", self.sky, self._of_log_odds, cells, self.grid.bins, "observation_map", "affected")  # fmt: skip
        stride = self.config.carve_stride
        self.launch(carve, (b, -(-height // stride), -(-width // stride)), depth, matrix, focal, centre, stride, camera.max_range, self.config.carve_misses, *place, "occupancy", "planar")
        self._pending = True

    def fuse(self, beta: Tensor | None = None, pending: bool = False) -> None:
        """Fuse the pending observation with beta [B, K, h, w] (ones when absent); K = `channels`, nearest over the map.

        `pending`: the caller knows that there is one, as after a replayed recording.
        """
        beta = self._ones if beta is None else beta.float().contiguous()
        if beta.ndim != 4 or beta.shape[:2] != (self.num_envs, self.channels):
            raise UserError(f"map: beta is of shape {tuple(beta.shape)}, expected [{self.num_envs}, {self.channels}, h, w]")
        if not (self._pending or pending):
            raise UserError("map: nothing to fuse; accumulate an observation first, each is fused once")
        self._pending = False
        dim, cells = (self.num_envs, self._touched.shape[1]), self.grid.cells
        self.launch(kernels.fuse, dim, "used", "touched", "logits", self.config.centred, beta, "channel", self.config.bound, cells, "log_odds", "observed")
        self._project()

    def project_all(self) -> None:
        """The planar maps anew from the voxels, as after loading; drops the pending observation.

        Observed columns take the slots of an observation, in batches that fit.
        """
        self.forget()
        self._pending = False
        layer, room = self.grid.cells**2, self._touched.shape[1]
        for e in range(self.num_envs):
            seen = self.observed[e].view(self.grid.bins, layer)
            top = torch.where(seen > 0, torch.arange(self.grid.bins, device=self.device)[:, None], -1).amax(0)
            voxels = (top * layer + torch.arange(layer, device=self.device))[top >= 0].int()
            for part in voxels.split(room):
                self._touched[e, : len(part)] = part
                self._slot_of[e, part.long()] = torch.arange(len(part), dtype=torch.int32, device=self.device)
                self._used[e] = len(part)
                self._project()
                self.forget()

    def _project(self) -> None:
        dim, grid = (self.num_envs, self._touched.shape[1]), self.grid
        self.launch(kernels.project, dim, "used", "touched", "slot_of", "log_odds", "observed", "logits", self.sky, self._of_log_odds, grid.cells, grid.bins, "probabilities", "labels")

    @property
    def _of_log_odds(self) -> bool:
        return self.config.projection == "log_odds"

    def forget(self) -> None:
        """Drop the pending observation."""
        dim = (self.num_envs, self._touched.shape[1])
        self.launch(kernels.clear, dim, "used", "touched", "slot_of", "counts", "sums", self.grid.cells, "observation_map", "affected")
        self._used.zero_()

    def reset(self, environments: Iterable[int] | None = None, scenes: Sequence[int] | None = None) -> None:
        """Empty the maps of the named environments (all by default) and say which scene's ground each stands on."""
        ids = list(range(self.num_envs)) if environments is None else list(environments)
        for e in ids:
            for t in (self.log_odds, self.observed, self.occupancy, self.planar, self.probabilities, self.observation_map, self.affected, self._counts, self._sums, self._used):
                t[e].zero_()
            self.labels[e].fill_(UNEXPLORED)
            self._slot_of[e].fill_(-1)
        if scenes is not None and ids:
            self.scene_index[torch.tensor(ids, device=self.device)] = torch.tensor(list(scenes), dtype=torch.int32, device=self.device)

    # Facts ------------------------------------------------------------------------------------------------------
    def bytes_per_environment(self) -> dict[str, int]:
        """Device memory of one environment, by tensor."""
        names = ("log_odds", "observed", "occupancy", "planar", "probabilities", "labels", "observation_map", "affected", "_slot_of", "_touched", "_counts", "_sums", "_logits")
        return {n.lstrip("_"): getattr(self, n)[0].nbytes for n in names}
