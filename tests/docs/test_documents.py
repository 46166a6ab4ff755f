"""What README and docs say can be typed: every command is read by the real parser, the quick ones run, and so do the Python blocks."""

from __future__ import annotations

import re
import shlex
import textwrap
from pathlib import Path

import pytest

from flaneur.cli.main import COMMANDS, main
from flaneur.cli.parsing import parse

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "examples").rglob("README.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def commands(page: Path) -> list[str]:
    """Lines of blocks without a language, comments taken off; inline `flaneur ...` too, where it has arguments."""
    lines = [line for block in blocks(page, "") for line in block.splitlines()]
    prose = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    lines += re.findall(r"`((?:flaneur|make|python|torchrun) [^`\n]+)`", prose)
    found = [re.sub(r"\s{2,}.*$", "", re.sub(r"\s+#.*$", "", line.strip())) for line in lines]
    return [line for line in found if line.split(" ")[0] in ("flaneur", "make", "python", "torchrun")]


ALL = [(page, line) for page in PAGES for line in commands(page)]


def test_there_are_commands() -> None:
    assert len(ALL) > 40 and any(line.startswith("flaneur train") for _, line in ALL)


@pytest.mark.parametrize(("page", "line"), ALL, ids=lambda v: v if isinstance(v, str) else v.name)
def test_the_parser_takes_it(page: Path, line: str) -> None:
    words = shlex.split(line)
    if words[0] == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
        assert all(w in targets or re.fullmatch(r"[A-Z]+=.*", w) for w in words[1:])
    elif words[0] == "flaneur":
        understood(words[1:])
    elif "flaneur" in words:  # torchrun ... -m flaneur, python -m flaneur
        understood(words[words.index("flaneur") + 1 :])
    else:
        script = ROOT / next(w for w in words if w.endswith(".py"))
        text = script.read_text("utf-8")
        # A long option of ours is a parameter or an argument that the script names.
        options = [w for w in words[words.index(str(script.relative_to(ROOT))) + 1 :] if w.startswith("--")]
        assert all(o in text or re.search(rf"\b{o[2:].replace('-', '_')}\b", text) for o in options)


def understood(words: list[str]) -> None:
    """Synopses too: what is in brackets may be left out, of a|b the first is taken, N is a number."""
    line = re.sub(r"\[[^\]]*\]", "", " ".join(map(shlex.quote, words)).replace("'", ""))
    words = ["1" if w == "N" else re.sub(r"\|.*", "", w) for w in line.split()]
    entry = COMMANDS[words[0]]
    name, rest = words[0], words[1:]
    if isinstance(entry, dict):
        if rest in ([], ["--help"]):
            return
        entry, name, rest = entry[rest[0]], f"{name} {rest[0]}", rest[1:]
    if "--help" in rest:
        return
    module, _, attribute = entry[0].partition(":")
    command = parse(getattr(__import__(module, fromlist=[attribute]), attribute), name, rest)
    if name == "experiment":
        from flaneur.evaluation.experiment import names

        assert command.name in names()


def test_every_experiment_is_documented() -> None:
    from flaneur.evaluation.experiment import names

    text = (ROOT / "docs" / "paper" / "experiments.md").read_text("utf-8")
    assert [n for n in names() if f"flaneur experiment {n}" not in text] == []


SNIPPETS = [(page, match) for page in PAGES for match in re.findall(r'--8<-- "([^"]+)"', page.read_text("utf-8"))]


@pytest.mark.parametrize(("page", "snippet"), SNIPPETS, ids=lambda v: v if isinstance(v, str) else v.name)
def test_a_snippet_is_whole(page: Path, snippet: str) -> None:
    path, first, last = snippet.rsplit(":", 2)
    lines = (ROOT / path).read_text("utf-8").splitlines()
    shown, after = lines[int(first) - 1 : int(last)], lines[int(last)]
    compile(textwrap.dedent("\n".join(shown)), snippet, "exec")
    assert shown[0].strip() and shown[-1].strip()
    assert shown[0].startswith(("class ", "def ")) == (not after.strip())  # a whole definition, or lines of one


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
        if name == "city build" and "out/town" in words:  # the real one was built; the rest goes on in a small one
            tiny_scene(0).save(folder / "out" / "town")
        ran.append(name)
    assert set(ran) >= {"city build", "city check", "view", "render", "export", "evaluate", "train", "report", "doctor"}
    assert (folder / "out" / "report" / "index.html").is_file()
