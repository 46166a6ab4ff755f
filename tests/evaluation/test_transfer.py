"""The experiment on real places: merged classes, absent ones, and no import that a bare GPU machine lacks."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import torch
from smoke_runs import SmokeRuns, description, rows

from flaneur.classes import load_classes
from flaneur.errors import UserError
from flaneur.evaluation.experiment import Experiment, load_experiment
from flaneur.evaluation.paper import paper_rows, paper_table
from flaneur.evaluation.report.build import build
from flaneur.evaluation.report.load import load_result
from flaneur.scoring import Merge, Target

CLASSES = load_classes()
ID = CLASSES.index
INTO = {"truck": "car", "bus": "car", "shed": "building", "skyscraper": "building"}
NOT_CORE = (
    "rich",
    "tyro",
    "scipy",
    "shapely",
    "networkx",
    "pyproj",
    "pydantic",
    "trimesh",
    "mapbox_earcut",
    "manifold3d",
    "pyarrow",
    "pxr",
    "osmium",
    "gymnasium",
    "matplotlib",
    "PIL",
    "imageio",
    "tifffile",
)


def one_map(labels: list[str], truth: list[str]) -> tuple[torch.Tensor, torch.Tensor, Target]:
    """A map of one row of cells that is sure of itself."""
    mapped = torch.tensor([[[ID[n] for n in labels]]], dtype=torch.uint8)
    true = torch.tensor([[[ID[n] for n in truth]]], dtype=torch.uint8)
    probabilities = torch.nn.functional.one_hot(mapped.long(), len(CLASSES)).permute(0, 3, 1, 2).float()
    return probabilities, mapped, Target(true, torch.ones_like(true, dtype=torch.bool))


def test_vehicles_count_as_one_class_and_trees_as_background() -> None:
    merge = Merge(CLASSES, INTO, ("car", "building"))
    truth = ["car", "truck", "bus", "car", "building", "shed", "skyscraper", "building", "tree", "road"]
    labels = ["bus", "car", "truck", "tree", "shed", "building", "building", "road", "car", "road"]
    found = merge.score(*one_map(labels, truth))
    small, car, building = found["ccr"][0].tolist()
    assert np.isnan(small) and car == 0.75 and building == 0.75
    assert found["ocr"].item() == 0.75 and found["var"].item() == 0.0
    # Membership over the cells of the two classes: car 3 of 4, no false positive among them; the tree called a car is background.
    assert found["iou"][0, 1:].tolist() == [0.75, 0.75]
    assert found["background_wrong"].item() == 0.5
    assert found["strict_iou"][0, 1].item() == pytest.approx(3 / 5)
    assert found["auc"][0, 1].item() == pytest.approx(1 - 0.25 / 2)
    torch.testing.assert_close(merge.coverage(*one_map(labels, truth)[1:]), found["ccr"], equal_nan=True)


def test_probabilities_of_merged_classes_are_added() -> None:
    merge = Merge(CLASSES, INTO, ("car", "building"))
    probabilities, _, target = one_map(["car", "building"], ["car", "building"])
    probabilities[:] = 0
    for k, name in enumerate(("truck", "bus", "tree")):
        probabilities[0, ID[name], 0, 0] = (0.3, 0.3, 0.4)[k]
    probabilities[0, ID["building"], 0, 1] = 1.0
    split = merge.score(probabilities, torch.tensor([[[ID["tree"], ID["building"]]]], dtype=torch.uint8), target)
    assert split["nll"].item() == pytest.approx(-np.log(0.6) / 2)


def test_a_place_without_vehicles_has_no_car_column() -> None:
    merge = Merge(CLASSES, INTO, ("car", "building"))
    found = merge.score(*one_map(["shed", "tree", "road"], ["building", "building", "road"]))
    assert np.isnan(found["ccr"][0, 1].item()) and found["ccr"][0, 2].item() == found["ocr"].item() == 0.5
    # A building called a car is a building missed; it does not bring in a class that the place has none of.
    alarm = merge.score(*one_map(["car", "building", "road"], ["building", "building", "road"]))
    assert np.isnan(alarm["iou"][0, 1].item()) and alarm["miou"].item() == alarm["ocr"].item() == 0.5
    assert alarm["f1"].item() == pytest.approx(2 / 3)


def test_two_scored_classes_of_one_group_are_refused() -> None:
    with pytest.raises(UserError, match="scale group of its own"):
        Merge(CLASSES, {}, ("car", "tree"))
    with pytest.raises(UserError, match="goes with 'scored'"):
        Experiment("x", "X", "episodes", merge={"truck": "car"})


def test_every_printed_row_stands_beside_one_of_ours() -> None:
    experiment = load_experiment("urbanbis")
    matched = [r for row in experiment.rows if row.paper for r in paper_rows("urbanbis", row.paper)]
    assert sorted(map(str, matched)) == sorted(map(str, paper_table("urbanbis")["rows"]))


def test_at_smoke_budget(smoke: SmokeRuns) -> None:
    out = smoke("urbanbis")
    found = rows(out)
    assert {r["method"] for r in found} == {r.id for r in load_experiment("urbanbis").rows if r.evidence is None}
    for r in found:
        assert r["ccr"]["small"] is None and {"car", "building"} <= set(r["ccr"])
        assert r["ccr"]["car"] == r["ccr"]["medium"] and r["ccr"]["building"] == r["ccr"]["large"]
        assert r["scores"]["ocr"] == pytest.approx(np.mean([r["ccr"]["car"], r["ccr"]["building"]]), abs=1e-6)
    assert description(out)["measured"]["maps"]
    first = build(load_result(out)).tables[0]
    assert first.columns[:4] == ("car", "building", "ocr", "var")
    line = next(r for r in first.rows if r.measured and r.lead[0] == "Lawnmower")
    assert line.values["ocr"].mean == pytest.approx((line.values["car"].mean + line.values["building"].mean) / 2)
    printed = next(r for r in first.rows if not r.measured and r.lead[0] == "Ours")
    assert printed.values["car"].mean == 77.6 and not first.remarks


BARE = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {refused!r}:
            raise ModuleNotFoundError(f"No module named '{{name}}'", name=name)
sys.meta_path.insert(0, Refuse())
from dataclasses import replace
from pathlib import Path
from flaneur.evaluation.experiment import load_experiment
from flaneur.evaluation.experiment_agents import Runs
from flaneur.evaluation.experiment_run import prepare, run_experiment
from flaneur.evaluation.setup import TaskConfig, load_world
experiment = load_experiment("urbanbis")
experiment = replace(experiment, rows=tuple(r for r in experiment.rows if r.id in ("ours", "lawnmower", "ceiling")), seeds=(0,))
world = load_world(Path({scene!r}), TaskConfig(image=32, episode_length=4, cells=64, lattice="smoke", evidence="twin:easy", starts=1))
for note in run_experiment(experiment, prepare(experiment, Runs(None)), world, Path({out!r}), "full", 2):
    print(note)
"""


@pytest.mark.slow
def test_it_runs_from_a_scene_folder_with_core_imports_only(tmp_path: Path, tiny_scene) -> None:
    tiny_scene(3).save(tmp_path / "place")
    code = textwrap.dedent(BARE.format(refused=NOT_CORE, scene=str(tmp_path / "place"), out=str(tmp_path / "out")))
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert "pillow is missing" in ran.stdout and "Ours, seed 0: no row, no such run" in ran.stdout
    assert {r["method"] for r in rows(tmp_path / "out")} == {"lawnmower"}
    assert (tmp_path / "out" / "results-oracle.jsonl").exists()
