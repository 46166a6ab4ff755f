"""The openai planner against a server on loopback that obeys, lies, breaks off, fails or hangs."""

import json
import time

import jsonschema
import pytest
from planning_graphs import grid_graph
from standin import StandIn, chat_reply, example, obedient

from flaneur.city.planning.chat import Usage
from flaneur.city.planning.check import check_library, check_plan
from flaneur.city.planning.openai import OpenAIModel
from flaneur.city.planning.plan import PlannerConfig, make_plan
from flaneur.errors import UserError

TOWN = ["residential", "commercial", "park", "square"]


def plan_with(behave, tmp_path=None, graph=None, library=None, **options):
    graph = graph or grid_graph("town", TOWN)
    usage = Usage()
    config = {"model": "stand-in", "retries": 1, "timeout_s": 5.0, "parameters": 6} | options
    with StandIn(behave) as server:
        made, plan = make_plan(
            graph, "openai", library=library, seed=3, transcript=tmp_path / "transcript.jsonl" if tmp_path else None, config=PlannerConfig(base_url=server.url, **config), usage=usage
        )
    assert check_plan(plan, graph, made) == []
    return made, plan, usage, server


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr("flaneur.city.planning.openai.time.sleep", lambda s: None)


def test_obedient_server(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    _, plan, usage, server = plan_with(obedient, tmp_path, price_in=1.0, price_out=10.0)
    assert plan.planner == "openai:stand-in" and plan.repairs == []
    assert usage.calls == 8 and usage.asked_again == 0 and usage.prompt_tokens == 800
    assert usage.cost == pytest.approx((800 * 1 + 160 * 10) / 1e6)
    path, headers, body = server.requests[0]
    assert path == "/v1/chat/completions" and headers["Authorization"] == "Bearer a-key"
    schema = body["response_format"]["json_schema"]
    assert schema["strict"] is True and "maxLength" not in json.dumps(schema)
    jsonschema.Draft202012Validator.check_schema(schema["schema"])
    assert all(len(a.parameters) == 6 for a in plan.assignments)
    _, again = make_plan(grid_graph("town", TOWN), "replay", transcript=tmp_path / "transcript.jsonl")
    assert again == plan


def test_liar_is_asked_again(tmp_path):
    def behave(body, n):
        if n == 0:
            return chat_reply(json.dumps({"semantics": "a quarter", "reason": "why not", "rule": "moon_base", "style": "stone_office"}))
        return obedient(body, n)

    _, plan, usage, server = plan_with(behave, tmp_path)
    assert usage.asked_again == 1 and usage.repaired == 0 and plan.repairs == []
    said = server.requests[1][2]["messages"][-1]["content"]
    assert "moon_base" in said and "high_street" in said


def test_incurable_liar_is_repaired_and_recorded(tmp_path):
    def behave(body, n):
        properties = body["response_format"]["json_schema"]["schema"]["properties"]
        if "rule" in properties:
            return obedient(body, n)
        return chat_reply(json.dumps({**dict.fromkeys(properties, 1e9), "dragon.on_roof.density": 3.0}))

    _, plan, usage, _ = plan_with(behave, tmp_path, attempts=2)
    assert usage.repaired == 4 and usage.asked_again == 4
    assert any("moved to" in line for line in plan.repairs) and any("dragon.on_roof.density" in line for line in plan.repairs)
    _, again = make_plan(grid_graph("town", TOWN), "replay", transcript=tmp_path / "transcript.jsonl")
    assert again == plan


@pytest.mark.parametrize("nonsense", ["", "I cannot do that.", '{"semantics": "half a J', "[1, 2]", "null", '{"rule": 7}', '{"rule": null, "parameters": [1]}', "{" * 3000])
def test_nonsense_ends_in_the_built_in_choice(nonsense):
    _, plan, usage, _ = plan_with(lambda body, n: chat_reply(nonsense, cut=True), attempts=2)
    assert usage.repaired == 4 and len(plan.repairs) >= 4


def test_thoughts_around_the_answer():
    def behave(body, n):
        answer = json.dumps(example(body["response_format"]["json_schema"]["schema"]))
        return chat_reply(f"Let me think: {{blocks}} matter.\n```json\n{answer}\n```")

    assert plan_with(behave)[2].asked_again == 0


def test_server_that_fails_once():
    _, _, usage, server = plan_with(lambda body, n: (500, "boom") if n == 0 else obedient(body, n))
    assert usage.calls == 8 and len(server.requests) == 9


def test_server_that_does_not_know_strict_schemas(tmp_path):
    graph = grid_graph("town", TOWN)

    def behave(body, n):
        for field in ("seed", "max_tokens"):
            if field in body:
                return 400, json.dumps({"error": {"message": f"Unsupported parameter: '{field}'"}})
        if body.get("response_format", {}).get("type") == "json_schema":
            return 400, json.dumps({"error": {"message": "response_format json_schema is not supported"}})
        return chat_reply("{}")

    _, plan, _, server = plan_with(behave, tmp_path, graph, attempts=1)
    assert server.requests[-1][2]["response_format"] == {"type": "json_object"}
    assert "max_completion_tokens" in server.requests[-1][2]
    assert any("left out response_format" in line for line in plan.repairs)
    _, again = make_plan(graph, "replay", transcript=tmp_path / "transcript.jsonl")
    assert again == plan


@pytest.mark.parametrize(
    ("behave", "said"),
    [
        (lambda body, n: (500, "boom"), "HTTP 500: boom"),
        (lambda body, n: (401, '{"error": {"message": "no such key"}}'), "no such key"),
        (lambda body, n: (404, "no such model"), "HTTP 404"),
        (lambda body, n: (200, "<html>"), "something else than a chat completion"),
        (lambda body, n: (200, '{"choices": []}'), "something else than a chat completion"),
        (lambda body, n: 0.6, "no answer within 0.2 s"),
    ],
)
def test_dead_server_is_one_line_and_keeps_the_transcript(behave, said, tmp_path, monkeypatch):
    monkeypatch.undo()  # the hanging server really sleeps
    monkeypatch.setattr("flaneur.city.planning.openai.FIRST_WAIT_S", 0.0)
    original = OpenAIModel.__init__
    monkeypatch.setattr(OpenAIModel, "__init__", lambda self, *a, **k: original(self, *a, **{**k, "first_wait_s": 0.0}))
    started = time.monotonic()
    with pytest.raises(UserError, match=said) as caught:
        plan_with(behave, tmp_path, timeout_s=0.2)
    assert "\n" not in str(caught.value) and "check the base URL" in str(caught.value)
    assert time.monotonic() - started < 5
    lines = [json.loads(line) for line in (tmp_path / "transcript.jsonl").read_text().splitlines()]
    assert said.split(":")[0] in lines[1]["error"] and lines[-1]["summary"]["calls"] == 0


def test_nobody_listens():
    with pytest.raises(UserError, match="cannot be reached"):
        make_plan(grid_graph("town", TOWN), "openai", config=PlannerConfig(base_url="http://127.0.0.1:9/v1", model="m", retries=0))


@pytest.mark.parametrize(("options", "said"), [({"base_url": "ftp://x", "model": "m"}, "base URL"), ({"model": ""}, "no model named"), ({"model": "m", "preset": "absent"}, "neither a preset")])
def test_wrong_options(options, said):
    with pytest.raises(UserError, match=said):
        make_plan(grid_graph("town", TOWN), "openai", config=PlannerConfig(**options))


def test_paper_preset_plans_a_big_scene_in_chunks(tmp_path):
    graph = grid_graph("suburb", ["residential", "park", "mixed", "industrial"] * 10, columns=4)
    _, plan, usage, server = plan_with(obedient, tmp_path, graph, preset="paper", parameters=20, context=16000)
    assert 4 < usage.calls < 40 and len(plan.assignments) == 40 and plan.repairs == []
    assert "You are an intelligent agent to plan a city layput" in server.requests[0][2]["messages"][0]["content"]
    assert all(len(body["messages"][0]["content"]) // 3 + body["max_tokens"] <= 16100 for _, _, body in server.requests)
    assert make_plan(graph, "replay", transcript=tmp_path / "transcript.jsonl")[1] == plan


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_stage_one_designs_a_library(preset, tmp_path):
    graph = grid_graph("town", ["residential", "park"])

    def behave(body, n):
        schema = body["response_format"]["json_schema"]["schema"]
        answer = example(schema)
        if "distributions" in schema["properties"]:
            answer["name"] = f"rule_{n}"
        if "rules" in schema["properties"]:
            answer["rules"] = [dict(answer["rules"][0], name=f"rule_{b}", block_types=[b]) for b in ("residential", "park")]
        return chat_reply(json.dumps(answer))

    library, plan, usage, _ = plan_with(behave, tmp_path, graph, preset=preset, design=True, context=60000)
    assert library.name.startswith("designed by openai:") and plan.library == library.name
    assert check_library(library, scenes=("town",), blocks=("residential", "park")) == []
    assert usage.repaired == 0 and plan.repairs == [], plan.repairs
    assert make_plan(graph, "replay", transcript=tmp_path / "transcript.jsonl") == (library, plan)


def test_stage_one_with_lies_is_mended(tmp_path):
    graph = grid_graph("town", ["residential", "park"])

    def behave(body, n):
        schema = body["response_format"]["json_schema"]["schema"]
        if "distributions" not in schema["properties"]:
            return obedient(body, n)
        answer = example(schema)
        answer["distributions"] += [{"asset": "spaceship", "function": "on_roof", "parameters": {}}, {"asset": "tree", "function": "on_facade", "parameters": {}}]
        answer["distributions"][0]["parameters"] = {"spacing": {"low": 90, "default": -4, "high": 2}}
        return chat_reply(json.dumps(answer))

    library, plan, usage, _ = plan_with(behave, tmp_path, graph, design=True, attempts=2)
    assert usage.repaired >= 2 and any("spaceship" in line for line in plan.repairs) and any("'tree' by 'on_facade'" in line for line in plan.repairs)
    assert check_library(library, scenes=("town",), blocks=("residential", "park")) == []


def test_replay_refuses_what_it_does_not_know(tmp_path):
    plan_with(obedient, tmp_path)
    with pytest.raises(UserError, match="holds no answer for 'block 0, rule'"):
        make_plan(grid_graph("town", ["civic"] * 4), "replay", transcript=tmp_path / "transcript.jsonl")
    for text, said in (
        ("", "not a planning transcript"),
        ("{}\n", "not a planning transcript"),
        ('{"transcript": 1', "not a planning transcript"),
        ('{"transcript": 9, "model": "m", "context": 1}\n', "version 9"),
    ):
        (tmp_path / "bad.jsonl").write_text(text)
        with pytest.raises(UserError, match=said):
            make_plan(grid_graph("town", TOWN), "replay", transcript=tmp_path / "bad.jsonl")
