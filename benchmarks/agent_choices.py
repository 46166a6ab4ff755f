"""What an agent's motion and its beta are worth by themselves, beside the nearest frontier and the policy before it learned.

    python benchmarks/agent_choices.py AGENT --scenes DATA [--split validation] [--seeds 2] [--out FILE.jsonl]

One batch: every scene of the split from three starts, for each seed of the evidence. Rows: sampled (temperature 1 and 0.5), most
probable, and the same motion with beta = 1. Differences are paired with the nearest frontier, episode by episode.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from flaneur.agent.network import NetworkConfig, PolicyNetwork
from flaneur.evaluation.episodes import Episode, run_episodes
from flaneur.evaluation.setup import TaskConfig, load_world
from flaneur.planners import NearestFrontier
from flaneur.planners.agent import Agent
from flaneur.planners.base import Planner
from flaneur.planners.calibrated import ConstantBeta
from flaneur.sim.bench import machine


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agent", type=Path)
    parser.add_argument("--scenes", type=Path, required=True)
    parser.add_argument("--split", default="validation")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--image", type=int, default=256)
    parser.add_argument("--lattice", default="medium")
    parser.add_argument("--evidence", default="twin")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/agent_choices.jsonl"))
    a = parser.parse_args()
    world = load_world(a.scenes, TaskConfig(image=a.image, lattice=a.lattice, evidence=a.evidence), a.split if (a.scenes / "dataset.json").is_file() else None, None, a.device)
    classes, episodes = world.scenes[0].classes, [Episode(s, k, e) for e in range(a.seeds) for s in range(len(world.scenes)) for k in range(world.task.starts)]

    def agent(temperature: float) -> Agent:
        return Agent.load(a.agent, classes, a.device, temperature=temperature)

    def untrained() -> Agent:
        torch.manual_seed(0)
        return Agent(PolicyNetwork(NetworkConfig(calibration=False)).to(a.device), temperature=0.5)

    planners: dict[str, Planner] = {
        "nearest frontier": NearestFrontier(), "untrained, temperature 0.5": untrained(), "sampled": agent(1.0), "temperature 0.5": agent(0.5), "most probable": agent(0.0),
        "sampled, beta = 1": ConstantBeta(agent(1.0), (1.0,) * 4, "ones"), "temperature 0.5, beta = 1": ConstantBeta(agent(0.5), (1.0,) * 4, "ones"),
    }  # fmt: skip
    first: np.ndarray | None = None
    for name, planner in planners.items():
        rows = list(run_episodes(world.evaluation_env(len(episodes)), planner, episodes))
        row = summary(name, rows)
        first = np.array(row["ocr_each"]) if first is None else first
        row |= {"ocr_more": round(float(np.mean(row["ocr_each"] - first)), 2), "agent": str(a.agent), "cities": world.names, "evidence": world.source.name, "machine": machine(torch.device(a.device))}
        print(json.dumps({k: v for k, v in row.items() if not k.endswith("_each") and k != "machine"}), flush=True)
        with a.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def summary(name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Percent; episodes in the order of seed, scene, start."""
    scores = [r["scores"] for r in rows]
    each = {k: [round(100 * s[k], 2) for s in scores] for k in ("ocr", "strict_miou", "background_wrong")}
    return {
        "row": name, **{k: round(float(np.mean(v)), 1) for k, v in each.items()}, "ccr": np.round(100 * np.mean([s["ccr"] for s in scores], axis=0), 1).tolist(),
        "path_m": round(float(np.mean([r["path_m"] for r in rows]))), **{f"{k}_each": v for k, v in each.items()},
    }  # fmt: skip


if __name__ == "__main__":
    main()
