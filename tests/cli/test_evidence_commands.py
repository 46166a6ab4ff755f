"""`flaneur lens` and `flaneur twin` with a tiny network on the tiny cities."""

import json
import subprocess
import sys

import pytest

from flaneur.cli.main import main
from flaneur.perception.card import read_figures, slug

TINY = ("--widths", "8", "16", "16", "--blocks", "1", "1", "--image", "64", "--steps", "4", "--batch", "2", "--poses", "8", "--device", "cpu")
LOOK = ("--image", "64", "--views", "8", "--device", "cpu")
PAIRS = ("--image", "64", "--pairs", "8", "--minimum", "50", "--device", "cpu")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two cities, weights and their figures, made once through the command line."""
    from scenes import tiny_scene

    root = tmp_path_factory.mktemp("evidence")
    for seed in (0, 1):
        tiny_scene(seed).save(root / f"city{seed}" / "s")
    assert main(["lens", "train", "--scenes", str(root / "city0"), "--out", str(root / "lens.safetensors"), *TINY]) == 0
    assert main(["lens", "evaluate", str(root / "lens.safetensors"), "--scenes", str(root / "city1"), "--out", str(root / "card"), *LOOK]) == 0
    return root


def run(capsys, *words):
    """The JSON a command prints."""
    capsys.readouterr()
    assert main([*map(str, words), "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""  # nobody watches: no bar
    return json.loads(captured.out)


def test_training_says_what_it_did(folder):
    record = json.loads((folder / "lens.training.json").read_text())
    assert record["steps"] == 4 and record["scenes"] == 1 and record["views"] == "ordinary" and record["parameters"] > 1000


def test_the_card_has_figures_text_and_pictures(folder):
    names = {p.name for p in (folder / "card").iterdir()}
    assert names == {"lens_figures.json", "lens.md"} | {f"lens_{kind}.{ending}" for kind in ("reliability", "grid", "confusion") for ending in ("svg", "png")}
    figures = json.loads((folder / "card" / "lens_figures.json").read_text())
    assert figures["scenes"] == ["tiny-1"] and figures["training"]["steps"] == 4 and sum(map(sum, figures["confusion"])) == figures["everywhere_objects"]
    grid = figures["by_distance_and_size"]
    assert sum(sum(row) for g in grid.values() for row in g["objects"]) == figures["everywhere_objects"]
    text = (folder / "card" / "lens.md").read_text()
    for word in ("## By class", "### Distance", "### Apparent size", "### Height", "### Light", "night", "lens_grid.svg", "training steps"):
        assert word in text


def test_a_card_of_a_finished_run_needs_no_rendering(folder, tmp_path, capsys):
    """perception.json as benchmarks/perception.py writes it: several sources in one file, what is known of them beside."""
    figures = json.loads((folder / "card" / "lens_figures.json").read_text())
    bare = {k: v for k, v in figures.items() if k not in ("training", "by_distance_and_size", "size_bins", "scenes", "pixels", "machine")}
    withheld = {"chance": {"auroc": 0.5, "right": 0.03}, "classes": {"truck": {"never_seen": {"objects": 40, "auroc": 0.7, "right": 0.1}, "seen": {"objects": 0, "auroc": None, "right": None}}}}
    document = {
        "scenes": {"held_out": ["a", "b"]}, "pixels": 256, "machine": {"device": "cpu"}, "weights_bytes": {"lens.safetensors": 123456},
        "lens_figures": bare, "lens.training": {"steps": 77, "batch": 128},
        "twin_lens_figures": bare | {"source": "twin (fitted to lens)"}, "twin_lens_match": {"rows": 5, "total_variation_macro": 0.04}, "withheld": withheld,
    }  # fmt: skip
    (tmp_path / "perception.json").write_text(json.dumps(document))
    report = run(capsys, "lens", "card", tmp_path / "perception.json", "--out", tmp_path / "docs")
    assert {p.rsplit("/", 1)[1] for p in report["files"] if p.endswith(".md")} == {"lens.md", "twin-fitted-to-lens.md", "index.md"}
    lens, twin = ((tmp_path / "docs" / name).read_text() for name in ("lens.md", "twin-fitted-to-lens.md"))
    assert "123,456" in lens and "| training steps | 77 |" in lens and "truck | 0.7 / 10.0 %" in lens and "lens_grid" not in lens
    assert "total variation macro" in twin and "never seen" not in twin
    assert run(capsys, "lens", "card", folder / "card" / "lens_figures.json", "--out", tmp_path / "again")["files"]
    assert (tmp_path / "again" / "lens_grid.svg").read_bytes() == (folder / "card" / "lens_grid.svg").read_bytes()


def test_any_source_is_judged(folder, tmp_path, capsys):
    figures = run(capsys, "lens", "evaluate", "oracle", "--scenes", folder / "city0", "--out", tmp_path / "o", *LOOK)
    assert figures["source"] == "oracle" and figures["everywhere_right"] > 0.9
    assert slug("clip (ViT-B/16)") == "clip-vit-b-16"


def test_a_twin_is_fitted_and_measured(folder, tmp_path, capsys):
    twin = tmp_path / "twin.safetensors"
    fit = run(capsys, "twin", "fit", "twin:easy", "--scenes", folder / "city0", "--held-out", folder / "city1", "--out", twin, "--patches", "16", *PAIRS)
    assert fit["fitted_on"] == ["tiny-0"] and fit["held_out"] == ["tiny-1"] and fit["match"]["rows"] > 0
    again = run(capsys, "twin", "evaluate", twin, "--source", "twin:easy", "--scenes", folder / "city1", *PAIRS)
    assert again["match"] == fit["match"] and again["origin"].startswith("fitted to")
    few = run(capsys, "twin", "evaluate", twin, "--source", "twin:easy", "--scenes", folder / "city1", *PAIRS, "--minimum", 10**9)
    assert few["match"]["rows"] == 0 and few["match"]["total_variation_macro"] is None
    assert main(["twin", "evaluate", str(twin), "--source", "twin:easy", "--scenes", str(folder / "city1"), *PAIRS]) == 0
    assert "total variation macro" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("lens train --scenes {r}/city0 --out {t}/w.safetensors --without castle", "unknown class 'castle'"),
        ("lens train --scenes {r}/city0 --out {t}/w.safetensors --steps 0", "steps 0"),
        ("lens train --scenes {r}/city0 --out {t}/w.safetensors --image 60", "resolution 60"),
        ("lens train --scenes {r}/city0 --out {r}", "is a folder; give a file"),
        ("lens train --scenes {r}/city0 --out {t}/w.safetensors --split train", "no splits"),
        ("lens evaluate {t}/none.safetensors --scenes {r}/city1 --out {t}/c", "no Lens weights here"),
        ("lens evaluate {r}/city0/s/scene.json --scenes {r}/city1 --out {t}/c", "not Lens weights"),
        ("lens evaluate {r}/lens.safetensors --scenes {r}/data --out {t}/c", "no scenes of split 'test'"),
        ("lens evaluate oracel --scenes {r}/city1 --out {t}/c", "unknown evidence 'oracel'"),
        ("lens card {t}/none.json --out {t}/c", "no such file"),
        ("lens card {r}/lens.safetensors --out {t}/c", "not readable as JSON"),
        ("lens card {r}/lens.training.json --out {t}/c", "field 'source' is missing"),
        ("twin fit twin:easy --scenes {r}/city0 --out {t}/t.safetensors", "give --held-out"),
        ("twin fit twin:easy --scenes {r}/city0 --held-out {r}/city0 --out {t}/t.safetensors", "has not seen"),
        ("twin fit twin:harder --scenes {r}/city0 --held-out {r}/city1 --out {t}/t.safetensors", "no twin here"),
        ("twin evaluate {r}/lens.safetensors --source oracle --scenes {r}/city1", "not a fitted twin"),
        ("twin evaluate {t}/none --source oracle --scenes {r}/city1", "no twin here"),
    ],
)
def test_bad_input_is_one_line(words, message, folder, tmp_path, capsys):
    index = {"format": 1, "name": "d", "description": "", "generator": "", "manifest_sha256": "", "scenes": []}
    (folder / "data").mkdir(exist_ok=True)
    (folder / "data" / "dataset.json").write_text(json.dumps(index))
    capsys.readouterr()
    assert main([w.format(r=folder, t=tmp_path) for w in words.split()] + ([] if "card" in words else ["--device", "cpu"])) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_machine_with_core_packages_alone_is_enough(folder, tmp_path):
    """No pydantic, no shapely, no pictures: figures and text are written all the same."""
    code = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pydantic", "shapely", "matplotlib", "transformers", "PIL", "gymnasium"):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *a: None if name == "matplotlib" else found(name, *a)
from flaneur.cli.main import main
assert main(["lens", "train", "--scenes", {str(folder / "city0")!r}, "--out", {str(tmp_path / "w.safetensors")!r}, *{TINY!r}]) == 0
assert main(["lens", "evaluate", {str(tmp_path / "w.safetensors")!r}, "--scenes", {str(folder / "city1")!r}, "--out", {str(tmp_path / "card")!r}, *{LOOK!r}]) == 0
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "flaneur lens card" in done.stdout and {p.name for p in (tmp_path / "card").iterdir()} == {"lens_figures.json", "lens.md"}
    assert read_figures(tmp_path / "card" / "lens_figures.json")[0]["source"] == "lens"
