"""Invented plans: sound, repeatable, varied."""

from __future__ import annotations

import hashlib
from itertools import combinations

import pytest
import shapely

from flaneur.city.layout import shapes, synthetic_graph
from flaneur.city.layout.check import violations
from flaneur.city.layout.graph import PLACE_TYPES
from flaneur.errors import UserError

SEEDS = 10


@pytest.fixture(scope="module", params=PLACE_TYPES)
def graphs(request):
    return [synthetic_graph(request.param, seed) for seed in range(SEEDS)]


def test_every_seed_is_sound(graphs):
    for graph in graphs:
        assert violations(graph) == [], graph.name


def test_every_seed_has_streets_blocks_and_lots(graphs):
    least = {"cbd": (12, 10, 9), "town": (25, 12, 90), "suburb": (8, 4, 35), "rural": (3, 2, 1)}[graphs[0].place_type]
    for graph in graphs:
        assert (len(graph.streets) >= least[0]) and (len(graph.blocks) >= least[1]) and (len(graph.lots) >= least[2]), graph.name
        for lot in graph.lots:
            assert lot.front is not None and graph.streets[lot.front].id == lot.front
    assert any(s.name for g in graphs for s in g.streets) and any(lot.name for g in graphs for lot in g.lots)


def test_same_seed_same_bytes(graphs):
    again = synthetic_graph(graphs[0].place_type, 0)
    assert hashlib.sha256(again.model_dump_json().encode()).digest() == hashlib.sha256(graphs[0].model_dump_json().encode()).digest()


def test_seeds_look_different(graphs):
    """Street surfaces of two seeds share little more than chance, and no two graphs are alike."""
    surfaces = [shapely.union_all([shapely.LineString(s.line).buffer(3) for s in g.streets]) for g in graphs]
    shared = [a.intersection(b).area / a.union(b).area for a, b in combinations(surfaces, 2)]
    assert max(shared) < 0.6
    assert len({(len(g.streets), len(g.blocks), len(g.lots)) for g in graphs}) > SEEDS // 2


def test_suburb_has_turning_circles_and_town_a_market():
    suburbs = [synthetic_graph("suburb", s) for s in range(3)]
    assert any(j.radius > 5 for g in suburbs for j in g.junctions)
    for seed in range(3):
        town = synthetic_graph("town", seed)
        assert any(a.kind == "square" and shapes.from_contract(a.polygon).area > 250 for a in town.areas), seed
        assert {"church", "townhall"} <= {lot.use for lot in town.lots}


def test_bad_requests():
    with pytest.raises(UserError, match="cbd, town, suburb, rural"):
        synthetic_graph("metropolis", 0)
    with pytest.raises(UserError, match="--seed"):
        synthetic_graph("cbd", -1)
