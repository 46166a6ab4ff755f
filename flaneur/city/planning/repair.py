"""When a model still errs after it was asked again: keep what is right, mend the rest, and write down each mend."""

from __future__ import annotations

import difflib
import math
import re
from typing import Any

from flaneur.city.layout.graph import BLOCK_TYPES, PLACE_TYPES, CityGraph
from flaneur.city.planning.check import assets
from flaneur.city.planning.library import (
    ARCHITECTURE,
    ARCHITECTURE_STYLES,
    FUNCTIONS,
    Architecture,
    Assignment,
    CityPlan,
    Distribution,
    Parameter,
    Range,
    Rule,
    RuleLibrary,
)

NAME_SIMILARITY = 0.75  # "street_lamps" is the street_lamp, "spaceship" is nothing


def closest(name: Any, known: tuple[str, ...] | list[str]) -> str | None:
    """The known name that is meant, also by a misspelt one, or None."""
    if isinstance(name, str) and name in known:
        return name
    plain = re.sub(r"[^a-z0-9]+", "_", str(name).lower()).strip("_")
    found = difflib.get_close_matches(plain, list(known), n=1, cutoff=NAME_SIMILARITY)
    return found[0] if found else None


def short(text: Any, limit: int = 160) -> str:
    return " ".join(str(text).split())[:limit] if text is not None else ""


