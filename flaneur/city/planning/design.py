"""Stage 1: a language model designs the rule library out of scene types, block types, assets and distribution functions."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from flaneur.city.planning.asking import Conversation
from flaneur.city.planning.assign import compact
from flaneur.city.planning.check import assets, check_library, check_rule
from flaneur.city.planning.library import FUNCTIONS, Rule, RuleLibrary
from flaneur.city.planning.repair import repair_library
from flaneur.city.planning.schema import library_design, rule_design

TOKENS_PER_DISTRIBUTION = 110


def design_library(conversation: Conversation, spare: RuleLibrary, scenes: tuple[str, ...], blocks: tuple[str, ...], distributions: int = 20) -> tuple[RuleLibrary, list[str]]:
    """A library for these scene and block types, always valid and covering; what was mended comes with it.

    Presets that plan block by block design rule by rule too: a small model cannot hold a library in its head.
    """
    catalogue = assets()
    repairs: list[str] = []
    rules: list[dict[str, Any]] = []
    if conversation.preset.whole_scene:
        prompt = conversation.preset.fill("design", scene_types=compact(list(scenes)), block_types=compact(list(blocks)), object_assets=compact(list(catalogue)))
        schema = library_design(catalogue, scenes, blocks)

        def check(data: dict[str, Any]) -> list[str]:
            return library_errors(data.get("rules"), catalogue, scenes, blocks)

        answer = conversation.ask("library", [{"role": "user", "content": prompt}], schema, check, conversation.model.context // 2)
        given = answer.data.get("rules")
        rules = [r for r in given if isinstance(r, dict)] if isinstance(given, list) else []
        repairs += answer.errors[:1]
        conversation.usage.repaired += bool(answer.errors)
    else:
        system = {"role": "system", "content": conversation.preset.texts["system"]}
        functions = "\n".join(
            f"- {name}: {f.meaning}{' (only ' + ', '.join(f.only) + ')' if f.only else ''}; {', '.join(f'{k} [{p.low:g}, {p.high:g}] {p.unit}' for k, p in f.parameters.items())}"
            for name, f in FUNCTIONS.items()
        )
        for scene in scenes:
            for block in blocks:
                prompt = conversation.preset.fill("design", scene_type=scene, block_type=block, object_assets=", ".join(catalogue), functions=functions)
                schema = rule_design(catalogue, scene, block, distributions)

                def check_one(data: dict[str, Any], scene: str = scene, block: str = block) -> list[str]:
                    return rule_errors(data, catalogue, (scene,), (block,))

                answer = conversation.ask(f"rule for {block} in {scene}", [system, {"role": "user", "content": prompt}], schema, check_one, 600 + TOKENS_PER_DISTRIBUTION * distributions)
                rules.append(answer.data)
                if answer.errors:
                    conversation.usage.repaired += 1
                    repairs.append(f"rule for {block} in {scene}: {answer.errors[0]}")
    library, notes = repair_library(rules, f"designed by {conversation.model.name}", spare, scenes, blocks, catalogue)
    return library, repairs + notes


def rule_errors(data: Any, catalogue: tuple[str, ...], scenes: tuple[str, ...], blocks: tuple[str, ...]) -> list[str]:
    try:
        rule = Rule.model_validate(data)
    except ValidationError as error:
        return [f"field '{'.'.join(map(str, e['loc']))}': {e['msg']}" for e in error.errors()]
    return check_rule(rule, catalogue, scenes, blocks)


def library_errors(rules: Any, catalogue: tuple[str, ...], scenes: tuple[str, ...], blocks: tuple[str, ...]) -> list[str]:
    try:
        library = RuleLibrary.model_validate({"name": "answer", "rules": rules})
    except ValidationError as error:
        return [f"field '{'.'.join(map(str, e['loc']))}': {e['msg']}" for e in error.errors()]
    return check_library(library, catalogue, scenes, blocks)
