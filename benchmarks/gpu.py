"""Every bar that needs a GPU, one after another in one process: render, steps, map, agent, planners.

    python benchmarks/gpu.py --scenes DATA [--evidence twin] [--lens FILE] [--only render env ...] [--out benchmarks/results/gpu.json]

DATA is a built dataset; its train split is used, with truths of a coarse lattice (scores play no part in speed). A section
that fails is reported and the others go on. Exit code 1 when a bar is missed or a section failed.
"""

from __future__ import annotations

import argparse
import json
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from flaneur.agent.bench import bench_inference, bench_training
from flaneur.agent.training import TrainConfig
from flaneur.configuration import load_config
from flaneur.env import Context
from flaneur.env.bench import step_rate
from flaneur.evaluation.methods import make_planner
from flaneur.evaluation.setup import TaskConfig, World, load_world, scene_folders, with_evidence
from flaneur.geometry import camera_to_world
from flaneur.planners.bench import METHODS, plan_time
from flaneur.sim import Simulator, bench
from flaneur.sim.bench import timed

SECTIONS = ("render", "sensor", "load", "map", "env", "lens", "infer", "train", "planners")


class FarGoals:
    """Goals drawn beforehand, each held for a while: what a step costs without a planner."""

    def __init__(self, envs: int, device: torch.device) -> None:
        draw = torch.rand(16, envs, 5, generator=torch.Generator().manual_seed(0)) * torch.tensor([200.0, 200.0, 60.0, 6.28, 0.0]) + torch.tensor([0.0, 0.0, 2.0, 0.0, -0.5])
        self.goals, self.turn = draw.to(device), 0

    def reset(self, env_ids: object) -> None:
        self.turn = 0

    def plan(self, context: Context) -> tuple[torch.Tensor, None]:
        self.turn += 1
        return self.goals[self.turn // 16 % len(self.goals)], None


class Bars:
    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def least(self, name: str, value: float, bar: float) -> None:
        self._add(name, value, f">= {bar:g}", value >= bar)

    def most(self, name: str, value: float, bar: float) -> None:
        self._add(name, value, f"<= {bar:g}", value <= bar)

    def _add(self, name: str, value: float, bar: str, met: bool) -> None:
        self.rows.append({"name": name, "value": round(value, 4) if value < 10 else round(value, 1), "bar": bar, "pass": bool(met)})


class Run:
    def __init__(self, a: argparse.Namespace) -> None:
        self.a, self.bars, self.found = a, Bars(), {}
        self.folders = scene_folders(a.scenes, "train" if (a.scenes / "dataset.json").is_file() else None)
        self._worlds: dict[int, World] = {}
        self.device = torch.device("cuda", torch.cuda.current_device())

    def world(self, image: int, count: int = 8) -> World:
        """The first scenes, as the training task sees them."""
        if image not in self._worlds:
            task = TaskConfig(image=image, lattice="smoke", evidence=self.a.evidence)
            split = "train" if (self.a.scenes / "dataset.json").is_file() else None
            self._worlds[image] = load_world(self.a.scenes, task, split, count, "cuda")
        return self._worlds[image]

    def render(self) -> dict[str, Any]:
        figures = bench.bench_render(self.world(256).scenes, "cuda", 64, 256, self.a.seconds)
        self.bars.least("depth, instance, class at 256 x 256, 64 views of 8 scenes, frames/s", figures["surface_frames_per_s"], 18_000)
        self.bars.least("RGB with shadows, frames/s", figures["rgb_frames_per_s"], 4_000)
        if "times_newton_surface" in figures:
            self.bars.least("times Newton's camera, depth and ids, one scene", figures["times_newton_surface"], 8)
            self.bars.least("times Newton's camera, RGB, one scene", figures["times_newton_rgb"], 3)
        return figures

    def sensor(self) -> dict[str, Any]:
        figures = bench.bench_step(self.world(256).scenes, "cuda", 64, 256, self.a.seconds)
        self.bars.least("64 environments with raw sensors, steps/s", figures["steps_per_s"], 12_000)
        return figures

    def load(self) -> dict[str, Any]:
        """From disk to the first frame of 16 scenes; memory of 1,000 resets."""
        from flaneur.city.scene import Scene

        started = time.perf_counter()
        scenes = [Scene.load(p) for p in self.folders[:16]]
        sim = Simulator(scenes, device="cuda")
        sim.render(torch.zeros(1, 6, device=self.device) + 50.0, torch.zeros(1, dtype=torch.int32, device=self.device))
        torch.cuda.synchronize()
        ready = time.perf_counter() - started
        self.bars.most("16 scenes from disk to the first frame, s", ready, 10)
        per_scene = [round(b / 1e6, 1) for _, b in sim.memory]
        del sim, scenes
        env = self.world(256).env(16, 0)
        env.reset()
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        for _ in range(1000):
            env._begin([0])
        torch.cuda.synchronize()
        grown = (torch.cuda.memory_allocated() - before) / 1e6
        self.bars.most("growth over 1,000 resets, MB", grown, 1)
        per_env = sum(env.map.bytes_per_environment().values()) / 1e6
        self.bars.most("map of one environment, MB", per_env, 180)
        return {"ready_s": ready, "scene_mb": per_scene, "environment_mb": per_env, "growth_mb": grown}

    def map(self) -> dict[str, Any]:
        """Accumulation, observation map, calibrated update, planar map of 64 frames of 256 x 256."""
        env = self.world(256).env(64, 0)
        env.reset()
        frame, similarity, matrix = env.frame, env._look(), camera_to_world(env.poses)
        beta = torch.ones(64, env.map.channels, 16, 16, device=self.device)

        def step() -> None:
            env.map.fuse(beta)
            env.map.accumulate(frame.depth, similarity, matrix, env.config.camera)

        step()
        ms = 1e3 * timed(step, self.device, 50)
        self.bars.most("map of 64 frames of 256 x 256, ms", ms, 3)
        kernels = _profile(step)
        return {"fuse_and_accumulate_ms": ms, "kernels_ms": kernels}

    def env(self) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for image, envs, bar in ((256, 64, 6_000), (256, 256, 8_000), (128, 256, 20_000)):
            env = self.world(image).env(envs, 0)
            figures = step_rate(env, FarGoals(envs, self.device), self.a.seconds)
            self.bars.least(f"semantic environment, {self.a.evidence}, {image} pixels, {envs} environments, steps/s", figures["steps_per_second"], bar)
            goal = torch.cat([env.poses[:, :3] + 3.0, env.poses[:, 5:6], env.poses[:, 4:5]], 1)
            out[f"{image}x{envs}"] = figures | {"kernels_ms": _profile(lambda env=env, goal=goal: env.step(goal))}
            del env
            torch.cuda.empty_cache()
        return out

    def lens(self) -> dict[str, Any]:
        if self.a.lens is None:
            return {"skipped": "no --lens"}
        env = with_evidence(self.world(256), f"lens:{self.a.lens}").env(64, 0)
        figures = step_rate(env, FarGoals(64, self.device), self.a.seconds)
        self.bars.least("semantic environment, Lens on RGB, 256 pixels, 64 environments, steps/s", figures["steps_per_second"], 1_500)
        return figures

    def infer(self) -> dict[str, Any]:
        figures = bench_inference(self.world(256).env(1, 0), self.config())
        self.bars.most("map update and policy of one environment, ms", figures["map_and_policy_ms"], 4)
        return figures

    def config(self) -> TrainConfig:
        return load_config(TrainConfig, self.a.config)

    def train(self) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for image, bar in ((256, 3_500), (128, 6_000)):
            torch.cuda.reset_peak_memory_stats()
            config = replace(self.config(), validate_every=0)
            env = self.world(image).env(config.num_envs, 0, cell_credit=config.credit_grid, final_scores=False)
            figures = bench_training(env, config, 4)
            self.bars.least(f"training of the full model, {self.a.evidence}, {image} pixels, steps/s", figures["steps_per_second"], bar)
            out[str(image)] = figures
            torch.cuda.empty_cache()
        return out

    def planners(self) -> dict[str, Any]:
        rows = []
        for batch, bar in ((1, 40.0), (64, 1.7)):
            env = self.world(256).env(batch, 0)
            for method in METHODS:
                row = plan_time(method, make_planner(method, env), env, self.a.planner_steps)
                rows.append(row)
                if method in ("uncertainty", "zhang", "rayfronts", "activesgm"):
                    self.bars.most(f"{method}, plan and step, batch {batch}, ms per environment", row["plan_and_step_ms"] / batch, bar)
            del env
            torch.cuda.empty_cache()
        return {"rows": rows}


def _profile(step: Callable[[], object], top: int = 14) -> dict[str, float]:
    """Device ms of one step by kernel, the largest first, and how long the host took to send it all."""
    from torch.profiler import ProfilerActivity, profile

    torch.cuda.synchronize()
    began = time.perf_counter()
    step()
    host = time.perf_counter() - began
    torch.cuda.synchronize()
    whole = time.perf_counter() - began
    with profile(activities=[ProfilerActivity.CUDA]) as found:
        step()
        torch.cuda.synchronize()
    spent: dict[str, float] = {}
    count = 0
    for event in found.key_averages():
        spent[event.key[:60]] = spent.get(event.key[:60], 0.0) + getattr(event, "self_device_time_total", 0.0) / 1e3
        count += event.count
    ranked = sorted(spent.items(), key=lambda kv: -kv[1])[:top]
    return {"host_ms": round(1e3 * host, 3), "whole_ms": round(1e3 * whole, 3), "device_ms": round(sum(spent.values()), 3), "launches": count} | {k: round(v, 3) for k, v in ranked}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=Path, required=True)
    parser.add_argument("--evidence", default="twin")
    parser.add_argument("--lens", type=Path)
    parser.add_argument("--config", type=Path, default=Path("configs/full.toml"))
    parser.add_argument("--seconds", type=float, default=1.0, help="per figure")
    parser.add_argument("--planner-steps", type=int, default=24)
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "gpu.json")
    a = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("no CUDA device is visible here")
    run, failed = Run(a), []
    for name in a.only:
        began = time.perf_counter()
        try:
            run.found[name] = getattr(run, name)()
        except Exception as error:
            traceback.print_exc()
            failed.append(name)
            run.found[name] = {"failed": f"{type(error).__name__}: {error}"}
        print(f"{name}: {time.perf_counter() - began:.1f} s", flush=True)
        document = {"machine": bench.machine(run.device), "evidence": a.evidence, "bars": run.bars.rows, "failed": failed} | run.found
        a.out.parent.mkdir(parents=True, exist_ok=True)
        a.out.write_text(json.dumps(document, indent=1, default=str) + "\n", "utf-8")
    for r in run.bars.rows:
        print(f"{'pass' if r['pass'] else 'FAIL'}  {r['name']}: {r['value']} ({r['bar']})")
    return 1 if failed or not all(r["pass"] for r in run.bars.rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
