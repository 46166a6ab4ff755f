from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from city_task import CAMERA, scene_and_truth

from flaneur.classes import load_classes
from flaneur.errors import UserError
from flaneur.perception import make_view
from flaneur.perception.clip import Clip
from flaneur.perception.dinotxt import DinoTxt
from flaneur.perception.vlm import class_similarity
from flaneur.sim import Frame, Simulator

CLASSES = load_classes()


def view_of(rgb):
    poses = torch.zeros(len(rgb), 6)
    return make_view(Frame(rgb=rgb), poses, CAMERA)


def images(seed=0, n=2, size=64):
    return torch.from_numpy(np.random.default_rng(seed).integers(0, 256, (n, size, size, 3), dtype=np.uint8))


@pytest.fixture(scope="module")
def clip_folder(tmp_path_factory):
    """A randomly initialised CLIP in the layout transformers writes, with a small word-level vocabulary."""
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    folder = tmp_path_factory.mktemp("clip") / "tiny-clip"
    words = sorted({w for c in CLASSES for p in c.prompts for w in p.replace(",", " ,").split()})
    vocabulary = {"<|startoftext|>": 0, "<|endoftext|>": 1, "<unk>": 2} | {w: i + 3 for i, w in enumerate(words)}
    raw = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<unk>"))
    raw.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    raw.post_processor = tokenizers.processors.TemplateProcessing(single="<|startoftext|> $A <|endoftext|>", special_tokens=[("<|startoftext|>", 0), ("<|endoftext|>", 1)])
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=raw, pad_token="<|endoftext|>", bos_token="<|startoftext|>", eos_token="<|endoftext|>", unk_token="<unk>")
    torch.manual_seed(0)
    config = transformers.CLIPConfig(
        text_config={"vocab_size": len(vocabulary), "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2,
                     "max_position_embeddings": 32, "eos_token_id": 1, "bos_token_id": 0, "pad_token_id": 1},
        vision_config={"hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4, "image_size": 64, "patch_size": 8}, projection_dim=24,
    )  # fmt: skip
    transformers.CLIPModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_clip_equals_an_independent_computation(clip_folder):
    """Attention of the last block replaced by a hook in the library's own forward; text through the library's own features."""
    import transformers

    source = Clip(clip_folder, CLASSES)
    got = source.similarity(view_of(images()))
    model = transformers.CLIPModel.from_pretrained(clip_folder, attn_implementation="eager").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(clip_folder)
    last = model.vision_model.encoder.layers[-1].self_attn
    last.register_forward_hook(lambda module, args, kwargs, out: (module.out_proj(module.v_proj(kwargs["hidden_states"] if "hidden_states" in kwargs else args[0])), None), with_kwargs=True)
    mean, std = torch.tensor([0.48145466, 0.4578275, 0.40821073]), torch.tensor([0.26862954, 0.26130258, 0.27577711])
    with torch.no_grad():
        hidden = model.vision_model(pixel_values=((images().float() / 255 - mean) / std).permute(0, 3, 1, 2)).last_hidden_state
        v = model.visual_projection(model.vision_model.post_layernorm(hidden[:, 1:]))
        v = v / v.norm(dim=-1, keepdim=True)
        best = []
        for c in CLASSES:
            cosines = []
            for prompt in c.prompts:
                out = model.get_text_features(**tokenizer([prompt], return_tensors="pt"))
                t = (out if isinstance(out, torch.Tensor) else out.pooler_output)[0]
                cosines.append(v @ (t / t.norm()))
            best.append(torch.stack(cosines).amax(0))
    expected = torch.stack(best, 1).view(2, len(CLASSES), 8, 8)
    torch.testing.assert_close(got, expected, atol=1e-5, rtol=0)
    assert source.logit_scale == pytest.approx(float(model.logit_scale.exp()))


def test_clip_at_another_resolution_and_in_the_simulator(clip_folder):
    source = Clip(clip_folder, CLASSES, resolution=96)
    sim = Simulator([scene_and_truth(0)[0]], CAMERA)
    pose = sim.start_poses(0, 1)
    view = make_view(sim.render(pose, outputs=source.outputs), pose, CAMERA)
    assert source.similarity(view).shape == (1, len(CLASSES), 12, 12)
    assert source.measure_class_mean([view]).shape == (len(CLASSES),)


def test_bad_checkpoints_are_one_line(clip_folder, tmp_path):
    (tmp_path / "bert").mkdir()
    (tmp_path / "bert" / "config.json").write_text(json.dumps({"model_type": "bert"}))
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "config.json").write_text((clip_folder / "config.json").read_text())
    for folder in ("none", "bert", "half"):
        with pytest.raises(UserError) as error:
            Clip(tmp_path / folder, CLASSES)
        assert "\n" not in str(error.value)
    with pytest.raises(UserError):
        Clip(clip_folder, CLASSES).similarity(make_view(Frame(), torch.zeros(1, 6), CAMERA))


