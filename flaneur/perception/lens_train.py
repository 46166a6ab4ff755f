"""Train Lens on rendered RGB: every patch is pulled to the text of what fills it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
import torch.nn.functional as functional
from torch import Tensor

from flaneur.errors import UserError
from flaneur.perception.base import make_view
from flaneur.perception.lens import MEAN, STD, Lens, LensConfig, LensNetwork
from flaneur.perception.patches import Patches, describe_patches
from flaneur.perception.text import embed_sentences
from flaneur.perception.vlm import prepare, prompt_list
from flaneur.sim import Frame, Simulator


@dataclass(frozen=True)
class LensTrainConfig:
    network: LensConfig = field(default_factory=LensConfig)
    views: Literal["ordinary", "all"] = "ordinary"
    steps: int = 4000
    batch: int = 32
    learning_rate: float = 1e-3
    near: float = 3.0  # metres: ordinary views learn from surfaces between near and far
    far: float = 30.0
    eye_level: tuple[float, float] = (1.5, 3.0)  # metres
    tilt: float = 15.0  # degrees up or down at eye level
    purity: float = 0.6  # a patch counts when one class fills this share of it
    seed: int = 0

    def __post_init__(self) -> None:
        if self.views not in ("ordinary", "all") or self.steps < 1 or self.batch < 1:
            raise UserError(f"lens training: views '{self.views}' (ordinary or all), steps {self.steps} and batch {self.batch} (at least 1)")


def sample_views(sims: Sequence[Simulator], config: LensTrainConfig, generator: torch.Generator) -> tuple[Frame, Patches]:
    """One batch from one scene: free poses at eye level, or anywhere for the control."""
    sim = sims[int(torch.randint(len(sims), (1,), generator=generator))]
    scene = int(torch.randint(len(sim.scenes), (1,), generator=generator))
    ordinary = config.views == "ordinary"
    poses = sim.sample_free(generator, config.batch, scene, config.eye_level if ordinary else None)
    turn = torch.rand(config.batch, generator=generator).to(sim.device)
    low, high = (-config.tilt, config.tilt) if ordinary else (-75.0, config.tilt)
    poses[:, 4] = torch.deg2rad(low + turn * (high - low))
    index = torch.full((config.batch,), scene, dtype=torch.int32, device=sim.device)
    frame = sim.render(poses, index, ("depth", "instance", "label", "rgb"), check=False)
    across = config.network.resolution // 8
    return frame, describe_patches(make_view(frame, poses, sim.camera), len(sim.scenes[0].classes), across)


def targets(patches: Patches, config: LensTrainConfig) -> tuple[Tensor, Tensor]:
    """Class of each patch [B, h, w] and whether it counts."""
    share, label = patches.mixture.max(1)
    counts = share >= config.purity
    if config.views == "ordinary":
        inside = (patches.distance >= config.near) & (patches.distance <= config.far)
        counts &= inside | (patches.distance == 0)  # the sky is at no distance
    return label, counts


def train(
    sims: Sequence[Simulator],
    config: LensTrainConfig | None = None,
    device: str | torch.device = "cpu",
    progress: Callable[[int, float], Any] | None = None,  # step, loss
) -> Lens:
    """Train on the simulators' scenes (training cities only, by day for ordinary views); returns the finished source."""
    config = config or LensTrainConfig()
    if config.views == "ordinary" and any(s.light != "day" for sim in sims for s in sim.scenes):
        raise UserError("lens training: views 'ordinary' are by day; give day scenes, or train with views 'all'")
    classes = sims[0].scenes[0].classes
    torch.manual_seed(config.seed)
    generator = torch.Generator().manual_seed(config.seed)
    network = LensNetwork(LensConfig(config.network.widths, config.network.blocks, config.network.resolution, config.views)).to(device)
    prompts, owner = prompt_list(classes)
    texts = embed_sentences(prompts).to(device)
    owner = owner.to(device)
    optimiser = torch.optim.AdamW(network.parameters(), lr=config.learning_rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, config.learning_rate, total_steps=config.steps, pct_start=0.1)
    frequency = torch.ones(len(classes), device=device)
    for step in range(config.steps):
        frame, patches = sample_views(sims, config, generator)
        assert frame.rgb is not None
        label, counts = targets(patches, config)
        rgb, label, counts = _augment(frame.rgb.to(device), label.to(device), counts.to(device), generator)
        x = prepare(rgb, config.network.resolution * rgb.shape[1] // rgb.shape[2], config.network.resolution, MEAN, STD)
        with torch.autocast(x.device.type, torch.bfloat16, enabled=x.is_cuda):
            embedded = network(x)
        cosine = torch.einsum("bdhw,pd->bphw", functional.normalize(embedded.float(), dim=1), texts)
        logits = torch.full((len(x), len(classes), *cosine.shape[2:]), -torch.inf, device=x.device)
        logits = logits.scatter_reduce(1, owner[None, :, None, None].expand_as(cosine), cosine, "amax") * network.log_scale.exp().clamp(max=100)
        # Rare classes weigh more, by the square root of how rare they have been so far.
        frequency = 0.99 * frequency + 0.01 * torch.bincount(label[counts], minlength=len(classes))
        weight = (frequency.sum() / (len(classes) * frequency.clamp(min=1e-3))).sqrt().clamp(max=10.0)
        loss = functional.cross_entropy(logits, torch.where(counts, label, -100), weight=weight, ignore_index=-100)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        if progress is not None and (step % 20 == 0 or step == config.steps - 1):
            value = float(loss.detach())
            if not math.isfinite(value):
                raise FloatingPointError(f"the loss is {value} at step {step}")
            progress(step, value)
    lens = Lens(network, dict(zip(prompts, texts.cpu(), strict=True)), classes, device)
    lens.measure_class_mean(_calibration_views(sims, config, generator))
    return lens


def _augment(rgb: Tensor, label: Tensor, counts: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Mirror half of the batch and vary brightness and contrast: cameras do, the renderer does not."""
    flip = (torch.rand(len(rgb), generator=generator) < 0.5).to(rgb.device)
    rgb = torch.where(flip[:, None, None, None], rgb.flip(2), rgb)
    label, counts = (torch.where(flip[:, None, None], t.flip(2), t) for t in (label, counts))
    gain, offset = (torch.rand(2, len(rgb), 1, 1, 1, generator=generator) * 2 - 1).to(rgb.device)
    rgb = ((rgb.float() - 128) * (1 + 0.2 * gain) + 128 + 15 * offset).clamp(0, 255).to(torch.uint8)
    return rgb, label, counts


def _calibration_views(sims: Sequence[Simulator], config: LensTrainConfig, generator: torch.Generator, batches: int = 4) -> list[Any]:
    views = []
    for _ in range(batches):
        frame, _ = sample_views(sims, config, generator)
        assert frame.rgb is not None
        views.append(make_view(frame, torch.zeros(len(frame.rgb), 6, device=frame.rgb.device), sims[0].camera))
    return views
