"""Prompts are data: one folder per preset under `flaneur/data/prompts` (or a folder of the user's own)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from flaneur.errors import UserError

FOLDER = Path(__file__).parents[2] / "data" / "prompts"
_PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Preset:
    """`whole_scene`: one question for the whole scene (the paper's way); otherwise block by block."""

    name: str
    texts: dict[str, str]

    @property
    def whole_scene(self) -> bool:
        return "plan" in self.texts

    def fill(self, text: str, **values: object) -> str:
        """The prompt `text` with its {places} filled; braces of JSON are left alone."""

        def value(match: re.Match[str]) -> str:
            if match[1] not in values:
                raise UserError(f"prompt preset '{self.name}', {text}.txt: nothing is known for {{{match[1]}}}; places are {', '.join(sorted(values))}")
            return str(values[match[1]])

        return _PLACE.sub(value, self.texts[text])


def load_preset(name: str) -> Preset:
    folder = FOLDER / name if (FOLDER / name).is_dir() else Path(name)
    if not folder.is_dir():
        known = ", ".join(sorted(p.name for p in FOLDER.iterdir() if p.is_dir()))
        raise UserError(f"prompt preset '{name}': neither a preset ({known}) nor a folder with prompts")
    texts = {file.stem: file.read_text("utf-8").strip() for file in sorted(folder.glob("*.txt"))}
    wanted = {"design", "again"} | ({"plan"} if "plan" in texts else {"system", "rule", "parameters"})
    missing = sorted(wanted - set(texts))
    if missing:
        raise UserError(f"prompt preset '{name}': {missing[0]}.txt is missing in {folder}")
    return Preset(name, texts)
