"""Ask, check, ask again with the error: the loop both stages share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flaneur.city.planning.chat import ChatModel, Message, Question, Schema, Usage, parse_object, tokens
from flaneur.city.planning.prompts import Preset

SHOWN_ERRORS = 12  # of one answer; a model mends no more at a time
LEAST_ANSWER = 256  # tokens, whatever the estimate of the prompt says
SHOWN_ANSWER = 4000  # characters of it


@dataclass(frozen=True)
class Answer:
    data: dict[str, Any]  # the last object that could be read, empty if none could
    errors: list[str]  # what is still wrong with it
    messages: list[Message]  # the conversation so far, the good answer included


@dataclass
class Conversation:
    """How a stage talks to the model: prompts, limits, and what it has used."""

    model: ChatModel
    preset: Preset
    seed: int
    attempts: int
    usage: Usage

    def ask(self, subject: str, messages: list[Message], schema: Schema, check: Callable[[dict[str, Any]], list[str]], max_tokens: int) -> Answer:
        """The first answer that passes `check`, or the last one with its errors after `attempts`."""
        data: dict[str, Any] = {}
        errors: list[str] = []
        asked = list(messages)
        for attempt in range(max(1, self.attempts)):
            if attempt:
                self.usage.asked_again += 1
            room = self.model.context - tokens("".join(m["content"] for m in asked))
            reply = self.model.ask(Question(subject, asked, schema, min(max_tokens, max(room, LEAST_ANSWER)), self.seed + attempt))
            self.usage.add(reply)
            try:
                data = parse_object(reply.text)
                errors = check(data)
            except ValueError as error:
                cut = f"; it was cut after {max_tokens} tokens, be brief" if reply.cut else ""
                errors = [f"{error}{cut}"]
            if not errors:
                return Answer(data, [], [*messages, {"role": "assistant", "content": reply.text}])
            if reply.cut:
                max_tokens *= 2
            # Only the last wrong answer is shown: older ones cost context and teach nothing.
            again = self.preset.fill("again", errors="\n".join(f"- {e}" for e in errors[:SHOWN_ERRORS]))
            asked = [*messages, {"role": "assistant", "content": reply.text[:SHOWN_ANSWER]}, {"role": "user", "content": again}]
        return Answer(data, errors, messages)
