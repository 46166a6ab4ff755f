"""Self-contained pages: a template of `flaneur/data` with its data inside, opened in a browser without a network."""

from __future__ import annotations

import json
import math
import os
import tempfile
from importlib import resources
from pathlib import Path
from typing import Any

from flaneur.errors import UserError


def fill(template: str, data: Any) -> str:
    """The template's text with `data` as JSON in the place of __DATA__."""
    text = (resources.files("flaneur") / "data" / template).read_text("utf-8")
    return text.replace("__DATA__", as_script(data))


def as_script(data: Any) -> str:
    """JSON that a script element may hold: "</" would end the element, and a browser knows no NaN."""
    return json.dumps(_finite(data), separators=(",", ":"), ensure_ascii=False).replace("</", "<\\/")


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    return [_finite(v) for v in value] if isinstance(value, (list, tuple)) else value


def write_page(path: Path, page: str) -> int:
    """Write beside `path`, then rename; returns the size in bytes."""
    path, data = Path(path), page.encode("utf-8")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.stem}.", suffix=".html", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        raise UserError(f"{path}: cannot write the page ({error.strerror}); name a folder that can be written") from None
    return len(data)
