"""CLIP through transformers, from any checkpoint folder in Hugging Face layout; dense by the value path (MaskCLIP)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from flaneur.classes import ClassList
from flaneur.errors import UserError
from flaneur.perception.vlm import VisionLanguageSource, prepare, require_folder

MEAN, STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)  # CLIP's own, when the folder states none


class Clip(VisionLanguageSource):
    def __init__(self, folder: str | Path, classes: ClassList, device: str | torch.device = "cpu", resolution: int | None = None) -> None:
        super().__init__(classes, device)
        folder = require_folder(Path(folder), "config.json", "CLIP checkpoint", "https://huggingface.co/openai/clip-vit-base-patch16 (or any CLIPModel)")
        try:
            from transformers import AutoConfig, AutoTokenizer, CLIPModel
        except ImportError:
            raise UserError("CLIP evidence needs transformers: pip install 'flaneur[vlm]'") from None
        config = AutoConfig.from_pretrained(folder, local_files_only=True)
        if config.model_type != "clip":
            raise UserError(f"{folder}/config.json: field 'model_type' is '{config.model_type}'; a CLIPModel is needed")
        try:
            model: Any = CLIPModel.from_pretrained(folder, local_files_only=True)
            self.tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        except (OSError, ValueError) as error:
            raise UserError(f"{folder}: incomplete CLIP checkpoint ({str(error).splitlines()[0]}); get every file of the repository") from None
        self.model = model.to(self.device, self.dtype).eval()
        self.patch = config.vision_config.patch_size
        # A multiple of the patch; other than the trained resolution the position embedding is interpolated.
        self.resolution = (resolution or config.vision_config.image_size) // self.patch * self.patch
        self.logit_scale = float(model.logit_scale.detach().exp())
        self.name = f"clip ({folder.name})"

    @torch.no_grad()
    def embed_prompts(self, prompts: list[str]) -> Tensor:
        tokens = self.tokenizer(prompts, padding=True, truncation=True, max_length=self.model.config.text_config.max_position_embeddings, return_tensors="pt").to(self.device)
        pooled = self.model.text_model(input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"]).pooler_output
        return self.model.text_projection(pooled)

    @torch.no_grad()
    def embed_patches(self, rgb: Tensor) -> Tensor:
        """In the last block every token attends to itself alone: its value passes through, the residual and the MLP stay."""
        height = round(self.resolution * rgb.shape[1] / rgb.shape[2] / self.patch) * self.patch
        x = prepare(rgb.to(self.device), height, self.resolution, MEAN, STD).to(self.dtype)
        vision = self.model.vision_model
        native = self.model.config.vision_config.image_size
        hidden = vision.pre_layrnorm(vision.embeddings(x, interpolate_pos_encoding=(height, self.resolution) != (native, native)))
        *blocks, last = vision.encoder.layers
        for block in blocks:
            out = block(hidden, attention_mask=None)
            hidden = out[0] if isinstance(out, tuple) else out
        attention = last.self_attn
        hidden = hidden + attention.out_proj(attention.v_proj(last.layer_norm1(hidden)))
        hidden = hidden + last.mlp(last.layer_norm2(hidden))
        patches = self.model.visual_projection(vision.post_layernorm(hidden[:, 1:]))
        return patches.unflatten(1, (height // self.patch, self.resolution // self.patch))
