"""What a person sees who hands over something broken: one clear line, exit code 2, and a folder as it was before."""

from __future__ import annotations

import gzip
import math
import resource
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
import trimesh

sys.path.extend([str(Path(__file__).parents[1] / name) for name in ("city_layout", "city_planning", "city_assets")])
from osm_text import LAT, LON, OsmText, rectangle
from standin import StandIn, chat_reply
from test_packs import write_pack

from flaneur.city.scene import Scene
from flaneur.cli.main import main

CENTER = ["--center", f"{LAT},{LON}"]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture
def refused(tmp_path: Path, capsys, monkeypatch):
    """Runs a command that must fail; returns its line."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> str:
        capsys.readouterr()
        before = contents(tmp_path)
        assert main(list(words)) == 2
        error = capsys.readouterr().err
        assert error.startswith("flaneur: ") and error.count("\n") == 1, error
        assert contents(tmp_path) == before
        return error

    return run


@contextmanager
def full_disk():
    """No file may grow beyond 4 kB, which is what a full disk is to a program that writes. The test's own report must come after."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


CROSS = OsmText().cross().text().encode()


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("missing.osm.pbf", None, "no such file"),
        ("empty.osm", b"", "empty"),
        ("empty.osm.pbf", b"", "empty"),
        ("cut.osm", CROSS[: len(CROSS) // 2], "cut.osm"),
        ("cut.osm.gz", gzip.compress(CROSS)[:-40], "cut.osm.gz"),
        ("cut.osm.pbf", b"\x00\x00\x00\x0d\x0a\x09OSMHeader\x18\x10", "cut.osm.pbf"),
        ("picture.osm.pbf", b"\x89PNG\r\n\x1a\n" + bytes(500), "picture.osm.pbf"),
        ("letter.osm", b"Dear reader,\nthis is no map.\n", "letter.osm"),
        ("page.osm", b"<html><body>404</body></html>", "page.osm"),
        ("nothing.osm", OsmText().text().encode(), "nothing.osm"),
    ],
)
def test_files_that_are_no_map(refused, tmp_path, file, content, said):
    if content is not None:
        (tmp_path / file).write_bytes(content)
    assert said in refused("city", "build", "--osm", file, *CENTER, "--out", "city")


def test_windows_that_hold_no_city(refused, tmp_path):
    (tmp_path / "map.osm").write_bytes(CROSS)
    line = refused("city", "build", "--osm", "map.osm", "--center", "10.0,10.0", "--out", "city")
    assert "covers" in line and "16.3" in line and "48.2" in line
    assert "street" in refused("city", "build", "--osm", "map.osm", "--center", f"{LAT + 0.0009},{LON + 0.0014}", "--out", "city")
    assert "window" in refused("city", "build", "--osm", "map.osm", "--window", "16,48,17", "--out", "city")


def test_a_nonsensical_map_still_becomes_a_sound_city(tmp_path, capsys):
    osm = OsmText().cross()
    osm.way([(20, 20), (45, 40), (45, 20), (20, 40)], closed=True, building="yes")  # crosses itself
    osm.way([(60, 20), (70, 20), (80, 20)], closed=True, building="yes")  # has no area
    for _ in range(2):
        osm.way(rectangle(20, 60, 20, 20), closed=True, building="yes")
    for k, height in enumerate(("12 m", "3-4", "-5", "1e9", "\u0665", "tall", "\U0001f3e2", "0", "NaN", "inf")):
        osm.way(rectangle(110 + 17 * (k % 5), 120 + 30 * (k // 5), 12, 16), closed=True, building="yes", height=height)
    ring = [(160 + (24 + 0.3 * math.sin(200 * a)) * math.cos(a), 50 + (24 + 0.3 * math.sin(200 * a)) * math.sin(a)) for a in (i * 2 * math.pi / 10_000 for i in range(10_000))]
    osm.way(ring, closed=True, building="yes", name="\u0100\u0323 \u2603")
    (tmp_path / "map.osm").write_text(osm.text(), "utf-8")
    out = tmp_path / "city"
    assert main(["city", "build", "--osm", str(tmp_path / "map.osm"), *CENTER, "--out", str(out)]) == 0
    assert main(["city", "check", str(out)]) == 0, capsys.readouterr().out
    scene = Scene.load(out, verify=True)
    built = scene.instances.osm_id > 0
    assert built.sum() == 14 and scene.box[built][:, 1, 2].max() < 100


def test_packs_that_cannot_be_used(refused, tmp_path):
    cube = trimesh.creation.box((0.5, 0.6, 1.6))
    build = ["city", "build", "--synthetic", "rural", "--out", "city", "--pack"]
    write_pack(tmp_path / "a", cube, class_name="dragon")
    assert "dragon" in refused(*build, "a")
    write_pack(tmp_path / "b", trimesh.Trimesh(cube.vertices, cube.faces[:-2]))
    assert "watertight" in refused(*build, "b")
    write_pack(tmp_path / "c", trimesh.creation.box((5e4, 5e4, 5e4)))
    assert "thing.glb" in refused(*build, "c")
    assert "pack.toml" in refused(*build, "d")


@pytest.mark.parametrize(("status", "text"), [(500, "no"), (401, "who are you"), (200, "<html>"), (200, "{}")])
def test_a_language_model_that_does_not_answer(tmp_path, capsys, monkeypatch, status, text):
    """A server's fault ends the command before anything is built; what it had said already is kept for a replay."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("flaneur.city.planning.openai.time.sleep", lambda s: None)
    with StandIn(lambda body, n: (status, text)) as server:
        assert main(["city", "build", "--synthetic", "rural", "--planner", "openai", "--base-url", server.url, "--model", "m", "--out", "city"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("flaneur: ") and error.count("\n") == 1
    assert [p.name for p in tmp_path.iterdir() if not p.name.endswith(".transcript.jsonl")] == []


def test_a_language_model_that_talks_nonsense(tmp_path, capsys):
    """Half a JSON and invented rules are asked again, then repaired: the city is built, and says how much was repaired."""
    answers = ('{"rule": "moon_ba', '{"semantics": "x", "reason": "y", "rule": "moon_base", "style": "cheese"}')
    with StandIn(lambda body, n: chat_reply(answers[n % 2])) as server:
        words = ["city", "build", "--synthetic", "rural", "--planner", "openai", "--base-url", server.url, "--model", "m", "--out", str(tmp_path / "city")]
        assert main(words) == 0
    assert "plan repairs" in capsys.readouterr().out
    assert (tmp_path / "city" / "transcript.jsonl").is_file() and main(["city", "check", str(tmp_path / "city")]) == 0


def test_a_full_disk_keeps_the_old_city(refused, tmp_path, tiny_scene):
    tiny_scene(0).save(tmp_path / "city")
    with full_disk():
        said = refused("city", "build", "--synthetic", "rural", "--out", "city")
    assert "too large" in said.lower()
    assert Scene.load(tmp_path / "city", verify=True).seed == 0


@pytest.mark.parametrize("flag", ["usd", "gltf", "geojson", "geoparquet", "parquet", "points"])
def test_a_full_disk_keeps_the_old_export(refused, tmp_path, tiny_scene, flag):
    tiny_scene(0).save(tmp_path / "city")
    out = tmp_path / f"city.{ {'usd': 'usdc', 'gltf': 'glb', 'geoparquet': 'parquet', 'points': 'ply'}.get(flag, flag) }"
    out.write_bytes(b"what was there")
    with full_disk():
        said = refused("export", "city", f"--{flag}", "--out", out.name)
    assert out.name in said
