"""`flaneur view`: a page of whatever lies at a path, or one line."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
import torch

from flaneur.classes import load_classes
from flaneur.cli.main import main
from flaneur.geometry import Grid
from flaneur.mapping import SemanticMap
from flaneur.mapping.storage import save_map

CLASSES = load_classes()


def data_of(page):
    """What a page carries; it must need nothing from elsewhere."""
    text = page.read_text("utf-8")
    assert not re.search(r"(src|href)=[\"']?http", text)
    return json.loads(re.search(r'id="data" type="application/json">(.*?)</script>', text, re.DOTALL)[1])


@pytest.fixture
def run_folder(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    rows = [{"update": k, "steps": 16.0 * k, "seconds": 2.0 * k, "train_ccr_small": float("nan") if k == 1 else 10.0 * k, "motion_kl": 0.01, "odd": 3.0} for k in (1, 2, 3)]
    rows[-1] |= {"validation_ocr": 55.0}
    (folder / "curve.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    (folder / "config.json").write_text(json.dumps({"seed": 1}))
    (folder / "about.json").write_text(json.dumps({"evidence": "twin </script>", "training": {"seed": 1, "ppo": {"k": 0.1}}}))
    return folder


@pytest.fixture
def map_folder(tmp_path):
    folder = tmp_path / "map"
    folder.mkdir()
    maps = SemanticMap(CLASSES, Grid(size=20.0, cells=16), pixels=4)
    road, bus = CLASSES["road"].id, CLASSES["bus"].id
    maps.observed[0, 1, :4, :] = 1
    maps.log_odds[0, 1, :4, :, road] = 5.0
    maps.log_odds[0, 1, 0, 0, bus] = 9.0
    save_map(maps, folder / "map.npz", class_names=CLASSES.names, extra={"frames": 7, "evidence": "lens"})
    (folder / "map.png").write_bytes(b"")
    return folder


def test_a_run_is_curves(run_folder, capsys):
    assert main(["view", str(run_folder), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    page = run_folder / "view.html"
    assert report["kind"] == "run" and report["bytes"] == page.stat().st_size
    data = data_of(page)
    assert data["columns"]["train_ccr_small"] == [None, 20.0, 30.0] and data["columns"]["validation_ocr"] == [None, None, 55.0]
    assert [c["columns"] for c in data["charts"]] == [["train_ccr_small"], ["validation_ocr"], ["motion_kl"]] and [c["columns"] for c in data["more"]] == [["odd"]]
    assert data["config"] == {"seed": 1, "ppo.k": 0.1} and data["facts"] == {"evidence": "twin </script>"}


def test_a_map_is_its_classes(map_folder, capsys):
    for path, page in ((map_folder, map_folder / "view.html"), (map_folder / "map.npz", map_folder / "map.html")):
        assert main(["view", str(path)]) == 0
        data = data_of(page)
        cells = {c["name"]: c["cells"] for c in data["classes"] if c["cells"]}
        assert cells == {"road": 63, "bus": 1} and data["files"] == ["map.png"] and data["facts"]["frames"] == 7
        assert data["cells"] == 16 and data["size"] == 20.0


def test_a_map_of_other_classes_keeps_their_names(tmp_path):
    maps = SemanticMap(3, Grid(size=20.0, cells=16), pixels=4)
    maps.observed[0, 1, 0, :2] = 1
    maps.log_odds[0, 1, 0, :2, 2] = torch.tensor(4.0)
    save_map(maps, tmp_path / "m.npz", class_names=("road", "castle", "moat"))
    assert main(["view", str(tmp_path / "m.npz"), "--out", str(tmp_path / "m.html")]) == 0
    classes = data_of(tmp_path / "m.html")["classes"]
    assert [c["name"] for c in classes] == ["road", "castle", "moat"] and classes[0]["color"] == list(CLASSES["road"].color) and classes[2]["cells"] == 2


@pytest.mark.parametrize("kind", ["nowhere", "empty", "begun", "torn", "other", "file", "damaged"])
def test_anything_else_is_one_line(kind, tmp_path, capsys):
    path = tmp_path / kind
    if kind not in ("nowhere", "file"):
        path.mkdir()
    messages = {
        "nowhere": "no such folder",
        "empty": "nothing to view",
        "begun": "not written yet",
        "torn": "line 2",
        "other": "field 'steps'",
        "file": "not a saved map",
        "damaged": "not a saved map",
    }
    if kind == "begun":
        (path / "about.json").write_text("{}")
    if kind == "torn":
        (path / "curve.jsonl").write_text('{"steps": 1}\n{"ste')
    if kind == "other":
        (path / "curve.jsonl").write_text('{"loss": 1}\n')
    if kind == "damaged":
        (path / "map.npz").write_bytes(b"PK")
    if kind == "file":
        path = tmp_path / "a.npz"
        np.savez(path, numbers=np.zeros(3))
    assert main(["view", str(path), "--out", str(tmp_path / "out.html")]) == 2
    error = capsys.readouterr().err
    assert messages[kind] in error and error.count("\n") == 1 and not (tmp_path / "out.html").exists()


def test_json_is_all_that_is_printed(map_folder):
    """Warp would print its banner; a program that reads the JSON must not meet it."""
    done = subprocess.run([sys.executable, "-m", "flaneur", "view", str(map_folder), "--json"], capture_output=True, text=True)
    assert done.returncode == 0 and json.loads(done.stdout)["kind"] == "map" and done.stderr == ""
