"""What the choices of the learned policy are worth before it has learned anything: every factor drawn evenly.

    python benchmarks/motion.py SCENES [--image 128] [--lattice cpu] [--out benchmarks/results/motion.json]

SCENES is a folder of cities, none of them of the test split. One episode a city from its first start pose, for several sets of altitudes,
and for goals that are kept for several steps.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from flaneur.agent.heads import MotionSpace
from flaneur.env import Context
from flaneur.evaluation.episodes import Episode, run_episodes
from flaneur.evaluation.setup import TaskConfig, World, load_world
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
        action = torch.stack([torch.randint(n, (b,), generator=self._generator) for n in self.space.sizes], 1).to(context.poses.device)
        goal = self.space.goal(action, context.poses)
        goal[:, :2] = goal[:, :2].clamp(1, size - 1)
        if self._goal is None:
            self._goal, self._left = goal.clone(), torch.zeros(b, device=goal.device)
        fresh = (self._left <= 0) | context.arrived | context.blocked
        self._goal, self._left = torch.where(fresh[:, None], goal, self._goal), torch.where(fresh, float(self.hold), self._left) - 1
        return self._goal, None


def measure(world: World, altitudes: tuple[float, ...], hold: int) -> dict[str, Any]:
    env = world.env(len(world.scenes), 0)
    rows = list(run_episodes(env, EvenDraws(MotionSpace(altitudes=altitudes), hold), [Episode(k, 0, 0) for k in range(env.num_envs)]))
    heights = torch.tensor([p[2] for r in rows for p in r["track"]])
    mean = lambda key: round(100 * sum(r["scores"][key] for r in rows) / len(rows), 1)  # noqa: E731
    found = {"altitudes": altitudes, "hold": hold, "ocr": mean("ocr"), "strict_miou": mean("strict_miou"), "background_wrong": mean("background_wrong")}
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
    rows = []
    for altitudes in SETS:
        for hold in a.holds:
            rows.append(measure(world, altitudes, hold))
            print(json.dumps(rows[-1]), flush=True)
            document = {"machine": machine(torch.device(a.device)), "cities": world.names, "image": a.image, "evidence": world.source.name, "rows": rows}
            a.out.write_text(json.dumps(document, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
