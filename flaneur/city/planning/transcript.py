"""Every prompt and answer as JSON lines, and a model that answers out of such a file, so that a plan replays without one."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict, deque
from pathlib import Path
from typing import Any

from flaneur.city.planning.chat import ChatModel, ModelError, Question, Reply
from flaneur.city.planning.saving import write_text
from flaneur.errors import UserError

FORMAT_VERSION = 1


def digest(question: Question) -> str:
    """Identifies a question: messages and schema. The schema follows from library and block and is not stored."""
    content = json.dumps([list(question.messages), question.schema], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()


class Recorder:
    """A ChatModel that notes all that passes through it. `save` writes the file whole, also after a failure."""

    def __init__(self, model: ChatModel, header: dict[str, Any]) -> None:
        self.model, self.name, self.context = model, model.name, model.context
        self.left_out = model.left_out
        self.lines: list[dict[str, Any]] = [{"transcript": FORMAT_VERSION, "model": model.name, "context": model.context, **header}]

    def ask(self, question: Question) -> Reply:
        line: dict[str, Any] = {"subject": question.subject, "question": digest(question), "seed": question.seed, "messages": list(question.messages)}
        self.lines.append(line)
        try:
            reply = self.model.ask(question)
        except ModelError as error:
            line["error"] = str(error)
            raise
        line |= {"answer": reply.text, "cut": reply.cut, "prompt_tokens": reply.prompt_tokens, "completion_tokens": reply.completion_tokens, "seconds": round(reply.seconds, 3)}
        return reply

    def save(self, path: Path, summary: dict[str, Any]) -> None:
        self.lines[0]["left_out"] = self.left_out
        write_text(path, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in [*self.lines, {"summary": summary}]))


class Replay:
    """Answers from a transcript. Asked anything that is not in it, it says so."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        try:
            lines = [json.loads(line) for line in self.path.read_text("utf-8").splitlines() if line.strip()]
            self.header: dict[str, Any] = lines[0]
            self.name, self.context = str(self.header["model"]), int(self.header["context"])
            self.left_out: list[str] = list(self.header.get("left_out", []))
            version = self.header["transcript"]
            self._answers: dict[str, deque[dict[str, Any]]] = defaultdict(deque)
            for line in lines[1:]:
                if "question" in line:
                    self._answers[line["question"]].append(line)
        except OSError as error:
            raise UserError(f"{path}: cannot read the transcript ({error.strerror})") from None
        except (ValueError, KeyError, IndexError, TypeError) as error:
            raise UserError(f"{path}: not a planning transcript ({error}); expected JSON lines that begin with a header") from None
        if version != FORMAT_VERSION:
            raise UserError(f"{path}: field 'transcript': version {version}, this version reads {FORMAT_VERSION}")

    def ask(self, question: Question) -> Reply:
        waiting = self._answers.get(digest(question))
        if not waiting:
            raise UserError(f"{self.path}: holds no answer for '{question.subject}'; it was made for another scene, library, prompt or option: plan again with a model")
        line = waiting.popleft()
        if "error" in line:
            raise ModelError(line["error"])
        return Reply(line["answer"], line["prompt_tokens"], line["completion_tokens"], line["seconds"], line["cut"])
