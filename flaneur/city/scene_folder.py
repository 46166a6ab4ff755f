"""A scene's folder: arrays and checksums that do not depend on the zip library, and a place that is either old or complete."""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import shutil
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from flaneur.errors import UserError


def checksum(meta: dict[str, Any], *arrays: dict[str, np.ndarray]) -> str:
    """SHA-256 over the content, not over compressed bytes, which differ between zip libraries."""
    digest = hashlib.sha256(json.dumps({k: v for k, v in meta.items() if k != "checksum"}, sort_keys=True).encode())
    for group in arrays:
        for name in sorted(group):
            a = np.ascontiguousarray(group[name])
            digest.update(f"{name}{a.dtype.str}{a.shape}".encode())
            digest.update(a.tobytes())
    return digest.hexdigest()


def check_place(folder: Path) -> None:
    """A scene takes the place of an older one or of nothing: a folder with other things in it is not ours to remove."""
    if folder.is_dir() and not (folder / "scene.json").is_file():
        others = sorted({p.name for p in folder.iterdir()} - {"instances.npz", "prototypes.npz", "truth.npz"})
        if others:
            raise UserError(f"{folder}: holds other things ('{others[0]}') and no scene; name a new or empty folder")


def swap(new: Path, folder: Path) -> None:
    """`new` takes the place of `folder`, which steps aside until it stands."""
    aside = new.with_name(f"{new.name}.old")
    if folder.exists():
        os.replace(folder, aside)
    try:
        os.replace(new, folder)
    except OSError:
        if aside.exists():
            os.replace(aside, folder)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def write_npz(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """An .npz that np.load reads: LZMA inside (a third smaller than deflate) and a fixed date, for equal bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for name, array in arrays.items():
            buffer = BytesIO()
            np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0)), buffer.getvalue(), zipfile.ZIP_LZMA)


def read_npz(path: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except FileNotFoundError:
        raise UserError(f"{path}: missing; the scene folder is incomplete") from None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, lzma.LZMAError) as error:
        raise UserError(f"{path}: damaged ({error}); build the scene again") from None
