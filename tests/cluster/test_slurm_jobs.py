"""Shards as submitit's jobs, run by its local executor: the same job files, pickles and logs as on SLURM, without the queue."""

from __future__ import annotations

import importlib.util
from functools import partial
from pathlib import Path

import cluster_units
import pytest

from flaneur.city.dataset.build import build_dataset
from flaneur.city.dataset.slurm import LOGS, build_on_slurm, parameters
from flaneur.cli.main import main
from flaneur.errors import UserError

needs_submitit = pytest.mark.skipif(importlib.util.find_spec("submitit") is None, reason="submitit is not installed; pip install 'flaneur[slurm]'")


@pytest.fixture
def manifest(tmp_path, monkeypatch) -> Path:
    # Jobs are processes of their own: they find the makers of the tests by PYTHONPATH.
    tests = Path(__file__).parents[1]
    monkeypatch.setenv("PYTHONPATH", f"{tests.parent}:{tests}:{tests / 'agent'}")
    path = tmp_path / "m.toml"
    scenes = "".join(f'[[scene]]\nname = "s{k}"\nplace = "p{k}"\nsplit = "train"\nlight = "day"\nseed = {k}\nsynthetic = "town"\n' for k in range(5))
    path.write_text(f'name = "tiny"\n{scenes}')
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file() and LOGS not in p.relative_to(folder).parts}


@needs_submitit
def test_jobs_build_what_one_process_builds_and_a_killed_one_is_resumed(manifest, tmp_path) -> None:
    build_dataset(manifest, tmp_path / "one", make=cluster_units.make)
    marks, out = tmp_path / "marks", tmp_path / "jobs"
    marks.mkdir()
    make = partial(cluster_units.make_and_be_killed, marks=marks)
    with pytest.raises(UserError, match=r"1 of 2 jobs failed; job .*run again to resume") as error:
        build_on_slurm(manifest, out, jobs=2, make=make, cluster="local")
    assert "\n" not in str(error.value) and not (out / "dataset.json").exists()
    index = build_on_slurm(manifest, out, jobs=2, make=make, cluster="local")
    assert index is not None and contents(out) == contents(tmp_path / "one")


@needs_submitit
def test_bad_settings_are_one_line(manifest, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["dataset", "build", str(manifest), "--out", str(tmp_path / "d"), "--slurm"]) == 2
    assert "there is no 'sbatch' on this machine; run it on a login node" in capsys.readouterr().err
    with pytest.raises(UserError, match="--jobs 0"):
        build_on_slurm(manifest, tmp_path / "d", jobs=0, cluster="local")
    with pytest.raises(UserError, match="--slurm-set"):
        build_on_slurm(manifest, tmp_path / "d", jobs=1, settings={"memory": 8}, cluster="local")


def test_parameters_get_their_prefix(manifest, tmp_path, capsys) -> None:
    assert parameters(("partition=cpu", "mem_gb=8", "slurm_qos=low")) == {"slurm_partition": "cpu", "mem_gb": 8, "slurm_qos": "low"}
    with pytest.raises(UserError, match="give name=value"):
        parameters(("cpu",))
    assert main(["dataset", "build", str(manifest), "--out", str(tmp_path / "d"), "--slurm", "--shard", "1/2"]) == 2
    assert "exclude each other" in capsys.readouterr().err


def test_without_submitit_the_line_says_what_to_install(manifest, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert main(["dataset", "build", str(manifest), "--out", str(tmp_path / "d"), "--slurm"]) == 2
    assert capsys.readouterr().err == "flaneur: --slurm: the package 'submitit' is missing; pip install 'flaneur[slurm]'\n"
