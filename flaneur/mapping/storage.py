"""A map on disk: one .npz with the observed voxels only, enough to go on mapping."""

from __future__ import annotations

import json
import os
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from flaneur.classes import ClassList
from flaneur.errors import UserError
from flaneur.geometry import Grid
from flaneur.mapping.config import MapConfig
from flaneur.mapping.semantic_map import SemanticMap

FORMAT_VERSION = 1


def save_map(maps: SemanticMap, path: Path, environment: int = 0, class_names: tuple[str, ...] = (), extra: dict[str, Any] | None = None) -> None:
    """Write one environment's map beside `path`, then rename. The pending observation is not part of it."""
    log_odds = maps.log_odds[environment].flatten(0, 2)
    index = maps.observed[environment].flatten().nonzero()[:, 0]
    meta = {
        "format": FORMAT_VERSION, "classes": list(class_names) or maps.class_count, "grid": asdict(maps.grid), "config": asdict(maps.config),
        "logit_scale": maps.logit_scale, "extra": extra or {},
    }  # fmt: skip
    arrays = {
        "voxel": index.to(torch.int32), "log_odds": log_odds[index], "occupancy": maps.occupancy[environment], "planar": maps.planar[environment],
        "ground": maps.ground[maps.scene_index[environment].long()], "class_mean": maps.class_mean,
    }  # fmt: skip
    path = Path(path)
    temporary = path.with_name(f".{path.name}.part")
    with open(temporary, "wb") as file:
        np.savez_compressed(file, allow_pickle=False, meta=np.array(json.dumps(meta)), **{k: v.cpu().numpy() for k, v in arrays.items()})
    os.replace(temporary, path)


def load_map(path: Path, classes: ClassList | None = None, pixels: int = 256 * 256, device: str = "cpu") -> tuple[SemanticMap, dict[str, Any]]:
    """The map and what was saved with it as `extra`. With `classes` given, they must be the map's own."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            data = {name: archive[name] for name in archive.files}
        meta = json.loads(str(data["meta"]))
    except FileNotFoundError:
        raise UserError(f"{path}: no map here") from None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise UserError(f"{path}: not a map or damaged ({error}); map again") from None
    if meta["format"] != FORMAT_VERSION:
        raise UserError(f"{path}: field 'format' is {meta['format']}, this version reads {FORMAT_VERSION}; map again")
    names = meta["classes"]
    if classes is not None and names not in (list(classes.names), len(classes)):
        raise UserError(f"{path}: field 'classes' holds {names if isinstance(names, int) else len(names)} classes that are not the {len(classes)} given; continue with the map's own classes")
    given: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in meta["grid"].items()}
    grid = Grid(**given)
    count = classes if classes is not None else names if isinstance(names, int) else len(names)
    ground = torch.from_numpy(data["ground"])[None]
    maps = SemanticMap(count, grid, MapConfig(**meta["config"]), 1, pixels, meta["logit_scale"], torch.from_numpy(data["class_mean"]), ground, device)
    index = torch.from_numpy(data["voxel"]).long().to(device)
    maps.log_odds[0].flatten(0, 2)[index] = torch.from_numpy(data["log_odds"]).to(device)
    maps.observed[0].flatten()[index] = 1
    maps.occupancy[0], maps.planar[0] = torch.from_numpy(data["occupancy"]).to(device), torch.from_numpy(data["planar"]).to(device)
    maps.project_all()
    return maps, meta["extra"]
