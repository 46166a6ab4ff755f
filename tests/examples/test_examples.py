"""Every example, run as its reader would run it, on a small city."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = ("--image", "32", "--lattice", "smoke")


@pytest.fixture(scope="module")
def city(tmp_path_factory, tiny_scene) -> Path:
    folder = tmp_path_factory.mktemp("examples") / "town"
    tiny_scene(0).save(folder)
    return folder


def example(name: str, *arguments: object, launcher: tuple[str, ...] = ()) -> str:
    script = EXAMPLES / name
    assert len(script.read_text("utf-8").splitlines()) <= 80
    done = subprocess.run([sys.executable, *launcher, str(script), *map(str, arguments)], capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_build_city(tmp_path) -> None:
    assert " 0 violations" in example("build_city.py", "--out", tmp_path / "town", "--kind", "suburb")
    assert (tmp_path / "town" / "scene.json").is_file()


def test_step_environment(city) -> None:
    text = example("step_environment.py", "--scenes", city, "--steps", 16, *SMALL)
    assert "observation_map  [2, 29, 256, 256]" in text and text.count("CCR small/medium/large") == 2


def test_own_planner(city) -> None:
    text = example("own_planner.py", "--scenes", city, "--steps", 8, *SMALL)
    assert "spiral" in text and "lawnmower" in text and text.count(" 0 collisions") == 2


def test_own_evidence(city) -> None:
    text = example("own_evidence.py", "--scenes", city, "--steps", 8, *SMALL)
    assert "mean colours" in text and "oracle" in text


@pytest.fixture(scope="module")
def untrained(tmp_path_factory) -> Path:
    """Lens and an agent with random weights: what they say is noise, their files are as real ones."""
    import torch

    from flaneur.agent.checkpoint import save_agent
    from flaneur.agent.gleam import build_network
    from flaneur.agent.network import NetworkConfig
    from flaneur.classes import load_classes
    from flaneur.perception.lens import Lens, LensConfig, LensNetwork
    from flaneur.perception.text import TEXT_WIDTH

    folder, classes = tmp_path_factory.mktemp("untrained"), load_classes()
    torch.manual_seed(0)
    texts = {p: torch.randn(TEXT_WIDTH) for c in classes for p in c.prompts}
    Lens(LensNetwork(LensConfig()), texts, classes).save(folder / "lens.safetensors")
    save_agent(folder / "agent.safetensors", build_network(NetworkConfig(classes=len(classes))), {"classes": list(classes.names)})
    return folder


def test_map_recording(city, untrained, tmp_path) -> None:
    text = example("map_recording.py", "--scene", city, "--evidence", f"lens:{untrained}/lens.safetensors", "--frames", 3, "--out", tmp_path / "map")
    assert {"map.png", "map.tif", "map.geojson", "map.ply"} <= {Path(line).name for line in text.splitlines()}


def test_load_agent(city, untrained) -> None:
    text = example("load_agent.py", "--agent", untrained / "agent.safetensors", "--scene", city, "--evidence", f"lens:{untrained}/lens.safetensors", "--steps", 3, "--image", 64)
    assert "of the map seen after 3 observations" in text


def test_export_usd(city, tmp_path) -> None:
    pytest.importorskip("newton")
    text = example("export_usd.py", "--scene", city, "--out", tmp_path / "town.usdc")
    assert "1.0 m per unit, up Z" in text and "Newton: " in text


def test_train_gpus_on_two_processes(city, tmp_path) -> None:
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    config = EXAMPLES.parent / "configs" / "laptop.toml"
    text = example("train_gpus.py", config, "--scenes", city, "--out", tmp_path / "run", "--num-envs", 1, "--steps", 128, *SMALL, launcher=launcher)
    assert "update 2 of 2: 128 steps of 2 processes" in text and text.count("best.safetensors") == 1
    assert {"best.safetensors", "state_0.safetensors", "state_1.safetensors", "curve.jsonl"} <= {p.name for p in (tmp_path / "run").iterdir()}
