"""Checks name every invention; repair mends any of them; schemas hold what the models hold."""

import json

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planning_graphs import grid_graph
from standin import example

from flaneur.city.layout.graph import BLOCK_TYPES, PLACE_TYPES
from flaneur.city.planning.builtin import plan_builtin
from flaneur.city.planning.chat import parse_object
from flaneur.city.planning.check import assets, check_library, check_plan
from flaneur.city.planning.library import ARCHITECTURE_STYLES, FUNCTIONS, Assignment, CityPlan, Range, Rule, RuleLibrary
from flaneur.city.planning.repair import repair_assignment, repair_library, repair_plan
from flaneur.city.planning.rules import builtin_library
from flaneur.city.planning.schema import library_design, parameter_choice, rule_choice, rule_design, scene_plan, strict

LIBRARY = builtin_library()
GRAPH = grid_graph("town", ["residential", "park"])
PLAN = plan_builtin(GRAPH, LIBRARY, 0)


def changed(**update) -> RuleLibrary:
    rule = LIBRARY.rules[0].model_copy(update=update)
    return LIBRARY.model_copy(update={"rules": [rule, *LIBRARY.rules[1:]]})


def with_first(**update) -> RuleLibrary:
    rule = LIBRARY.rules[0]
    return changed(distributions=[rule.distributions[0].model_copy(update=update), *rule.distributions[1:]])


@pytest.mark.parametrize(
    ("library", "said"),
    [
        (changed(scene_types=["moon"]), "scene type 'moon' is not one of cbd"),
        (changed(block_types=["crater"]), "block type 'crater' is not one of"),
        (changed(block_types=[]), "at least one scene type and one block type"),
        (changed(distributions=[]), "it distributes nothing"),
        (changed(name=LIBRARY.rules[1].name), "used twice"),
        (with_first(asset="spaceship"), "asset 'spaceship' is not in the catalogue: person"),
        (with_first(function="in_orbit"), "distribution function 'in_orbit' is not one of along_kerb"),
        (with_first(asset="tree", function="on_facade"), "'on_facade' cannot place 'tree'; it can be placed by along_kerb"),
        (with_first(parameters={"probability": Range(low=0.5, default=0.9, high=1.5)}), r"\[0.5, 1.5\] leaves the function's \[0, 1\]"),
        (with_first(parameters={"probability": Range(low=0.9, default=0.5, high=1.0)}), "are not in order"),
        (with_first(parameters={"probability": Range(low=0.0, default=float("nan"), high=1.0)}), "not a finite number"),
        (with_first(parameters={"warp": Range(low=0, default=0, high=0)}), "has no parameter 'warp'; it has probability"),
        (RuleLibrary(name="empty", rules=[]), "it has no rules"),
        (RuleLibrary(name="thin", rules=LIBRARY.rules[:1]), "no rule covers block type 'residential' in scene type 'cbd'"),
    ],
)
def test_library_lies_are_named(library, said):
    import re

    errors = check_library(library)
    assert any(re.search(said, e) for e in errors), errors
    assert all("\n" not in e for e in errors)


def test_plan_lies_are_named_and_repaired():
    plan = plan_builtin(GRAPH, LIBRARY, 0)
    first, second = plan.assignments
    lies = [
        Assignment(block=0, rule="moon_base"),
        Assignment(block=0, rule="vineyard"),
        first.model_copy(update={"parameters": {"dragon.on_roof.density": 1.0}}),
        first.model_copy(update={"parameters": {"person.on_pavement.density": 1e9}}),
        first.model_copy(update={"parameters": {"person.on_pavement.density": float("nan")}}),
        Assignment(block=77, rule=first.rule),
    ]
    for lie in lies:
        broken = plan.model_copy(update={"assignments": [lie, second]})
        errors = check_plan(broken, GRAPH, LIBRARY)
        assert errors and all("\n" not in e for e in errors)
        mended = repair_plan(broken, GRAPH, LIBRARY, plan)
        assert check_plan(mended, GRAPH, LIBRARY) == [] and mended.repairs
    assert check_plan(plan.model_copy(update={"assignments": [first, first, second]}), GRAPH, LIBRARY) == ["block 0: assigned twice"]
    assert check_plan(plan.model_copy(update={"assignments": [first]}), GRAPH, LIBRARY) == ["block 1: no rule was assigned"]
    assert check_plan(CityPlan(library="other", planner="x", seed=0, assignments=plan.assignments), GRAPH, LIBRARY)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3), max_leaves=8
)
KEYS = st.sampled_from([*LIBRARY.rules[0].ranges(), "person.on_pavement.density", "nonsense"])


