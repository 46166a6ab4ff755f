"""Images for people: colours for labels, depth and instances, contact sheets, flights, image and video files."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from torch import Tensor

from flaneur.errors import UserError

if TYPE_CHECKING:
    from flaneur.classes import ClassList
    from flaneur.sim.simulator import Simulator

VIDEO_FORMATS = (".mp4", ".gif")
IMAGE_FORMATS = (".png", ".jpg", ".jpeg")


def colour_labels(label: np.ndarray, classes: ClassList) -> np.ndarray:
    """[..., 3] u8 colours of class ids [...]."""
    return classes.colors[label]


def colour_depth(depth: np.ndarray, max_range: float) -> np.ndarray:
    """[..., 3] u8: near is bright and warm, far dark and cold (logarithmic), nothing is black."""
    near = 1.0 - np.log1p(np.clip(depth, 0, max_range)) / math.log1p(max_range)
    stops = np.array([(0.05, 0.03, 0.2), (0.45, 0.1, 0.45), (0.9, 0.35, 0.25), (1.0, 0.95, 0.65)])
    at = near * (len(stops) - 1)
    low = np.clip(at.astype(int), 0, len(stops) - 2)
    colour = stops[low] * (1 - (at - low))[..., None] + stops[low + 1] * (at - low)[..., None]
    return np.where(depth[..., None] > 0, colour * 255, 0).astype(np.uint8)


def colour_instances(instance: np.ndarray) -> np.ndarray:
    """[..., 3] u8: neighbouring ids differ clearly; sky is black."""
    h = (instance.astype(np.uint32) + 1) * np.uint32(2654435761)
    colour = np.stack([(h >> np.uint32(s)) & np.uint32(0xFF) for s in (8, 16, 24)], -1) * 0.75 + 60
    return np.where(instance[..., None] >= 0, colour, 0).astype(np.uint8)


def colour_normals(normal: np.ndarray) -> np.ndarray:
    """[..., 3] u8: x, y, z in red, green, blue; nothing is black."""
    return np.where((normal != 0).any(-1, keepdims=True), normal * 127.5 + 127.5, 0).astype(np.uint8)


def contact_sheet(images: Sequence[np.ndarray], columns: int, gap: int = 4) -> np.ndarray:
    """One image of many [H, W, 3] of equal size, row by row."""
    height, width = images[0].shape[:2]
    rows = -(-len(images) // columns)
    sheet = np.full((rows * (height + gap) + gap, columns * (width + gap) + gap, 3), 255, np.uint8)
    for k, image in enumerate(images):
        y, x = gap + k // columns * (height + gap), gap + k % columns * (width + gap)
        sheet[y : y + height, x : x + width] = image
    return sheet


def view_sheet(sim: Simulator, poses: Tensor, scene: int = 0) -> np.ndarray:
    """A row per pose: RGB, label, instance, depth."""
    frame = sim.render(poses, torch.full((len(poses),), scene), ("rgb", "label", "instance", "depth"))
    rgb, label, instance, depth = (image.cpu().numpy() for image in (frame.rgb, frame.label, frame.instance, frame.depth) if image is not None)
    images = []
    for b in range(len(poses)):
        images += [rgb[b], colour_labels(label[b], sim.scenes[scene].classes), colour_instances(instance[b]), colour_depth(depth[b], sim.camera.max_range)]
    return contact_sheet(images, 4)


def sheet_poses(sim: Simulator, scene: int = 0) -> Tensor:
    """Eight telling poses [8, 6] of a scene: its three starts, three higher up, and two over it all."""
    size = sim.scenes[scene].size
    starts = sim.start_poses(scene, 3)
    generator = np.random.default_rng([sim.scenes[scene].seed, 8])
    above = sim.sample_free(generator, 3, scene, (6.0, 30.0))
    above[:, 4] = -0.45
    # The middle of the window is where they look.
    above[:, 5] = torch.atan2(size / 2 - above[:, 1], size / 2 - above[:, 0])
    return torch.cat([starts, above, orbit_poses(size, 2, height=0.45 * size, device=sim.device)])


def look_at(position: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Level poses [..., 6] at [..., 3] that look at [..., 3]."""
    d = np.asarray(target, np.float64) - position
    yaw, pitch = np.arctan2(d[..., 1], d[..., 0]), np.arctan2(d[..., 2], np.hypot(d[..., 0], d[..., 1]))
    return np.concatenate([position, np.stack([np.zeros_like(yaw), pitch, yaw], -1)], -1)


