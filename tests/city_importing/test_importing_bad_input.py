"""Broken sources: one clear line, exit code 2, and nothing written."""

from __future__ import annotations

import hashlib
import sys

import numpy as np
import pytest
from invented_place import cityjson, table, write_json, write_mesh, write_text

from flaneur.city.scene import Scene
from flaneur.cli.main import main

URBANBIS = ["city", "import", "place.txt", "--format", "urbanbis", "--out", "city"]


@pytest.fixture
def refused(tmp_path, capsys, monkeypatch):
    """Runs a command that must fail; returns its line."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> str:
        capsys.readouterr()
        before = sorted(p.name for p in tmp_path.iterdir())
        assert main(list(words)) == 2
        error = capsys.readouterr().err
        assert error.startswith("flaneur: ") and error.count("\n") == 1, error
        assert sorted(p.name for p in tmp_path.iterdir()) == before
        return error

    return run


def lines_of(path) -> list[str]:
    return path.read_text().splitlines()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f: f[:8], ("line 701 has 8 columns", "expected 9")),
        (lambda f: [*f, "1"], ("line 701 has 10 columns", "expected 9")),
        (lambda f: [",".join(f)], ("line 701 has commas",)),
        (lambda f: [*f[:6], "7", *f[7:]], ("line 701, column semantic", "unknown label 7", "4 vehicle", "-100 ignored")),
        (lambda f: [*f[:6], "1.5", *f[7:]], ("line 701, column semantic", "unknown label 1.5")),
        (lambda f: ["nan", *f[1:]], ("line 701", "NaN")),
        (lambda f: [*f[:2], "inf", *f[3:]], ("line 701", "infinite")),
        (lambda f: [*f[:3], "300", *f[4:]], ("column r", "0..255")),
        (lambda f: [f[0], "north", *f[2:]], ("line 701, column y", "'north' is no number")),
    ],
)
def test_a_wrong_line_of_urbanbis_text_is_named(refused, tmp_path, change, said):
    path = write_text(tmp_path / "place.txt", table(4.0))
    lines = lines_of(path)
    lines[700] = " ".join(change(lines[700].split(" ")))
    path.write_text("\n".join(lines) + "\n")
    error = refused(*URBANBIS)
    assert all(s in error for s in ("place.txt", *said)), error


def test_coordinates_in_degrees(refused, tmp_path):
    rows = table(4.0)
    rows[:, :2] = (4.36, 52.0) + rows[:, :2] * 1e-5
    path = tmp_path / "place.txt"
    np.savetxt(path, rows, fmt=["%.6f"] * 3 + ["%d"] * 6)
    error = refused(*URBANBIS)
    assert "degrees" in error and "project" in error


def test_windows_without_points(refused, tmp_path):
    write_text(tmp_path / "place.txt", table(1.0, (1000.0, 1000.0)))
    error = refused(*URBANBIS, "--window", "5000,5000")
    assert "window 5000,5000 is empty" in error and "x 1000..1200, y 1000..1200" in error
    assert "--window" in refused(*URBANBIS, "--window", "here")
    (tmp_path / "place.txt").write_text("")
    assert "no points" in refused(*URBANBIS)
    write_text(tmp_path / "place.txt", table(8.0, (1000.0, 1000.0)))
    assert "no window of 200 m is covered well enough" in refused(*URBANBIS)


def test_laz_without_its_backend_names_the_extra(refused, tmp_path, monkeypatch):
    laspy = pytest.importorskip("laspy")
    cloud = laspy.LasData(laspy.LasHeader(point_format=3, version="1.2"))
    cloud.x = cloud.y = cloud.z = np.arange(10.0) * 100
    cloud.write(str(tmp_path / "a.laz"))
    words = ["city", "import", "a.laz", "--format", "las", "--out", "city"]
    with monkeypatch.context() as without:
        without.setattr(laspy.LazBackend, "detect_available", classmethod(lambda cls: ()))
        assert "pip install 'flaneur[realdata]'" in refused(*words)
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "laspy", None)
        assert "pip install 'flaneur[realdata]'" in refused(*words)
    (tmp_path / "a.laz").write_bytes((tmp_path / "a.laz").read_bytes()[:100])
    assert "a.laz" in refused(*words)


def test_cityjson_with_extensions_is_read_and_what_it_adds_is_counted(tmp_path, capsys):
    document = cityjson(extensions={"Noise": {"url": "https://example.org/noise.ext.json", "version": "1.0"}})
    document["CityObjects"]["wall"] = {"type": "+NoiseWall", "geometry": []}
    document["CityObjects"]["house"]["+noise-level"] = 55
    path = write_json(tmp_path / "town.json", document)
    assert main(["city", "import", str(path), "--format", "cityjson", "--window", "1000,2000", "--out", str(tmp_path / "city")]) == 0
    assert "extension type +NoiseWall" in capsys.readouterr().out
    scene = Scene.load(tmp_path / "city", verify=True)
    assert int(scene.is_object.sum()) == 1 and scene.provenance["extensions"] == ["Noise"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"type": "FeatureCollection"}, "expected CityJSON"),
        ({"version": "3.1"}, "'version' is '3.1'"),
        ({"vertices": []}, "'vertices' is empty"),
        ({"vertices": [[0, 0, 0]]}, "'boundaries' points outside"),
        ({"transform": {"scale": [1, 1], "translate": [0, 0, 0]}}, "malformed"),
        ({"transform": {"scale": [1e-3] * 3, "translate": [4.36, 52.0, 0]}}, "degrees"),
    ],
)
def test_broken_cityjson(refused, tmp_path, change, said):
    write_json(tmp_path / "town.json", cityjson(**change))
    assert said in refused("city", "import", "town.json", "--format", "cityjson", "--out", "city")


def test_a_mesh_in_millimetres_asks_for_its_scale(refused, tmp_path, capsys):
    words = write_mesh(tmp_path, 0.001)
    error = refused(*words)
    assert "200,000 units across" in error and "--scale" in error and "0.001" in error
    assert main([*words, "--scale", "0.001"]) == 0
    scene = Scene.load(tmp_path / "city")
    assert scene.box[scene.is_object][0, 1].tolist() == pytest.approx([20, 15, 9], abs=0.01)


def test_a_mesh_in_kilometres_asks_for_its_scale_too(refused, tmp_path):
    error = refused(*write_mesh(tmp_path, 1000.0))
    assert "0.2 units across" in error and "1000 for kilometres" in error and "degrees" in error
    assert "above 0" in refused(*write_mesh(tmp_path, 1.0), "--scale", "0")


def test_a_checksum_that_does_not_match(refused, tmp_path):
    path = write_text(tmp_path / "place.txt", table(0.5))
    good = hashlib.sha256(path.read_bytes()).hexdigest()
    listing = tmp_path / "sums.txt"
    listing.write_text(f"{'0' * 64}  place.txt\n")
    error = refused(*URBANBIS, "--sha256", "sums.txt")
    assert "does not match" in error and good[:12] in error
    listing.write_text(f"{good}  other.txt\n")
    assert "no line for place.txt" in refused(*URBANBIS, "--sha256", "sums.txt")
    listing.write_text("place.txt\n")
    assert "line 1 is no line of sha256sum" in refused(*URBANBIS, "--sha256", "sums.txt")
    listing.write_text(f"{good} *data/place.txt\n")
    assert main([*URBANBIS, "--sha256", "sums.txt"]) == 0
