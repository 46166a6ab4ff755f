"""`flaneur completion`: a script that lets a shell complete commands, options and values."""

from __future__ import annotations

import importlib
import typing
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, Literal

import tyro

from flaneur.cli.console import Command, print_json


@dataclass
class Completion(Command):
    """Print a completion script for a shell; files are completed where no word of ours fits.

    Examples:
      flaneur completion bash > ~/.local/share/bash-completion/completions/flaneur
      flaneur completion zsh > ~/.flaneur.zsh            then in ~/.zshrc: source ~/.flaneur.zsh
      flaneur completion fish > ~/.config/fish/completions/flaneur.fish
    """

    shell: tyro.conf.Positional[Literal["bash", "zsh", "fish"]]
    """Which one."""

    def run(self) -> None:
        words = list(completions())
        script = _fish(words) if self.shell == "fish" else _bash(words, self.shell == "zsh")
        print_json({"shell": self.shell, "script": script}) if self.json else print(script, end="")


# A command such as "city build", and what may follow each of its options: known words, anything (), nothing (None).
Words = tuple[str, dict[str, tuple[str, ...] | None]]


def completions() -> Iterator[Words]:
    """Every command with its options; a positional's choices stand under the empty option."""
    from flaneur.cli.main import COMMANDS

    for name, entry in COMMANDS.items():
        for word, (target, _) in entry.items() if isinstance(entry, dict) else [("", entry)]:
            module, _, attribute = target.partition(":")
            yield f"{name} {word}".strip(), _options(getattr(importlib.import_module(module), attribute))


def _options(command: type) -> dict[str, tuple[str, ...] | None]:
    from flaneur.cli.parsing import is_positional

    hints = typing.get_type_hints(command, include_extras=True)
    found: dict[str, tuple[str, ...] | None] = {"--help": None}
    for f in fields(command):
        flag = "" if is_positional(f.type) else "--" + f.name.replace("_", "-")
        found[flag] = None if hints[f.name] is bool else tuple(_choices(hints[f.name]))
    return found


def _choices(hint: Any) -> Iterator[str]:
    """Strings of the Literals anywhere in a type."""
    if typing.get_origin(hint) is Literal:
        yield from (str(v) for v in typing.get_args(hint))
        return
    for part in typing.get_args(hint):
        yield from _choices(part)


def _first_words(words: list[Words]) -> dict[str, list[str]]:
    """ "" -> all commands; a group -> its subcommands."""
    first: dict[str, list[str]] = {"": []}
    for name, _ in words:
        head, _, tail = name.partition(" ")
        if head not in first[""]:
            first[""].append(head)
        if tail:
            first.setdefault(head, []).append(tail)
    return first


def _bash(words: list[Words], zsh: bool) -> str:
    first = _first_words(words)
    groups = "|".join(g for g in first if g)
    cases = [f'    "") found="{" ".join(first[""])} --help --version" ;;']
    cases += [f'    "{g}") found="{" ".join(subs)} --help" ;;' for g, subs in first.items() if g]
    for name, options in words:
        cases += [f'    "{name} {flag}") found="{" ".join(values)}" ;;' for flag, values in options.items() if flag and values]
        cases.append(f'    "{name}"*) case "$last" in --*) ;; *) found="{" ".join([*(o for o in options if o), *(options.get("") or ())])}" ;; esac ;;')
    head = "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n" if zsh else ""
    # `last` is the word before only where that is an option that takes a value; flags are followed by anything.
    plain = " ".join(sorted({flag for _, options in words for flag, values in options.items() if values is None}))
    return f"""{head}_flaneur() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" last="" path="" found=""
  if [ "$COMP_CWORD" -gt 1 ]; then
    path="${{COMP_WORDS[1]}}"
    case "$path" in {groups}) [ "$COMP_CWORD" -gt 2 ] && path="$path ${{COMP_WORDS[2]}}" ;; esac
    last="${{COMP_WORDS[COMP_CWORD-1]}}"
    case " {plain} " in *" $last "*) last="" ;; esac
    case "$last" in --*) path="$path $last" ;; esac
  fi
  case "$path" in
{chr(10).join(cases)}
  esac
  COMPREPLY=($(compgen -W "$found" -- "$word"))
}}
complete -o default -F _flaneur flaneur
"""


def _fish(words: list[Words]) -> str:
    first = _first_words(words)
    lines = ["complete -c flaneur -n __fish_use_subcommand -f -a '" + " ".join(first[""]) + "'"]
    for group, subs in first.items():
        if group:
            lines.append(f"complete -c flaneur -n '__fish_seen_subcommand_from {group}; and not __fish_seen_subcommand_from {' '.join(subs)}' -f -a '{' '.join(subs)}'")
    for name, options in words:
        seen = "; and ".join(f"__fish_seen_subcommand_from {part}" for part in name.split())
        for flag, values in options.items():
            choice = f" -x -a '{' '.join(values)}'" if values else ""
            lines.append(f"complete -c flaneur -n '{seen}'" + (f" -l {flag[2:]}" if flag else " -f") + choice if flag or values else "")
    return "\n".join(line for line in lines if line) + "\n"
