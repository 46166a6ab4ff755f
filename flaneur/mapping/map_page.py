"""A saved map as one page: its classes, how sure it is of them, what is where under the pointer."""

from __future__ import annotations

import base64
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from flaneur.classes import load_classes
from flaneur.errors import UserError
from flaneur.mapping.semantic_map import UNEXPLORED
from flaneur.mapping.storage import load_map
from flaneur.page import fill

FILE = "map.npz"
BESIDE = ("map.png", "map.ply", "map.geojson", "map.tif")  # what `flaneur map` writes into the same folder
UNNAMED = ((120, 120, 120), "")  # colour and group of a class that is not in our list


def map_html(path: Path) -> str:
    """`path` is a folder of `flaneur map` or a saved map."""
    file = path / FILE if path.is_dir() else path
    names, default = _class_names(file), load_classes()
    maps, extra = load_map(file, default if names == list(default.names) else None, pixels=1)
    labels = maps.labels[0].cpu().numpy()
    sure = maps.probabilities[0].amax(0).cpu().numpy()
    count = np.bincount(labels.ravel(), minlength=256)
    classes = []
    for k, name in enumerate(names):
        color, group = (default[name].color, default[name].group) if name in default.index else UNNAMED
        classes.append({"name": name, "group": group, "color": list(color), "cells": int(count[k])})
    data = {
        "name": (path if path.is_dir() else file).resolve().stem, "size": maps.grid.size, "cells": maps.grid.cells, "unexplored": UNEXPLORED, "classes": classes,
        "facts": {k: v for k, v in extra.items() if isinstance(v, (str, int, float))}, "labels": _base64(labels), "sure": _base64(np.rint(255 * sure)),
        "files": [n for n in BESIDE if (file.parent / n).is_file()],
    }  # fmt: skip
    return fill("map.html", data)


def _class_names(file: Path) -> list[str]:
    """The map's own classes; those saved without names are numbered, unless there are as many as of ours."""
    try:
        with np.load(file, allow_pickle=False) as archive:
            meta: dict[str, Any] = json.loads(str(archive["meta"]))
        found = meta["classes"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        raise UserError(f"{file}: not a saved map; give the folder of flaneur map, or a file of flaneur.mapping.save_map") from None
    if not isinstance(found, int):
        return list(found)
    return list(load_classes().names) if found == len(load_classes()) else [f"class {k}" for k in range(found)]


def _base64(values: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(values.astype(np.uint8)).tobytes()).decode("ascii")
