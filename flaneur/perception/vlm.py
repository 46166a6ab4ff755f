"""What real vision-language models share: pixels in, patch embeddings against prompt embeddings, max over a class's prompts."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import torch
import torch.nn.functional as functional
from torch import Tensor

from flaneur.classes import ClassList
from flaneur.errors import UserError
from flaneur.perception.base import View


def require_folder(path: Path, file: str, what: str, where_from: str) -> Path:
    """The folder, or one line that says what to get and where to put it."""
    path = Path(path)
    if not (path / file).exists():
        raise UserError(f"{path}: no {what} here ({file} is missing); get it from {where_from} and put the folder there")
    return path


def prepare(rgb: Tensor, height: int, width: int, mean: tuple[float, ...], std: tuple[float, ...]) -> Tensor:
    """[B, H, W, 3] u8 sRGB -> [B, 3, height, width] normalised, resized with antialiasing."""
    x = rgb.permute(0, 3, 1, 2).float() / 255
    if x.shape[-2:] != (height, width):
        x = functional.interpolate(x, (height, width), mode="bilinear", antialias=True, align_corners=False)
    return (x - _on(mean, x.device)) / _on(std, x.device)


@cache
def _on(values: tuple[float, ...], device: torch.device) -> Tensor:
    """[1, 3, 1, 1], sent to the device once: sending makes it wait."""
    return torch.tensor(values, device=device).view(1, 3, 1, 1)


def prompt_list(classes: ClassList) -> tuple[list[str], Tensor]:
    """All prompts in class order, and the class of each [P]."""
    prompts = [p for c in classes for p in c.prompts]
    return prompts, torch.tensor([c.id for c in classes for _ in c.prompts])


def class_similarity(patches: Tensor, prompts: Tensor, owner: Tensor, class_count: int) -> Tensor:
    """Cosines [B, C, h, w] of patch embeddings [B, h, w, D] and prompt embeddings [P, D]; max over a class's prompts."""
    v, t = functional.normalize(patches.float(), dim=-1), functional.normalize(prompts.float(), dim=-1)
    cosine = torch.einsum("bhwd,pd->bphw", v, t)
    out = torch.full((len(v), class_count, *v.shape[1:3]), -torch.inf, device=v.device)
    index = owner.to(v.device)[None, :, None, None].expand_as(cosine)
    return out.scatter_reduce_(1, index, cosine, "amax")


class VisionLanguageSource:
    """An evidence source over RGB. Subclasses make patch embeddings and prompt embeddings."""

    outputs = ("depth", "rgb")
    class_mean: Tensor | None = None  # set by `measure_class_mean` on training views
    name = "vlm"

    def __init__(self, classes: ClassList, device: str | torch.device = "cpu") -> None:
        self.classes, self.device = classes, torch.device(device)
        self.prompts, self._owner = prompt_list(classes)
        self._embedded: Tensor | None = None
        # Half precision is the models' own on a GPU; the CPU has no fast kernels for it.
        self.dtype = torch.bfloat16 if self.device.type == "cuda" else torch.float32

    def embed_prompts(self, prompts: list[str]) -> Tensor:  # [P, D]
        raise NotImplementedError

    def embed_patches(self, rgb: Tensor) -> Tensor:  # [B, H, W, 3] u8 -> [B, h, w, D]
        raise NotImplementedError

    @torch.no_grad()
    def similarity(self, view: View) -> Tensor:
        if view.frame.rgb is None:
            raise UserError(f"{self.name} evidence: the frame has no RGB image; render it with outputs=('depth', 'rgb')")
        if self._embedded is None:
            self._embedded, self._owner = self.embed_prompts(self.prompts), self._owner.to(self.device)
        return class_similarity(self.embed_patches(view.frame.rgb), self._embedded, self._owner, len(self.classes))

    def measure_class_mean(self, views: list[View]) -> Tensor:
        """Mean similarity per class [C] over training views; the map subtracts it when it centres."""
        self.class_mean = torch.stack([self.similarity(v).mean((0, 2, 3)) for v in views]).mean(0)
        return self.class_mean
