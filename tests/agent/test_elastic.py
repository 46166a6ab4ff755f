"""torchrun with a process that is killed: all go back to the last state they share, and the result is that of an undisturbed run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from worlds import make_env, tiny_training

from flaneur.agent.checkpoint import load_tensors
from flaneur.agent.training import Trainer
from flaneur.errors import UserError

HERE = Path(__file__).parent


def torchrun(folder: Path, *more: str) -> str:
    done = run_elastic(folder, *more, TORCH_DISABLE_SHARE_RDZV_TCP_STORE="1")
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def run_elastic(folder: Path, *more: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(map(str, (HERE.parents[1], HERE.parent, HERE)))} | variables
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--max-restarts", "1", str(HERE / "elastic_run.py"), str(folder), *more]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=240)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("elastic") / "whole"
    torchrun(folder)
    return folder


@pytest.mark.slow
def test_a_killed_process_changes_nothing(undisturbed, tmp_path) -> None:
    said = torchrun(tmp_path / "killed", "--kill")
    # The first process had saved update 3, the killed one only update 2: both flew the third again.
    assert said.count("0: 3 of 5") == 2 and said.count("1: 3 of 5") == 2 and said.count("0: 2 of 5") == 1
    for name in ("state_0", "state_1", "best"):
        a, about_a = load_tensors(undisturbed / f"{name}.safetensors")
        b, about_b = load_tensors(tmp_path / "killed" / f"{name}.safetensors")
        assert a.keys() == b.keys() and about_a["update"] == about_b["update"]
        for key in a:
            torch.testing.assert_close(a[key], b[key], rtol=0, atol=0, equal_nan=True, msg=f"{name}: {key}")


@pytest.mark.slow
def test_another_number_of_processes_is_refused(undisturbed) -> None:
    with pytest.raises(UserError, match="was begun by 2 processes, these are 1"):
        Trainer(tiny_training(steps=160, validate_every=2), make_env(), make_env(1), undisturbed, {}).run()
    torch.use_deterministic_algorithms(False)


@pytest.mark.slow
def test_restarts_that_would_meet_at_the_dead_ones_addresses_are_refused(tmp_path) -> None:
    done = run_elastic(tmp_path / "shared")
    assert done.returncode != 0 and "set TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1" in done.stderr
