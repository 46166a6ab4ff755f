"""Text files are written beside and renamed, so that an interrupted write leaves what was there."""

from __future__ import annotations

import os
from pathlib import Path

from flaneur.errors import UserError


def write_text(path: Path, text: str) -> None:
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, "utf-8")
        os.replace(temporary, path)
    except OSError as error:
        raise UserError(f"{path}: cannot write ({error.strerror}); nothing was changed") from None
    finally:
        temporary.unlink(missing_ok=True)