HUBCONF = """
import torch
class Tokenizer:
    def tokenize(self, texts):
        return torch.tensor([[ord(c) % 50 for c in t[:12].ljust(12)] for t in texts])
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.logit_scale = torch.nn.Parameter(torch.tensor(2.0))
        self.text = torch.nn.Embedding(50, 16)
        self.pixels = torch.nn.Conv2d(3, 8, 16, 16)
    def encode_text(self, tokens):
        return self.text(tokens).mean(1)
    def encode_image_with_patch_tokens(self, x):
        patches = self.pixels(x).flatten(2).transpose(1, 2)
        return patches.mean(1), patches, patches
def dinov3_vitl16_dinotxt_tet1280d20h24l(*, weights, backbone_weights, bpe_path_or_url, pretrained=True, check_hash=False):
    model = Model()
    model.load_state_dict(torch.load(weights))
    return model, Tokenizer()
"""


def test_dinotxt_through_a_stand_in_repository(tmp_path):
    repository = tmp_path / "dinov3"
    repository.mkdir()
    (repository / "hubconf.py").write_text(HUBCONF)
    namespace = {}
    exec(HUBCONF, namespace)
    torch.manual_seed(0)
    model = namespace["Model"]()
    torch.save(model.state_dict(), tmp_path / "head.pth")
    for name in ("backbone.pth", "vocabulary.txt.gz"):
        (tmp_path / name).write_bytes(b"")
    files = (tmp_path / "head.pth", tmp_path / "backbone.pth", tmp_path / "vocabulary.txt.gz")
    source = DinoTxt(repository, *files, CLASSES, resolution=64)
    got = source.similarity(view_of(images()))
    x = ((images().float() / 255 - torch.tensor([0.485, 0.456, 0.406])) / torch.tensor([0.229, 0.224, 0.225])).permute(0, 3, 1, 2)
    with torch.no_grad():
        text = model.encode_text(namespace["Tokenizer"]().tokenize(source.prompts))[:, 8:]
        patches = model.encode_image_with_patch_tokens(x)[1].view(2, 4, 4, 8)
    torch.testing.assert_close(got, class_similarity(patches, text, source._owner, len(CLASSES)), atol=1e-6, rtol=0)
    with pytest.raises(UserError, match="missing"):
        DinoTxt(repository, tmp_path / "absent.pth", *files[1:], CLASSES)
    with pytest.raises(UserError, match="hubconf"):
        DinoTxt(tmp_path, *files, CLASSES)
    torch.save({"other": torch.zeros(1)}, tmp_path / "other.pth")
    with pytest.raises(UserError) as error:
        DinoTxt(repository, tmp_path / "other.pth", *files[1:], CLASSES)
    assert "\n" not in str(error.value)


def test_max_over_prompts_by_hand():
    patches = torch.tensor([[[[1.0, 0.0]]]])
    prompts = torch.tensor([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    got = class_similarity(patches, prompts, torch.tensor([0, 0, 1]), 2)[0, :, 0, 0]
    torch.testing.assert_close(got, torch.tensor([1.0, 0.5**0.5]))
