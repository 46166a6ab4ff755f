"""One folder of smoke agents per test session, and every experiment at most once."""

from __future__ import annotations

import json
from pathlib import Path

from flaneur.cli.main import main

SMOKE = ("--budget", "smoke", "--json")


class SmokeRuns:
    """Runs experiments through the command line; agents trained for one are found by the next."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.agents = folder, folder / "agents"
        self._done: dict[str, Path] = {}

    def __call__(self, name: str) -> Path:
        if name not in self._done:
            out = self.folder / Path(name).stem
            assert main(["experiment", name, *SMOKE, "--agents", str(self.agents), "--out", str(out)]) == 0
            self._done[name] = out
        return self._done[name]


def description(out: Path) -> dict:
    return json.loads((out / "experiment.json").read_text())


def rows(out: Path) -> list[dict]:
    return [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
