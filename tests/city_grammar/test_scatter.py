"""Distribution functions and the placer that resolves their proposals."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from scenes import circle, prism, prototype, rectangle
from small_town import small_plan, small_town

from flaneur.city.grammar.buildings import build_buildings
from flaneur.city.grammar.functions import FUNCTION_TABLE, Asset, sample_area
from flaneur.city.grammar.ground import lay_ground
from flaneur.city.grammar.placer import Placer, Places, band_supports
from flaneur.city.grammar.scatter import generator, settle
from flaneur.city.grammar.sites import Sites, survey
from flaneur.city.grammar.streets import lay_streets
from flaneur.city.planning.library import FUNCTIONS

POST = prototype("post", "bollard", (prism(circle(0.2), 0, 1.0), "steel"))
BOX = prototype("box", "car", (prism(rectangle(4.0, 1.8), 0, 1.5), "steel"))
TREE = prototype("tree", "tree", (prism(circle(0.2), 0, 2.6), "steel"), (prism(circle(2.0), 2.6, 6.0), "grass"))
PROTOTYPES = [POST, BOX, TREE]


def places(n: int, kind: np.ndarray, xy: np.ndarray, yaw: np.ndarray | float = 0.0) -> Places:
    zero = np.zeros(n)
    turned = np.broadcast_to(yaw, (n,)).astype(float).copy()
    return Places(kind.astype(np.int32), np.column_stack([xy, zero]), turned, np.ones(n), zero.astype(np.int32), zero.astype(np.int16), zero.astype(np.int64), zero.astype(np.uint8))


@pytest.fixture(scope="module")
def sites() -> Sites:
    graph = small_town()
    streets = lay_streets(graph)
    library, plan = small_plan()
    return survey(graph, streets, lay_ground(graph, streets), build_buildings(graph, plan, library, 0))


def asset(name: str, half_length: float = 0.3, half_width: float = 0.3) -> Asset:
    return Asset(name, np.array([0], np.int32), np.array([[half_length, half_width]]), np.array([half_length]), np.array([1.0]))


def run(name: str, sites: Sites, block: int, what: Asset, **parameters: float):
    settled = {k: p.default for k, p in FUNCTIONS[name].parameters.items()} | parameters
    return FUNCTION_TABLE[name](sites.blocks[block], what, settled, generator(1, name, block))


def test_every_function_of_the_library_exists():
    assert set(FUNCTION_TABLE) == set(FUNCTIONS)


def test_band_supports_hold_the_mesh():
    supports, heights = band_supports(TREE)
    assert supports[0].max() == pytest.approx(0.2, abs=0.01)
    assert supports[1].max() == pytest.approx(2.0, abs=0.01) and supports[2].max() == pytest.approx(2.0, abs=0.01)
    np.testing.assert_allclose(heights, [[0, 2.5], [2.5, 4.5], [4.5, 6.0]], atol=1e-4)
    assert np.isneginf(band_supports(POST)[0][1:]).all()


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 120))
def test_kept_places_never_meet_and_are_maximal(seed, n):
    rng = np.random.default_rng(seed)
    placer = Placer(PROTOTYPES, 200.0)
    proposed = places(n, rng.integers(0, 3, n), rng.uniform(20, 60, (n, 2)), rng.uniform(-3, 3, n))
    kept = placer.place(proposed)
    shapes, owner, _, low, high = placer.outlines(proposed, 0.0)
    meets = np.zeros((n, n), bool)
    for i in range(len(shapes)):
        for j in range(len(shapes)):
            if owner[i] != owner[j] and low[i] < high[j] and low[j] < high[i] and shapes[i].intersects(shapes[j]):
                meets[owner[i], owner[j]] = True
    assert not meets[np.ix_(kept, kept)].any()
    wide, wide_owner, _, low, high = placer.outlines(proposed)
    for k in np.setdiff1d(np.arange(n), kept):
        mine, theirs = wide_owner == k, np.isin(wide_owner, kept[kept < k])
        touching = [(a < d) and (c < b) and s.intersects(t) for s, a, b in zip(wide[mine], low[mine], high[mine], strict=True) for t, c, d in zip(wide[theirs], low[theirs], high[theirs], strict=True)]
        assert any(touching)


def test_a_car_fits_under_a_crown_but_not_into_a_trunk_or_a_wall():
    placer = Placer(PROTOTYPES, 200.0)
    placer.add_solids([shapely.box(50, 50, 60, 60)], [-1.0], [9.0])
    assert len(placer.place(places(1, np.array([2]), np.array([[20.0, 20.0]])))) == 1
    two = places(4, np.array([1, 1, 1, 1]), np.array([[20.0, 21.6], [20.0, 20.0], [61.0, 55.0], [199.0, 100.0]]))
    assert placer.place(two).tolist() == [0]


def test_limit_counts_per_block_and_region_covers_the_foot():
    placer = Placer(PROTOTYPES, 200.0)
    proposed = places(6, np.zeros(6), np.column_stack([np.arange(6) * 5.0 + 20, np.full(6, 20.0)]))
    proposed.block = np.array([0, 0, 0, 1, 1, 1], np.int32)
    kept = placer.place(proposed, shapely.box(0, 0, 200, 200), np.array([2, 2, 2, 1, 1, 1]))
    assert kept.tolist() == [0, 1, 3]
    edge = places(2, np.zeros(2), np.array([[20.0, 100.1], [20.0, 101.0]]))
    assert placer.place(edge, shapely.box(0, 100, 200, 200)).tolist() == [1]


def test_kerb_and_facade_rows_keep_their_distance(sites):
    lamp = run("along_kerb", sites, 0, asset("street_lamp", 0.1, 0.1), spacing=20.0, offset=0.6, jitter=0.0)
    kerb = shapely.union_all([shapely.LineString(k) for k in sites.blocks[0].kerbs])
    assert np.allclose(shapely.distance(kerb, shapely.points(lamp.xy)), 0.6, atol=0.02)
    assert abs(len(lamp.xy) - kerb.length / 20) <= 2
    bench = run("along_facade", sites, 1, asset("bench"), spacing=5.0, offset=0.8, jitter=0.0)
    walls = shapely.union_all([shapely.LineString([w.start, w.end]) for w in sites.blocks[1].walls])
    assert np.allclose(shapely.distance(walls, shapely.points(bench.xy)), 0.8, atol=0.05)


def test_parked_cars_stand_in_line_and_traffic_drives_on_lanes(sites):
    car = asset("car", 2.1, 0.9)
    parked = run("parked_at_kerb", sites, 1, car, occupancy=1.0)
    assert len(parked.xy) > 5 and shapely.covers(sites.carriageway, shapely.points(parked.xy)).all()
    assert (np.abs(np.mod(parked.yaw + 0.01, np.pi / 2)) < 0.02).all()
    driving = run("in_traffic", sites, 0, car, density=4.0)
    assert (driving.z == 0).all() and shapely.covers(sites.carriageway, shapely.points(driving.xy)).all()


def test_density_is_counted_on_free_ground(sites):
    people = run("on_pavement", sites, 1, asset("person"), density=5.0)
    assert people.limit == pytest.approx(sites.blocks[1].paved.area * 0.05, abs=1)
    shrubs = run("in_open_space", sites, 0, asset("shrub"), density=3.0, margin=1.0)
    assert shrubs.limit <= sites.blocks[0].soft.area * 0.03
    assert run("in_open_space", sites, 1, asset("shrub"), density=3.0) is None  # shops stand on paving


def test_roof_units_stay_inside_the_edge_and_wall_units_hang_above_heads(sites):
    unit = asset("air_conditioner", 0.4, 0.5)
    roof = run("on_roof", sites, 1, unit, density=5.0, margin=1.5)
    if roof is not None:
        assert len(roof.within) == len(roof.xy) and (roof.z > 3).all()
    wall = run("on_facade", sites, 1, unit, density=5.0)
    walls = shapely.union_all([shapely.LineString([w.start, w.end]) for w in sites.blocks[1].walls])
    assert (wall.z >= 2.5).all() and np.allclose(shapely.distance(walls, shapely.points(wall.xy)), 0.44, atol=0.02)


def test_rows_corners_doors_and_boundaries(sites):
    cars = run("in_rows", sites, 3, asset("car", 2.1, 0.9), occupancy=1.0)
    assert len(cars.xy) == len(sites.blocks[3].bays) > 100
    corners = run("at_junctions", sites, 0, asset("traffic_light"), probability=1.0)
    assert len(corners.xy) == 1 and np.hypot(*(corners.xy[0] - 97.0)) < 6
    doors = run("at_entrances", sites, 1, asset("mailbox"), probability=1.0)
    assert len(doors.xy) == len(sites.blocks[1].entrances)
    fence = run("along_boundary", sites, 0, asset("fence", 0.05, 1.0), coverage=1.0)
    assert len(fence.xy) > 50


def test_plan_overrides_rule_and_rule_overrides_function():
    graph = small_town()
    library, plan = small_plan()
    plan.assignments[2].parameters["shrub.in_open_space.density"] = 7.5
    jobs = {(j.block, j.distribution.asset, j.distribution.function): j.parameters for j in settle(graph, library, plan)}
    assert jobs[2, "shrub", "in_open_space"]["density"] == 7.5
    assert jobs[1, "shrub", "in_open_space"]["density"] == 3.0
    assert jobs[1, "shrub", "in_open_space"]["margin"] == FUNCTIONS["in_open_space"].parameters["margin"].default


def test_samples_are_uniform_in_a_ring():
    ring = shapely.Point(0, 0).buffer(10, quad_segs=32).difference(shapely.Point(0, 0).buffer(5, quad_segs=32))
    r = np.hypot(*sample_area(ring, 4000, np.random.default_rng(0)).T)
    assert r.min() > 4.9 and r.max() <= 10.0
    assert (r < np.sqrt((25 + 100) / 2)).mean() == pytest.approx(0.5, abs=0.03)
