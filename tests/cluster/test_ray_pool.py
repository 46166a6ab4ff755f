"""Work over a real Ray cluster: killed workers lose nothing, a cluster that goes away leaves what can be resumed."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
import uuid
from functools import partial
from pathlib import Path

import cluster_units
import pytest
from cluster_units import ENTRIES, MANIFEST
from ray_cluster import PYTHONPATH, RayCluster

from flaneur.city.dataset.build import build_dataset, finished
from flaneur.city.dataset.index import FILE
from flaneur.cli.main import main
from flaneur.cluster import RETRIES, map_on_ray
from flaneur.errors import UserError

needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed; pip install 'flaneur[cluster]'")


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture(scope="module")
def local(tmp_path_factory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("local") / "d"
    build_dataset(MANIFEST, out, make=cluster_units.make)
    return contents(out)


@needs_ray
def test_workers_killed_in_the_middle_lose_nothing(cluster, local, tmp_path) -> None:
    marks, out, seen = tmp_path / "marks", tmp_path / "d", []
    marks.mkdir()
    make = partial(cluster_units.make_and_be_killed, marks=marks)
    index = build_dataset(MANIFEST, out, make=make, ray=cluster.address, progress=lambda done, total, name: seen.append(name))
    assert {p.name for p in marks.iterdir()} == {"s2", "s5"}, "two workers were killed"
    assert contents(out) == local and not list((out / "scenes").glob(".*"))
    assert sorted(seen) == [e.name for e in ENTRIES] and index is not None and [r.name for r in index.scenes] == [e.name for e in ENTRIES]


@needs_ray
def test_a_unit_that_kills_every_worker_is_one_line_and_the_others_are_done(cluster, local, tmp_path) -> None:
    with pytest.raises(UserError, match=f"1 of 8 scenes failed; s1: its worker died {RETRIES + 1} times.*run again to resume"):
        build_dataset(MANIFEST, tmp_path / "d", make=cluster_units.make_and_always_be_killed, ray=cluster.address)
    assert sum(finished(e, tmp_path / "d") is not None for e in ENTRIES) == 7
    build_dataset(MANIFEST, tmp_path / "d", make=cluster_units.make)
    assert contents(tmp_path / "d") == local


@needs_ray
def test_an_error_of_the_work_is_raised_here(cluster) -> None:
    assert sorted(map_on_ray(cluster_units.square, range(12), cluster.address)) == [(k, k * k) for k in range(12)]
    with pytest.raises(UserError, match="no thirteen"):
        list(map_on_ray(cluster_units.square, range(40), cluster.address))


GOES_AWAY = """
from pathlib import Path
import cluster_units, sys
from flaneur.city.dataset.build import build_dataset
from flaneur.cli import main as cli
build = lambda *_: build_dataset(cluster_units.MANIFEST, Path({out!r}), make=cluster_units.make_slowly, ray={address!r}, progress=lambda d, n, x: print(d, flush=True))
if __name__ == "__main__":
    cli._dispatch = build
    sys.exit(cli.main([]))
"""


@needs_ray
def test_a_cluster_that_goes_away_is_one_line_and_resumable(local, tmp_path) -> None:
    out, cluster = tmp_path / "d", RayCluster(1)
    try:
        script = tmp_path / "build.py"
        script.write_text(GOES_AWAY.format(out=str(out), address=cluster.address))
        process = subprocess.Popen([sys.executable, str(script)], env=os.environ | cluster.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None and process.stdout.readline() == "1\n"
    finally:
        cluster.kill()
    _, said = process.communicate(timeout=40)
    assert process.returncode == 2, said
    assert said.startswith(f"flaneur: --ray {cluster.address}: ") and said.endswith("; run again to resume\n") and said.count("\n") == 1
    time.sleep(1)  # a worker outlives its node for a moment
    done = sum(finished(e, out) is not None for e in ENTRIES)
    assert 1 <= done < 8 and not (out / FILE).exists()
    build_dataset(MANIFEST, out, make=cluster_units.make)
    assert contents(out) == local


@needs_ray
def test_stopped_with_ctrl_c_it_leaves_no_process_and_resumes(local, tmp_path) -> None:
    """On this machine alone: the command starts Ray and has to end it."""
    out, script, token = tmp_path / "d", tmp_path / "build.py", tmp_path / "token"
    token.write_text(uuid.uuid4().hex)
    script.write_text(GOES_AWAY.format(out=str(out), address="local").replace("ray='local'", "ray='local', workers=2"))
    environment = os.environ | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token), "PYTHONPATH": PYTHONPATH, "OMP_NUM_THREADS": "1"}
    # A job in the background ignores Ctrl-C, and its children would inherit that.
    listen = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731
    process = subprocess.Popen([sys.executable, str(script)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=listen)
    assert process.stdout is not None and process.stdout.readline() == "1\n"
    os.killpg(process.pid, signal.SIGINT)  # a terminal's Ctrl-C reaches the whole group
    _, said = process.communicate(timeout=40)
    assert process.returncode == 130 and said == "flaneur: stopped; run the same command again to go on\n"
    deadline = time.monotonic() + 20
    while with_token(token) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert with_token(token) == []
    assert not (out / FILE).exists()
    build_dataset(MANIFEST, out, make=cluster_units.make)
    assert contents(out) == local


def with_token(token: Path) -> list[int]:
    """Processes that were given this token, which is all that Ray started."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str(token).encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            pass
    return found


TWO = """
name = "two"
[[scene]]
name = "a"
place = "a"
split = "train"
light = "day"
seed = 1
synthetic = "rural"
[[scene]]
name = "b"
place = "b"
split = "test"
light = "dusk"
seed = 2
synthetic = "rural"
"""


@needs_ray
@pytest.mark.slow
def test_real_cities_are_the_same_from_the_command_line(cluster, tmp_path, capsys) -> None:
    (tmp_path / "two.toml").write_text(TWO)
    assert main(["dataset", "build", str(tmp_path / "two.toml"), "--out", str(tmp_path / "here")]) == 0
    assert main(["dataset", "build", str(tmp_path / "two.toml"), "--out", str(tmp_path / "there"), "--ray", cluster.address]) == 0
    assert "2 scenes, index written" in capsys.readouterr().out and contents(tmp_path / "here") == contents(tmp_path / "there")


@needs_ray
def test_addresses_that_lead_nowhere(tmp_path, capsys) -> None:
    (tmp_path / "two.toml").write_text(TWO)
    for address, said in (("127.0.0.1:9", "no cluster answers there (connection refused)"), ("head", "give HOST:PORT of the head"), ("ray://h:1", "give HOST:PORT of the head")):
        start = time.monotonic()
        assert main(["dataset", "build", str(tmp_path / "two.toml"), "--out", str(tmp_path / "d"), "--ray", address]) == 2
        error = capsys.readouterr().err
        assert said in error and error.count("\n") == 1 and time.monotonic() - start < 5


def test_without_ray_the_line_says_what_to_install(tmp_path, capsys, monkeypatch) -> None:
    (tmp_path / "two.toml").write_text(TWO)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert main(["dataset", "build", str(tmp_path / "two.toml"), "--out", str(tmp_path / "d"), "--ray"]) == 2
    assert capsys.readouterr().err == "flaneur: --ray: the package 'ray' is missing; pip install 'flaneur[cluster]'\n"
