"""JSON Schemas that hold a model to what exists: asset names, block ids, rule names and parameter bounds of this very question.

The shapes are those of the pydantic models in library.py; tests compare the two. `strict` drops the few keywords that
OpenAI's strict mode refuses (their limits are checked afterwards anyway).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flaneur.city.layout.graph import BLOCK_TYPES, PLACE_TYPES
from flaneur.city.planning.library import ARCHITECTURE, ARCHITECTURE_STYLES, FUNCTIONS, Parameter, Rule, RuleLibrary

Schema = dict[str, Any]
MAIN_PARAMETERS = ("density", "spacing", "occupancy", "coverage", "probability")
TEXT_LIMIT = 160  # characters of a reason or of semantics; small models ramble
_NOT_STRICT = ("minLength", "maxLength", "minItems", "maxItems", "title", "default")


def enum(values: Iterable[str]) -> Schema:
    return {"type": "string", "enum": list(values)}


def text(limit: int = TEXT_LIMIT) -> Schema:
    return {"type": "string", "minLength": 3, "maxLength": limit}


def number(low: float, high: float) -> Schema:
    return {"type": "number", "minimum": low, "maximum": high}


def record(properties: dict[str, Schema]) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def array(items: Schema, low: int, high: int) -> Schema:
    return {"type": "array", "items": items, "minItems": low, "maxItems": high}


def strict(schema: Any) -> Any:
    """The schema without the keywords that OpenAI's strict mode rejects."""
    if isinstance(schema, dict):
        named = schema.get("properties")
        kept = {k: v if k in ("enum", "required") else strict(v) for k, v in schema.items() if k not in _NOT_STRICT and k != "properties"}
        return kept | ({"properties": {k: strict(v) for k, v in named.items()}} if named is not None else {})
    return [strict(item) for item in schema] if isinstance(schema, list) else schema


def asked_parameters(rule: Rule, limit: int) -> list[str]:
    """The `limit` parameters worth asking for: how buildings look, how much there is of each asset, then the fine points."""
    keys = list(rule.ranges())

    def rank(key: str) -> tuple[bool, bool, bool]:
        # People, cars and trees make a street: with few questions they come before the rest.
        return not key.startswith("architecture."), key.rsplit(".", 1)[1] not in MAIN_PARAMETERS, key.split(".")[0] not in ("person", "car", "tree")

    order = sorted(keys, key=rank)
    kept = set(order[:limit])
    return [k for k in keys if k in kept]


def rule_choice(rules: list[Rule]) -> Schema:
    """Stage 2, first question of a block."""
    return record({"semantics": text(80), "reason": text(), "rule": enum(r.name for r in rules), "style": enum(ARCHITECTURE_STYLES)})


def parameter_choice(rule: Rule, limit: int) -> Schema:
    """Stage 2, second question of a block."""
    ranges = rule.ranges()
    return record({key: number(ranges[key].low, ranges[key].high) for key in asked_parameters(rule, limit)})


def scene_plan(fitting: dict[int, list[Rule]], library: RuleLibrary, limit: int) -> Schema:
    """Stage 2 in one question: an entry for every block, each a choice among the rules that fit it."""
    used = {rule.name for rules in fitting.values() for rule in rules}
    definitions = {
        rule.name: record({"rule": enum([rule.name]), "style": enum(ARCHITECTURE_STYLES), "semantics": text(80), "reason": text(), "parameters": parameter_choice(rule, limit)})
        for rule in library.rules
        if rule.name in used
    }
    blocks = {f"block_{block}": {"anyOf": [{"$ref": f"#/$defs/{rule.name}"} for rule in rules]} for block, rules in fitting.items()}
    return record({"thought": text(2000), **blocks}) | {"$defs": definitions}


def _range(parameter: Parameter) -> Schema:
    limits = number(parameter.low, parameter.high)
    return record({"low": limits, "default": limits, "high": limits})


def _rule(catalogue: list[str], scenes: Iterable[str], blocks: Iterable[str], most: int) -> dict[str, Schema]:
    architecture = record({"style": enum(ARCHITECTURE_STYLES), **{field: _range(p) for field, p in ARCHITECTURE.items()}})
    distributions = [
        record({"function": enum([name]), "asset": enum(a for a in catalogue if function.places(a)), "parameters": record({k: _range(p) for k, p in function.parameters.items()})})
        for name, function in FUNCTIONS.items()
    ]
    return {
        "reason": text(),
        "name": {"type": "string", "minLength": 3, "maxLength": 40},
        "scene_types": array(enum(scenes), 1, len(PLACE_TYPES)),
        "block_types": array(enum(blocks), 1, len(BLOCK_TYPES)),
        "architecture": {"anyOf": [architecture, {"type": "null"}]},
        "distributions": array({"anyOf": distributions}, 1, most),
    }


def rule_design(catalogue: Iterable[str], scene: str, block: str, most: int = 20) -> Schema:
    """Stage 1, one rule for one block type in one scene type."""
    return record(_rule(list(catalogue), [scene], [block], most))


def library_design(catalogue: Iterable[str], scenes: Iterable[str], blocks: Iterable[str]) -> Schema:
    """Stage 1 in one question: a whole library."""
    rules = array(record(_rule(list(catalogue), list(scenes), list(blocks), 40)), 1, 60)
    return record({"thought": text(4000), "rules": rules})
