"""A planner of your own against a rival, on the same episodes.

python examples/own_planner.py --scenes out/town
"""

import math
from pathlib import Path
from typing import Literal

import torch
import tyro

from flaneur.env import Context
from flaneur.evaluation.episodes import Episode, run_episodes
from flaneur.evaluation.setup import TaskConfig, load_world
from flaneur.planners import Lawnmower


class Spiral:
    """Outward from the middle in a spiral, looking down. Reads nothing but the context: planners never see the truth."""

    name = "spiral"

    def __init__(self) -> None:
        self.turn: torch.Tensor | None = None  # [B] radians

    def reset(self, env_ids) -> None:
        if self.turn is not None:
            self.turn[list(env_ids)] = 0.0

    def plan(self, context: Context):
        if self.turn is None:
            self.turn = torch.zeros(len(context.poses), device=context.poses.device)
        self.turn = self.turn + 0.12
        middle, reach = context.grid.size / 2, (4.0 * self.turn).clamp(max=context.grid.size / 2 - 5)
        x, y = middle + reach * self.turn.cos(), middle + reach * self.turn.sin()
        height, pitch = torch.full_like(reach, 25.0), torch.full_like(reach, math.radians(-60))
        return torch.stack([x, y, height, self.turn + math.pi / 2, pitch], 1), None  # None: beta = 1


def main(scenes: Path, steps: int = 96, image: int = 128, lattice: Literal["dense", "cpu", "smoke"] = "cpu") -> None:
    world = load_world(scenes, TaskConfig(image=image, episode_length=steps, lattice=lattice, evidence="twin:easy"))
    episodes = [Episode(0, start, seed=0) for start in range(world.task.starts)]
    for planner in (Spiral(), Lawnmower()):
        rows = list(run_episodes(world.env(len(episodes)), planner, episodes))
        ocr = 100 * sum(r["scores"]["ocr"] for r in rows) / len(rows)
        print(f"{planner.name:10s} OCR {ocr:5.1f} %, {rows[0]['path_m']:.0f} m flown, {rows[0]['collisions']} collisions")


if __name__ == "__main__":
    tyro.cli(main)
