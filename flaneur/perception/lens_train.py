"""Train Lens on rendered RGB: every patch is pulled to the texts of what is in it."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as functional
from torch import Tensor

from flaneur.errors import UserError
from flaneur.perception.base import LIGHTS, View, make_view
from flaneur.perception.lens import MEAN, STD, Lens, LensConfig, LensNetwork
from flaneur.perception.patches import Patches, describe_patches
from flaneur.perception.text import embed_sentences
from flaneur.perception.vlm import prompt_list
from flaneur.sim import Frame, Simulator

WARM, TIMED = 10, 20  # steps before and while the rate is measured
LIGHT_STEPS = 4  # steps in one light before the next, for the control


@dataclass(frozen=True)
class LensTrainConfig:
    network: LensConfig = field(default_factory=LensConfig)
    views: Literal["ordinary", "all"] = "ordinary"
    steps: int = 1500
    seconds: float = 0.0  # when positive: as many steps as fit, measured on the first few
    batch: int = 128
    learning_rate: float = 2e-3
    near: float = 3.0  # metres: ordinary views learn from surfaces between near and far
    far: float = 30.0
    eye_level: tuple[float, float] = (1.5, 3.0)  # metres
    tilt: float = 15.0  # degrees up or down at eye level
    aimed: float = 0.75  # share of the views that look at an object, its class and its make drawn evenly: hydrants are rare, buses too
    views_per_scene: int = 6000  # poses drawn beforehand, so that the loop never waits for the device
    rarity: float = 0.5  # weight of a class: its share of the image to the power -rarity
    without: tuple[str, ...] = ()  # classes whose patches are left out: what a prompt for something never seen is worth
    seed: int = 0

    def __post_init__(self) -> None:
        if self.views not in ("ordinary", "all") or self.steps < 1 or self.batch < 1 or self.views_per_scene < 1:
            raise UserError(f"lens training: views '{self.views}' (ordinary or all), steps {self.steps}, batch {self.batch} and views_per_scene {self.views_per_scene} (at least 1)")


def draw_poses(sim: Simulator, scene: int, config: LensTrainConfig, count: int, generator: torch.Generator) -> Tensor:
    """[count, 6] free poses at eye level, or anywhere for the control; most of them aimed at an object."""
    ordinary = config.views == "ordinary"
    heights = config.eye_level if ordinary else (config.eye_level[0], sim.high)
    reach = (config.near, config.far) if ordinary else (config.near, sim.camera.max_range)
    poses = sim.sample_free(generator, count, scene, heights)
    turn = torch.rand(count, generator=generator).to(sim.device)
    low, high = (-config.tilt, config.tilt) if ordinary else (-75.0, config.tilt)
    poses[:, 4] = torch.deg2rad(low + turn * (high - low))
    return aim(sim, scene, poses, round(config.aimed * count), reach, heights, config.tilt if ordinary else 75.0, generator)


def aim(
    sim: Simulator, scene: int, poses: Tensor, count: int, reach: tuple[float, float], heights: tuple[float, float], tilt: float, generator: torch.Generator
) -> Tensor:  # fmt: skip
    """The first `count` of poses [B, 6] look at an object from `reach` metres, not quite at its middle; those without room stay."""
    city, n = sim.scenes[scene], min(count, len(poses))
    if n == 0:
        return poses
    draw = torch.rand(n, 9, generator=generator).numpy()
    box = city.box[_pick_objects(city.class_id, city.instances.prototype, city.is_object, draw[:, :3])]  # [n, 2, 3] centre and size
    distance = reach[0] * (reach[1] / reach[0]) ** draw[:, 3] + box[:, 1, :2].max(1) / 2
    bearing = 2 * math.pi * draw[:, 4]
    xy = box[:, 0, :2] - np.stack([np.cos(bearing), np.sin(bearing)], 1) * distance[:, None]
    z = city.ground_height(xy.clip(0, city.size)) + heights[0] * (heights[1] / heights[0]) ** draw[:, 5]
    pitch = np.arctan2(box[:, 0, 2] - z, distance) + 0.4 * (draw[:, 6] - 0.5)
    limit = math.radians(tilt)
    aimed = np.stack([xy[:, 0], xy[:, 1], z, 0 * z, pitch.clip(-limit, limit), bearing + 0.9 * (draw[:, 7] - 0.5)], 1)
    found = torch.from_numpy(aimed.astype(np.float32)).to(poses.device)
    inside = torch.from_numpy(((xy > 1) & (xy < city.size - 1)).all(1)).to(poses.device)
    clear = sim.clear(found[:, :3], 0.3, torch.full((n,), scene, dtype=torch.int32, device=sim.device)) & inside
    out = poses.clone()
    out[:n] = torch.where(clear[:, None], found, poses[:n])
    return out


def _pick_objects(class_id: np.ndarray, prototype: np.ndarray, is_object: np.ndarray, draw: np.ndarray) -> np.ndarray:
    """Rows of objects: a class evenly, then one of its prototypes evenly, then one of its instances; draw [n, 3] in [0, 1)."""
    makes = {k: [np.flatnonzero(prototype == p) for p in np.unique(prototype[class_id == k])] for k in np.unique(class_id[is_object])}
    members = list(makes.values())
    rows = []
    for a, b, c in draw:
        make = members[int(a * len(members))]
        instances = make[int(b * len(make))]
        rows.append(instances[int(c * len(instances))])
    return np.array(rows, np.int64)


class ViewPool:
    """Poses of all scenes drawn beforehand; batches of them, rendered without waiting for the device."""

    def __init__(self, sim: Simulator, config: LensTrainConfig, generator: torch.Generator) -> None:
        self.sim, self.config = sim, config
        self.poses = torch.cat([draw_poses(sim, k, config, config.views_per_scene, generator) for k in range(len(sim.scenes))])
        self.scene = torch.arange(len(sim.scenes), dtype=torch.int32, device=sim.device).repeat_interleave(config.views_per_scene)
        self._order = torch.Generator(device=sim.device).manual_seed(config.seed)
        self._drawn = 0

    def batch(self) -> tuple[Frame, Patches]:
        if self.config.views == "all" and self._drawn % LIGHT_STEPS == 0:
            self.sim.set_light(LIGHTS[self._drawn // LIGHT_STEPS % len(LIGHTS)])
        self._drawn += 1
        rows = torch.randint(len(self.poses), (self.config.batch,), generator=self._order, device=self.sim.device)
        poses = self.poses[rows]
        frame = self.sim.render(poses, self.scene[rows], ("depth", "instance", "label", "rgb"), check=False)
        return frame, describe_patches(make_view(frame, poses, self.sim.camera), len(self.sim.scenes[0].classes), self.config.network.patches)


def targets(patches: Patches, config: LensTrainConfig) -> Tensor:
    """[B, C, h, w] how much of each patch is to be answered with each class; nothing where the patch does not count."""
    if config.views == "all":
        return patches.mixture
    inside = (patches.distance >= config.near) & (patches.distance <= config.far)
    return patches.mixture * (inside | (patches.distance == 0))[:, None]  # the sky is at no distance


def train(
    sim: Simulator,
    config: LensTrainConfig | None = None,
    progress: Callable[[int, int, float], Any] | None = None,  # step, of how many, loss
    clock: Callable[[], float] = time.perf_counter,  # seconds
) -> Lens:
    """Train on the simulator's scenes (training cities only; by day for ordinary views); returns the finished source."""
    config = config or LensTrainConfig()
    if config.views == "ordinary" and any(light != "day" for light in sim.lights):
        raise UserError("lens training: views 'ordinary' are by day; give day scenes or a simulator with light 'day', or train with views 'all'")
    classes, device = sim.scenes[0].classes, sim.device
    if odd := [name for name in config.without if name not in classes.index]:
        raise UserError(f"lens training, field 'without': unknown class '{odd[0]}'; known are {', '.join(classes.names)}")
    torch.manual_seed(config.seed)
    pool = ViewPool(sim, config, torch.Generator().manual_seed(config.seed))
    network = LensNetwork(replace(config.network, views=config.views)).to(device, memory_format=torch.channels_last).train()  # pyright: ignore[reportCallIssue]  (stubs)
    prompts, owner = prompt_list(classes)
    texts, owner = embed_sentences(prompts).to(device), owner.to(device)
    seen = torch.ones(len(classes), device=device)
    seen[[classes.index[name] for name in config.without]] = 0.0
    optimiser = torch.optim.AdamW(network.parameters(), lr=config.learning_rate, weight_decay=0.03, fused=device.type == "cuda")
    noise = torch.Generator(device=device).manual_seed(config.seed)
    area = torch.full((len(classes),), 1.0 / len(classes), device=device)
    total, began, step = config.steps, clock(), 0
    while step < total:
        if config.seconds > 0 and step in (WARM, WARM + TIMED):
            if device.type == "cuda":
                torch.cuda.synchronize(device)
            now = clock()
            if step == WARM:
                timed_from = now
            else:
                rate = TIMED / (now - timed_from)
                total = max(int(step + rate * (config.seconds - (now - began))), step + 1)
        if config.seconds > 0 and step < WARM + TIMED:
            total = max(config.steps, WARM + TIMED + 1)
        for group in optimiser.param_groups:
            group["lr"] = config.learning_rate * _schedule(step, total)
        frame, patches = pool.batch()
        assert frame.rgb is not None
        wanted = targets(patches, config) * seen[None, :, None, None]
        x, wanted = _augment(frame.rgb, wanted, config.network.resolution, noise)
        with torch.autocast(device.type, torch.bfloat16, enabled=x.is_cuda):
            embedded = network(x)
        loss, present = _loss(embedded, wanted, texts, owner, area, seen, network.scale, config.rarity)
        area = 0.98 * area + 0.02 * present
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        step += 1
        if progress is not None and (step % 50 == 1 or step >= total):
            value = float(loss.detach())
            if not math.isfinite(value):
                raise FloatingPointError(f"the loss is {value} at step {step}")
            progress(step, total, value)
    return Lens(network.eval(), dict(zip(prompts, texts.cpu(), strict=True)), classes, device)