def orbit_poses(size: float, count: int, radius: float | None = None, height: float | None = None, device: str | torch.device = "cpu") -> Tensor:
    """A circle around the middle of the window [count, 6], looking at its ground; metres."""
    radius, height = radius or 0.75 * size, height or 0.5 * size
    turn = np.arange(count) / count * 2 * math.pi - math.pi / 2
    position = np.stack([size / 2 + radius * np.cos(turn), size / 2 + radius * np.sin(turn), np.full(count, height)], -1)
    return torch.from_numpy(look_at(position, np.array([size / 2, size / 2, 5.0])).astype(np.float32)).to(device)


def flight_poses(waypoints: Tensor, count: int) -> Tensor:
    """A smooth flight [count, 6] through poses [n, 6] (Catmull-Rom; angles take the short way round)."""
    if len(waypoints) < 2:
        raise UserError(f"flight: {len(waypoints)} waypoints; at least 2 are needed")
    points = waypoints.double().cpu().numpy().copy()
    points[:, 3:] = np.unwrap(points[:, 3:], axis=0)
    padded = np.concatenate([2 * points[:1] - points[1:2], points, 2 * points[-1:] - points[-2:-1]])
    at = np.linspace(0, len(points) - 1, count)
    k = np.minimum(at.astype(int), len(points) - 2)
    t = (at - k)[:, None]
    a, b, c, d = (padded[k + i] for i in range(4))
    out = 0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2 + (3 * b - a - 3 * c + d) * t**3)
    return torch.from_numpy(out.astype(np.float32)).to(waypoints.device)


def _beside(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.stem}.", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    return Path(name)


def write_image(path: Path, image: np.ndarray) -> None:
    """PNG or JPEG of [H, W, 3] u8, written beside and renamed."""
    from PIL import Image

    path = Path(path)
    if path.suffix.lower() not in IMAGE_FORMATS:
        raise UserError(f"{path}: unknown image format '{path.suffix}'; use {', '.join(IMAGE_FORMATS)}")
    temporary = _beside(path)
    try:
        Image.fromarray(image).save(temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def render_frames(sim: Simulator, poses: Tensor, scene: int = 0, batch: int = 4) -> Iterable[np.ndarray]:
    """RGB images [H, W, 3] of many poses, a few at a time."""
    for part in poses.split(batch):
        rgb = sim.render(part, torch.full((len(part),), scene), ("rgb",)).rgb
        assert rgb is not None
        yield from rgb.cpu().numpy()


def write_video(path: Path, frames: Iterable[np.ndarray], count: int, fps: int = 24, progress: Callable[[int, int], None] | None = None) -> None:
    """MP4 or GIF of [H, W, 3] u8 images; `progress(done, count)` after each. Written beside and renamed."""
    import imageio.v2 as imageio

    path = Path(path)
    if path.suffix.lower() not in VIDEO_FORMATS:
        raise UserError(f"{path}: unknown video format '{path.suffix}'; use {', '.join(VIDEO_FORMATS)}")
    temporary = _beside(path)
    options: dict[str, Any] = {"duration": 1000 / fps, "loop": 0} if path.suffix.lower() == ".gif" else {"fps": fps, "quality": 8, "macro_block_size": 2}
    try:
        with cast(Any, imageio.get_writer(temporary, **options)) as writer:
            for k, image in enumerate(frames):
                writer.append_data(image)
                if progress:
                    progress(k + 1, count)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
