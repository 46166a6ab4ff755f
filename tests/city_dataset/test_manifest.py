"""The manifest: ours is what the issue asks for; bad ones are named in one line."""

from __future__ import annotations

from collections import Counter

import pytest

from flaneur.city.dataset.benchmark import manifest_text
from flaneur.city.dataset.manifest import BENCHMARK, LIGHTS, SPLITS, SYNTHETIC, check_files, load_manifest
from flaneur.errors import UserError

GOOD = """
name = "two"
[files."a.osm.pbf"]
sha256 = "0000000000000000000000000000000000000000000000000000000000000000"
[[scene]]
name = "one"
place = "here"
split = "train"
light = "day"
seed = 1
osm = "a.osm.pbf"
window = [1.0, 2.0, 1.1, 2.1]
[[scene]]
name = "other"
place = "there"
split = "test"
light = "night"
seed = 2
synthetic = "town"
"""


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "m.toml"
        path.write_text(text, "utf-8")
        return path

    return write


def test_ours_has_the_papers_splits_by_place():
    m = load_manifest(BENCHMARK)
    assert Counter(e.split for e in m.scenes) == {"train": 16, "validation": 4, "test": 60}
    for e in m.scenes:
        assert len({o.split for o in m.scenes if o.place == e.place}) == 1
    assert sum(bool(e.osm) for e in m.scenes) == 50 and len({e.place for e in m.scenes if e.osm}) == 13
    lights = Counter(e.light for e in m.scenes)
    assert set(lights) == set(LIGHTS) and lights["day"] > len(m.scenes) / 2
    for split in SPLITS:
        assert {e.synthetic for e in m.split(split)} - {""} <= set(SYNTHETIC)
    assert {e.synthetic for e in m.split("test")} >= set(SYNTHETIC)
    assert not [e for e in m.split("train") if "brumadinho" in e.place]
    assert len({e.seed for e in m.scenes}) == len(m.scenes)


def test_ours_is_what_its_command_writes(shared_data):
    assert manifest_text(shared_data / "osm") == BENCHMARK.read_text("utf-8")
    m = load_manifest(BENCHMARK)
    check_files(m, shared_data / "osm", list(m.scenes))


def test_good(write):
    m = load_manifest(write(GOOD))
    assert [e.name for e in m.scenes] == ["one", "other"] and m.scenes[0].window == (1.0, 2.0, 1.1, 2.1)
    assert m.scenes[1].facts() == {"name": "other", "place": "there", "split": "test", "light": "night", "seed": 2, "planner": "builtin", "synthetic": "town"}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('split = "train"', 'split = "learn"', "field 'split': 'learn' is none of train"),
        ('light = "night"', 'light = "noon"', "field 'light'"),
        ("seed = 1", "seed = -1", "field 'seed'"),
        ("seed = 1", 'seed = "1"', "field 'seed'"),
        ("seed = 1\n", "", "field 'seed': is missing"),
        ('synthetic = "town"', 'synthetic = "village"', "'village' is none of cbd"),
        ('synthetic = "town"', "", "either 'synthetic' or 'osm'"),
        ("window = [1.0, 2.0, 1.1, 2.1]", "", "field 'window'"),
        ("window = [1.0, 2.0, 1.1, 2.1]", "window = [1.0, 2.0, 0.9, 2.1]", "west, south, east, north"),
        ("window = [1.0, 2.0, 1.1, 2.1]", "window = [1.0, 2.0, nan, 2.1]", "field 'window'"),
        ('name = "other"', 'name = "../other"', "field 'name'"),
        ('name = "other"', 'name = "One"', "two scenes are named 'one'"),
        ('place = "there"', 'place = "here"', "a place lies in one split"),
        ('osm = "a.osm.pbf"', 'osm = "b.osm.pbf"', "has no"),
        ('[files."a.osm.pbf"]', '[files."/etc/a.osm.pbf"]', "below --osm-root"),
        ('sha256 = "0', 'sha256 = "x', "field 'sha256'"),
        ('light = "day"', 'light = "day"\nweather = "fog"', "field 'weather' is unknown"),
        ('name = "two"', 'name = "two', "not a TOML file"),
        ('synthetic = "town"', 'synthetic = "town"\nplanner = "oracle"', "field 'planner'"),
    ],
)
def test_bad(write, old, new, said):
    assert old in GOOD
    with pytest.raises(UserError) as error:
        load_manifest(write(GOOD.replace(old, new, 1)))
    assert said in str(error.value) and "m.toml" in str(error.value) and "\n" not in str(error.value)


def test_missing_empty_and_binary(tmp_path, write):
    with pytest.raises(UserError, match="no such manifest"):
        load_manifest(tmp_path / "none.toml")
    with pytest.raises(UserError, match="no \\[\\[scene\\]\\]"):
        load_manifest(write('name = "x"'))
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="not a TOML file"):
        load_manifest(tmp_path / "b.toml")


def test_files_are_checked(write, tmp_path):
    m = load_manifest(write(GOOD))
    with pytest.raises(UserError, match="--osm-root"):
        check_files(m, None, list(m.scenes))
    with pytest.raises(UserError, match="no such file"):
        check_files(m, tmp_path, list(m.scenes))
    (tmp_path / "a.osm.pbf").write_bytes(b"something else")
    with pytest.raises(UserError, match="sha256"):
        check_files(m, tmp_path, list(m.scenes))
    check_files(m, None, [m.scenes[1]])
