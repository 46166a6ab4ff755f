"""Rule libraries as files: the built-in one (`flaneur/data/rules.toml`, with shared kits) and anybody's own as JSON or TOML."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from flaneur.city.planning.check import check_library
from flaneur.city.planning.library import Range, RuleLibrary
from flaneur.city.planning.saving import write_text
from flaneur.errors import UserError

BUILTIN_FILE = Path(__file__).parents[2] / "data" / "rules.toml"


@lru_cache(maxsize=1)
def builtin_library() -> RuleLibrary:
    return load_library(BUILTIN_FILE)


def load_library(path: Path) -> RuleLibrary:
    """Read a library from .json (a saved RuleLibrary) or .toml (kits allowed), and check it whole."""
    path = Path(path)
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot read the rule library ({error})") from None
    try:
        if path.suffix == ".toml":
            library = RuleLibrary.model_validate(_expand(path, tomllib.loads(text)))
        else:
            library = RuleLibrary.model_validate_json(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path}: not TOML ({error})") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise UserError(f"{path}: field '{'.'.join(map(str, first['loc']))}': {first['msg']}") from None
    problems = check_library(library)
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise UserError(f"{path}: {problems[0]}{more}")
    return library


def save_library(library: RuleLibrary, path: Path) -> None:
    write_text(Path(path), library.model_dump_json(indent=1) + "\n")


def _range(values: Any) -> dict[str, float]:
    low, default, high = values
    return Range(low=low, default=default, high=high).model_dump()


def _expand(path: Path, data: dict[str, Any]) -> dict[str, Any]:
    """TOML's short form to a RuleLibrary: kits are put in, [low, default, high] becomes a Range."""
    kits = data.get("kit", {})
    rules = []
    for rule in data.get("rule", []):
        name = rule.get("name", "?")
        merged: dict[tuple[str, str], dict[str, Any]] = {}
        for kit in rule.pop("use", []):
            if kit not in kits:
                raise UserError(f"{path}: rule '{name}', field 'use': no kit '{kit}'; known are {', '.join(kits)}")
            merged |= {(d["asset"], d["function"]): d for d in kits[kit]["distributions"]}
        own = {(d["asset"], d["function"]): d for d in rule.get("distributions", [])}
        chosen = (merged | own).values()
        try:
            rule["distributions"] = [{"asset": d["asset"], "function": d["function"], "parameters": {k: _range(v) for k, v in d.items() if k not in ("asset", "function")}} for d in chosen]
            if "architecture" in rule:
                rule["architecture"] = {k: v if k == "style" else _range(v) for k, v in rule["architecture"].items()}
        except (TypeError, ValueError):
            raise UserError(f"{path}: rule '{name}': a range is written [low, default, high]") from None
        rules.append(rule)
    return {"name": data.get("name", path.stem), "rules": rules}