@settings(max_examples=40, deadline=None)
@given(
    data=st.fixed_dictionaries(
        {},
        optional={
            "rule": st.sampled_from([r.name for r in LIBRARY.rules]) | JSON,
            "style": st.sampled_from(ARCHITECTURE_STYLES) | JSON,
            "parameters": st.dictionaries(KEYS, JSON, max_size=4) | JSON,
            "semantics": JSON,
            "reason": JSON,
        },
    )
)
def test_any_answer_is_repaired_to_a_valid_assignment(data):
    plan = PLAN
    mended, _ = repair_assignment(data, plan.assignments[0], LIBRARY.fitting("town", "residential"))
    assert check_plan(plan.model_copy(update={"assignments": [mended, plan.assignments[1]]}), GRAPH, LIBRARY) == []


DISTRIBUTION = st.fixed_dictionaries(
    {},
    optional={
        "asset": st.sampled_from(assets()) | JSON,
        "function": st.sampled_from(list(FUNCTIONS)) | JSON,
        "parameters": st.dictionaries(st.sampled_from(["spacing", "density", "jitter"]), st.fixed_dictionaries({"low": JSON, "default": JSON, "high": JSON}) | JSON, max_size=3) | JSON,
    },
)


@settings(max_examples=25, deadline=None)
@given(
    rules=st.lists(
        st.fixed_dictionaries(
            {"distributions": st.lists(DISTRIBUTION, max_size=4) | JSON, "scene_types": st.just(["town"]) | JSON, "block_types": st.lists(st.sampled_from(BLOCK_TYPES), max_size=3) | JSON},
            optional={"name": st.text(max_size=10) | JSON, "reason": JSON, "architecture": st.fixed_dictionaries({"style": st.sampled_from(ARCHITECTURE_STYLES) | JSON, "storeys": JSON}) | JSON},
        ),
        max_size=3,
    )
    | JSON
)
def test_any_design_is_repaired_to_a_valid_library(rules):
    library, notes = repair_library(rules, "mended", LIBRARY)
    assert check_library(library) == []
    assert notes


def test_misspelt_names_are_read():
    data = {"name": "Main Street!", "scene_types": ["Town"], "block_types": ["commercials"], "distributions": [{"asset": "street lamps", "function": "along-kerb", "parameters": {}}]}
    library, notes = repair_library([data], "mended", LIBRARY, ("town",), ("commercial",))
    (rule,) = library.rules
    assert (rule.name, rule.scene_types, rule.block_types) == ("main_street", ["town"], ["commercial"])
    assert (rule.distributions[0].asset, rule.distributions[0].function) == ("street_lamp", "along_kerb")
    assert any("read as street_lamp by along_kerb" in line for line in notes)


def test_schemas_accept_what_the_models_accept():
    rules = LIBRARY.fitting("cbd", "mixed")
    design = rule_design(assets(), "cbd", "mixed")
    whole = scene_plan({3: rules, 5: LIBRARY.fitting("cbd", "park")}, LIBRARY, 12)
    for schema in (rule_choice(rules), parameter_choice(rules[0], 20), design, whole, library_design(assets(), PLACE_TYPES, BLOCK_TYPES)):
        for form in (schema, strict(schema)):
            jsonschema.Draft202012Validator.check_schema(form)
            for pick in range(4):
                answer = example(form, pick=pick)
                jsonschema.validate(answer, form)
    for pick in range(6):
        data = example(design, pick=pick)
        rule = Rule.model_validate(data)
        assert check_library(RuleLibrary(name="x", rules=[rule]), scenes=("cbd",), blocks=("mixed",)) == []
    rule = LIBRARY.rules[0]
    jsonschema.validate(plan_parameters := {k: r.default for k, r in rule.ranges().items()}, parameter_choice(rule, 1000))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(plan_parameters | {"person.on_pavement.density": 1e6}, parameter_choice(rule, 1000))
    assert not set(json.dumps(strict(whole)).split('"')) & {"maxLength", "minLength", "maxItems"}


def test_strict_form_asks_for_every_field():
    def walk(schema):
        if isinstance(schema, dict):
            if schema.get("type") == "object":
                assert schema["additionalProperties"] is False and schema["required"] == list(schema["properties"])
            for value in schema.values():
                walk(value)
        elif isinstance(schema, list):
            for item in schema:
                walk(item)

    walk(strict(scene_plan({0: LIBRARY.fitting("town", "residential")}, LIBRARY, 30)))
    walk(strict(library_design(assets(), PLACE_TYPES, BLOCK_TYPES)))


@pytest.mark.parametrize(
    ("text", "value"),
    [('{"a": 1}', {"a": 1}), ('thought {x} then {"a": {"b": 2}} end', {"a": {"b": 2}}), ('```json\n{"a": []}\n```', {"a": []})],
)
def test_objects_are_found(text, value):
    assert parse_object(text) == value


@pytest.mark.parametrize("text", ["", "none", '{"a": {"b": 1}, "c":', '{"a": {"b": 1}, {"c": 2}', "[" * 5000, '{"a":' * 3000])
def test_half_objects_are_refused(text):
    with pytest.raises(ValueError):
        parse_object(text)
