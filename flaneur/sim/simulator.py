"""Simulator: scenes in, images of batches of poses out. Torch owns every buffer that comes in or goes out."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
import warp as wp
from torch import Tensor

from flaneur.city.assets.materials import MATERIALS
from flaneur.errors import UserError
from flaneur.geometry import Camera
from flaneur.sim import motion, packet, surface
from flaneur.sim.cameras import Distortion, ray_table
from flaneur.sim.frame import OUTPUTS, Frame, Motion
from flaneur.sim.light import light_preset
from flaneur.sim.poses import sample_free, start_poses
from flaneur.sim.shading import ShadingTables, color
from flaneur.sim.start import current_stream, start_warp
from flaneur.sim.upload import SceneSet

RAY_BLOCK = 128  # threads of first surfaces that share a multiprocessor; 7 % faster than 256
POINT_BLOCK = 32  # a thread that follows one point has long to do: few of them share a multiprocessor

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from flaneur.city.scene import Scene


def resolve_device(name: str | torch.device) -> torch.device:
    device = torch.device(name)
    if device.type == "cuda" and not (torch.cuda.is_available() and wp.is_cuda_available()):
        raise UserError(f"device '{name}': no CUDA device is usable here; use 'cpu'")
    if device.type not in ("cpu", "cuda"):
        raise UserError(f"device '{name}': known are cpu and cuda")
    return torch.device("cuda", torch.cuda.current_device()) if device.type == "cuda" and device.index is None else device


class Simulator:
    def __init__(
        self,
        scenes: Sequence[Scene],
        camera: Camera | None = None,
        device: str | torch.device = "cpu",
        distortion: Distortion | None = None,
        light: str | None = None,  # day, dusk, night, overcast for all scenes; each scene's own when None
        flight: tuple[float, float] = (1.5, 80.0),  # lowest and highest z that motion and free poses allow, metres
        samples: int = 1,  # rays per pixel of RGB (anti-aliasing)
        ambient_rays: int = 0,  # rays per sample that darken the places where things touch
        memory_limit: int | None = None,  # bytes for scenes; what is free when None
    ):
        self.device = resolve_device(device)
        if samples < 1 or ambient_rays < 0:
            raise UserError(f"simulator: samples {samples}, ambient_rays {ambient_rays}; at least 1 and 0 are needed")
        start_warp()
        self.wp_device = wp.device_from_torch(self.device)
        self.camera = camera or Camera()
        rays = ray_table(self.camera, distortion)
        self.material_row = {name: k for k, name in enumerate(MATERIALS)}
        self.set = SceneSet(scenes, self.device, self.material_row, memory_limit)
        self.scenes = self.set.scenes
        self.sky = self.scenes[0].classes.sky
        self.set_light(light)
        self.low, self.high = flight
        self._samples, self._ambient_rays = samples, ambient_rays
        self._rays = wp.array(rays, dtype=wp.vec2, device=self.wp_device)
        across, down = -(-self.camera.width // surface.TILE_WIDTH), -(-self.camera.height // surface.TILE_HEIGHT)
        self._tiles_across, self._threads = across, across * down * surface.TILE_WIDTH * surface.TILE_HEIGHT

    def _check(self, poses: Tensor, scene_index: Tensor | None, check: bool | None) -> tuple[Tensor, Tensor]:
        """Shapes and types always; values on the CPU or on request, because looking at them on a GPU would wait for it."""
        if poses.ndim != 2 or poses.shape[1] != 6:
            raise UserError(f"poses: shape {tuple(poses.shape)}; expected [B, 6] = x, y, z, roll, pitch, yaw")
        poses = poses.to(self.device, torch.float32).contiguous()
        if scene_index is None:
            if len(self.scenes) > 1:
                raise UserError(f"scene_index: missing; with {len(self.scenes)} scenes every view must name its own")
            scene_index = torch.zeros(len(poses), dtype=torch.int32, device=self.device)
        if scene_index.shape != (len(poses),):
            raise UserError(f"scene_index: shape {tuple(scene_index.shape)}; expected [{len(poses)}], one per pose")
        scene_index = scene_index.to(self.device, torch.int32).contiguous()
        if check if check is not None else self.device.type == "cpu":
            bad = (~torch.isfinite(poses).all(1)).nonzero()
            if len(bad):
                raise UserError(f"poses: row {int(bad[0])} is not finite; every pose needs six numbers")
            lowest, highest = (int(scene_index.min()), int(scene_index.max())) if len(poses) else (0, 0)
            if lowest < 0 or highest >= len(self.scenes):
                raise UserError(f"scene_index: values {lowest} to {highest}; there are {len(self.scenes)} scenes, counted from 0")
        return poses, scene_index

    def _views(self, poses: Tensor, scene_index: Tensor) -> Any:
        count = len(poses)
        views = surface.ViewTable()
        origin = torch.empty((count, 3), device=self.device)
        rotation = torch.empty((count, 3, 3), device=self.device)
        views.origin, views.rotation = wp.from_torch(origin, wp.vec3), wp.from_torch(rotation, wp.mat33)
        views.scene = wp.from_torch(scene_index, wp.int32)
        views.rays, views.max_range = self._rays, self.camera.max_range
        self._launch(surface.place_views, count, [wp.from_torch(poses), views.origin, views.rotation])
        return views

    def _launch(self, kernel: Any, dim: int | tuple[int, ...], inputs: list, block: int = 256) -> None:
        wp.launch(kernel, dim, inputs, device=self.wp_device, stream=current_stream(self.device), record_tape=False, block_dim=block)

    def render(
        self,
        poses: Tensor,  # [B, 6] x, y, z, roll, pitch, yaw
        scene_index: Tensor | None = None,  # [B]; may be left out with one scene
        outputs: Sequence[str] = ("depth", "instance", "label"),
        check: bool | None = None,
    ) -> Frame:
        """Images of B views. `check` looks at the poses' values first: by default on the CPU only."""
        unknown = [o for o in outputs if o not in OUTPUTS]
        if unknown:
            raise UserError(f"outputs: unknown '{unknown[0]}'; known are {', '.join(OUTPUTS)}")
        poses, scene_index = self._check(poses, scene_index, check)
        views = self._views(poses, scene_index)
        shape = (len(poses), self.camera.height, self.camera.width)
        depth = torch.empty(shape, device=self.device)
        instance = torch.empty(shape, dtype=torch.int32, device=self.device)
        label = torch.empty(shape, dtype=torch.uint8, device=self.device)
        normal = torch.empty((*shape, 3), device=self.device) if "normal" in outputs else None
        rgb = torch.empty((*shape, 3), dtype=torch.uint8, device=self.device) if "rgb" in outputs else None
        hit_face = hit_at = None
        if rgb is not None or self.device.type == "cpu":
            hit_face = wp.from_torch(torch.empty(shape, dtype=torch.int32, device=self.device))
            hit_at = wp.from_torch(torch.empty((*shape, 3), device=self.device), wp.vec3)
        normal_view = wp.from_torch(normal, wp.vec3) if normal is not None else None
        targets = [self.sky, wp.from_torch(depth), wp.from_torch(instance), wp.from_torch(label)]
        extra = [normal_view, hit_face, hit_at]
        threads = (shape[0], self._threads)
        if self.device.type == "cpu":
            across, down = -(-shape[2] // packet.PACKET), -(-shape[1] // packet.PACKET)
            self._launch(packet.first_surface_packets, (shape[0], across * down), [self.set.table, views, across, *targets, *extra])
        elif rgb is None and normal is None:
            self._launch(surface.first_surface, threads, [self.set.table, views, self._tiles_across, *targets], RAY_BLOCK)
        else:
            self._launch(surface.first_surface_and_hit, threads, [self.set.table, views, self._tiles_across, *targets, *extra])
        if rgb is not None:
            self._launch(color, threads, [self.set.table, views, self.shading.table, self._tiles_across, hit_face, hit_at, wp.from_torch(rgb, wp.vec3ub)])
        asked = {"depth": depth, "instance": instance, "label": label, "rgb": rgb, "normal": normal}
        return Frame(**{name: image for name, image in asked.items() if name in outputs})

    def set_light(self, light: str | None) -> None:
        """Light of all scenes from now on: day, dusk, night or overcast; each scene's own when None."""
        self._lights = [light or scene.light for scene in self.scenes]
        for name in self._lights:
            light_preset(name)  # an unknown name is refused here, not at the first picture
        if "shading" in self.__dict__:
            self.shading.set_lights(self._lights)

    @property
    def lights(self) -> tuple[str, ...]:
        """Of each scene, as it is rendered now."""
        return tuple(self._lights)

    @cached_property
    def shading(self) -> ShadingTables:
        """Textures, lights and surroundings; made when RGB is first asked for."""
        return ShadingTables(self.set, self.camera, self._lights, self._samples, self._ambient_rays)

    def move(
        self,
        poses: Tensor,  # [B, 6]
        targets: Tensor,  # [B, 6]; position to go to, angles to end with
        max_step: float = 8.0,  # metres of path
        clearance: float = 0.5,  # metres to the nearest triangle
        scene_index: Tensor | None = None,  # [B]
        check: bool | None = None,
    ) -> Motion:
        """Toward the targets by at most `max_step`, sliding along matter or stopping before it; turns freely."""
        if clearance <= 0 or max_step <= 0:
            raise UserError(f"move: clearance {clearance} and max_step {max_step} must be positive")
        poses, scene_index = self._check(poses, scene_index, check)
        targets, _ = self._check(targets, scene_index, check)
        end = torch.empty((len(poses), 3), device=self.device)
        travelled = torch.empty(len(poses), device=self.device)
        blocked = torch.empty(len(poses), dtype=torch.bool, device=self.device)
        start, goal = poses[:, :3].contiguous(), targets[:, :3].contiguous()
        inputs = [self.set.table, wp.from_torch(scene_index), wp.from_torch(start, wp.vec3), wp.from_torch(goal, wp.vec3), max_step, clearance, self.low, self.high]
        self._launch(motion.move_points, len(poses), [*inputs, wp.from_torch(end, wp.vec3), wp.from_torch(travelled), wp.from_torch(blocked)], POINT_BLOCK)
        return Motion(torch.cat([end, targets[:, 3:]], 1), travelled, blocked)

    def clear(self, points: Tensor, clearance: float = 0.5, scene_index: Tensor | None = None) -> Tensor:
        """Whether points [B, 3] are in the flight volume, that far from every triangle and inside none: [B] bool."""
        points, scene_index = self._points(points, scene_index)
        clear = torch.empty(len(points), dtype=torch.bool, device=self.device)
        self._launch(motion.clear_points, len(points), [self.set.table, wp.from_torch(scene_index), wp.from_torch(points, wp.vec3), clearance, self.low, self.high, wp.from_torch(clear)], POINT_BLOCK)
        return clear

    def cast(self, origins: Tensor, directions: Tensor, scene_index: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Free rays [B, 3]: distance [B] f32 in lengths of the direction (0 where nothing) and label [B] u8."""
        origins, scene_index = self._points(origins, scene_index)
        directions, _ = self._points(directions, scene_index)
        distance = torch.empty(len(origins), device=self.device)
        label = torch.empty(len(origins), dtype=torch.uint8, device=self.device)
        inputs = [self.set.table, wp.from_torch(scene_index), wp.from_torch(origins, wp.vec3), wp.from_torch(directions, wp.vec3)]
        self._launch(motion.cast_rays, len(origins), [*inputs, wp.from_torch(distance), wp.from_torch(label), self.sky])
        return distance, label

    def require_clear(self, poses: Tensor, scene_index: Tensor | None = None, clearance: float = 0.01) -> None:
        """Refuse poses that lie inside matter or outside the flight volume. Waits for the device."""
        poses, scene_index = self._check(poses, scene_index, True)
        bad = (~self.clear(poses[:, :3], clearance, scene_index)).nonzero()
        if len(bad):
            x, y, z = (round(v, 2) for v in poses[int(bad[0]), :3].tolist())
            raise UserError(f"poses: row {int(bad[0])} at ({x}, {y}, {z}) lies inside matter or outside the flight volume (z {self.low} to {self.high} m); move it into the open")

    def sample_free(self, generator: np.random.Generator | torch.Generator, n: int, scene: int = 0, z: tuple[float, float] | None = None, clearance: float = 0.5) -> Tensor:
        """Free poses [n, 6], uniform over the window and the heights `z` (the flight volume's when None)."""
        return sample_free(self, generator, n, scene, z or (self.low, self.high), clearance)

    def start_poses(self, scene: int = 0, n: int = 3, clearance: float = 0.5) -> Tensor:
        """The scene's own start poses [n, 6], derived from its seed."""
        return start_poses(self, scene, n, clearance)

    def _points(self, points: Tensor, scene_index: Tensor | None) -> tuple[Tensor, Tensor]:
        points = points.to(self.device, torch.float32).contiguous()
        if scene_index is None:
            scene_index = torch.zeros(len(points), dtype=torch.int32, device=self.device)
        return points, scene_index.to(self.device, torch.int32).contiguous()

    @property
    def memory(self) -> list[tuple[str, int]]:
        """Device bytes per scene: name and estimate of mesh, tables and search tree."""
        return [(s.name, b) for s, b in zip(self.scenes, self.set.bytes, strict=True)]
