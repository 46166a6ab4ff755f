"""An extension of mkdocstrings: shapes such as [B, C, H, W] in docstrings are text, not links."""

from __future__ import annotations

import re
from typing import Any

import griffe


class PlainDocstrings(griffe.Extension):
    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            # Every other part lies between backticks and stays as it is.
            parts = re.split(r"(```.*?```|`[^`]*`)", obj.docstring.value, flags=re.DOTALL)
            obj.docstring.value = "".join(p if i % 2 else p.replace("[", "\\[").replace("<", "&lt;") for i, p in enumerate(parts))
