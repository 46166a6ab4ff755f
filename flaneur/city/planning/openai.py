"""Any OpenAI-compatible server over plain HTTP: structured output, timeouts, retries. No SDK."""

from __future__ import annotations

import http.client
import json
import os
import time
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlsplit

from flaneur.city.planning.chat import ModelError, Question, Reply
from flaneur.city.planning.schema import strict
from flaneur.errors import UserError

RETRY_STATUS = (408, 409, 425, 429, 500, 502, 503, 504, 529)
FIRST_WAIT_S = 1.0  # doubled with every retry
LONGEST_WAIT_S = 30.0


class OpenAIModel:
    """`POST {base_url}/chat/completions`. What a server does not know (strict schemas, seeds) is left out after it said so, and noted."""

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        key_variable: str = "OPENAI_API_KEY",
        timeout_s: float = 120.0,
        retries: int = 3,
        temperature: float = 0.4,
        context: int = 32768,
        first_wait_s: float = FIRST_WAIT_S,
    ) -> None:
        if urlsplit(base_url).scheme not in ("http", "https") or not urlsplit(base_url).netloc:
            raise UserError(f"planner openai: base URL '{base_url}' is not of the form http(s)://host[:port]/v1")
        if not model:
            raise UserError("planner openai: no model named; say which one the server should use")
        self.url = base_url.rstrip("/") + "/chat/completions"
        self.name, self.context = f"openai:{model}", context
        self.left_out: list[str] = []  # what the server refused
        self._model, self._key_variable = model, key_variable
        self._timeout_s, self._retries, self._temperature, self._first_wait_s = timeout_s, retries, temperature, first_wait_s

    def ask(self, question: Question) -> Reply:
        wait, failure = self._first_wait_s, ""
        for attempt in range(self._retries + 1):
            if attempt:
                time.sleep(wait)
                wait = min(2 * wait, LONGEST_WAIT_S)
            started = time.monotonic()
            try:
                return self._reply(self._post(question), time.monotonic() - started)
            except urllib.error.HTTPError as error:
                said = error.read(4000).decode("utf-8", "replace")
                if error.code in (400, 422) and self._give_way(said):
                    return self.ask(question)
                failure = f"HTTP {error.code}: {_message(said)}"
                if error.code not in RETRY_STATUS:
                    break
                wait = _retry_after(error.headers.get("Retry-After"), wait)
            except TimeoutError:
                failure = f"no answer within {self._timeout_s:g} s"
            except (urllib.error.URLError, ConnectionError, http.client.HTTPException) as error:
                reason = getattr(error, "reason", error)
                failure = f"no answer within {self._timeout_s:g} s" if isinstance(reason, TimeoutError) else f"cannot be reached ({reason})"
            except ValueError as error:
                failure = f"answered something else than a chat completion ({error})"
        raise ModelError(f"{self.url}: {failure}; tried {attempt + 1} time{'s' if attempt else ''}: check the base URL, the model '{self._model}' and ${self._key_variable}")

    def _post(self, question: Question) -> Any:
        body: dict[str, Any] = {"model": self._model, "messages": list(question.messages)}
        optional: dict[str, Any] = {
            "max_tokens": question.max_tokens,
            "temperature": self._temperature,
            "seed": question.seed,
            "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": strict(question.schema)}},
        }
        body |= {k: v for k, v in optional.items() if k not in self.left_out}
        if "max_tokens" in self.left_out and "max_completion_tokens" not in self.left_out:
            body["max_completion_tokens"] = question.max_tokens
        if "response_format" in self.left_out and "json_object" not in self.left_out:
            body["response_format"] = {"type": "json_object"}
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "flaneur"}
        if key := os.environ.get(self._key_variable):
            headers["Authorization"] = f"Bearer {key}"
        request = urllib.request.Request(self.url, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=self._timeout_s) as response:
            return json.loads(response.read().decode("utf-8"))

    def _give_way(self, said: str) -> bool:
        """Leave out the field that the server complains about; False when it complains about something else."""
        lower = said.lower()
        for field, words in (
            ("max_tokens", ("max_tokens",)),
            ("max_completion_tokens", ("max_completion_tokens",)),
            ("temperature", ("temperature",)),
            ("seed", ("seed",)),
            ("response_format", ("response_format", "json_schema", "schema", "grammar")),
            ("json_object", ("response_format", "json_object")),
        ):
            if field not in self.left_out and any(word in lower for word in words):
                self.left_out.append(field)
                return True
        return False

    def _reply(self, answer: Any, seconds: float) -> Reply:
        try:
            choice = answer["choices"][0]
            content = choice["message"]["content"]
            usage = answer.get("usage") or {}
        except (KeyError, IndexError, TypeError, AttributeError):
            raise ValueError(_message(json.dumps(answer))) from None
        refusal = choice["message"].get("refusal")
        text = content if isinstance(content, str) else refusal if isinstance(refusal, str) else ""
        return Reply(text, int(usage.get("prompt_tokens", 0)), int(usage.get("completion_tokens", 0)), seconds, choice.get("finish_reason") == "length")


def _message(said: str) -> str:
    """The server's complaint in one short line."""
    try:
        error = json.loads(said)["error"]
        said = error["message"] if isinstance(error, dict) else str(error)
    except (ValueError, KeyError, TypeError):
        pass
    return " ".join(said.split())[:200] or "empty answer"


def _retry_after(header: str | None, otherwise: float) -> float:
    try:
        return min(max(float(header or ""), 0.0), LONGEST_WAIT_S)
    except ValueError:
        return otherwise
