"""A language model as the planner sees it: messages and a JSON Schema go in, text comes out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

Message = dict[str, str]  # role, content
Schema = dict[str, Any]


@dataclass(frozen=True)
class Question:
    subject: str  # "block 7, rule": what the transcript calls it
    messages: Sequence[Message]
    schema: Schema
    max_tokens: int
    seed: int


@dataclass(frozen=True)
class Reply:
    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    cut: bool = False  # ended because max_tokens were used up


class ModelError(Exception):
    """The model gave no answer at all: unreachable, timed out, refused. One line, with the remedy."""


class ChatModel(Protocol):
    name: str  # "openai:gpt-5-mini", "local:SmolLM2-135M-Instruct.Q4_1"
    context: int  # tokens that prompt and answer share
    left_out: list[str]  # request fields that a server refused

    def ask(self, question: Question) -> Reply: ...


@dataclass
class Usage:
    """What a planning run took."""

    calls: int = 0
    asked_again: int = 0  # answers that were refused and asked for once more
    repaired: int = 0  # blocks or rules whose last answer had to be mended
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    cost: float | None = None  # in the currency of the prices given; None without prices

    def add(self, reply: Reply) -> None:
        self.calls += 1
        self.prompt_tokens += reply.prompt_tokens
        self.completion_tokens += reply.completion_tokens
        self.seconds += reply.seconds

    def price(self, per_million_in: float | None, per_million_out: float | None) -> None:
        if per_million_in is not None and per_million_out is not None:
            self.cost = round((self.prompt_tokens * per_million_in + self.completion_tokens * per_million_out) / 1e6, 6)

    def as_json(self) -> dict[str, Any]:
        return {k: round(v, 3) if k == "seconds" else v for k, v in asdict(self).items()}


def tokens(text: str) -> int:
    """A careful estimate: JSON full of numbers takes about three characters a token."""
    return len(text) // 3 + 1


def parse_object(text: str) -> dict[str, Any]:
    """The JSON object in an answer, thoughts or code fences around it allowed. ValueError says what is wrong."""
    decoder = json.JSONDecoder()
    start, problem = text.find("{"), ValueError("there is no JSON object in it")
    while start >= 0:
        try:
            value, _ = decoder.raw_decode(text, start)
            return value
        except (ValueError, RecursionError) as error:
            problem = ValueError(f"it is not whole JSON ({error})")
        end = text.find("}", start)
        inside = text[start + 1 : end].strip() if end >= 0 else '"'
        if inside[:1] in ('"', "", "{"):  # it began as JSON and broke: an object inside it is not the answer
            break
        start = text.find("{", end)  # only a brace in a thought
    raise problem
