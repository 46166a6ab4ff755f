"""Frozen dataclasses from TOML or JSON files, strictly: an unknown or ill-typed field is named, with what was meant."""

from __future__ import annotations

import dataclasses
import difflib
import json
import tomllib
import types
import typing
from pathlib import Path
from typing import Any, TypeVar

from flaneur.errors import UserError

T = TypeVar("T")


def load_config(cls: type[T], path: Path, overrides: dict[str, Any] | None = None) -> T:
    """Read a .toml or .json file into the dataclass; `overrides` are dotted fields, as in {"ppo.k": 0.05}."""
    path = Path(path)
    try:
        text = path.read_text("utf-8")
        values = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except (tomllib.TOMLDecodeError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not readable ({error})") from None
    for name, value in (overrides or {}).items():
        *tables, last = name.split(".")
        at = values
        for table in tables:
            at = at.setdefault(table, {})
        at[last] = value
    return from_values(cls, values, str(path))


def from_values(cls: type[T], values: dict[str, Any], where: str, prefix: str = "") -> T:
    hints = typing.get_type_hints(cls)
    known = {f.name for f in dataclasses.fields(cls)}  # type: ignore[arg-type]
    for name in values:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean '{near[0]}'?" if near else f"known are {', '.join(sorted(known))}"
            raise UserError(f"{where}: unknown field '{prefix}{name}'; {hint}")
    try:
        return cls(**{name: _convert(hints[name], value, where, prefix + name) for name, value in values.items()})
    except TypeError as error:
        raise UserError(f"{where}: {prefix or 'the file'}: {error}") from None
    except UserError as error:
        text = str(error)
        raise UserError(text if text.startswith(where) else f"{where}: {text}") from None


def to_values(config: Any) -> dict[str, Any]:
    """The JSON form that `from_values` reads back."""
    return json.loads(json.dumps(dataclasses.asdict(config)))


def _convert(hint: Any, value: Any, where: str, name: str) -> Any:
    if dataclasses.is_dataclass(hint):
        if not isinstance(value, dict):
            raise UserError(f"{where}: field '{name}' must be a table")
        return from_values(hint, value, where, f"{name}.")  # type: ignore[arg-type]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        if value not in arguments:
            raise UserError(f"{where}: field '{name}' is {value!r}; it is one of {', '.join(map(str, arguments))}")
        return value
    if origin in (typing.Union, types.UnionType):
        if value is None:
            return None
        return _convert(next(a for a in arguments if a is not type(None)), value, where, name)
    if origin is tuple:
        if not isinstance(value, list):
            raise UserError(f"{where}: field '{name}' must be a list")
        kinds = [arguments[0]] * len(value) if arguments[-1] is Ellipsis else list(arguments)
        if len(kinds) != len(value):
            raise UserError(f"{where}: field '{name}' has {len(value)} entries; {len(kinds)} are needed")
        return tuple(_convert(k, v, where, f"{name}[{i}]") for i, (k, v) in enumerate(zip(kinds, value, strict=True)))
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(hint, type) and (not isinstance(value, hint) or (hint is int and isinstance(value, bool))):
        raise UserError(f"{where}: field '{name}' is {value!r}; {'a number' if hint in (int, float) else hint.__name__} is needed")
    return value
