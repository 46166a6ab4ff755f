"""Is a rule library, or a plan, true? Every invention of a model is named in one line that tells it what would be right."""

from __future__ import annotations

import math
from collections.abc import Iterable

from flaneur.city.layout.graph import BLOCK_TYPES, PLACE_TYPES, CityGraph
from flaneur.city.planning.library import ARCHITECTURE, FUNCTIONS, Architecture, Assignment, CityPlan, Distribution, Parameter, Range, Rule, RuleLibrary
from flaneur.classes import load_classes

# Built by the grammar from footprints and lots; a rule chooses their architecture, it does not scatter them.
BUILT_CLASSES = ("building", "skyscraper")


def assets() -> tuple[str, ...]:
    """The asset catalogue: object classes that a rule may distribute."""
    classes = load_classes()
    return tuple(classes[int(i)].name for i in classes.object_ids if classes[int(i)].name not in BUILT_CLASSES)


def check_library(library: RuleLibrary, catalogue: Iterable[str] | None = None, scenes: Iterable[str] = PLACE_TYPES, blocks: Iterable[str] = BLOCK_TYPES) -> list[str]:
    """Errors of a library, empty when there are none: unknown names, ranges that leave a function's, block types that no rule covers."""
    catalogue = tuple(catalogue) if catalogue is not None else assets()
    scenes, blocks = tuple(scenes), tuple(blocks)
    errors = [] if library.rules else [f"library '{library.name}': it has no rules"]
    names: set[str] = set()
    for rule in library.rules:
        if rule.name in names:
            errors.append(f"rule '{rule.name}': the name is used twice")
        names.add(rule.name)
        errors += check_rule(rule, catalogue, scenes, blocks)
    covered = {(s, b) for rule in library.rules for s in rule.scene_types for b in rule.block_types}
    errors += [f"library '{library.name}': no rule covers block type '{b}' in scene type '{s}'" for s in scenes for b in blocks if (s, b) not in covered]
    return errors


def check_rule(rule: Rule, catalogue: tuple[str, ...], scenes: tuple[str, ...] = PLACE_TYPES, blocks: tuple[str, ...] = BLOCK_TYPES) -> list[str]:
    where = f"rule '{rule.name}'"
    errors = [] if rule.name.strip() else ["a rule has an empty name"]
    errors += [f"{where}: scene type '{s}' is not one of {', '.join(scenes)}" for s in rule.scene_types if s not in scenes]
    errors += [f"{where}: block type '{b}' is not one of {', '.join(blocks)}" for b in rule.block_types if b not in blocks]
    if not rule.scene_types or not rule.block_types:
        errors.append(f"{where}: at least one scene type and one block type are needed")
    if not rule.distributions:
        errors.append(f"{where}: it distributes nothing")
    if rule.architecture is not None:
        errors += _architecture_errors(where, rule.architecture)
    seen: set[tuple[str, str]] = set()
    for d in rule.distributions:
        if (d.asset, d.function) in seen:
            errors.append(f"{where}: '{d.asset}' is distributed by '{d.function}' twice")
        seen.add((d.asset, d.function))
        errors += _distribution_errors(where, d, catalogue)
    return errors


def _architecture_errors(where: str, architecture: Architecture) -> list[str]:
    return [e for field, limits in ARCHITECTURE.items() for e in _range_errors(f"{where}, architecture.{field}", getattr(architecture, field), limits)]


def _distribution_errors(where: str, d: Distribution, catalogue: tuple[str, ...]) -> list[str]:
    if d.asset not in catalogue:
        return [f"{where}: asset '{d.asset}' is not in the catalogue: {', '.join(catalogue)}"]
    if d.function not in FUNCTIONS:
        return [f"{where}: distribution function '{d.function}' is not one of {', '.join(FUNCTIONS)}"]
    if not FUNCTIONS[d.function].places(d.asset):
        fitting = [name for name, function in FUNCTIONS.items() if function.places(d.asset)]
        return [f"{where}: '{d.function}' cannot place '{d.asset}'; it can be placed by {', '.join(fitting)}"]
    known = FUNCTIONS[d.function].parameters
    errors = [f"{where}: '{d.function}' has no parameter '{name}'; it has {', '.join(known)}" for name in d.parameters if name not in known]
    for name, limits in known.items():
        if name in d.parameters:
            errors += _range_errors(f"{where}, {d.asset}.{d.function}.{name}", d.parameters[name], limits)
    return errors


def _range_errors(where: str, given: Range, limits: Parameter) -> list[str]:
    if not all(math.isfinite(v) for v in (given.low, given.default, given.high)):
        return [f"{where}: a bound is not a finite number"]
    if not given.low <= given.default <= given.high:
        return [f"{where}: low {given.low:g}, default {given.default:g}, high {given.high:g} are not in order"]
    if given.low < limits.low or given.high > limits.high:
        return [f"{where}: [{given.low:g}, {given.high:g}] leaves the function's [{limits.low:g}, {limits.high:g}] {limits.unit}"]
    return []


def check_plan(plan: CityPlan, graph: CityGraph, library: RuleLibrary) -> list[str]:
    """Errors of a plan, empty when there are none: every block once, a rule made for it, every parameter inside the rule's range."""
    errors = [] if plan.library == library.name else [f"plan: made for library '{plan.library}', not '{library.name}'"]
    blocks = {block.id: block for block in graph.blocks}
    seen: set[int] = set()
    for a in plan.assignments:
        if a.block not in blocks:
            errors.append(f"block {a.block}: the scene has no such block; it has {', '.join(map(str, blocks))}")
            continue
        if a.block in seen:
            errors.append(f"block {a.block}: assigned twice")
        seen.add(a.block)
        errors += check_assignment(a, graph.place_type, blocks[a.block].type, library)
    errors += [f"block {b}: no rule was assigned" for b in blocks if b not in seen]
    return errors


def check_assignment(assignment: Assignment, place_type: str, block_type: str, library: RuleLibrary) -> list[str]:
    where = f"block {assignment.block}"
    rule = library.named(assignment.rule)
    fitting = ", ".join(r.name for r in library.fitting(place_type, block_type))
    if rule is None:
        return [f"{where}: rule '{assignment.rule}' is not in the library; for a {block_type} block in a {place_type} scene there are {fitting}"]
    errors = []
    if place_type not in rule.scene_types or block_type not in rule.block_types:
        errors.append(f"{where}: rule '{rule.name}' is not made for a {block_type} block in a {place_type} scene; there are {fitting}")
    ranges = rule.ranges()
    for key, value in assignment.parameters.items():
        limits = ranges.get(key)
        if limits is None:
            errors.append(f"{where}: rule '{rule.name}' has no parameter '{key}'")
        elif not (math.isfinite(value) and limits.low <= value <= limits.high):
            errors.append(f"{where}: {key} = {value:g} leaves [{limits.low:g}, {limits.high:g}]")
    return errors
