"""The grammar's operations, the solids they make and the straight skeleton."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shapely import affinity
from shapely.geometry import Polygon, box
from shapely.geometry.polygon import orient

from flaneur.city.grammar.interpreter import Lot, Model, split_sizes
from flaneur.city.grammar.outlines import clean, shifted
from flaneur.city.grammar.roofs import Crown, flat, pitched
from flaneur.city.grammar.skeleton import straight_skeleton
from flaneur.city.grammar.solid import SNAP, is_closed


def lot_of(polygon: Polygon, z: float = 0.0) -> Lot:
    model = Model()
    polygon = orient(polygon)
    kinds = [["side"] * (len(ring.coords) - 1) for ring in (polygon.exterior, *polygon.interiors)]
    return Lot(model, model.main, np.random.default_rng(0), {}, polygon, z, kinds)


def rings_of(polygon: Polygon) -> list[list[tuple[float, float]]]:
    polygon = orient(polygon)
    return [[(x, y) for x, y in ring.coords[:-1]] for ring in (polygon.exterior, *polygon.interiors)]


def volume_of(lot: Lot) -> float:
    corners, triangles, _ = lot.shell.triangles()
    assert is_closed(triangles)
    a, b, c = (corners * SNAP)[triangles].transpose(1, 0, 2)
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6)


@pytest.mark.parametrize(
    ("total", "pattern", "sizes"),
    [
        (10.0, "4 | ~1", [4, 6]),
        (10.0, "'0.3 | ~1 | ~1", [3, 3.5, 3.5]),
        (10.0, "1 | {~3}* | 1", [1, 8 / 3, 8 / 3, 8 / 3, 1]),
        (10.0, "{3}*", [3, 3, 3]),
        (10.0, "{~2 | 1}*", [7 / 3, 1, 7 / 3, 1, 7 / 3, 1]),
        (2.0, "4 | ~1", [2, 0]),
    ],
)
def test_split_sizes(total: float, pattern: str, sizes: list[float]) -> None:
    assert split_sizes(total, pattern) == pytest.approx(sizes)


def test_split_keeps_the_wall() -> None:
    wall = next(w for w in lot_of(box(0, 0, 12, 8)).extrude(9.0).walls if w.x == (1.0, 0.0))
    ground, *floors, top = wall.split("y", "4 | {~2}* | 1")
    assert [w.height for w in (ground, *floors, top)] == pytest.approx([4, 2, 2, 1])
    bays = ground.split("x", "{~3}*")
    assert [w.width for w in bays] == pytest.approx([3, 3, 3, 3])
    assert bays[2].point(0, 0) == pytest.approx((6, 0, 0))
    assert bays[2].out == pytest.approx((0, -1))


def test_split_walls_close_without_shared_corners() -> None:
    """A door cut into one wall leaves T-junctions, which the solid mends."""
    lot = lot_of(affinity.rotate(box(0, 0, 11, 7), 23.0))
    mass = lot.extrude(6.0)
    lot.texture("concrete", down=True)
    for k, wall in enumerate(mass.walls):
        ground, upper = wall.split("y", "3 | ~1")
        upper.texture("farm_window")
        for part in ground.split("x", "2 | 1 | ~1") if k == 0 else [ground]:
            part.texture("farm_wall")
    mass.top.texture("roof_gravel")
    assert volume_of(lot) == pytest.approx(11 * 7 * 6, rel=2e-3)


def test_setback_leaves_ledge_and_inside() -> None:
    ledge, inner = lot_of(box(0, 0, 20, 20)).setback(2.0)  # type: ignore[misc]
    assert inner.polygon.area == pytest.approx(256)
    assert ledge.polygon.area == pytest.approx(144)
    assert lot_of(box(0, 0, 20, 20)).setback(11.0) is None


def test_prism_with_courtyard() -> None:
    court = lot_of(box(0, 0, 30, 20).difference(box(10, 8, 20, 12)))
    mass = court.extrude(10.0)
    assert sum(1 for kind, _ in mass.comp() if kind in ("side", "court")) == 8
    court.texture("concrete", down=True)
    for wall in mass.walls:
        wall.texture("farm_wall")
    flat(mass.top, "roof_gravel", Crown(0.3, 0.4, 0.5))
    assert volume_of(court) == pytest.approx((600 - 40) * 9.9, rel=0.03)


@st.composite
def outlines(draw: st.DrawFn) -> Polygon:
    """Unions and differences of boxes, turned: L, T, U, courtyards, notches."""
    size = st.floats(4, 18)
    shape = box(0, 0, draw(size), draw(size))
    for _ in range(draw(st.integers(0, 4))):
        x, y, w, h = draw(st.floats(0, 12)), draw(st.floats(0, 12)), draw(st.floats(2.5, 9)), draw(st.floats(2.5, 9))
        other = box(x, y, x + w, y + h)
        changed = shape.union(other) if draw(st.booleans()) else shape.difference(other)
        if isinstance(changed, Polygon) and changed.area > 20:
            shape = changed
    return clean(affinity.rotate(shape, draw(st.floats(0, 360)), origin=(0, 0)))


@settings(max_examples=60, deadline=None)
@given(outlines())
def test_skeleton_faces_tile_the_outline(outline: Polygon) -> None:
    skeleton = straight_skeleton(rings_of(outline))
    if skeleton is None:
        return
    areas = [Polygon([skeleton.nodes[i][:2] for i in face]).area for face in skeleton.faces]
    assert len(areas) == sum(map(len, rings_of(outline)))
    assert sum(areas) == pytest.approx(outline.area, rel=0.01)


def test_skeleton_of_a_rectangle_is_its_ridge() -> None:
    skeleton = straight_skeleton([[(0, 0), (10, 0), (10, 6), (0, 6)]])
    assert skeleton is not None
    assert sorted(skeleton.nodes[4:]) == [pytest.approx((3, 3, 3)), pytest.approx((7, 3, 3))]


@pytest.mark.parametrize("shape", ["flat", "gabled", "hipped", "pyramidal", "skillion", "mansard", "gambrel", "dome", "onion"])
@settings(max_examples=15, deadline=None)
@given(outline=outlines())
def test_every_roof_closes_at_its_height(shape: str, outline: Polygon) -> None:
    lot = lot_of(outline)
    mass = lot.extrude(5.0)
    lot.texture("concrete", down=True)
    for wall in mass.walls:
        wall.texture("farm_wall")
    if shape == "flat":
        flat(mass.top, "roof_gravel")
    else:
        pitched(mass.top, shape, 3.0, "roof_red", "farm_wall")
    volume = volume_of(lot)
    top = max(p[2] for face in lot.shell.faces for ring in face.rings for p in ring)
    assert top == pytest.approx(5.0 if shape == "flat" else 8.0, abs=0.011)
    assert 4.98 * outline.area <= volume <= 8.8 * outline.area


def test_gabled_rectangle_has_the_exact_volume() -> None:
    lot = lot_of(box(0, 0, 10, 6))
    mass = lot.extrude(4.0)
    lot.texture("concrete", down=True)
    for wall in mass.walls:
        wall.texture("farm_wall")
    pitched(mass.top, "gabled", 3.0, "roof_red", "farm_wall")
    assert volume_of(lot) == pytest.approx(10 * 6 * 4 + 10 * 6 * 3 / 2, rel=1e-4)


def test_shifted_refuses_to_fold() -> None:
    ring = [(0.0, 0.0), (10.0, 0.0), (10.0, 1.0), (0.0, 1.0)]
    assert shifted([ring], [[-0.6] * 4]) is None
    grown = shifted([ring], [[0.5] * 4])
    assert grown is not None
    assert Polygon(grown[0]).area == pytest.approx(22.0)
