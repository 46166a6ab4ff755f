"""DINOv3 with its dino.txt head, through the official repository at a local path and its weight files.

The real weights are gated; the code path is tested on a stand-in repository in the documented layout and was never run
with the real ones here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from flaneur.classes import ClassList
from flaneur.errors import UserError
from flaneur.perception.vlm import VisionLanguageSource, prepare, require_folder

ENTRY = "dinov3_vitl16_dinotxt_tet1280d20h24l"
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
PATCH = 16
SOURCE = "https://github.com/facebookresearch/dinov3"


class DinoTxt(VisionLanguageSource):
    def __init__(
        self,
        repository: str | Path,  # a clone of the official repository
        weights: str | Path,  # vision head and text encoder (.pth)
        backbone_weights: str | Path,  # ViT-L/16 (.pth)
        vocabulary: str | Path,  # bpe_simple_vocab_16e6.txt.gz
        classes: ClassList,
        device: str | torch.device = "cpu",
        resolution: int = 512,
        entry: str = ENTRY,
    ) -> None:
        super().__init__(classes, device)
        repository = require_folder(Path(repository), "hubconf.py", "DINOv3 repository", SOURCE)
        files = {"weights": Path(weights), "backbone_weights": Path(backbone_weights), "bpe_path_or_url": Path(vocabulary)}
        for field, file in files.items():
            if not file.is_file():
                raise UserError(f"{file}: missing ({field}); request it at {SOURCE} and give its path")
        paths: dict[str, Any] = {k: str(v.resolve()) for k, v in files.items()}
        try:
            loaded: Any = torch.hub.load(str(repository), entry, source="local", **paths)
        except (RuntimeError, KeyError, ImportError, OSError) as error:
            raise UserError(f"{repository}: '{entry}' does not load these weights ({str(error).splitlines()[0]}); give the files that belong to it") from None
        model, self.tokenizer = loaded
        self.model = model.to(self.device, self.dtype).eval()
        self.resolution = resolution // PATCH * PATCH
        self.logit_scale = float(model.logit_scale.detach().exp())
        self.name = "dinotxt (ViT-L/16)"

    @torch.no_grad()
    def embed_prompts(self, prompts: list[str]) -> Tensor:
        """The second half of a text embedding is aligned with patches, the first with the class token."""
        features = self.model.encode_text(self.tokenizer.tokenize(prompts).to(self.device))
        return features[:, features.shape[1] // 2 :]

    @torch.no_grad()
    def embed_patches(self, rgb: Tensor) -> Tensor:
        height = round(self.resolution * rgb.shape[1] / rgb.shape[2] / PATCH) * PATCH
        x = prepare(rgb.to(self.device), height, self.resolution, MEAN, STD).to(self.dtype)
        _, patches, _ = self.model.encode_image_with_patch_tokens(x)
        return patches.unflatten(1, (height // PATCH, self.resolution // PATCH))
