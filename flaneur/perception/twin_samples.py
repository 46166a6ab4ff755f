"""What a source answers to patches of rendered frames: the material a twin is fitted to and judged by.

Poses come in pairs: the second of a pair stands in the same view cell as the first, so that what repeats can be told
from what does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from flaneur.perception.base import EvidenceSource, make_view
from flaneur.perception.patches import describe_patches
from flaneur.perception.twin_memory import FEATURES, tabulate_patches
from flaneur.sim import Simulator


@dataclass(frozen=True)
class Samples:
    """Patches of N frames, flattened: M = N * h * w rows."""

    features: Tensor  # [M, F]
    largest: Tensor  # [M] class that fills most
    second: Tensor  # [M] the next one, -1 none
    similarity: Tensor  # [M, C] f16
    surface: Tensor  # [M] i64: scene, instance and 4 m cell
    pair: Tensor  # [M] i32: which pair of frames
    late: Tensor  # [M] bool: of the pair's second view
    grid: tuple[int, int]  # h, w

    def rows(self, index: slice) -> Samples:
        """Some of the patches; what lies beside what is then lost."""
        return replace(self, **{f.name: getattr(self, f.name)[index] for f in fields(self) if f.name != "grid"})

    def bin_of(self, feature: str, edges: Sequence[float]) -> Tensor:
        return torch.bucketize(self.features[:, FEATURES.index(feature)].contiguous(), torch.tensor(edges, device=self.features.device), right=True)


FINEST = 128  # patches across a view that a twin answers for


def own_patches(source: EvidenceSource, sim: Simulator) -> int:
    """Across the view, as the source answers a frame of this camera."""
    poses = sim.start_poses(0, 1)
    view = make_view(sim.render(poses, torch.zeros(1, dtype=torch.int32, device=sim.device), tuple(sorted({"depth", *source.outputs}))), poses, sim.camera)
    return min(source.similarity(view).shape[-1], FINEST)


def paired_poses(sim: Simulator, scene: int, pairs: int, generator: torch.Generator, pitches: Sequence[float] = (0.0, -30.0, -60.0)) -> Tensor:
    """[2 * pairs, 6]: free poses at log-uniform heights, each followed by one in the same view cell (2 m, 30 degrees)."""
    parts = [sim.sample_free(generator, -(-pairs // 4), scene, z) for z in ((1.5, 4.0), (4.0, 11.0), (11.0, 30.0), (30.0, sim.high))]
    first = torch.cat(parts)[torch.randperm(4 * -(-pairs // 4), generator=generator)[:pairs].to(sim.device)]
    first[:, 4] = torch.tensor([math.radians(p) for p in pitches], device=sim.device)[torch.randint(len(pitches), (len(first),), generator=generator).to(sim.device)]
    sector = math.pi / 6
    jitter = torch.rand(len(first), 4, generator=generator).to(sim.device)
    second = first.clone()
    second[:, :3] = (torch.floor(first[:, :3] / 2.0) + 0.1 + 0.8 * jitter[:, :3]) * 2.0
    second[:, 5] = (torch.floor(first[:, 5] / sector) + 0.1 + 0.8 * jitter[:, 3]) * sector
    clear = sim.clear(second[:, :3], 0.1, torch.full((len(second),), scene, dtype=torch.int32, device=sim.device))
    second[~clear] = first[~clear] + second.new_tensor([0.0, 0.0, 0.0, 0.0, 0.0, 1e-3])
    return torch.stack([first, second], 1).reshape(-1, 6)


def collect(
    source: EvidenceSource, sims: Sequence[Simulator], pairs: int, patches: int = 64, seed: int = 0, batch: int = 16, lights: Sequence[str] | None = None, tick: Callable[[], None] | None = None
) -> Samples:  # fmt: skip
    """Ask the source about paired poses in every scene: once in each of `lights`, or in the scene's own; `tick` after each."""
    generator = torch.Generator().manual_seed(seed)
    parts: dict[str, list[Tensor]] = {f.name: [] for f in fields(Samples) if f.name != "grid"}
    grid, frames, scenes = (0, 0), 0, 0
    outputs = tuple(sorted({"depth", "instance", "label", *source.outputs}))
    for sim in sims:
        before = sim.lights
        for scene, city in enumerate(sim.scenes):
            for light in lights or [city.light]:
                sim.set_light(light)
                poses = paired_poses(sim, scene, pairs, generator)
                for part in poses.split(2 * batch):
                    frame = sim.render(part, torch.full((len(part),), scene, dtype=torch.int32, device=sim.device), outputs, check=False)
                    view = make_view(frame, part, sim.camera, seed * 1009 + scenes, light)
                    p = describe_patches(view, len(source.classes), patches)
                    features, two = tabulate_patches(p, view, source.classes)
                    similarity = source.similarity(view)
                    b, _, h, w = p.mixture.shape
                    if similarity.shape[-2:] != (h, w):
                        similarity = torch.nn.functional.interpolate(similarity, (h, w), mode="nearest")
                    grid = (h, w)
                    cell = torch.floor(p.point / 4.0).long() + 512
                    surface = ((scenes * 65536 + p.instance.long() + 1) << 30) | (cell[..., 0] << 20) | (cell[..., 1] << 10) | cell[..., 2]
                    ids = (torch.arange(b, device=surface.device, dtype=torch.int32) + frames)[:, None, None].expand(b, h, w)
                    frames += b
                    flat = {
                        "features": features.flatten(0, 2), "largest": two[..., 0].flatten(), "second": two[..., 1].flatten(), "similarity": similarity.permute(0, 2, 3, 1).flatten(0, 2).half(),
                        "surface": surface.flatten(), "pair": (ids // 2).flatten(), "late": (ids % 2 == 1).flatten(),
                    }  # fmt: skip
                    for k, v in flat.items():
                        parts[k].append(v)
                if tick is not None:
                    tick()
            scenes += 1
        sim.set_light(before[0] if len(set(before)) == 1 else None)
    return Samples(**{k: torch.cat(v) for k, v in parts.items()}, grid=grid)
