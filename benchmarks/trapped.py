"""How many points that fly at random come to stand still for good (decision 0083).

    python benchmarks/trapped.py --scenes DATA [--out benchmarks/results/trapped.json]

DATA is a built dataset. 400 free points in each of six cities fly toward random goals, a new one every four steps, without a path over a map.
Who has not moved a centimetre for 24 steps stands still; whether for good is tried in 200 directions.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

import torch

from flaneur.city.scene import Scene
from flaneur.evaluation.setup import scene_folders
from flaneur.geometry import Camera
from flaneur.sim import Simulator
from flaneur.sim.bench import machine

CITIES = ("synthetic_town-5", "synthetic_cbd-4", "at_krems_town-0", "us_austin_east-0", "fr_paris_9e-0", "synthetic_suburb-6")
POINTS, STEPS, HELD, STILL = 400, 160, 4, 24
MAX_STEP, CLEARANCE = 8.0, 0.5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=Path, required=True)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/trapped.json"))
    a = parser.parse_args()
    folder = {p.name: p for split in ("train", "validation") for p in scene_folders(a.scenes, split)}
    sim = Simulator([Scene.load(folder[n]) for n in CITIES], Camera.from_fov(32, 32), a.device)
    generator = torch.Generator().manual_seed(0)
    poses = torch.cat([sim.sample_free(generator, POINTS, k, (1.5, 12.0)) for k in range(len(CITIES))])
    scene = torch.arange(len(CITIES), dtype=torch.int32, device=sim.device).repeat_interleave(POINTS)
    n, size, goal = len(poses), sim.scenes[0].size, poses
    still, ever = torch.zeros(n, device=sim.device), torch.zeros(n, dtype=torch.bool, device=sim.device)
    for step in range(STEPS):
        if step % HELD == 0:
            angle, far = 2 * math.pi * torch.rand(n, generator=generator), torch.where(torch.rand(n, generator=generator) < 0.5, 8.0, 32.0)
            height = torch.tensor([2.0, 4.0, 8.0, 16.0])[torch.randint(4, (n,), generator=generator)]
            goal = poses.clone()
            goal[:, :2] = (goal[:, :2] + torch.stack([far * angle.cos(), far * angle.sin()], 1).to(sim.device)).clamp(0, size)
            goal[:, 2] = height.to(sim.device)
        moved = sim.move(poses, goal, MAX_STEP, CLEARANCE, scene, check=False)
        poses = moved.poses
        still = torch.where(moved.travelled < 0.01, still + 1, 0.0)
        ever |= still >= STILL
    at_end = (still >= STILL).nonzero()[:, 0]
    for_good = 0
    for i in at_end.tolist():
        direction = torch.nn.functional.normalize(torch.randn(200, 3, generator=generator), dim=1).to(sim.device)
        here = poses[i].expand(200, -1).clone()
        there = here.clone()
        there[:, :3] += 4 * direction
        for_good += int((sim.move(here, there, MAX_STEP, CLEARANCE, scene[i].expand(200).contiguous(), check=False).travelled < 0.05).all())
    found = {
        "points": n, "steps": STEPS, "stood_still_at_some_time": int(ever.sum()), "stand_still_at_the_end": len(at_end), "of_these_for_good": for_good,
        "nearer_than_the_clearance": int((~sim.clear(poses[:, :3], CLEARANCE - 0.01, scene)).sum()),
    }  # fmt: skip
    print(json.dumps(found))
    a.out.write_text(json.dumps({"cities": CITIES, "machine": machine(torch.device(a.device)), **found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
