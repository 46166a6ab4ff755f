"""From words to a command object; what cannot be read becomes one line instead of tyro's box."""

from __future__ import annotations

import difflib
import inspect
import re
import typing
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields
from functools import cache
from typing import Annotated, Any

import tyro

from flaneur.errors import UserError

MARKS = (tyro.conf.FlagCreatePairsOff, tyro.conf.OmitArgPrefixes, tyro.conf.PositionalMetavarFromFieldName, tyro.conf.DisallowNone)


def parse(command: type, name: str, arguments: list[str]) -> Any:
    """`arguments` as an instance of the dataclass `command`; `--help` prints and exits as usual."""
    _quieten(command)
    with _one_line_errors(command, name):
        return tyro.cli(command, args=_join_negative_values(arguments), prog=f"flaneur {name}", description=inspect.getdoc(command), config=MARKS)


def flags(command: type) -> list[str]:
    """Long options of a command."""
    return ["--help", *(f"--{f.name.replace('_', '-')}" for f in fields(command) if not is_positional(f.type))]


def is_positional(annotation: Any) -> bool:
    return "Positional" in str(annotation)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, list(known), 1)
    return f", did you mean '{near[0]}'?" if near else ""


def ray_address(words: tuple[str, ...] | None) -> str | None:
    """`--ray` alone means this machine; None where it was not given."""
    if words is not None and len(words) > 1:
        raise UserError(f"--ray {' '.join(words)}: give one address, HOST:PORT, or nothing")
    return None if words is None else (words or ("local",))[0]


@cache  # once per command: the class keeps it
def _quieten(command: type) -> None:
    """In help, a default is shown where it says something: not `None` or `False`, nothing empty."""
    for name, hint in typing.get_type_hints(command, include_extras=True).items():
        extras = getattr(hint, "__metadata__", ())
        if tyro.conf.UseAppendAction not in extras and not any(getattr(e, "help_behavior_hint", None) for e in extras):
            command.__annotations__[name] = Annotated[hint, tyro.conf.arg(help_behavior_hint=_shown_default)]


def _shown_default(value: str) -> str:
    return "" if value in ("None", "False", "", "''") else f"(default: {value})"


def _one_line_errors(command: type, name: str) -> AbstractContextManager[None]:
    # The hook is private to tyro, whose version is pinned; another version prints its box and exits with 2 as well.
    errors = getattr(tyro, "_errors", None)
    if errors is None or not hasattr(errors, "on_parse_error"):
        return nullcontext()

    def refuse(event: Any) -> None:
        line = _describe(event, flags(command))
        if line is not None:
            raise UserError(f"{name}: {line}; see flaneur {name} --help")

    return errors.on_parse_error(refuse)


def _describe(event: Any, known: list[str]) -> str | None:
    """The event in words; None for kinds this version does not know."""
    kind = type(event).__name__
    if kind == "MissingArgs":
        given = _unknown(event.unrecognized_tokens, known)
        return (f"{given}; " if given else "") + "give " + " and ".join(_name(a.arg) for a in event.missing_arguments)
    if kind == "UnrecognizedArgs":
        return _unknown(event.tokens, known)
    if kind == "InvalidChoice":
        choices = sorted(str(c) for c in event.choices if c not in (None, "None"))
        return f"{_name(event.argument)} '{event.value}': give one of {', '.join(choices)}"
    if kind == "BadValue":
        return f"{_name(event.argument)}: takes no value '{event.offending_value}'" if event.reason == "fixed" else f"{_name(event.argument)}: needs a value"
    if kind == "InstantiationFailure":
        message = _plain(" ".join(str(event.message).split()))
        return f"{_name(event.argument)}: {message}" if event.argument is not None else message
    return None


def _plain(message: str) -> str:
    """What Python's and tyro's conversions say, in words for people."""
    for pattern, words in (
        (r"invalid literal for int\(\) with base 10: (.*)", r"\1 is not a whole number"),
        (r"could not convert string to float: (.*)", r"\1 is not a number"),
        (r"Could not find valid parse for arguments: \[(.*)\]", r"cannot read \1"),
    ):
        message = re.sub(pattern, words, message)
    return message


def _name(argument: Any) -> str:
    return str(argument.lowered.metavar).strip("[]") if argument.is_positional() else argument.lowered.name_or_flags[-1]


def _unknown(tokens: list[str], known: list[str]) -> str:
    if not tokens:
        return ""
    options = [t for t in tokens if t.startswith("-")]
    if options:
        option = options[0].partition("=")[0]
        return f"unknown option {option}{did_you_mean(option, known).rstrip('?').replace(chr(39), '')}"
    return f"'{tokens[0]}' is one word too many"


def _join_negative_values(arguments: list[str]) -> list[str]:
    """`--window -74.0,40.7,...` -> `--window=-74.0,40.7,...`: argparse would take the value for an option."""
    joined: list[str] = []
    for argument in arguments:
        if joined and re.fullmatch(r"-[\d.][\d.,eE+-]*", argument) and joined[-1].startswith("--") and "=" not in joined[-1]:
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined
