"""Stage 2: a language model gives every block of a scene its rule and parameters."""

from __future__ import annotations

import json
from typing import Any

from flaneur.city.layout.graph import CityGraph
from flaneur.city.planning.asking import Answer, Conversation
from flaneur.city.planning.chat import Message, Schema, tokens
from flaneur.city.planning.check import check_assignment
from flaneur.city.planning.context import BlockContext, block_contexts
from flaneur.city.planning.library import ARCHITECTURE, ARCHITECTURE_STYLES, FUNCTIONS, Assignment, CityPlan, Parameter, Rule, RuleLibrary
from flaneur.city.planning.repair import finite, repair_assignment, short
from flaneur.city.planning.schema import asked_parameters, parameter_choice, rule_choice, scene_plan
from flaneur.errors import UserError

TOKENS_PER_PARAMETER = 20
TOKENS_FOR_WORDS = 300
ANSWER_SHARE = 0.4  # of the context, kept for the answer when a scene is cut into chunks


def assign_blocks(conversation: Conversation, graph: CityGraph, library: RuleLibrary, fallback: CityPlan, parameters: int) -> tuple[list[Assignment], list[str]]:
    """Assignments of all blocks, each valid, and what had to be repaired. `fallback` steps in where the model stays useless."""
    contexts = block_contexts(graph)
    fitting = {c.id: library.fitting(graph.place_type, c.type) for c in contexts}
    for c in contexts:
        if not fitting[c.id]:
            raise UserError(f"library '{library.name}': no rule covers block type '{c.type}' in scene type '{graph.place_type}' (block {c.id}); add one")
    if conversation.preset.whole_scene:
        answers = _ask_whole(conversation, graph, library, contexts, fitting, parameters)
    else:
        # Blocks of one type follow each other: their prompts begin alike, and servers and llama.cpp keep a common beginning.
        answers = {c.id: _ask_block(conversation, graph, library, c, fitting[c.id], parameters) for c in sorted(contexts, key=lambda c: c.type)}
    spares = {a.block: a for a in fallback.assignments}
    assignments, repairs = [], []
    for c in contexts:
        data, errors = answers[c.id]
        mended, notes = repair_assignment(data, spares[c.id], fitting[c.id])
        assignments.append(mended)
        if errors:
            conversation.usage.repaired += 1
            repairs += notes or [f"block {c.id}: {errors[0]}; the rest was kept"]
    return assignments, repairs


def scene_line(graph: CityGraph) -> str:
    return f"{graph.name}, {graph.place_type}, {graph.size:g} m square, {len(graph.blocks)} blocks"


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def assignment_errors(data: dict[str, Any], context: BlockContext, place_type: str, library: RuleLibrary, needed: list[str] | None = None) -> list[str]:
    """What is wrong with one block's answer, types included, in words a model can act on."""
    where = f"block {context.id}"
    rule, style, parameters = data.get("rule"), data.get("style"), data.get("parameters", {})
    if not isinstance(rule, str):
        return [f"{where}: 'rule' must be the name of a rule, not {short(compact(rule), 60)}"]
    errors = []
    if style is not None and style not in ARCHITECTURE_STYLES:
        errors.append(f"{where}: style '{short(style, 40)}' is not one of {', '.join(ARCHITECTURE_STYLES)}")
    if not isinstance(parameters, dict):
        return [*errors, f"{where}: 'parameters' must be an object of numbers"]
    bad = [k for k, v in parameters.items() if finite(v) is None]
    errors += [f"{where}: {short(k, 60)} must be a number, not {short(compact(parameters[k]), 40)}" for k in bad]
    good = {k: float(v) for k, v in parameters.items() if k not in bad}
    errors += check_assignment(Assignment(block=context.id, rule=rule, parameters=good), place_type, context.type, library)
    return errors + [f"{where}: {key} is missing" for key in needed or [] if key not in parameters]


def _ask_block(conversation: Conversation, graph: CityGraph, library: RuleLibrary, context: BlockContext, rules: list[Rule], parameters: int) -> tuple[dict[str, Any], list[str]]:
    """Two questions: which rule, then its parameters, in one conversation so that the prompt's beginning is computed once."""
    fill = conversation.preset.fill
    place = graph.place_type
    listed = "\n".join(f"- {r.name}: {r.reason}{f' ({r.architecture.style})' if r.architecture else ''}" for r in rules)
    question = fill("rule", scene=scene_line(graph), block_id=context.id, block=compact(context.as_json()), block_type=context.type, scene_type=place, rules=listed)
    messages: list[Message] = [{"role": "system", "content": conversation.preset.texts["system"]}, {"role": "user", "content": question}]
    first = conversation.ask(f"block {context.id}, rule", messages, rule_choice(rules), lambda d: assignment_errors({**d, "parameters": {}}, context, place, library), TOKENS_FOR_WORDS)
    rule = library.named(str(first.data.get("rule")))
    if first.errors or rule is None or parameters <= 0:
        return first.data, first.errors
    keys = asked_parameters(rule, parameters)
    if not keys:
        return first.data, []
    question = fill("parameters", rule=rule.name, parameters="\n".join(parameter_line(rule, key) for key in keys))
    second = conversation.ask(
        f"block {context.id}, parameters",
        [*first.messages, {"role": "user", "content": question}],
        parameter_choice(rule, parameters),
        lambda d: assignment_errors({"rule": rule.name, "parameters": d}, context, place, library, keys),
        TOKENS_FOR_WORDS + TOKENS_PER_PARAMETER * len(keys),
    )
    return {**first.data, "parameters": second.data}, second.errors


def parameter_line(rule: Rule, key: str) -> str:
    limits = rule.ranges()[key]
    owner, *_, name = key.split(".")
    described: Parameter = ARCHITECTURE[name] if owner == "architecture" else FUNCTIONS[key.split(".")[1]].parameters[name]
    return f"{key} [{limits.low:g}, {limits.default:g}, {limits.high:g}] {described.unit}"


# One question for the whole scene, cut into chunks where it does not fit the model --------------------------------
def _ask_whole(
    conversation: Conversation, graph: CityGraph, library: RuleLibrary, contexts: list[BlockContext], fitting: dict[int, list[Rule]], parameters: int
) -> dict[int, tuple[dict[str, Any], list[str]]]:
    answers: dict[int, tuple[dict[str, Any], list[str]]] = {}
    for chunk in chunks(conversation, graph, library, contexts, fitting, parameters):
        messages, schema = _whole_question(conversation, graph, library, chunk, fitting, parameters)

        def errors_of(context: BlockContext, data: dict[str, Any]) -> list[str]:
            entry = data.get(f"block_{context.id}")
            return assignment_errors(entry, context, graph.place_type, library) if isinstance(entry, dict) else [f"block {context.id}: 'block_{context.id}' is missing"]

        def check(data: dict[str, Any], chunk: list[BlockContext] = chunk) -> list[str]:
            known = {"thought", *(f"block_{c.id}" for c in chunk)}
            return [f"'{short(k, 40)}' is no block of this scene" for k in data if k not in known] + [e for c in chunk for e in errors_of(c, data)]

        subject = f"blocks {chunk[0].id} to {chunk[-1].id}" if len(chunk) > 1 else f"block {chunk[0].id}"
        answer: Answer = conversation.ask(subject, messages, schema, check, _answer_tokens(chunk, fitting, parameters))
        for c in chunk:
            entry = answer.data.get(f"block_{c.id}")
            answers[c.id] = (entry if isinstance(entry, dict) else {}, errors_of(c, answer.data))
    return answers


def chunks(conversation: Conversation, graph: CityGraph, library: RuleLibrary, contexts: list[BlockContext], fitting: dict[int, list[Rule]], parameters: int) -> list[list[BlockContext]]:
    """Blocks in order, as many at a time as prompt and answer of the model's context hold; a single block is never cut."""
    done: list[list[BlockContext]] = []
    current: list[BlockContext] = []
    for c in contexts:
        tried = [*current, c]
        answer = _answer_tokens(tried, fitting, parameters)
        prompt = tokens("".join(m["content"] for m in _whole_question(conversation, graph, library, tried, fitting, parameters)[0]))
        if current and (prompt + answer > conversation.model.context or answer > ANSWER_SHARE * conversation.model.context):
            done.append(current)
            current = [c]
        else:
            current = tried
    return [*done, current] if current else done


def _answer_tokens(chunk: list[BlockContext], fitting: dict[int, list[Rule]], parameters: int) -> int:
    most = [max(len(asked_parameters(rule, parameters)) for rule in fitting[c.id]) for c in chunk]
    return TOKENS_FOR_WORDS * (len(chunk) + 1) + TOKENS_PER_PARAMETER * sum(most)


def _whole_question(conversation: Conversation, graph: CityGraph, library: RuleLibrary, chunk: list[BlockContext], fitting: dict[int, list[Rule]], parameters: int) -> tuple[list[Message], Schema]:
    used = {rule.name for c in chunk for rule in fitting[c.id]}
    scene = {"scene_type": graph.place_type, "name": graph.name, "size_m": graph.size, "blocks": [c.as_json() for c in chunk]}
    rules = [
        {"rule": r.name, "scene_types": r.scene_types, "block_types": r.block_types, "style": r.architecture.style if r.architecture else None, "reason": r.reason}
        | {"parameters": {k: [r.ranges()[k].low, r.ranges()[k].default, r.ranges()[k].high] for k in asked_parameters(r, parameters)}}
        for r in library.rules
        if r.name in used
    ]
    question = conversation.preset.fill("plan", scene_info=compact(scene), cga_library=compact(rules))
    return [{"role": "user", "content": question}], scene_plan({c.id: fitting[c.id] for c in chunk}, library, parameters)
