"""Buildings at the window's edge are cut there and stay solids."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st
from scenes import prism, prototype, rectangle

from flaneur.city.grammar.built import BuiltBuilding
from flaneur.city.grammar.edge import cut_at_window


def building(x: float, y: float) -> BuiltBuilding:
    """A tower of 10 x 10 x 20 m."""
    made = prototype("house", "building", (prism(rectangle(10, 10), 0, 20), "stone_office_window"))
    return BuiltBuilding(made, np.array([x, y, 0.0]), shapely.box(x - 5, y - 5, x + 5, y + 5), 0, "", "stone_office", np.full(3, 255, np.uint8), True)


def test_inside_nothing_changes():
    b = building(100.0, 100.0)
    assert cut_at_window(b, 200.0) is b


@settings(max_examples=20, deadline=None)
@given(x=st.floats(-4, 4), y=st.floats(196, 204))
def test_cut_is_watertight_and_inside(x, y):
    cut = cut_at_window(building(round(x, 2), round(y, 2)), 200.0)
    p = cut.prototype
    world = p.vertices + cut.position
    assert world[:, :2].min() >= -0.02 and world[:, :2].max() <= 200.02
    mesh = trimesh.Trimesh(p.vertices.astype(float), p.faces, process=False)
    mesh.merge_vertices(merge_tex=True, merge_norm=True)
    assert mesh.is_watertight and mesh.volume == pytest.approx(p.volume, rel=1e-3)
    assert p.volume == pytest.approx((min(round(x, 2), 5) + 5) * (205 - max(round(y, 2), 195)) * 20, rel=0.03)
    assert len(p.materials) == len(p.faces) and p.materials.max() < 1000 and np.isfinite(p.uv).all()
