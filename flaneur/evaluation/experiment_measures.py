"""What experiments measure besides episodes: final maps as pictures, training curves, features for the CCA."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from flaneur.env import Context
from flaneur.env.semantic import SemanticEnv
from flaneur.evaluation.cca import analyse
from flaneur.evaluation.episodes import Episode, Watch, run_episodes
from flaneur.evaluation.experiment_agents import Trained
from flaneur.evaluation.protocol import Tick
from flaneur.evaluation.recorder import qualitative_map
from flaneur.evaluation.setup import World
from flaneur.planners.agent import Agent

TRUTH = "truth"


# Maps ---------------------------------------------------------------------------------------------------------------
def map_watch(folder: Path, scenes: Sequence[str], method: str) -> Watch:
    """Keeps the last map of each scene's first start."""
    shown: list[tuple[int, str, np.ndarray]] = []  # environment, scene, truth: noted before the next episode begins

    def watch(env: SemanticEnv, t: int, labels: Tensor) -> None:
        merged = env.merge.labels if env.merge is not None else lambda labels: labels
        if t == env.config.episode_length - 2:
            wanted = [(e, env.scene_of[e]) for e in range(env.num_envs) if env.scene_of[e] < len(scenes) and env.start_of[e] == 0]
            shown[:] = [(e, scenes[scene], merged(env.target.labels[e]).cpu().numpy()) for e, scene in wanted]
        if t == env.config.episode_length - 1:
            for e, scene, truth in shown:
                save_map(folder / f"{scene}--{TRUTH}.png", qualitative_map(truth, truth, env.classes))
                save_map(folder / f"{scene}--{method}.png", qualitative_map(merged(labels[e]).cpu().numpy(), truth, env.classes))

    return watch


def pictures_can_be_written() -> bool:
    """A machine that only evaluates may have no pillow."""
    try:
        import PIL.Image  # noqa: F401
    except ImportError:
        return False
    return True


def save_map(path: Path, picture: np.ndarray) -> None:
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    Image.fromarray(np.ascontiguousarray(picture)).save(part, "PNG", optimize=True)
    part.replace(path)


# Training curves ----------------------------------------------------------------------------------------------------
def training_curves(agents: dict[tuple[str, str, int], Trained]) -> dict[str, dict[str, list[list[float]]]]:
    """row id -> seed -> [environment steps, CCR of small objects in %] of the training episodes that ended."""
    curves: dict[str, dict[str, list[list[float]]]] = {}
    for (id, _, seed), trained in sorted(agents.items()):
        rows = [json.loads(line) for line in (trained.folder / "curve.jsonl").read_text("utf-8").splitlines()]
        points = [[r["steps"], round(r["train_ccr_small"], 4)] for r in rows if r.get("train_ccr_small") is not None and r["train_ccr_small"] == r["train_ccr_small"]]
        curves.setdefault(id, {})[str(seed)] = points
    return curves


# Features -----------------------------------------------------------------------------------------------------------
class FeatureRecorder:
    """An agent that keeps Z_alpha and Z_beta of every step."""

    def __init__(self, agent: Agent) -> None:
        self.agent, self.name = agent, agent.name
        self.steps: list[Tensor] = []  # each [2, B, d]

    def reset(self, env_ids: Sequence[int]) -> None:
        self.agent.reset(env_ids)

    @torch.no_grad()
    def plan(self, context: Context) -> tuple[Tensor, Tensor | None]:
        output = self.agent.network(self.agent.views(context))
        assert output.z_beta is not None
        self.steps.append(torch.stack([output.z_alpha, output.z_beta]).cpu())
        return self.agent.plan(context)


def features_cca(seeds: dict[str, list[int]], agents: dict[tuple[str, str, int], Trained], world: World, num_envs: int, tick: Tick | None = None) -> dict[str, dict[str, Any]]:
    """row id -> seed -> `cca.analyse` over all episodes of the world."""
    out: dict[str, dict[str, Any]] = {}
    episodes = [Episode(s, k, 0) for s in range(len(world.scenes)) for k in range(world.task.starts)]
    for id in seeds:
        for seed in seeds[id]:
            env = world.env(min(num_envs, len(episodes)), seed)
            recorder = FeatureRecorder(Agent.load(agents[id, "agent", seed].path, env.classes, env.device, seed=seed))
            count = (lambda done, total, id=id: tick(id, done, total)) if tick else None
            for _ in run_episodes(env, recorder, episodes, count):
                pass
            length = env.config.episode_length
            batches = [torch.stack(recorder.steps[i : i + length], 2) for i in range(0, len(recorder.steps), length)]  # [2, B, T, d]
            features = torch.cat(batches, 1)[:, : len(episodes)].numpy()
            out.setdefault(id, {})[str(seed)] = _rounded(analyse(features[0], features[1]))
    return out


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _rounded(v) for k, v in value.items()}
    return round(value, 6) if isinstance(value, float) else value
