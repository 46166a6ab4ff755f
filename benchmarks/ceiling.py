"""What the task allows: the planner that knows the truth, with perfect evidence, on many cities at once.

    python benchmarks/ceiling.py --scenes DATA --splits train validation --lattice medium --max-step 8 12 --device cuda --out benchmarks/results/ceiling.json

Bar: OCR >= 98 after 384 steps, mean over the cities of the splits from their first start poses. One row for every combination of --max-step, --pool and --candidates.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from flaneur.env import SemanticEnv
from flaneur.evaluation.setup import TaskConfig, World, env_config, load_world
from flaneur.mapping import UNEXPLORED
from flaneur.planners import Ceiling
from flaneur.sim.bench import machine

AT = (16, 32, 64, 96, 128, 192, 256, 320, 384)


def fly(world: World, max_step: float, pool: int, candidates: int, start: int) -> dict[str, Any]:
    config = env_config(world.task, len(world.scenes))
    config = replace(config, reward="ccr", executor=replace(config.executor, max_step=max_step))
    env = SemanticEnv(world.scenes, world.truths, world.source, config, world.device)
    env.reset(list(range(env.num_envs)), [start] * env.num_envs, [0] * env.num_envs)
    planner, curve, path = Ceiling(env, candidates, pool), [], torch.zeros(env.num_envs, device=env.device)
    planner.reset(range(env.num_envs))
    began, info = time.perf_counter(), {}
    for step in range(config.episode_length):
        if step == config.episode_length - 1:
            missing = what_is_missing(env, planner)  # before the last observation: the step that ends an episode empties its map
        goal, beta = planner.plan(env.context())
        *_, info = env.step(goal, beta)
        curve.append(info["score"].mean(1))
        path += info["travelled"]
    final = info["final_scores"]
    steps = torch.stack(curve, 1).cpu()
    return {
        "max_step": max_step, "pool": pool, "candidates": candidates, "missing": missing,
        "ocr": round(100 * float(final["ocr"].mean()), 2), "ccr": [round(100 * float(v), 2) for v in final["ccr"].nanmean(0)],
        "ocr_at": {t: round(100 * float(steps[:, t - 1].mean()), 2) for t in AT if t <= config.episode_length}, "background_wrong": round(100 * float(final["background_wrong"].mean()), 2),
        "path_m": round(float(path.mean()), 1), "seconds": round(time.perf_counter() - began, 1),
        "by_city": {n: [round(100 * float(v), 2) if not math.isnan(v) else None for v in row] for n, row in zip(world.names, final["ccr"].tolist(), strict=True)},
    }  # fmt: skip


def what_is_missing(env: SemanticEnv, planner: Ceiling) -> dict[str, list[float]]:
    """Of the scored cells of each scale group, in %: in no pose of the pool, never explored, explored and taken for something else."""
    out: dict[str, list[tuple[int, float]]] = {"not_in_pool": [], "unexplored": [], "wrong": []}
    for e in range(env.num_envs):
        labels, scored, mapped = (x.flatten() for x in (env.target.labels[e], env.target.scored[e], env.map.labels[e]))
        pool = torch.zeros_like(scored)
        pool[planner._pools[env.scene_of[e]].cell_of] = True
        group = env._groups[labels.long()]
        for g in range(3):
            mine = scored & (group == g)
            if mine.any():
                of = lambda which, mine=mine: 100 * float((which & mine).sum() / mine.sum())  # noqa: E731
                out["not_in_pool"].append((g, of(~pool)))
                out["unexplored"].append((g, of(mapped == UNEXPLORED)))
                out["wrong"].append((g, of((mapped != UNEXPLORED) & (mapped != labels))))
    return {k: [round(sum(v for h, v in rows if h == g) / max(1, sum(h == g for h, _ in rows)), 2) for g in range(3)] for k, rows in out.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=Path, required=True)
    parser.add_argument("--splits", nargs="+", default=["train", "validation"])
    parser.add_argument("--limit", type=int, default=None, help="cities of each split")
    parser.add_argument("--lattice", default="medium")
    parser.add_argument("--image", type=int, default=256)
    parser.add_argument("--steps", type=int, default=384)
    parser.add_argument("--max-step", type=float, nargs="+", default=[8.0])
    parser.add_argument("--pool", type=int, nargs="+", default=[4096])
    parser.add_argument("--candidates", type=int, nargs="+", default=[512])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "ceiling.json")
    a = parser.parse_args()
    task = TaskConfig(image=a.image, lattice=a.lattice, evidence="oracle", episode_length=a.steps)
    splits = a.splits if (a.scenes / "dataset.json").is_file() else [None]
    parts = [load_world(a.scenes, task, split, a.limit, a.device) for split in splits]
    world = replace(parts[0], names=[n for p in parts for n in p.names], scenes=[s for p in parts for s in p.scenes], truths=[t for p in parts for t in p.truths])
    lacking, instances = (torch.tensor([getattr(t, k) for t in world.truths]).sum(0).tolist() for k in ("cellless", "instances"))
    rows = []
    for max_step, pool, candidates in itertools.product(a.max_step, a.pool, a.candidates):
        rows.append(fly(world, max_step, pool, candidates, 0))
        print(json.dumps({k: v for k, v in rows[-1].items() if k != "by_city"}), flush=True)
        found = {
            "machine": machine(torch.device(a.device)),
            "image": a.image,
            "lattice": a.lattice,
            "cities": len(world.scenes),
            "instances": instances,
            "instances_without_cell": lacking,
            "rows": rows,
        }
        a.out.parent.mkdir(parents=True, exist_ok=True)
        a.out.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
