"""Maps a recording frame by frame; what was mapped is saved, so that a stopped run goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from flaneur.errors import UserError
from flaneur.geometry import Camera, Grid, angles_from_rotation
from flaneur.mapping.config import MapConfig
from flaneur.mapping.recording.read import Recording
from flaneur.mapping.semantic_map import SemanticMap
from flaneur.mapping.storage import load_map, save_map
from flaneur.perception.base import EvidenceSource, make_view
from flaneur.sim.frame import Frame

MARGIN = 10.0  # metres around the seen points
GROUND_SAMPLES = 200_000


class RecordingMapper:
    """beta = 1. The window is the square that holds what the recording saw; its south-west corner is `corner`."""

    def __init__(self, recording: Recording, source: EvidenceSource, cells: int = 256, size: float | None = None, device: str = "cpu") -> None:
        self.recording, self.source, self.device = recording, source, device
        points = self._sample_points()
        low, high = np.quantile(points[:, :2], 0.01, 0), np.quantile(points[:, :2], 0.99, 0)
        extent = float((high - low).max()) + 2 * MARGIN if size is None else size
        self.corner = np.append((low + high) / 2 - extent / 2, 0.0)
        self.grid = Grid(size=extent, cells=cells)
        self.plane = fit_ground(points - self.corner)
        config = MapConfig(carve_misses=False)  # a pixel without depth says nothing in a recording
        camera = recording.camera
        self.map = SemanticMap(source.classes, self.grid, config, 1, camera.width * camera.height, source.logit_scale, source.class_mean, self._ground()[None], device)
        self.done = 0

    def run(self, state: Path | None = None, every: int = 50, tick: Callable[[int, int], None] | None = None) -> None:
        """Fuse the frames that are not in the map yet; with `state` it is saved every so many frames and continued."""
        if state is not None and state.exists():
            self.map, extra = load_map(state, self.source.classes, self.recording.camera.width * self.recording.camera.height, self.device)
            if extra.get("recording") != str(self.recording.path) or extra.get("evidence") != self.source.name:
                raise UserError(f"{state}: holds the map of {extra.get('recording')} with {extra.get('evidence')}; give another --out")
            self.done = int(extra["frames"])
        total = len(self.recording.frames)
        while self.done < total:
            self.add(self.done)
            self.done += 1
            if tick:
                tick(self.done, total)
            if state is not None and (self.done % every == 0 or self.done == total):
                save_map(self.map, state, class_names=self.source.classes.names, extra={"recording": str(self.recording.path), "frames": self.done, "evidence": self.source.name})

    def add(self, index: int) -> None:
        rgb, depth = self.recording.read(index)
        pose = self.recording.frames[index].pose.copy()
        pose[:3, 3] -= self.corner
        matrix = torch.from_numpy(pose)[None].to(self.device, torch.float32)
        angles = torch.from_numpy(angles_from_rotation(pose[:3, :3]))
        pose6 = torch.cat([matrix[0, :3, 3].cpu(), angles.float()])[None].to(self.device)
        frame = Frame(depth=torch.from_numpy(depth)[None].to(self.device), rgb=torch.from_numpy(rgb.copy())[None].to(self.device))
        similarity = self.source.similarity(make_view(frame, pose6, self.recording.camera))
        assert frame.depth is not None
        self.map.accumulate(frame.depth, similarity, matrix, self.recording.camera)
        self.map.fuse()

    def _sample_points(self) -> np.ndarray:
        """World points [N, 3] of at most 24 frames, a pixel in every 8 x 8."""
        chosen = np.unique(np.linspace(0, len(self.recording.frames) - 1, 24).astype(int))
        points = np.concatenate([_back_project(self.recording.camera, self.recording.read(i)[1], self.recording.frames[i].pose) for i in chosen])
        if len(points) < 100:
            raise UserError(f"{self.recording.path}: fewer than 100 pixels with depth in the sampled frames; is depth_scale right?")
        return points

    def _ground(self) -> torch.Tensor:  # [cells, cells] metres
        centre = (np.arange(self.grid.cells) + 0.5) * self.grid.cell
        x, y = np.meshgrid(centre, centre)
        a, b, c = self.plane
        return torch.from_numpy((a * x + b * y + c).astype(np.float32))


def fit_ground(points: np.ndarray) -> tuple[float, float, float]:
    """z = a x + b y + c through the lowest matter: least squares, dropping what stands above, until it settles."""
    cell = np.floor(points[:, :2] / 2.0).astype(int)
    order = np.lexsort((points[:, 2], cell[:, 1], cell[:, 0]))
    first = np.ones(len(order), bool)
    first[1:] = (np.diff(cell[order], axis=0) != 0).any(1)
    low = points[order[first]]  # the lowest point of every 2 m cell
    keep = np.ones(len(low), bool)
    a = b = 0.0
    c = float(np.quantile(low[:, 2], 0.1))
    for _ in range(12):
        above = low[:, 2] - (a * low[:, 0] + b * low[:, 1] + c)
        keep = (above < 0.3) & (above > -1.0)
        if keep.sum() < 8:
            break
        design = np.column_stack([low[keep, :2], np.ones(keep.sum())])
        a, b, c = (float(v) for v in np.linalg.lstsq(design, low[keep, 2], rcond=None)[0])
    return a, b, c


def _back_project(camera: Camera, depth: np.ndarray, pose: np.ndarray, step: int = 8) -> np.ndarray:
    v, u = np.mgrid[step // 2 : camera.height : step, step // 2 : camera.width : step]
    d = depth[v, u]
    seen = (d > 0) & (d < camera.max_range)
    u, v, d = u[seen] + 0.5, v[seen] + 0.5, d[seen]
    local = np.stack([(u - camera.cx) / camera.fx * d, -(v - camera.cy) / camera.fy * d, -d], -1)
    return local @ pose[:3, :3].T + pose[:3, 3]
