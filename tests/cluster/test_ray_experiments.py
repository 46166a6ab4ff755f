"""Experiments over a real Ray cluster: the rows of a local run, in its order, also when workers are killed in the middle."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from flaneur.cli.main import main
from flaneur.cluster import map_on_ray
from flaneur.errors import UserError

needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed; pip install 'flaneur[cluster]'")

OWN = """
name = "own"
title = "Three simple methods"
kind = "episodes"
tables = [["ocr"]]
captions = ["OCR"]
rows = [
  { id = "random", columns = { Method = "Random" }, method = "random" },
  { id = "lawnmower", columns = { Method = "Lawnmower" }, method = "lawnmower" },
  { id = "ceiling", columns = { Method = "Ceiling" }, method = "nearest_frontier", evidence = "oracle" },
]
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("own") / "own.toml"
    path.write_text(OWN)
    return path


def run(own: Path, out: Path, *more: str) -> dict[str, list[dict]]:
    """Rows of every result file, without the seconds."""
    assert main(["experiment", str(own), "--budget", "smoke", "--num-envs", "1", "--json", "--out", str(out), *more]) == 0
    return {p.name: [{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in p.read_text().splitlines()] for p in sorted(out.glob("*.jsonl"))}


def kill_whoever_flies(parts: Path, wanted: int, stop: threading.Event, killed: dict[str, int]) -> None:
    """SIGKILL to the workers of the first `wanted` units, once each, as soon as an episode of the unit is written and others are missing."""
    while not stop.is_set() and len(killed) < wanted:
        for part in parts.glob("*/*.jsonl"):
            unit, pid = part.parent.name, int(part.stem.rsplit("-", 1)[1])
            if unit not in killed and 1 <= part.read_bytes().count(b"\n") < 4:
                os.kill(pid, signal.SIGKILL)
                killed[unit] = pid
        time.sleep(0.002)


@needs_ray
def test_killed_workers_lose_nothing_and_double_nothing(cluster, own, tmp_path) -> None:
    local = run(own, tmp_path / "local")
    assert {name: len(rows) for name, rows in local.items()} == {"results.jsonl": 8, "results-oracle.jsonl": 4}
    stop, killed = threading.Event(), {}
    killer = threading.Thread(target=kill_whoever_flies, args=(tmp_path / "ray" / "parts", 2, stop, killed))
    killer.start()
    try:
        shared = run(own, tmp_path / "ray", "--ray", cluster.address)
    finally:
        stop.set()
        killer.join()
    assert len(killed) == 2, "two workers were killed while they flew"
    assert shared == local
    assert sorted(p.name for p in (tmp_path / "ray").iterdir()) == sorted(p.name for p in (tmp_path / "local").iterdir())
    # What a killed command left: an end of the results is missing, and is filled in.
    file = tmp_path / "ray" / "results.jsonl"
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:5]) + b'{"cut')
    assert run(own, tmp_path / "ray", "--ray", cluster.address) == local


@needs_ray
def test_what_cannot_be_shared_out_is_one_line(tmp_path, capsys) -> None:
    for name, why in (("timing", "measures the time of one machine"), ("cca", "flies no rows"), ("dataset", "flies no rows")):
        assert main(["experiment", name, "--budget", "smoke", "--out", str(tmp_path / name), "--ray"]) == 2
        said = capsys.readouterr().err
        assert why in said and said.count("\n") == 1 and not (tmp_path / name).exists()
    assert main(["experiment", "main", "--budget", "smoke", "--out", str(tmp_path / "o"), "--workers", "2"]) == 2
    assert "--workers goes with --ray" in capsys.readouterr().err
    with pytest.raises(UserError, match="--workers 0"):
        next(map_on_ray(len, ["a"], workers=0))
