"""What the policy is worth before it has learned anything, beside the nearest frontier and even draws from a compass rose.

    python benchmarks/motion.py SCENES [--image 128] [--lattice cpu] [--out benchmarks/results/motion.json]

SCENES is a folder of cities, none of them of the test split. One episode a city from its first start pose, for several sets of altitudes,
and for goals that are kept for several steps.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from flaneur.agent.motion import MotionSpace
from flaneur.agent.network import NetworkConfig, PolicyNetwork
from flaneur.env import Context
from flaneur.evaluation.episodes import Episode, run_episodes
from flaneur.evaluation.setup import TaskConfig, World, load_world
from flaneur.planners import NearestFrontier
from flaneur.planners.agent import Agent
from flaneur.planners.base import Planner
from flaneur.sim.bench import machine

SETS = ((3.0, 8.0, 20.0, 45.0, 80.0), (2.0, 4.0, 8.0, 16.0, 40.0), (2.0, 4.0, 8.0, 16.0))


class EvenDraws:
    name = "even draws"

    def __init__(self, space: MotionSpace, hold: int) -> None:
        self.space, self.hold, self._generator = space, hold, torch.Generator().manual_seed(0)
        self._goal: Tensor | None = None

    def reset(self, env_ids: Sequence[int]) -> None:
        self._goal = None

    def plan(self, context: Context) -> tuple[Tensor, None]:
        b, size = len(context.poses), context.grid.size
        s, device = self.space, context.poses.device
        tables = (s.rose(), s.altitudes, [2 * math.pi * k / s.headings for k in range(s.headings)], [math.radians(p) for p in s.pitches])
        offset, altitude, yaw, pitch = (torch.tensor(t)[torch.randint(len(t), (b,), generator=self._generator)].to(device) for t in tables)
        xy = (context.poses[:, :2] + offset).clamp(1, size - 1)
        goal = torch.cat([xy, torch.stack([altitude, yaw, pitch], 1)], 1)
        if self._goal is None:
            self._goal, self._left = goal.clone(), torch.zeros(b, device=goal.device)
        fresh = (self._left <= 0) | context.arrived | context.blocked
        self._goal, self._left = torch.where(fresh[:, None], goal, self._goal), torch.where(fresh, float(self.hold), self._left) - 1
        return self._goal, None


def untrained(temperature: float, device: str) -> Agent:
    """The policy before it has learned anything."""
    torch.manual_seed(0)
    return Agent(PolicyNetwork(NetworkConfig(calibration=False)).to(device), "untrained", temperature)


def measure(world: World, planner: Planner, **about: Any) -> dict[str, Any]:
    env = world.evaluation_env(len(world.scenes))
    rows = list(run_episodes(env, planner, [Episode(k, 0, 0) for k in range(env.num_envs)]))
    heights = torch.tensor([p[2] for r in rows for p in r["track"]])
    mean = lambda key: round(100 * sum(r["scores"][key] for r in rows) / len(rows), 1)  # noqa: E731
    found = {"planner": planner.name, **about, "ocr": mean("ocr"), "strict_miou": mean("strict_miou"), "background_wrong": mean("background_wrong")}
    return found | {"below_6_m": round(float((heights < 6).float().mean()), 2), "mean_z_m": round(float(heights.mean()), 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", type=Path)
    parser.add_argument("--image", type=int, default=128)
    parser.add_argument("--lattice", default="cpu")
    parser.add_argument("--evidence", default="twin")
    parser.add_argument("--holds", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "motion.json")
    a = parser.parse_args()
    world = load_world(a.scenes, TaskConfig(image=a.image, lattice=a.lattice, evidence=a.evidence), device=a.device)
    planners: list[tuple[Planner, dict[str, Any]]] = [(NearestFrontier(), {})]
    planners += [(untrained(t, a.device), {"temperature": t}) for t in (1.0, 0.4)]
    planners += [(EvenDraws(MotionSpace(altitudes=altitudes), hold), {"altitudes": altitudes, "hold": hold}) for altitudes in SETS for hold in a.holds]
    rows = []
    for planner, about in planners:
        rows.append(measure(world, planner, **about))
        print(json.dumps(rows[-1]), flush=True)
        document = {"machine": machine(torch.device(a.device)), "cities": world.names, "image": a.image, "evidence": world.source.name, "rows": rows}
        a.out.write_text(json.dumps(document, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
