"""Agents and training states on disk: one safetensors file each, its description as JSON in the header.

One file can be replaced in one step, so a run killed at any moment leaves the old checkpoint or the new one.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from flaneur.agent.gleam import build_network
from flaneur.agent.motion import MotionSpace
from flaneur.agent.network import NetworkConfig, PolicyNetwork
from flaneur.errors import UserError

FORMAT = 1


def save_agent(path: Path, network: PolicyNetwork, about: dict[str, Any]) -> None:
    """`agent.safetensors` (at most 8 MB) and, for people, its description beside it as `agent.json`."""
    path = Path(path)
    description = {"network": asdict(network.config), "coarse": network.coarse, "near": network.near, **about}
    save_tensors(path, dict(network.state_dict()), description)
    beside = path.with_suffix(".json.part")
    beside.write_text(json.dumps(description, indent=1, sort_keys=True) + "\n", "utf-8")
    os.replace(beside, path.with_suffix(".json"))


def load_agent(path: Path, classes: tuple[str, ...] | None = None, device: torch.device | str = "cpu") -> tuple[PolicyNetwork, dict[str, Any]]:
    """The network and what is written about it; refuses an agent that was trained for other classes."""
    path = Path(path)
    tensors, about = load_tensors(path)
    theirs = tuple(about.get("classes", ()))
    if classes is not None and theirs != tuple(classes):
        raise UserError(f"{path}: trained for {len(theirs)} classes ({', '.join(theirs[:3])}, ...), this map has {len(classes)} ({', '.join(classes[:3])}, ...); train again")
    network = build_network(_network_config(path, about["network"]), about["coarse"], about["near"])
    for name, tensor in network.state_dict().items():
        if name not in tensors:
            raise UserError(f"{path}: field '{name}' is missing; the file is of another version")
        if tensors[name].shape != tensor.shape:
            raise UserError(f"{path}: field '{name}' is {tuple(tensors[name].shape)}, its own description asks for {tuple(tensor.shape)}")
    network.load_state_dict(tensors)
    return network.to(device).eval(), about


def save_tensors(path: Path, tensors: dict[str, Tensor], description: dict[str, Any]) -> None:
    path = Path(path)
    part = path.with_suffix(".part")
    header = {"flaneur": json.dumps({"format": FORMAT, **description}, sort_keys=True)}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        save_file({k: v.detach().cpu().contiguous().clone() for k, v in tensors.items()}, part, header)
        os.replace(part, path)
    except (OSError, SafetensorError) as error:
        part.unlink(missing_ok=True)
        raise UserError(f"{path}: cannot write ({error}); what was there is unchanged") from None


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    path = Path(path)
    if not path.is_file():
        raise UserError(f"{path}: no such checkpoint")
    try:
        with safe_open(path, "pt") as file:
            header = json.loads((file.metadata() or {}).get("flaneur", "null"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    except (SafetensorError, OSError, json.JSONDecodeError) as error:
        raise UserError(f"{path}: damaged or no safetensors file ({error})") from None
    if header is None or header.pop("format") != FORMAT:
        raise UserError(f"{path}: no checkpoint of this version of Flaneur")
    return tensors, header


def _network_config(path: Path, values: dict[str, Any]) -> NetworkConfig:
    unknown = sorted(set(values) - {f.name for f in fields(NetworkConfig)})
    if unknown:
        raise UserError(f"{path}: field 'network.{unknown[0]}' is unknown to this version")

    def tuples(d: dict[str, Any]) -> dict[str, Any]:
        return {k: tuple(v) if isinstance(v, list) else v for k, v in d.items()}

    return NetworkConfig(**{**tuples(values), "motion": MotionSpace(**tuples(values["motion"]))})
