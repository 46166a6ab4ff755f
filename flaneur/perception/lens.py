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
    widths: tuple[int, int, int] = (48, 96, 192)  # channels at strides 2, 4, 8
    blocks: int = 6  # residual blocks at stride 8
    resolution: int = 256  # pixels across; 32 patches
    views: str = "ordinary"  # what it was trained on: ordinary (street level, 3 to 30 m, day) or all (the control)


class Block(nn.Module):
    """Depthwise 7 x 7 with dilation, then a pointwise MLP: a wide view at little cost."""

    def __init__(self, width: int, dilation: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, 7, padding=3 * dilation, dilation=dilation, groups=width)
        self.norm = nn.GroupNorm(1, width)
        self.mlp = nn.Sequential(nn.Conv2d(width, 4 * width, 1), nn.GELU(), nn.Conv2d(4 * width, width, 1))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.mlp(self.norm(self.depthwise(x)))


class LensNetwork(nn.Module):
    def __init__(self, config: LensConfig) -> None:
        super().__init__()
        self.config = config
        stages, before = [], 3
        for width in config.widths:
            stages += [nn.Conv2d(before, width, 5, stride=2, padding=2), nn.GroupNorm(8, width), nn.GELU(), nn.Conv2d(width, width, 3, padding=1), nn.GELU()]
            before = width
        self.stem = nn.Sequential(*stages)
        self.body = nn.Sequential(*(Block(before, 1 + i % 3) for i in range(config.blocks)))
        self.head = nn.Conv2d(before, TEXT_WIDTH, 1)
        self.log_scale = nn.Parameter(torch.tensor(math.log(20.0)))

    def forward(self, x: Tensor) -> Tensor:  # [B, 3, H, W] -> [B, 384, H / 8, W / 8]
        return self.head(self.body(self.stem(x)))


class Lens(VisionLanguageSource):
    def __init__(self, network: LensNetwork, texts: dict[str, Tensor], classes: ClassList, device: str | torch.device = "cpu", class_mean: Tensor | None = None) -> None:
        super().__init__(classes, device)
        self.network, self._texts = network.to(self.device, self.dtype).eval(), texts
        self.logit_scale = float(network.log_scale.detach().exp())
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
            network.load_state_dict({k.removeprefix("network."): v for k, v in tensors.items() if k.startswith("network.")})
            prompts = json.loads(meta["prompts"])
        except Exception as error:
            raise UserError(f"{path}: not Lens weights ({str(error).splitlines()[0]}); train them with `flaneur lens train`") from None
        mean = tensors.get("class_mean") if json.loads(meta["classes"]) == list(classes.names) else None
        return cls(network, dict(zip(prompts, tensors["texts"], strict=True)), classes, device, mean)

    def save(self, path: str | Path) -> None:
        """float16 safetensors, written beside and renamed."""
        tensors = {f"network.{k}": v.half().contiguous() for k, v in self.network.state_dict().items()}
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
        x = prepare(rgb.to(self.device), height, width, MEAN, STD).to(self.dtype)
        return functional.normalize(self.network(x).float(), dim=1).permute(0, 2, 3, 1)
