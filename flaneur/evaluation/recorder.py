"""Records a flight for the page: the map and the camera's picture every few steps."""

from __future__ import annotations

import base64
import io

import numpy as np
import torch

from flaneur.classes import SCALE_GROUPS, ClassList
from flaneur.env.semantic import SemanticEnv
from flaneur.geometry import Camera
from flaneur.mapping.semantic_map import UNEXPLORED
from flaneur.sim import Simulator

WHITE, GREY, BLACK = (255, 255, 255), (150, 150, 150), (0, 0, 0)


def qualitative_map(labels: np.ndarray, truth: np.ndarray, classes: ClassList) -> np.ndarray:
    """[H, W, 3] u8 as in the paper's figure: right cells in their class's colour, white unexplored, grey wrong, black background.

    labels and truth [H, W] u8; row 0 of the picture is the north.
    """
    n = len(classes)
    is_object = np.zeros(256, bool)
    is_object[classes.object_ids] = True
    colors = np.zeros((256, 3), np.uint8)
    colors[:n] = classes.colors
    picture = np.empty((*truth.shape, 3), np.uint8)
    picture[:] = BLACK
    wanted = is_object[truth]
    unexplored = labels == UNEXPLORED
    right = wanted & (labels == truth)
    picture[wanted & ~right] = GREY
    picture[~wanted & is_object[labels] & ~unexplored] = GREY  # an object seen where there is none
    picture[unexplored] = WHITE
    picture[right] = colors[truth[right]]
    return picture[::-1]


def png_uri(picture: np.ndarray) -> str:
    """A picture as a palette PNG in a data URI."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(picture).quantize(64, dither=Image.Dither.NONE).save(buffer, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def jpeg_uri(picture: np.ndarray, quality: int = 72) -> str:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "JPEG", quality=quality)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()


class Recorder:
    """Watches environment 0 of a run."""

    def __init__(self, env: SemanticEnv, every: int, scene: int = 0, width: int = 256, height: int = 160) -> None:
        self.every, self.scene = every, scene
        camera = Camera.from_fov(width, height, 90.0, 2 * env.config.camera.max_range)
        self.sim = Simulator([env.scenes[scene]], camera, env.device, flight=env.config.flight)
        self.truth = env._labels[scene].cpu().numpy()
        self.maps: list[str] = []
        self.pictures: list[str] = []
        self.steps: list[int] = []
        self.poses: list[list[float]] = []  # x, y, z metres, yaw, pitch radians: where the camera went after observation t

    def __call__(self, env: SemanticEnv, t: int, labels: torch.Tensor) -> None:
        last = t == env.config.episode_length - 1
        if not last:  # after the last observation the camera is already at another start
            self.poses.append([round(float(v), 2) for v in env.poses[0, [0, 1, 2, 5, 4]]])
        if t % self.every and not last:
            return
        self.steps.append(t)
        self.maps.append(png_uri(qualitative_map(labels[0].cpu().numpy(), self.truth, env.classes)))
        if last and self.pictures:
            self.pictures.append(self.pictures[-1])
            return
        frame = self.sim.render(env.poses[:1], torch.zeros(1, dtype=torch.int32, device=env.device), ("rgb",), check=False)
        assert frame.rgb is not None
        self.pictures.append(jpeg_uri(frame.rgb[0].cpu().numpy()))


def group_legend(classes: ClassList) -> dict[str, list[dict]]:
    """Class names and colours per scale group."""
    return {g: [{"name": c.name, "color": "#{:02x}{:02x}{:02x}".format(*c.color)} for c in classes if c.group == g] for g in SCALE_GROUPS}
