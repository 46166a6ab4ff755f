"""Methods by name: ours, the rivals, the references, and whatever other packages register as `flaneur.planners`.

An entry point is a callable `make(env, seed) -> Planner`; see docs/guides/planner.md.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

from flaneur.env.semantic import SemanticEnv
from flaneur.errors import UserError
from flaneur.planners import ActiveSGM, Ceiling, Lawnmower, NearestFrontier, RandomGoals, RayFronts, Uncertainty, Zhang
from flaneur.planners.agent import Agent
from flaneur.planners.base import Planner
from flaneur.planners.calibrated import ConstantBeta

Maker = Callable[[SemanticEnv, int], Planner]

BUILTIN: dict[str, Maker] = {
    "random": lambda env, seed: RandomGoals(seed=seed),
    "lawnmower": lambda env, seed: Lawnmower(),
    "nearest_frontier": lambda env, seed: NearestFrontier(),
    # By the task, not by the device: at full resolution a small pool leaves cells out (decision 0024).
    "ceiling": lambda env, seed: Ceiling(env, pool=16384 if env.config.camera.width >= 256 else 4096, seed=seed),
    "uncertainty": lambda env, seed: Uncertainty(seed=seed),
    "zhang": lambda env, seed: Zhang(),
    "rayfronts": lambda env, seed: RayFronts(seed=seed),
    "activesgm": lambda env, seed: ActiveSGM(seed=seed),
}


def plugins() -> dict[str, Maker]:
    """What other packages register."""
    return {e.name: e.load() for e in entry_points(group="flaneur.planners")}


def known_methods() -> dict[str, Maker]:
    return BUILTIN | plugins()


def make_planner(name: str, env: SemanticEnv, seed: int = 0) -> Planner:
    """`NAME`, a path of an agent, or either with `@BETA`: a constant calibration, one number or one per group.

    Examples: lawnmower, runs/full/best.safetensors, lawnmower@0.6, lawnmower@1.4,1,0.8,0.6
    """
    base, _, beta = name.partition("@")
    planner = _base(base, env, seed)
    if not beta:
        return planner
    try:
        values = [float(v) for v in beta.split(",")]
    except ValueError:
        raise UserError(f"method '{name}': '{beta}' is no beta; give one number, or {env.map.channels} separated by commas") from None
    if len(values) not in (1, env.map.channels):
        raise UserError(f"method '{name}': {len(values)} values of beta; give one, or {env.map.channels}: small, medium, large, background")
    return ConstantBeta(planner, values * (env.map.channels if len(values) == 1 else 1), name)


def _base(name: str, env: SemanticEnv, seed: int) -> Planner:
    if name.endswith(".safetensors") or "/" in name:
        return Agent.load(Path(name), env.classes, env.device, seed=seed)
    methods = known_methods()
    if name not in methods:
        raise UserError(f"unknown method '{name}'; known are {', '.join(sorted(methods))}, or give the path of an agent")
    return methods[name](env, seed)
