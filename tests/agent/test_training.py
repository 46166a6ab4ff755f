"""Runs: what they write, that a killed and resumed one equals the uninterrupted one, and that learning happens."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from worlds import make_env, tiny_training

from flaneur.agent.checkpoint import load_agent, load_tensors
from flaneur.agent.ppo import PpoConfig
from flaneur.agent.training import Trainer
from flaneur.env.state import restore_env, same_state, save_env
from flaneur.errors import UserError


@pytest.fixture(autouse=True)
def _not_deterministic_afterwards():
    yield
    torch.use_deterministic_algorithms(False)


def test_a_run_folder_explains_itself(tmp_path) -> None:
    trainer = Trainer(tiny_training(), make_env(), make_env(1), tmp_path / "run", {"evidence": "twin easy"})
    rows = []
    best = trainer.run(lambda done, total, row: rows.append(row))
    network, about = load_agent(best, make_env().classes.names)
    assert about["evidence"] == "twin easy" and about["training"]["ppo"]["k"] == 0.1 and not network.training
    curve = [json.loads(line) for line in (tmp_path / "run" / "curve.jsonl").read_text().splitlines()]
    assert len(curve) == len(rows) == 4 and curve[-1]["steps"] == 64
    assert {"validation_reward", "validation_ocr", "club", "log_alpha_0", "motion_kl", "calibration_kl", "seconds"} <= set(curve[-1])
    assert list((tmp_path / "run" / "tensorboard").iterdir())


def test_the_environment_goes_on_from_its_saved_state() -> None:
    first, second = make_env(seed=1), make_env(seed=2)
    first.reset(stagger=True)
    goal = torch.tensor([[60.0, 98, 6, 0.3, 0], [120, 100, 10, 2.0, -0.5]])
    for _ in range(5):
        first.step(goal)
    second.reset()
    restore_env(second, *save_env(first))
    for _ in range(9):
        a, b = first.step(goal), second.step(goal)
        torch.testing.assert_close(a[1], b[1], rtol=0, atol=0)
    assert same_state(first, second)


_RUN = """
import sys; sys.path[:0] = {paths!r}
import torch; torch.set_num_threads(1)
from pathlib import Path
from worlds import make_env, tiny_training
from flaneur.agent.training import Trainer
Trainer(tiny_training(steps=96), make_env(), make_env(1), Path({folder!r}), {{}}).run(lambda *a: print(a[0], flush=True))
"""


def _start(folder: Path) -> subprocess.Popen:
    here = Path(__file__).parent
    code = _RUN.format(paths=[str(here), str(here.parent)], folder=str(folder))
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})


@pytest.mark.slow
def test_killed_and_resumed_equals_uninterrupted(tmp_path) -> None:
    assert _start(tmp_path / "whole").wait() == 0
    victim = _start(tmp_path / "killed")
    assert victim.stdout is not None
    for line in victim.stdout:
        if line.strip() == "3":
            time.sleep(0.05)  # somewhere inside the fourth update or its checkpoint
            victim.send_signal(signal.SIGKILL)
    victim.wait()
    assert _start(tmp_path / "killed").wait() == 0
    for name in ("state.safetensors", "best.safetensors"):
        a, about_a = load_tensors(tmp_path / "whole" / name)
        b, about_b = load_tensors(tmp_path / "killed" / name)
        assert a.keys() == b.keys()
        for key in a:
            torch.testing.assert_close(a[key], b[key], rtol=0, atol=0, equal_nan=True, msg=f"{name}: {key}")
        assert about_a.get("update") == about_b.get("update")


def test_another_configuration_is_not_resumed(tmp_path) -> None:
    Trainer(tiny_training(), make_env(), None, tmp_path / "run", {}).run()
    with pytest.raises(UserError, match="begun with another configuration \\(field 'ppo'"):
        Trainer(tiny_training(ppo=PpoConfig(k=0.2)), make_env(), None, tmp_path / "run", {}).run()


@pytest.mark.parametrize("switches", [{"lc": False, "ppo": PpoConfig(mi=False)}, {"ppo": PpoConfig(mv=False, po=False)}, {"ppo": PpoConfig(po=False, mi=False)}])
def test_every_ablation_runs(tmp_path, switches) -> None:
    trainer = Trainer(tiny_training(**switches, steps=16), make_env(), None, tmp_path / "run", {})
    trainer.run()
    assert trainer.done_updates == 1


def test_contradictions_in_the_configuration() -> None:
    with pytest.raises(UserError, match=r"'ppo\.mi' is true without 'lc'"):
        tiny_training(lc=False)
    with pytest.raises(UserError, match="field 'steps'"):
        tiny_training(steps=3)
