"""The whole state of a running environment as tensors, so that a training run goes on exactly where it stopped."""

from __future__ import annotations

import json
from typing import Any

import torch
from torch import Tensor

from flaneur.env.semantic import SemanticEnv

_MAP = ("observed", "occupancy", "planar", "labels", "probabilities")
_ENV = ("poses", "history", "_score", "_seeds", "_travelled", "_arrived", "_blocked")
_HOST = ("_clock", "scene_of", "start_of")


def save_env(env: SemanticEnv) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and JSON values. Log-odds are kept for observed voxels only: the others are zero."""
    tensors = {f"map.{name}": getattr(env.map, name) for name in _MAP} | {f"env.{name}": getattr(env, name) for name in _ENV}
    tensors["map.scene_index"] = env.map.scene_index
    tensors["map.log_odds"] = env.map.log_odds[env.map.observed.bool()]  # [n, C]
    return tensors, {name: list(getattr(env, name)) for name in _HOST} | {"rng": json.dumps(env._rng.bit_generator.state)}


def restore_env(env: SemanticEnv, tensors: dict[str, Tensor], values: dict[str, Any]) -> None:
    """Put the state back and make the same observation pending again (rendering is deterministic)."""
    for name in _MAP:
        getattr(env.map, name).copy_(tensors[f"map.{name}"])
    env.map.scene_index.copy_(tensors["map.scene_index"])
    env.map.log_odds.zero_()
    env.map.log_odds[env.map.observed.bool()] = tensors["map.log_odds"].to(env.device)
    for name in _ENV:
        getattr(env, name).copy_(tensors[f"env.{name}"])
    for name in _HOST:
        setattr(env, name, list(values[name]))
    env._rng.bit_generator.state = json.loads(values["rng"])
    index = env.map.scene_index.long()
    env.target.labels.copy_(env._labels[index])
    env.target.scored.copy_(env._scored[index])
    env._background.copy_(env._background_of[index])
    env.time.copy_(torch.tensor(env._clock, device=env.device))
    env._measure()
    env._look()


def same_state(a: SemanticEnv, b: SemanticEnv) -> bool:
    """Whether two environments would go on identically."""
    (ta, va), (tb, vb) = save_env(a), save_env(b)
    return va == vb and all(torch.equal(torch.nan_to_num(ta[k].float(), -1.0), torch.nan_to_num(tb[k].float(), -1.0)) for k in ta)
