"""Frames a second of evidence: CLIP-B/16 at 224 and ViT-L/16 at 512 with random weights, bare and through our interface; Lens; twins.

    python benchmarks/perception_speed.py --out FILE.json [--device auto] [--seconds 2] [--scene SCENE] [--twin FILE] [--lens FILE] [--tiny]

Bar: the interface costs at most 15 % of the bare forward of the vision tower. Needs transformers and tokenizers for the
first two; figures of the others are made where the files are given. A twin is timed on 256 views of 128 x 128 pixels.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from flaneur.city.scene import Scene
from flaneur.classes import load_classes
from flaneur.geometry import Camera
from flaneur.perception import Twin, make_view
from flaneur.perception.clip import MEAN, STD, Clip
from flaneur.perception.lens import Lens
from flaneur.perception.lens_train import LensTrainConfig, draw_poses
from flaneur.perception.vlm import prepare
from flaneur.sim import Frame, Simulator

OVERHEAD = 0.15
MODELS: dict[str, dict[str, int]] = {
    "clip_b16_224": {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 12, "image_size": 224, "patch_size": 16},
    "vit_l16_512": {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16, "image_size": 512, "patch_size": 16},
}
BATCH = {"clip_b16_224": 128, "vit_l16_512": 32}


def save_random_clip(folder: Path, vision: dict[str, int]) -> None:
    """A CLIPModel of that size with random weights, and a word-level tokenizer, in Hugging Face layout."""
    import tokenizers
    import transformers

    words = sorted({w for c in load_classes() for p in c.prompts for w in p.replace(",", " ,").split()})
    vocabulary = {"<|startoftext|>": 0, "<|endoftext|>": 1, "<unk>": 2} | {w: i + 3 for i, w in enumerate(words)}
    raw = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<unk>"))
    raw.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()  # type: ignore[assignment]
    transformers.PreTrainedTokenizerFast(tokenizer_object=raw, pad_token="<|endoftext|>", bos_token="<|startoftext|>", eos_token="<|endoftext|>", unk_token="<unk>").save_pretrained(folder)
    text = {"vocab_size": len(vocabulary), "hidden_size": 512, "intermediate_size": 1024, "num_hidden_layers": 2, "num_attention_heads": 8, "max_position_embeddings": 77, "eos_token_id": 1,
            "bos_token_id": 0, "pad_token_id": 1}  # fmt: skip
    torch.manual_seed(0)
    transformers.CLIPModel(transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=512)).to(torch.bfloat16).save_pretrained(folder)


def rate(step: Callable[[], Any], items: int, seconds: float, device: torch.device) -> float:
    """Items a second, after warming up."""
    wait = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    for _ in range(3):
        step()
    wait()
    began, done = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        for _ in range(4 if device.type == "cuda" else 1):
            step()
            done += items
        wait()
    return done / (time.perf_counter() - began)


def vision_speed(name: str, device: torch.device, seconds: float, tiny: bool) -> dict[str, Any]:
    shape = MODELS[name] | ({"num_hidden_layers": 2, "hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 2} if tiny else {})
    batch = 2 if tiny else BATCH[name]
    with tempfile.TemporaryDirectory() as folder:
        save_random_clip(Path(folder), shape)
        source = Clip(folder, load_classes(), device)
    rgb = torch.randint(0, 256, (batch, 256, 256, 3), dtype=torch.uint8, device=device)
    view = make_view(Frame(rgb=rgb), torch.zeros(batch, 6, device=device), Camera.from_fov(256, 256))
    x = prepare(rgb, shape["image_size"], shape["image_size"], MEAN, STD).to(source.dtype)

    @torch.no_grad()
    def bare() -> Tensor:
        return source.model.vision_model(pixel_values=x).last_hidden_state

    figures = {"batch": batch, "resolution": shape["image_size"], "bare": rate(bare, batch, seconds, device), "through_us": rate(lambda: source.similarity(view), batch, seconds, device)}
    figures["overhead"] = 1 - figures["through_us"] / figures["bare"]
    return {k: round(v, 4) if v < 1 else round(v, 1) for k, v in figures.items()} | {"bar": OVERHEAD, "pass": figures["overhead"] <= OVERHEAD}


def source_speed(make: Callable[[Any], Any], scene: Path, pixels: int, views: int, device: torch.device, seconds: float) -> dict[str, Any]:
    """Frames a second of a source alone, and with the rendering of what it looks at."""
    sim = Simulator([Scene.load(scene)], Camera.from_fov(pixels, pixels), device)
    source = make(sim.scenes[0].classes)
    poses = draw_poses(sim, 0, LensTrainConfig(views="all"), views, torch.Generator().manual_seed(0))
    outputs = tuple(sorted({"depth", "instance", "label", *source.outputs}))
    index = torch.zeros(views, dtype=torch.int32, device=sim.device)
    view = make_view(sim.render(poses, index, outputs, check=False), poses, sim.camera)
    both = lambda: source.similarity(make_view(sim.render(poses, index, outputs, check=False), poses, sim.camera))  # noqa: E731
    alone = rate(lambda: source.similarity(view), views, seconds, device)
    return {
        "source": source.name,
        "pixels": pixels,
        "views": views,
        "alone": round(alone, 1),
        "with_rendering": round(rate(both, views, seconds, device), 1),
        "alone_ms": round(1e3 * views / alone, 3),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seconds", type=float, default=2.0, help="per figure")
    parser.add_argument("--scene", type=Path)
    parser.add_argument("--twin", type=Path)
    parser.add_argument("--lens", type=Path)
    parser.add_argument("--tiny", action="store_true", help="small models and batches, to see that everything runs")
    a = parser.parse_args()
    device = torch.device("cuda" if a.device == "auto" and torch.cuda.is_available() else "cpu" if a.device == "auto" else a.device)
    document: dict[str, Any] = {"machine": torch.cuda.get_device_name() if device.type == "cuda" else platform.machine(), "torch": torch.__version__}
    views = 4 if a.tiny else 256
    work: dict[str, Callable[[], dict[str, Any]]] = {}
    if a.scene:
        sources: dict[str, Callable[[Any], Any]] = {"twin_easy": lambda c: Twin.named("easy", c, device)}
        if a.twin and a.twin.is_file():
            sources["twin"] = lambda c: Twin.named(a.twin, c, device)
        if a.lens and a.lens.is_file():
            sources["lens"] = lambda c: Lens.load(a.lens, c, device)
        for name, make in sources.items():
            for pixels in (128, 256):
                work[f"{name}_{pixels}"] = lambda make=make, pixels=pixels: source_speed(make, a.scene, pixels, views, device, a.seconds)
    work |= {name: lambda name=name: vision_speed(name, device, a.seconds, a.tiny) for name in MODELS}
    for name, measure in work.items():
        try:
            document[name] = measure()
        except ImportError as error:
            document[name] = {"missing": str(error)}
        print(name, json.dumps(document[name]), flush=True)
        a.out.parent.mkdir(parents=True, exist_ok=True)
        a.out.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    return 0 if all(figures.get("pass", True) for figures in document.values() if isinstance(figures, dict)) else 1


if __name__ == "__main__":
    sys.exit(main())
