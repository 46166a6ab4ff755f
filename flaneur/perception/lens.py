"""Lens: a small dense image encoder whose patch embeddings live in a sentence encoder's space (LSeg's idea).

A new class is a new prompt. The text embeddings of the default prompts travel with the weights; the sentence encoder
(all-MiniLM-L6-v2) is needed for new prompts alone.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as functional
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from flaneur.classes import ClassList
from flaneur.errors import UserError
from flaneur.perception.text import TEXT_WIDTH, embed_sentences
from flaneur.perception.vlm import VisionLanguageSource, prepare

MEAN, STD = (0.45, 0.45, 0.45), (0.25, 0.25, 0.25)


@dataclass(frozen=True)
class LensConfig:
    widths: tuple[int, int, int] = (32, 96, 208)  # channels at strides 2, 4, 8
    blocks: tuple[int, int] = (3, 4)  # residual blocks at strides 4 and 8: where a thing ends is found at 4, what it is at 8
    resolution: int = 256  # pixels across
    patch: int = 4  # pixels a side: 4, or 2 with a second step back up
    views: str = "ordinary"  # what it was trained on: ordinary (street level, 3 to 30 m, day) or all (the control)

    @property
    def patches(self) -> int:
        """Across the view."""
        return self.resolution // self.patch

    def __post_init__(self) -> None:
        if len(self.widths) != 3 or len(self.blocks) != 2 or self.resolution < 8 or self.resolution % 8 or self.patch not in (2, 4):
            raise UserError(f"lens: widths {self.widths} (three), blocks {self.blocks} (two), resolution {self.resolution} (a multiple of 8), patch {self.patch} (2 or 4)")


def convolution(before: int, after: int, kernel: int = 3, stride: int = 1, dilation: int = 1) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(before, after, kernel, stride, dilation * (kernel // 2), dilation, bias=False), nn.BatchNorm2d(after))


class Block(nn.Module):
    """Two dilated 3 x 3 convolutions: dense ones, which a GPU does at many times the rate of depthwise ones."""

    def __init__(self, width: int, dilation: int = 1) -> None:
        super().__init__()
        self.first, self.second = convolution(width, width, dilation=dilation), convolution(width, width, dilation=dilation)

    def forward(self, x: Tensor) -> Tensor:
        return functional.gelu(x + self.second(functional.gelu(self.first(x))))


def twice(x: Tensor) -> Tensor:
    return functional.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False)


class LensNetwork(nn.Module):
    def __init__(self, config: LensConfig) -> None:
        super().__init__()
        self.config = config
        (w2, w4, w8), (n4, n8) = config.widths, config.blocks
        self.fine = nn.Sequential(convolution(3, w2, 5, 2), nn.GELU(), convolution(w2, w4, 3, 2), nn.GELU(), *(Block(w4, 1 + i % 2) for i in range(n4)))
        self.body = nn.Sequential(convolution(w4, w8, 3, 2), nn.GELU(), *(Block(w8, 2 ** (i % 3)) for i in range(n8)))
        # Back up: most of what is small in a city is smaller than 8 pixels (decision 0080).
        self.up = convolution(w8, w4, 1)
        self.joined = Block(w4)
        last = w4
        if config.patch == 2:
            last = 2 * w2
            self.edge, self.finest, self.last = convolution(w2, last, 1), convolution(w4, last, 1), Block(last)
        self.head = nn.Conv2d(last, TEXT_WIDTH, 1)
        self.log_scale = nn.Parameter(torch.tensor(math.log(20.0)))

    def forward(self, x: Tensor) -> Tensor:  # [B, 3, H, W] -> [B, 384, H / patch, W / patch]
        stem = self.fine[:2](x)
        fine = self.fine[2:](stem)
        out = self.joined(functional.gelu(fine + twice(self.up(self.body(fine)))))
        if self.config.patch == 2:
            out = self.last(functional.gelu(self.edge(stem) + twice(self.finest(out))))
        return self.head(out)

    @property
    def scale(self) -> Tensor:
        """What cosines are multiplied with before the softmax; CLIP's bound."""
        return self.log_scale.exp().clamp(max=100.0)


class Lens(VisionLanguageSource):
    recordable = True

    def __init__(self, network: LensNetwork, texts: dict[str, Tensor], classes: ClassList, device: str | torch.device = "cpu", class_mean: Tensor | None = None) -> None:
        super().__init__(classes, device)
        # The weights stay float32, whose running statistics bfloat16 would spoil; autocast makes the halves.
        self.network, self._texts = network.to(self.device, memory_format=torch.channels_last).eval(), texts  # pyright: ignore[reportCallIssue]  (stubs)
        self.logit_scale = float(network.scale.detach())
        self.name = "lens" if network.config.views == "ordinary" else f"lens-{network.config.views}"
        self.class_mean = class_mean

    @classmethod
    def load(cls, path: str | Path, classes: ClassList, device: str | torch.device = "cpu") -> Lens:
        path = Path(path)
        if not path.is_file():
            raise UserError(f"{path}: no Lens weights here; train them with `flaneur lens train --out {path}`")
        try:
            with safe_open(path, "pt") as file:
                meta, tensors = file.metadata() or {}, {k: file.get_tensor(k).float() for k in file.keys()}  # noqa: SIM118  not a dict
            config: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in json.loads(meta["config"]).items()}
            network = LensNetwork(LensConfig(**config))
            own = {k: v for k, v in network.state_dict().items() if k.endswith("num_batches_tracked")}
            network.load_state_dict(own | {k.removeprefix("network."): v for k, v in tensors.items() if k.startswith("network.")})
            prompts = json.loads(meta["prompts"])
        except Exception as error:
            raise UserError(f"{path}: not Lens weights ({str(error).splitlines()[0]}); train them with `flaneur lens train`") from None
        mean = tensors.get("class_mean") if json.loads(meta["classes"]) == list(classes.names) else None
        return cls(network, dict(zip(prompts, tensors["texts"], strict=True)), classes, device, mean)

    def save(self, path: str | Path) -> None:
        """float16 safetensors (running statistics in float32), written beside and renamed."""
        state = {k: v for k, v in self.network.state_dict().items() if not k.endswith("num_batches_tracked")}
        tensors = {f"network.{k}": (v.float() if "running_" in k else v.half()).contiguous() for k, v in state.items()}
        tensors["texts"] = torch.stack(list(self._texts.values())).half()
        if self.class_mean is not None:
            tensors["class_mean"] = self.class_mean.half()
        path = Path(path)
        temporary = path.with_name(f".{path.name}.part")
        meta = {"config": json.dumps(asdict(self.network.config)), "prompts": json.dumps(list(self._texts)), "classes": json.dumps(list(self.classes.names))}
        save_file({k: v.cpu() for k, v in tensors.items()}, temporary, metadata=meta)
        temporary.replace(path)

    def embed_prompts(self, prompts: list[str]) -> Tensor:
        missing = [p for p in prompts if p not in self._texts]
        if missing:
            self._texts |= dict(zip(missing, embed_sentences(missing), strict=True))
        return torch.stack([self._texts[p] for p in prompts]).to(self.device)

    @torch.no_grad()
    def embed_patches(self, rgb: Tensor) -> Tensor:
        width = self.network.config.resolution
        height = round(width * rgb.shape[1] / rgb.shape[2] / 8) * 8
        x = prepare(rgb.to(self.device), height, width, MEAN, STD).contiguous(memory_format=torch.channels_last)
        with torch.autocast(x.device.type, torch.bfloat16, enabled=x.is_cuda):
            embedded = self.network(x)
        return embedded.permute(0, 2, 3, 1)