def train_to_file(sim: Simulator, config: LensTrainConfig, path: Path, progress: Callable[[int, int, float], Any] | None = None) -> dict[str, Any]:
    """Train and save; what the model card says about the training is returned and written beside as PATH.training.json."""
    began, last = time.perf_counter(), (0, 0, math.nan)

    def note(step: int, total: int, loss: float) -> None:
        nonlocal last
        last = (step, total, loss)
        if progress is not None:
            progress(step, total, loss)

    lens = train(sim, config, note)
    lens.save(path)
    record = {
        "steps": last[0], "batch": config.batch, "final_loss": round(last[2], 4), "seconds": round(time.perf_counter() - began, 1), "views": config.views, "without": list(config.without),
        "seed": config.seed, "scenes": len(sim.scenes), "parameters": sum(p.numel() for p in lens.network.parameters()),
    }  # fmt: skip
    temporary = path.with_name(f".{path.name}.training.part")
    temporary.write_text(json.dumps(record) + "\n", "utf-8")
    temporary.replace(training_record(path))
    return record


def training_record(path: Path) -> Path:
    return path.with_suffix(".training.json")


def _schedule(step: int, total: int) -> float:
    """Up over the first twentieth, then down along a cosine."""
    warm = max(total // 20, 1)
    return (step + 1) / warm if step < warm else 0.5 * (1 + math.cos(math.pi * (step - warm) / max(total - warm, 1))) + 1e-3


def _loss(embedded: Tensor, wanted: Tensor, texts: Tensor, owner: Tensor, area: Tensor, seen: Tensor, scale: Tensor, rarity: float) -> tuple[Tensor, Tensor]:
    """Cross-entropy against the mixture of each patch, as if each of its pixels were asked; and the share of each class [C].

    Rare classes weigh more, so a lamp post that fills a fifth of its patch is what the patch answers with.
    """
    # The products in the embedding's own precision (bfloat16 on a GPU), the norm in full.
    norm = torch.linalg.vector_norm(embedded, dim=1, keepdim=True, dtype=torch.float32).clamp(min=1e-6)
    cosine = torch.einsum("bdhw,pd->bphw", embedded, texts.to(embedded.dtype)).float() / norm
    logits = torch.full((len(embedded), len(area), *cosine.shape[2:]), -torch.inf, device=cosine.device)
    logits = logits.scatter_reduce(1, owner[None, :, None, None].expand_as(cosine), cosine, "amax") * scale
    logits = torch.where(seen[None, :, None, None] > 0, logits, -1e4)  # what is left out is not even a wrong answer
    weight = (1.0 / (len(area) * area.clamp(min=1e-6))).pow(rarity).clamp(0.3, 10.0)
    weighted = wanted * weight[None, :, None, None]
    loss = -(weighted * functional.log_softmax(logits, 1)).sum() / weighted.sum().clamp(min=1e-6)
    pixels = wanted.sum((0, 2, 3))
    return loss, pixels / pixels.sum().clamp(min=1e-6)


def _augment(rgb: Tensor, wanted: Tensor, resolution: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """[B, 3, resolution, resolution] normalised: half mirrored, brightness, contrast and white balance varied, a quarter from half the pixels."""
    draw = lambda *shape: torch.rand(len(rgb), *shape, generator=generator, device=rgb.device)  # noqa: E731
    flip = draw(1, 1, 1) < 0.5
    x = rgb.permute(0, 3, 1, 2).float() / 255
    height = resolution * rgb.shape[1] // rgb.shape[2]
    if x.shape[-2:] != (height, resolution):
        x = functional.interpolate(x, (height, resolution), mode="bilinear", antialias=True, align_corners=False)
    coarse = functional.interpolate(functional.avg_pool2d(x, 2), (height, resolution), mode="bilinear", align_corners=False)
    x = torch.where(draw(1, 1, 1) < 0.25, coarse, x)
    x, wanted = torch.where(flip, x.flip(3), x), torch.where(flip, wanted.flip(3), wanted)
    contrast, offset, balance = (2 * draw(1, 1, 1) - 1, 2 * draw(1, 1, 1) - 1, 2 * draw(3, 1, 1) - 1)
    x = (((x - 0.5) * (1 + 0.2 * contrast) + 0.5 + 0.06 * offset) * (1 + 0.06 * balance)).clamp(0, 1)
    x = (x - x.new_tensor(MEAN).view(1, 3, 1, 1)) / x.new_tensor(STD).view(1, 3, 1, 1)
    return x.contiguous(memory_format=torch.channels_last), wanted


def ordinary_views(sim: Simulator, config: LensTrainConfig, batches: int, seed: int = 0) -> list[View]:
    """Views as training draws them."""
    pool = ViewPool(sim, replace(config, views_per_scene=max(config.batch, 1), seed=seed), torch.Generator().manual_seed(seed))
    out = []
    for _ in range(batches):
        frame, _ = pool.batch()
        out.append(make_view(frame, torch.zeros(config.batch, 6, device=sim.device), sim.camera))
    return out