def finite(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def repair_assignment(data: dict[str, Any], fallback: Assignment, fitting: list[Rule]) -> tuple[Assignment, list[str]]:
    """A valid assignment out of whatever a model said of one block; `fallback` (the built-in planner's) decides where it said nothing usable."""
    where, notes = f"block {fallback.block}", []
    rules = {rule.name: rule for rule in fitting}
    given = data.get("rule")
    name = closest(given, list(rules))
    if name is None:
        notes.append(f"{where}: rule '{short(given, 60)}' does not fit, took {fallback.rule}")
        name = fallback.rule
    elif name != given:
        notes.append(f"{where}: rule '{short(given, 60)}' read as {name}")
    rule = rules[name]
    ranges, parameters = rule.ranges(), {}
    offered = data.get("parameters")
    if offered is not None and not isinstance(offered, dict):
        notes.append(f"{where}: parameters are no object, took the defaults")
    for key, value in offered.items() if isinstance(offered, dict) else ():
        number, limits = finite(value), ranges.get(key)
        if limits is None:
            notes.append(f"{where}: dropped unknown parameter '{short(key, 60)}'")
        elif number is None:
            notes.append(f"{where}: {key} = {short(value, 40)} is no number, took {limits.default:g}")
        else:
            parameters[key] = min(max(number, limits.low), limits.high)
            if parameters[key] != number:
                notes.append(f"{where}: {key} = {number:g} moved to {parameters[key]:g}")
    style = data.get("style")
    if style is not None and style not in ARCHITECTURE_STYLES:
        mended = closest(style, ARCHITECTURE_STYLES)
        notes.append(f"{where}: style '{short(style, 40)}' {f'read as {mended}' if mended else 'dropped'}")
        style = mended
    if rule.architecture is None:
        style = None  # nothing is built under this rule
    semantics = short(data.get("semantics"), 80) or fallback.semantics
    made = {"block": fallback.block, "rule": name, "style": style, "parameters": parameters, "semantics": semantics, "reason": short(data.get("reason")) or fallback.reason}
    return Assignment.model_validate(made), notes


def repair_plan(plan: CityPlan, graph: CityGraph, library: RuleLibrary, fallback: CityPlan) -> CityPlan:
    """Every block of the graph once, each assignment valid; what was mended is added to `repairs`."""
    types = {block.id: block.type for block in graph.blocks}
    known = {a.block: a for a in reversed(plan.assignments)}
    repairs = [f"block {a.block}: the scene has no such block, dropped" for a in plan.assignments if a.block not in types]
    repairs += [f"block {b}: assigned more than once, the first counts" for b in types if sum(a.block == b for a in plan.assignments) > 1]
    assignments = []
    for spare in fallback.assignments:
        if spare.block in known:
            mended, notes = repair_assignment(known[spare.block].model_dump(), spare, library.fitting(graph.place_type, types[spare.block]))
            repairs += notes
        else:
            mended = spare
            repairs.append(f"block {spare.block}: no rule was assigned, took {spare.rule}")
        assignments.append(mended)
    return plan.model_copy(update={"library": library.name, "assignments": assignments, "repairs": [*plan.repairs, *repairs]})


def _repair_range(where: str, data: Any, limits: Parameter) -> tuple[Range, list[str]]:
    values = [finite(data.get(k)) if isinstance(data, dict) else None for k in ("low", "default", "high")]
    if any(v is None for v in values):
        half = (limits.high - limits.low) / 4
        made = Range(low=max(limits.low, limits.default - half), default=limits.default, high=min(limits.high, limits.default + half))
        return made, [f"{where}: no range given, took [{made.low:g}, {made.high:g}]"]
    low, default, high = (min(max(v, limits.low), limits.high) for v in sorted(v for v in values if v is not None))
    changed = [low, default, high] != values
    return Range(low=low, default=default, high=high), [f"{where}: {values} mended to [{low:g}, {default:g}, {high:g}]"] if changed else []


def repair_rule(data: dict[str, Any], catalogue: tuple[str, ...], scenes: tuple[str, ...], blocks: tuple[str, ...], taken: set[str]) -> tuple[Rule | None, list[str]]:
    """A valid rule out of a model's words, or None when nothing of it can be used."""
    plain = re.sub(r"[^a-z0-9]+", "_", short(data.get("name"), 40).lower()).strip("_") or "rule"
    name, n = plain, 2
    while name in taken:
        name, n = f"{plain}_{n}", n + 1
    where, notes = f"rule '{name}'", []
    if name != data.get("name"):
        notes.append(f"{where}: the name was '{short(data.get('name'), 40)}'")

    def members(field: str, known: tuple[str, ...]) -> list[str]:
        given = data.get(field)
        given = given if isinstance(given, list) else [given]
        right = [closest(v, known) for v in given]
        notes.extend(f"{where}: {field} '{short(g, 40)}' {f'read as {r}' if r else 'dropped'}" for g, r in zip(given, right, strict=True) if g != r)
        return list(dict.fromkeys(v for v in right if v))

    scene_types, block_types = members("scene_types", scenes), members("block_types", blocks)
    distributions: dict[tuple[str, str], Distribution] = {}
    offered = data.get("distributions")
    for d in offered if isinstance(offered, list) else []:
        if not isinstance(d, dict):
            continue
        asset = closest(d.get("asset"), catalogue)
        function = closest(d.get("function"), list(FUNCTIONS))
        if asset is None or function is None or (asset, function) in distributions or not FUNCTIONS[function].places(asset):
            notes.append(f"{where}: dropped '{short(d.get('asset'), 40)}' by '{short(d.get('function'), 40)}'")
            continue
        if (asset, function) != (d.get("asset"), d.get("function")):
            notes.append(f"{where}: '{short(d.get('asset'), 40)}' by '{short(d.get('function'), 40)}' read as {asset} by {function}")
        parameters: dict[str, Range] = {}
        given = d.get("parameters")
        given = given if isinstance(given, dict) else {}
        for key, limits in FUNCTIONS[function].parameters.items():
            parameters[key], more = _repair_range(f"{where}, {asset}.{function}.{key}", given.get(key), limits)
            notes.extend(more)
        distributions[asset, function] = Distribution(asset=asset, function=function, parameters=parameters)
    if not (scene_types and block_types and distributions):
        return None, [f"{where}: dropped, it names no {'scene type' if not scene_types else 'block type' if not block_types else 'distribution'} that exists"]
    architecture, more = _repair_architecture(where, data.get("architecture"))
    made = {"name": name, "scene_types": scene_types, "block_types": block_types, "architecture": architecture, "distributions": list(distributions.values()), "reason": short(data.get("reason"))}
    return Rule.model_validate(made), [*notes, *more]


def _repair_architecture(where: str, data: Any) -> tuple[Architecture | None, list[str]]:
    if not isinstance(data, dict):
        return None, [] if data is None else [f"{where}: architecture is no object, dropped"]
    style = closest(data.get("style"), ARCHITECTURE_STYLES)
    if style is None:
        return None, [f"{where}: architecture dropped, style '{short(data.get('style'), 40)}' is unknown"]
    notes = [] if style == data.get("style") else [f"{where}: style '{short(data.get('style'), 40)}' read as {style}"]
    fields: dict[str, Any] = {"style": style}
    for field, limits in ARCHITECTURE.items():
        fields[field], more = _repair_range(f"{where}, architecture.{field}", data.get(field), limits)
        notes += more
    return Architecture.model_validate(fields), notes


def repair_library(
    rules: Any,
    name: str,
    spare: RuleLibrary,
    scenes: tuple[str, ...] = PLACE_TYPES,
    blocks: tuple[str, ...] = BLOCK_TYPES,
    catalogue: tuple[str, ...] | None = None,
) -> tuple[RuleLibrary, list[str]]:
    """A valid library out of a model's rules; kinds of blocks that it forgot get the spare library's rules."""
    catalogue = catalogue or assets()
    made: list[Rule] = []
    notes: list[str] = []
    for data in rules if isinstance(rules, list) else []:
        if isinstance(data, dict):
            rule, more = repair_rule(data, catalogue, scenes, blocks, {r.name for r in made})
            notes += more
            made += [rule] if rule else []
    for scene in scenes:
        for block in blocks:
            if not any(scene in r.scene_types and block in r.block_types for r in made):
                names = {m.name for m in made}
                lent = [r if r.name not in names else r.model_copy(update={"name": f"{r.name}_of_{spare.name}"}) for r in spare.fitting(scene, block)]
                made += lent
                notes.append(f"library: no rule covers {block} blocks in a {scene} scene, took {', '.join(r.name for r in lent)} from '{spare.name}'")
    return RuleLibrary(name=name, rules=made), notes
