"""The ground: a partition of the whole window whose pieces fit edge to edge."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import shapely
from small_town import small_town

from flaneur.city.grammar.ground import BLOCK_LEVEL, COVERS, GRID, Ground, lay_ground
from flaneur.city.grammar.ground_mesh import ground_meshes, triangulate
from flaneur.city.grammar.lines import arc_lengths, cut_line, dashes, offset_line, sample_line
from flaneur.city.grammar.streets import Streets, lay_streets


@pytest.fixture(scope="module")
def laid() -> tuple[Streets, Ground]:
    graph = small_town()
    streets = lay_streets(graph)
    return streets, lay_ground(graph, streets)


def test_partition_has_no_gap_and_no_overlap(laid):
    faces = laid[1].faces
    assert sum(f.area for f in faces) == pytest.approx(200.0**2, abs=1e-6)
    assert shapely.coverage_is_valid(faces)
    assert shapely.union_all(faces).equals(shapely.box(0, 0, 200, 200))


def test_every_inner_edge_is_shared_by_exactly_two_faces(laid):
    count: Counter[frozenset] = Counter()
    for face in laid[1].faces:
        for ring in (face.exterior, *face.interiors):
            points = [tuple(p) for p in np.rint(np.array(ring.coords) / GRID).astype(int)]
            count.update(frozenset(e) for e in pairwise(points))
    limit = round(200 / GRID)
    for edge, n in count.items():
        a, b = tuple(edge)
        outer = any(a[i] == b[i] and a[i] in (0, limit) for i in (0, 1))
        assert n == (1 if outer else 2)


def test_cover_is_where_the_map_says(laid):
    ground = laid[1]
    wanted = {(50.0, 100.0): "carriageway", (50.0, 105.0): "pavement", (45.0, 155.0): "water", (150.0, 150.0): "parking", (30.0, 40.0): "garden", (15.0, 130.0): "grass"}
    found = ground.face_at(np.array(list(wanted)))
    assert [ground.cover[k] for k in found] == list(wanted.values())
    assert ground.face_at(np.array([[-1.0, 5.0]]))[0] == -1


def test_triangles_face_up_and_keep_the_area():
    ring = shapely.Polygon([(0, 0), (10, 0), (10, 10), (0, 10)], [[(3, 3), (3, 6), (6, 6), (6, 3)]])
    points, faces = triangulate(ring)
    a, b, c = (points[faces[:, i]] for i in range(3))
    turn = (b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]
    assert (turn > 0).all() and turn.sum() / 2 == pytest.approx(ring.area)


def test_kerbs_stand_between_levels_and_look_outwards(laid):
    graph = small_town()
    surfaces = ground_meshes(graph, laid[1], laid[0], {})
    kerb_length = 0.0
    for prototype, at, _ in surfaces:
        corners = prototype.vertices.astype(np.float64)[prototype.faces] + at
        normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        upright = np.abs(normal[:, 2]) < 1e-9
        assert (normal[~upright, 2] > 0).all()
        for triangle, n in zip(corners[upright], normal[upright], strict=True):
            beside = triangle.mean(0)[:2] + n[:2] / np.linalg.norm(n) * 0.05
            k = laid[1].face_at(beside[None])[0]
            assert k < 0 or COVERS[laid[1].cover[k]].level < BLOCK_LEVEL
            if triangle[:, 2].min() >= 0:
                kerb_length += np.linalg.norm(np.ptp(triangle[:, :2], axis=0)) / 2
    assert kerb_length == pytest.approx(2 * (2 * 200 - 8 - 6), rel=0.05)  # both sides of both streets


def test_ground_stays_lean_and_its_markings_lie_above_the_asphalt(laid):
    surfaces = ground_meshes(small_town(), laid[1], laid[0], {})
    assert sum(len(p.faces) for p, *_ in surfaces) < 2000
    heights = np.concatenate([p.vertices[:, 2] for p, *_ in surfaces])
    assert heights.min() >= -0.5 and heights.max() <= 0.15
    assert ((heights > 0.003) & (heights < 0.01)).any()


def test_lanes_keep_right_and_parked_cars_leave_the_way_free(laid):
    graph = small_town()
    moving = Counter(lane.street for lane in laid[0].lanes if not lane.parked)
    for lane in laid[0].lanes:
        street = graph.streets[lane.street]
        centre = shapely.LineString(street.line)
        middle, heading = sample_line(lane.line, np.array([arc_lengths(lane.line)[-1] / 2]))
        along = np.array(street.line[1]) - np.array(street.line[0])
        left = along[0] * (middle[0, 1] - street.line[0][1]) - along[1] * (middle[0, 0] - street.line[0][0]) > 0
        onward = np.cos(heading[0]) * along[0] + np.sin(heading[0]) * along[1] > 0
        assert left != onward or moving[lane.street] == 1  # one lane for both directions
        assert centre.distance(shapely.Point(middle[0])) + lane.width / 2 <= street.width / 2 + 0.1
        assert shapely.LineString(lane.line).distance(shapely.Point(100, 100)) > 3.0
    assert any(lane.parked for lane in laid[0].lanes)
    assert len(laid[0].crossings) == 4


def test_line_tools():
    line = np.array([(0.0, 0.0), (10.0, 0.0), (10.0, 10.0)])
    np.testing.assert_allclose(offset_line(line, 1.0), [(0, 1), (9, 1), (9, 10)])
    cut = cut_line(line, 5.0, 15.0)
    assert cut is not None
    np.testing.assert_allclose(cut, [(5, 0), (10, 0), (10, 5)])
    assert cut_line(line, 5.0, 5.05) is None
    for quad in dashes(line, 0.2, 3.0, 4.5):
        assert shapely.Polygon(quad).exterior.is_ccw
