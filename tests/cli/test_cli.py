"""What a person types: help, bad words, bad values, exit codes."""

import ast
import importlib
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flaneur.cli.console import print_table
from flaneur.cli.main import COMMANDS, main
from flaneur.cli.parsing import _join_negative_values

LEAVES = [name.split() for name in (f"{a} {b}" if isinstance(entry, dict) else a for a, entry in COMMANDS.items() for b in (entry if isinstance(entry, dict) else [""]))]


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_help_fits_a_screen_and_shows_an_example(words: list[str], capsys) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([*words, "--help"])
    text = capsys.readouterr().out
    assert stopped.value.code == 0 and "flaneur " + words[0] in text and "Example" in text
    assert len(text.splitlines()) <= 75
    assert "(default: None)" not in text and "(default: False)" not in text


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_every_option_says_what_it_is(words: list[str]) -> None:
    entry = COMMANDS[words[0]]
    module, _, name = (entry[words[1]] if isinstance(entry, dict) else entry)[0].partition(":")
    body = next(n for n in ast.parse(Path(importlib.import_module(module).__file__ or "").read_text("utf-8")).body if isinstance(n, ast.ClassDef) and n.name == name).body
    for field, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(field, ast.AnnAssign):
            assert isinstance(after, ast.Expr), ast.unparse(field)


def test_overview_and_groups(capsys) -> None:
    assert main(["--help"]) == 0 and main([]) == 2
    assert main(["city"]) == 2 and main(["city", "--help"]) == 0
    assert main(["--version"]) == 0
    text, unasked = capsys.readouterr()
    assert all(name in text for name in COMMANDS)
    assert all(name in unasked for name in COMMANDS)  # help that nobody asked for is no output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["citi"], "unknown command 'citi', did you mean 'city'?"),
        (["city", "biuld"], "did you mean 'build'?"),
        (["city", "build", "--out", "x"], "give either --osm FILE or --synthetic"),
        (["city", "build", "--out", "x", "--osm", "missing.osm"], "missing.osm"),
        (["city", "check"], "name at least one folder"),
        (["city", "check", "nowhere"], "no scene here"),
        (["export", "nowhere", "--out", "x.glb"], "give exactly one of"),
        (["export", "nowhere", "--gltf", "--out", "x.glb"], "no scene here"),
        (["render", "nowhere", "--out", "a.png"], "no scene here"),
        (["evaluate", "random", "--scenes", "nowhere", "--out", "r.jsonl"], "no scenes here"),
        (["train", "missing.toml", "--scenes", "nowhere", "--out", "r"], "missing.toml: no such file"),
        (["dataset", "stats", "nowhere"], "no dataset here"),
        (["dataset", "build", "missing.toml", "--out", "x"], "missing.toml"),
        (["city", "fetch", "--out", "x.osm"], "give either --place NAME or --window"),
        (["bench", "render"], "name at least one built city"),
        (["view", "nowhere"], "nowhere: no such folder"),
        (["render", __file__, "--out", "a.png"], "a file; give the folder of a built city"),
        (["city", "build", "--synthetic", "rural", "--out", "/proc/rural"], "/proc: cannot write here"),
    ],
)
def test_bad_input_gets_one_line_and_exit_code_2(words: list[str], message: str, capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1 and error.startswith("flaneur: ")
    assert not list(tmp_path.iterdir())


def test_a_table_is_never_cut(capsys, monkeypatch) -> None:
    columns, rows = ("method", "small", "background wrong"), [("runs/a/best.safetensors", 51.5, 1234567), ("[lawnmower]", 0.25, 8)]
    cells = ["runs/a/best.safetensors", "51.50", "1,234,567", "[lawnmower]", "0.25"]
    for width, terminal in (("40", False), ("40", True), ("120", True)):
        monkeypatch.setenv("COLUMNS", width)
        for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(type(sys.stdout), "isatty", lambda _, terminal=terminal: terminal, raising=False)
        print_table(columns, rows, "[title]")
        text = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)
        assert all(c in text for c in cells) and "[title]" in text and "\u2026" not in text
        assert not terminal or max(map(len, text.splitlines())) <= int(width)


def test_negative_coordinates_are_values() -> None:
    assert _join_negative_values(["--window", "-74.0,40.7,-73.9,40.8", "--auto", "3"]) == ["--window=-74.0,40.7,-73.9,40.8", "--auto", "3"]


def test_export_and_check_of_a_scene(tiny_scene, tmp_path, capsys) -> None:
    tiny_scene(0).save(tmp_path / "s")
    assert main(["export", str(tmp_path / "s"), "--parquet", "--out", str(tmp_path / "s.parquet"), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["bytes"] > 1000
    assert main(["view", str(tmp_path / "s"), "--out", str(tmp_path / "s.html")]) == 0
    assert (tmp_path / "s.html").stat().st_size > 20_000


def test_doctor_is_json_on_request(capsys) -> None:
    assert main(["doctor", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["ok"] and report["packages"]["torch"]


def test_help_needs_no_torch_and_half_a_second() -> None:
    code = "import sys; from flaneur.cli.main import main; main(['--help']); sys.exit('torch' in sys.modules)"
    best = 9.0
    for _ in range(3):
        start = time.perf_counter()
        assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
        best = min(best, time.perf_counter() - start)
    assert best < 0.5
