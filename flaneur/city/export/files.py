"""Writing beside and renaming: a target is either as it was before or complete."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flaneur.errors import UserError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A hidden folder beside `path`; what the block leaves in it under `path`'s name (and its companions) takes their places.

    Companions (a shapefile's .dbf, a texture folder) are moved first, the named target last.
    """
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    except OSError as error:
        raise UserError(f"{path}: cannot write here ({error.strerror})") from None
    try:
        yield folder / path.name
        for item in sorted(folder.iterdir(), key=lambda p: (p.name == path.name, p.name)):
            _take_place(item, path.parent / item.name)
    except OSError as error:
        raise UserError(f"{path}: cannot write ({error.strerror}); nothing was changed") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _take_place(new: Path, target: Path) -> None:
    if target.is_dir() and not target.is_symlink():
        # A folder cannot be replaced in one step: the old one steps aside until the new one stands.
        aside = new.with_name(new.name + ".old")
        os.replace(target, aside)
        os.replace(new, target)
        shutil.rmtree(aside, ignore_errors=True)
    else:
        os.replace(new, target)
