"""Push and pull: a dataset to and from a folder, an fsspec URL (s3://, gs://, ...) or a Hugging Face dataset (hf://datasets/owner/name).

Every scene is verified against dataset.json after it arrives; the index is written last, so that a broken transfer is resumed.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from flaneur.city.dataset.build import Progress
from flaneur.city.dataset.index import FILE, Index, checksum_of, load_index, verify
from flaneur.city.scene import Scene
from flaneur.errors import UserError

SCENE_FILES = ("instances.npz", "prototypes.npz", "scene.json")  # scene.json last: it makes a scene complete
EXTRAS = ("README.md", "statistics.png", "statistics.svg")


def push(folder: Path, target: str, progress: Progress | None = None) -> Index:
    """Verify the dataset in `folder` and copy it to `target`; scenes that lie there unchanged are skipped."""
    folder = Path(folder)
    index = verify(folder)
    system, root = _open(target)
    try:
        there = _remote_checksums(system, root)
        for k, record in enumerate(index.scenes):
            if there.get(record.path) != record.checksum:
                for name in SCENE_FILES:
                    system.makedirs(f"{root}/{record.path}", exist_ok=True)
                    system.put_file(str(folder / record.path / name), f"{root}/{record.path}/{name}")
            if progress:
                progress(k + 1, len(index.scenes), record.name)
        for name in (*(e for e in EXTRAS if (folder / e).exists()), FILE):
            system.put_file(str(folder / name), f"{root}/{name}")
    except OSError as error:
        raise UserError(f"{target}: cannot write ({error}); push again to resume") from None
    return index


def pull(source: str, folder: Path, progress: Progress | None = None) -> Index:
    """Copy the dataset at `source` into `folder`; what is there and matches its checksum is kept."""
    folder = Path(folder)
    system, root = _open(source)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".pull.", dir=folder) as temporary:
        try:
            system.get_file(f"{root}/{FILE}", f"{temporary}/{FILE}")
        except OSError as error:
            raise UserError(f"{source}: no dataset here ({FILE} cannot be read: {error})") from None
        index = load_index(Path(temporary))
        for k, record in enumerate(index.scenes):
            if not _matches(folder / record.path, record.checksum):
                _fetch(system, f"{root}/{record.path}", Path(temporary) / record.name, folder / record.path, record.checksum)
            if progress:
                progress(k + 1, len(index.scenes), record.name)
        for name in EXTRAS:
            if system.exists(f"{root}/{name}"):
                system.get_file(f"{root}/{name}", f"{temporary}/{name}")
                os.replace(f"{temporary}/{name}", folder / name)
    index.save(folder)
    return index


def _fetch(system: Any, remote: str, temporary: Path, target: Path, checksum: str) -> None:
    temporary.mkdir()
    try:
        for name in SCENE_FILES:
            system.get_file(f"{remote}/{name}", str(temporary / name))
    except OSError as error:
        raise UserError(f"{remote}: cannot be read ({error}); pull again to resume") from None
    if not _matches(temporary, checksum):
        raise UserError(f"{remote}: its content does not match the checksum in {FILE}; the dataset there is damaged, push it again")
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        shutil.rmtree(target)
    os.replace(temporary, target)


def _matches(folder: Path, checksum: str) -> bool:
    try:
        Scene.load(folder, verify=True)
        return checksum_of(folder) == checksum
    except UserError:
        return False


def _remote_checksums(system: Any, root: str) -> dict[str, str]:
    """What an earlier push left; a damaged or missing index means nothing is there."""
    with tempfile.TemporaryDirectory() as temporary:
        try:
            system.get_file(f"{root}/{FILE}", f"{temporary}/{FILE}")
            return {r.path: r.checksum for r in load_index(Path(temporary)).scenes}
        except (OSError, UserError):
            return {}


def _open(url: str) -> tuple[Any, str]:
    import fsspec

    try:
        system, path = fsspec.core.url_to_fs(url)
    except (ImportError, ValueError) as error:
        hint = "; pip install 'flaneur[hub]'" if url.startswith("hf://") else ""
        raise UserError(f"{url}: {error}{hint}") from None
    return system, path.rstrip("/")
