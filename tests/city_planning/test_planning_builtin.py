"""The built-in library and planner: whole coverage, believable and reproducible plans."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planning_graphs import grid_graph

from flaneur.city.layout.graph import BLOCK_TYPES, PLACE_TYPES
from flaneur.city.planning.builtin import plan_builtin
from flaneur.city.planning.check import assets, check_library, check_plan
from flaneur.city.planning.rules import builtin_library, load_library, save_library
from flaneur.errors import UserError


def test_library_is_valid_and_covers_everything():
    library = builtin_library()
    assert check_library(library) == []
    assert len(library.rules) >= 25
    assert {d.asset for r in library.rules for d in r.distributions} == set(assets())
    assert len(assets()) + 2 == 24  # buildings and skyscrapers are built, not scattered


@settings(max_examples=25, deadline=None)
@given(place=st.sampled_from(PLACE_TYPES), seed=st.integers(0, 2**40), types=st.lists(st.sampled_from(BLOCK_TYPES), min_size=1, max_size=9))
def test_every_plan_is_valid_and_seeded(place, seed, types):
    graph, library = grid_graph(place, types), builtin_library()
    plan = plan_builtin(graph, library, seed)
    assert check_plan(plan, graph, library) == []
    assert plan == plan_builtin(graph, library, seed)
    assert all(a.semantics and a.reason for a in plan.assignments)


def test_another_seed_differs():
    graph, library = grid_graph("town", ["residential"] * 9), builtin_library()
    assert plan_builtin(graph, library, 1) != plan_builtin(graph, library, 2)


def test_the_map_is_listened_to():
    library = builtin_library()
    vineyard = grid_graph("rural", ["farmland"], tags={"landuse": "vineyard"})
    towers = grid_graph("cbd", ["commercial"], height=90.0)
    shops = grid_graph("cbd", ["commercial"], height=12.0)
    names = lambda graph: [plan_builtin(graph, library, seed).assignments[0].rule for seed in range(40)]  # noqa: E731
    assert names(vineyard).count("vineyard") > 15
    assert names(towers).count("glass_tower_district") > 25
    assert names(shops).count("glass_tower_district") < 5


def test_library_files_round_trip_and_refuse(tmp_path):
    save_library(builtin_library(), tmp_path / "library.json")
    assert load_library(tmp_path / "library.json") == builtin_library()
    (tmp_path / "broken.json").write_text('{"name": "x", "rules": [')
    (tmp_path / "empty.toml").write_text('name = "x"\n')
    (tmp_path / "kit.toml").write_text('[[rule]]\nname = "a"\nuse = ["nothing"]\n')
    text = builtin_library().model_dump_json().replace('"asset":"bench"', '"asset":"spaceship"', 1)
    (tmp_path / "lie.json").write_text(text)
    for name, part in (("broken.json", "Invalid JSON"), ("empty.toml", "no rules"), ("kit.toml", "no kit 'nothing'"), ("lie.json", "asset 'spaceship'"), ("absent.json", "cannot read")):
        with pytest.raises(UserError, match=part) as caught:
            load_library(tmp_path / name)
        assert "\n" not in str(caught.value) and name in str(caught.value)
