"""`flaneur bench`: one JSON line with the machine in it, of every part."""

import json

import pytest

from flaneur.cli.main import main
from flaneur.evaluation.methods import BUILTIN
from flaneur.planners.bench import METHODS

CONFIG = 'name = "tiny"\nsteps = 64\nrollout = 4\nlatent = 32\nwidths = [8, 8, 16]\ngrid = 8\n'


@pytest.fixture(scope="module")
def city(tmp_path_factory):
    from scenes import tiny_scene

    folder = tmp_path_factory.mktemp("bench") / "city"
    tiny_scene(0).save(folder)
    return folder


def bench(capsys, what, *words):
    capsys.readouterr()
    assert main(["bench", what, *map(str, words), "--seconds", "0.05", "--device", "cpu"]) == 0
    text = capsys.readouterr().out
    assert text.count("\n") == 1
    report = json.loads(text)
    assert report["bench"] == what and report["device"] == "cpu" and report["machine"]["cpu"]
    return report


def test_the_parts_that_need_a_city(city, tmp_path, capsys):
    before = sorted(p.name for p in city.iterdir())
    small = ("--scenes", city, "--views", 2, "--size", 32)
    assert bench(capsys, "render", *small)["surface_frames_per_s"] > 0
    step = bench(capsys, "step", *small)
    assert step["steps_per_s"] > 0 and step["environment"]["num_envs"] == 2 and step["environment"]["steps_per_second"] > 0
    fusion = bench(capsys, "fusion", *small)
    assert fusion["pixels_per_s"] == pytest.approx(fusion["updates_per_s"] * 32 * 32) and fusion["map_bytes"] == sum(fusion["bytes_by_tensor"].values())
    (tmp_path / "tiny.toml").write_text(CONFIG)
    train = bench(capsys, "train", *small, "--config", tmp_path / "tiny.toml", "--updates", 1)
    assert train["steps_per_update"] == 8 and train["steps_per_second"] > 0 and train["config"]["num_envs"] == 2
    plan = bench(capsys, "plan", *small, "--methods", "random", "uncertainty", "--steps", 3)
    assert [r["method"] for r in plan["rows"]] == ["random", "uncertainty"] and all(r["plan_ms_per_step"] > 0 for r in plan["rows"])
    assert sorted(p.name for p in city.iterdir()) == before  # nothing of the measuring stays in the city


def test_building_needs_none(capsys):
    report = bench(capsys, "build", "--places", "rural")
    (row,) = report["rows"]
    assert row["place_type"] == "rural" and row["objects"] > 1000 and report["cpu_s_per_city"] == pytest.approx(sum(v for k, v in row.items() if k.endswith("cpu_s")), abs=0.01)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["build", "--places", "moon"], "cbd, town, suburb, rural"),
        (["fusion"], "name at least one built city"),
        (["plan", "--scenes", "{city}", "--methods", "lawnmowr"], "lawnmowr"),
        (["step", "--scenes", "{city}", "--evidence", "telepathy"], "unknown evidence"),
        (["train", "--scenes", "{city}", "--config", "none.toml"], "none.toml: no such file"),
        (["render", "--scenes", "{city}", "--views", "0"], "--views 0"),
    ],
)
def test_bad_input_is_one_line(words, message, city, capsys):
    assert main(["bench", *(w.format(city=city) for w in words), "--size", "32", "--device", "cpu"]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_the_methods_are_known():
    assert set(METHODS) <= set(BUILTIN)
