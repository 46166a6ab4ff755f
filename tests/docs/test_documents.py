"""What README and docs say can be typed: every command is read by the real parser, the quick ones run, and so do the Python blocks."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterable
from pathlib import Path

import pytest

from flaneur.cli.main import COMMANDS, main
from flaneur.cli.parsing import parse
from flaneur.errors import UserError

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "examples").rglob("README.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def commands(page: Path) -> list[str]:
    """Whole command lines: those of blocks without a language, comments taken off."""
    return _ours(line for block in blocks(page, "") for line in block.splitlines())


def mentions(page: Path) -> list[str]:
    """Commands inside a sentence or a table, which may leave out what does not matter there."""
    prose = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    return _ours(re.findall(r"`((?:flaneur|make|python|torchrun) [^`]+)`", prose))


def _ours(lines: Iterable[str]) -> list[str]:
    found = [re.sub(r"\s{2,}.*$", "", re.sub(r"\s+#.*$", "", " ".join(line.strip().split("\n")))) for line in lines]
    return [line for line in found if line.split(" ")[0] in ("flaneur", "make", "python", "torchrun")]


ALL = [(page, line, whole) for page in PAGES for whole, lines in ((True, commands(page)), (False, mentions(page))) for line in lines]


def test_there_are_commands() -> None:
    assert len(ALL) > 40 and any(line.startswith("flaneur train") and whole for _, line, whole in ALL)


@pytest.mark.parametrize(("page", "line", "whole"), ALL, ids=lambda v: v if isinstance(v, str) else v.name if isinstance(v, Path) else "whole" if v else "mention")
def test_the_parser_takes_it(page: Path, line: str, whole: bool) -> None:
    words = shlex.split(line)
    if words[0] == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
        assert all(w in targets or re.fullmatch(r"[A-Z]+=.*", w) for w in words[1:])
    elif "flaneur" in words:  # flaneur ..., torchrun ... -m flaneur, python -m flaneur
        understood(line[re.search(r"(^|\s)flaneur ", line).end() :], whole)  # pyright: ignore[reportOptionalMemberAccess]
    else:
        script = ROOT / next(w for w in words if w.endswith(".py"))
        text = script.read_text("utf-8")
        # A long option of ours is a parameter or an argument that the script names.
        options = [w for w in words[words.index(str(script.relative_to(ROOT))) + 1 :] if w.startswith("--")]
        assert all(o in text or re.search(rf"\b{o[2:].replace('-', '_')}\b", text) for o in options)


def understood(line: str, whole: bool) -> None:
    """Synopses too: what is in brackets may be left out, of a|b every word is tried, N is a number. A mention may leave
    out what the parser would ask for, but what it says must be so."""
    line = re.sub(r"\[[^\]]*\]", "", line)
    line = re.sub(r"\s>\s.*$", "", line)  # where the shell puts the output
    alternatives = [["1"] if w == "N" else w.split("|") for w in shlex.split(line)]
    for k in range(max(map(len, alternatives))):
        read([words[min(k, len(words) - 1)] for words in alternatives], whole)


def read(words: list[str], whole: bool) -> None:
    entry, name, rest = COMMANDS[words[0]], words[0], words[1:]
    if isinstance(entry, dict):
        if rest in ([], ["--help"]):
            return
        entry, name, rest = entry[rest[0]], f"{name} {rest[0]}", rest[1:]
    if "--help" in rest or not (whole or rest):  # a mention of nothing but the command
        return
    module, _, attribute = entry[0].partition(":")
    command = getattr(__import__(module, fromlist=[attribute]), attribute)
    try:
        found = parse(command, name, rest)
    except UserError as error:
        missing = re.match(rf"{name}: give (.*); see", str(error))
        if whole or missing is None:
            raise
        asked = missing[1].split(" and ")
        if any(not a.startswith("--") for a in asked):  # a word without an option: nothing was said that could be wrong
            assert all(w.startswith("--") for w in rest)
            return
        found = parse(command, name, [*rest, *(w for option in asked for w in (option, "x"))])
    if name == "experiment":
        from flaneur.evaluation.experiment import names

        assert found.name in names()


def test_every_experiment_is_documented() -> None:
    from flaneur.evaluation.experiment import names

    text = (ROOT / "docs" / "paper" / "experiments.md").read_text("utf-8")
    assert [n for n in names() if f"flaneur experiment {n}" not in text] == []


SNIPPETS = [(page, match) for page in PAGES for match in re.findall(r'--8<-- "([^"]+)"', page.read_text("utf-8"))]


@pytest.mark.parametrize(("page", "snippet"), SNIPPETS, ids=lambda v: v if isinstance(v, str) else v.name)
def test_a_snippet_is_whole(page: Path, snippet: str) -> None:
    path, first, last = snippet.rsplit(":", 2)
    wanted = int(first), int(last)
    # A whole definition, or whole statements that follow each other: nothing begins or ends in the middle.
    bodies = [node.body for node in ast.walk(ast.parse((ROOT / path).read_text("utf-8"))) if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)]
    assert any(wanted[0] in [s.lineno for s in body] and wanted[1] in [s.end_lineno for s in body] for body in bodies)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, tiny_scene) -> Path:
    """Where a reader would be after the first commands: cities under out/."""
    folder = tmp_path_factory.mktemp("reader")
    for name in ("town", "village", "city"):
        tiny_scene(0).save(folder / "out" / name)
    return folder


PYTHON = [(page, block) for page in PAGES for block in blocks(page, "python") if "--8<--" not in block]


@pytest.mark.parametrize(("page", "block"), PYTHON, ids=lambda v: v.name if isinstance(v, Path) else "")
def test_python_blocks_run(page: Path, block: str, folder: Path, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    exec(compile(block, str(page), "exec"), {})


# What a quick run of a README command takes besides; the last value of an option counts.
QUICK = {
    "city build": (), "city check": (), "view": (), "render": (), "export": (), "doctor": (),
    "evaluate": ("--steps", "6", "--image", "32"),
    "train": ("--steps", "8", "--image", "32", "--set", "steps=64", "--set", "num_envs=2", "--set", "widths=[8,8,16]", "--set", "validate_every=0"),
    "report": (),
}  # fmt: skip


@pytest.mark.slow
def test_the_commands_of_the_readme_one_after_the_other(folder, tiny_scene, shared_data, monkeypatch, capsys) -> None:
    monkeypatch.chdir(folder)
    ran = []
    for line in commands(ROOT / "README.md"):
        words = shlex.split(line.replace("map.osm.pbf", str(shared_data / "osm" / "us_newyork_westvillage.osm.pbf")))
        if words[0] != "flaneur":
            continue
        name = " ".join(words[1:3]) if isinstance(COMMANDS[words[1]], dict) else words[1]
        if words[1] == "train":
            words[2] = str(ROOT / words[2])
        assert main([*words[1:], *QUICK[name]]) == 0, capsys.readouterr().err
        if name == "city check":  # the real one was built and checked; the rest goes on in a small one
            tiny_scene(0).save(folder / "out" / "town")
        ran.append(name)
    assert set(ran) >= {"city build", "city check", "view", "render", "export", "evaluate", "train", "report", "doctor"}
    assert (folder / "out" / "report" / "index.html").is_file()
