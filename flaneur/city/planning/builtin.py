"""The built-in planner: no model, no network. It weighs the rules that fit a block by what the map says, and draws."""

from __future__ import annotations

import numpy as np

from flaneur.city.layout.graph import CityGraph
from flaneur.city.planning.context import BlockContext, block_contexts
from flaneur.city.planning.library import Assignment, CityPlan, Range, Rule, RuleLibrary
from flaneur.errors import UserError

HINT_FACTOR = 3.0  # a rule gains this for every word of the map that speaks for it (at most two)
HEIGHT_FACTOR = 4.0  # ... and this when the mapped buildings are as high as its own
SAME_RULE_FACTOR = 1.5  # a neighbour of the same type already has it: quarters hang together
LIVELY_NEIGHBOURS = ("square", "commercial", "mixed", "park", "civic")
MAIN_STREETS = ("motorway", "trunk", "primary", "secondary", "tertiary", "pedestrian")
SPREAD = 6.0  # concentration of the drawn parameters around the rule's default

# Parameters that rise with the life on a block's streets, as shares of the range: (asset, function) -> sign.
_LIVELY = {
    ("person", "on_pavement"): 1.0, ("person", "in_open_space"): 1.0, ("bicycle", "on_pavement"): 1.0, ("bench", "on_pavement"): 1.0,
    ("car", "in_traffic"): 1.0, ("bus", "in_traffic"): 1.0, ("person", "along_facade"): -1.0, ("bench", "along_facade"): -1.0,
}  # fmt: skip
_MAIN_PARAMETER = ("density", "spacing", "occupancy", "coverage", "probability")


def plan_builtin(graph: CityGraph, library: RuleLibrary, seed: int) -> CityPlan:
    """A rule and parameters for every block. The same graph, library and seed give the same plan."""
    assignments: list[Assignment] = []
    chosen: dict[int, Rule] = {}
    contexts = block_contexts(graph)
    types = {c.id: c.type for c in contexts}
    for context in contexts:
        generator = np.random.default_rng([seed & 0xFFFFFFFF, context.id & 0xFFFFFFFF])
        rules = library.fitting(graph.place_type, context.type)
        if not rules:
            raise UserError(f"library '{library.name}': no rule covers block type '{context.type}' in scene type '{graph.place_type}' (block {context.id}); add one")
        weights = np.array([_weight(rule, context, chosen, types) for rule in rules])
        rule = rules[int(np.searchsorted(np.cumsum(weights) / weights.sum(), generator.random(), side="right").clip(0, len(rules) - 1))]
        chosen[context.id] = rule
        liveliness = _liveliness(context)
        assignments.append(
            Assignment(
                block=context.id,
                rule=rule.name,
                parameters=_parameters(rule, context, liveliness, generator),
                semantics=semantics(context, rule),
                reason=_reason(rule, context, liveliness, len(rules)),
            )
        )
    return CityPlan(library=library.name, planner="builtin", seed=seed, assignments=assignments)


def _weight(rule: Rule, context: BlockContext, chosen: dict[int, Rule], types: dict[int, str]) -> float:
    weight = 1.0
    weight *= HINT_FACTOR ** min(2, sum(hint in context.words for hint in rule.hints))
    if rule.heights is not None and context.mean_height > 0:
        low, high = rule.heights
        weight *= HEIGHT_FACTOR if low <= context.mean_height <= high else 1.0 / HEIGHT_FACTOR
    if any(i in chosen and chosen[i] is rule and types[i] == context.type for i, _ in context.neighbours):
        weight *= SAME_RULE_FACTOR
    if rule.architecture is None and (context.buildings or context.lots):
        weight /= HEIGHT_FACTOR  # something is to be built here
    return weight


def _liveliness(context: BlockContext) -> float:
    """-1 a quiet corner .. 1 the middle of everything."""
    score = 0.25 * sum(t in LIVELY_NEIGHBOURS for _, t in context.neighbours[:4]) - 0.4
    score += 0.4 if context.busiest_street in MAIN_STREETS else 0.0
    score += 0.3 if context.built_share > 0.5 else 0.0
    return float(np.clip(score, -1.0, 1.0))


def _parameters(rule: Rule, context: BlockContext, liveliness: float, generator: np.random.Generator) -> dict[str, float]:
    drawn = {}
    for key, limits in rule.ranges().items():
        tilt = 0.0
        asset, function, *_ = [*key.split("."), ""]
        if (asset, function) in _LIVELY and key.rsplit(".", 1)[1] in _MAIN_PARAMETER:
            tilt = 0.3 * liveliness * _LIVELY[asset, function]
        if key == "architecture.storeys" and context.mean_height > 0:
            drawn[key] = round(float(np.clip(round(context.mean_height / 3.3), limits.low, limits.high)), 3)
            continue
        drawn[key] = draw(limits, tilt, generator)
    return drawn


def draw(limits: Range, tilt: float, generator: np.random.Generator) -> float:
    """A value around the default (PERT: a beta law over the range with its mode there), moved by `tilt` of the way to a bound."""
    mode = limits.default + tilt * ((limits.high - limits.default) if tilt > 0 else (limits.default - limits.low))
    width = limits.high - limits.low
    if width <= 0:
        return limits.default
    a, b = 1 + SPREAD * (mode - limits.low) / width, 1 + SPREAD * (limits.high - mode) / width
    return round(float(np.clip(limits.low + width * generator.beta(a, b), limits.low, limits.high)), 3)


def semantics(context: BlockContext, rule: Rule) -> str:
    """What this block is, in a few words: its name, or its rule and the street it lies on."""
    if context.name:
        return f"{context.name} ({rule.name.replace('_', ' ')})"
    where = f" on {context.street_names[0]}" if context.street_names else ""
    return f"{rule.name.replace('_', ' ')}{where}"


def _reason(rule: Rule, context: BlockContext, liveliness: float, candidates: int) -> str:
    facts = [f"{context.type}, {context.area:.0f} m2, {100 * context.built_share:.0f} % built"]
    if context.mean_height > 0:
        facts.append(f"buildings {context.mean_height:.0f} m high")
    spoken = sorted(hint for hint in rule.hints if hint in context.words)
    if spoken:
        facts.append(f"the map says {', '.join(spoken)}")
    if context.neighbours:
        facts.append(f"next to {', '.join(sorted({t for _, t in context.neighbours}))}")
    facts.append("lively" if liveliness > 0.25 else "quiet" if liveliness < -0.1 else "ordinary")
    return f"{'; '.join(facts)}; one of {candidates} fitting rules. {rule.reason}"
