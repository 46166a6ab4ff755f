"""GeoJSON, GeoParquet, Parquet and point clouds of one small city."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from pyproj import Geod

from flaneur.city.export.annotations import write_parquet
from flaneur.city.export.footprints import footprint, footprints
from flaneur.city.export.geojson import write_geojson, write_geoparquet
from flaneur.city.export.points import POINT, sample, write_points
from flaneur.city.scene import Prototype
from flaneur.errors import UserError

ORIGIN = {"lon": 13.44, "lat": 52.47, "crs": "+proj=tmerc +lat_0=52.4709 +lon_0=13.4415 +k=1 +x_0=0 +y_0=0 +ellps=WGS84 +units=m +no_defs"}


@pytest.fixture(scope="module")
def city(tiny_scene):
    scene = tiny_scene(2)
    scene.origin = dict(ORIGIN)
    return scene


def test_geojson_places_objects_on_earth(city, tmp_path):
    write_geojson(city, tmp_path / "city.geojson")
    data = json.loads((tmp_path / "city.geojson").read_text())
    assert data["georeferenced"] and len(data["features"]) == int(city.is_object.sum())
    geod = Geod(ellps="WGS84")
    for feature in data["features"]:
        k = feature["id"]
        assert feature["properties"]["class"] == city.classes.names[city.class_id[k]]
        polygon = shapely.from_geojson(json.dumps(feature["geometry"]))
        assert polygon.is_valid and polygon.exterior.is_ccw
        azimuth, _, metres = geod.inv(ORIGIN["lon"], ORIGIN["lat"], polygon.centroid.x, polygon.centroid.y)
        # The frame's north is true north to within the meridian convergence of a 200 m window.
        east, north = metres * np.sin(np.radians(azimuth)), metres * np.cos(np.radians(azimuth))
        assert np.hypot(*(np.array([east, north]) - city.box[k, 0, :2])) < 0.05


def test_an_invented_city_says_that_it_lies_nowhere(tiny_scene, tmp_path):
    write_geojson(tiny_scene(0), tmp_path / "city.geojson")
    assert json.loads((tmp_path / "city.geojson").read_text())["georeferenced"] is False
    write_geoparquet(tiny_scene(0), tmp_path / "city.parquet")
    geo = json.loads(pq.read_schema(tmp_path / "city.parquet").metadata[b"geo"])
    assert geo["columns"]["geometry"]["crs"] is None


def test_geoparquet_follows_the_standard(city, tmp_path):
    write_geoparquet(city, tmp_path / "city.parquet")
    table = pq.read_table(tmp_path / "city.parquet")
    geo = json.loads(table.schema.metadata[b"geo"])
    assert geo["version"] == "1.1.0" and geo["primary_column"] == "geometry"
    column = geo["columns"]["geometry"]
    shapes = shapely.from_wkb(table["geometry"].to_pylist())
    assert {s.geom_type for s in shapes} == set(column["geometry_types"]) and column["encoding"] == "WKB"
    assert np.allclose(column["bbox"], shapely.total_bounds(shapes)) and "crs" not in column
    assert table["id"].to_pylist() == np.flatnonzero(city.is_object).tolist()


def test_parquet_holds_every_instance_and_column(city, tmp_path):
    write_parquet(city, tmp_path / "city.parquet")
    table = pq.read_table(tmp_path / "city.parquet")
    assert len(table) == len(city.instances)
    assert np.allclose(np.array(table["transform"].to_pylist()).reshape(-1, 4, 4), city.transform)
    assert np.allclose(table["volume_m3"].to_numpy(), city.volume)
    assert table["class"].to_pylist() == [city.classes.names[c] for c in city.class_id]
    assert table.schema.metadata[b"flaneur:name"] == city.name.encode()


def test_a_buildings_footprint_is_its_projection(city):
    rows = np.flatnonzero(city.group == 2)
    vertices, faces, _, _, owner = city.triangles()
    for row, shape in zip(rows, footprints(city, rows), strict=True):
        points = vertices[np.unique(faces[owner == row])][:, :2]
        hull = shapely.convex_hull(shapely.multipoints(points.astype(float)))
        assert shape.symmetric_difference(hull).area < 1e-2 * hull.area


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(-20, 20), st.floats(-20, 20), st.floats(0, 30)), min_size=3, max_size=24))
def test_any_soup_of_triangles_has_a_footprint(corners):
    corners = np.array(corners[: len(corners) // 3 * 3], np.float32)
    p = Prototype("p", 0, "p", corners, np.arange(len(corners), dtype=np.int32).reshape(-1, 3), np.zeros((len(corners), 2), np.float32), np.zeros(len(corners) // 3, np.uint16), 1.0)
    shape = footprint(p)
    hull = shapely.convex_hull(shapely.multipoints(corners[:, :2].astype(float)))
    assert shape.is_valid and shape.within(hull.buffer(1e-3))


def test_points_lie_on_surfaces_with_their_labels(city):
    points = sample(city, density=2.0, seed=1)
    vertices, faces, _, _, owner = city.triangles()
    a, b, c = (vertices[faces[:, k]].astype(float) for k in range(3))
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2
    assert abs(len(points) - 2.0 * area.sum()) <= 1
    share = np.bincount(points["instance"], minlength=len(city.instances)) - 2.0 * np.bincount(owner, area, len(city.instances))
    assert np.abs(share).max() < 60  # one or less for each triangle
    assert (city.class_id[points["instance"]] == points["label"]).all()
    xyz = np.stack([points["x"], points["y"], points["z"]], 1)
    box = city.box[points["instance"]]
    yaw = -city.instances.yaw[points["instance"]].astype(float)
    local = xyz - box[:, 0]
    turned = np.stack([np.cos(yaw) * local[:, 0] - np.sin(yaw) * local[:, 1], np.sin(yaw) * local[:, 0] + np.cos(yaw) * local[:, 1], local[:, 2]], 1)
    assert (np.abs(turned) <= box[:, 1] / 2 + 1e-3).all()
    assert (sample(city, 2.0, 1) == points).all() and (sample(city, 2.0, 2) != points).any()


def test_ply_reads_back(city, tmp_path):
    write_points(city, tmp_path / "city.ply", density=0.5)
    data = (tmp_path / "city.ply").read_bytes()
    head, body = data.split(b"end_header\n", 1)
    points = sample(city, 0.5)
    assert b"element vertex %d" % len(points) in head and b"label 23 tank" in head
    assert (np.frombuffer(body, POINT) == points).all()


@pytest.mark.parametrize("suffix", [".las", ".laz"])
def test_las_is_georeferenced(city, tmp_path, suffix):
    laspy = pytest.importorskip("laspy", reason="extra realdata is not installed")
    write_points(city, tmp_path / f"city{suffix}", density=0.5)
    cloud = laspy.read(tmp_path / f"city{suffix}")
    points = sample(city, 0.5)
    assert np.allclose(np.asarray(cloud.x) - cloud.x.min(), points["x"] - points["x"].min(), atol=1e-3)
    assert (np.asarray(cloud.label) == points["label"]).all() and (np.asarray(cloud.instance) == points["instance"]).all()
    assert "Transverse Mercator" in cloud.header.parse_crs().to_wkt()


def test_bad_density_and_suffix(city, tmp_path):
    with pytest.raises(UserError, match="density"):
        write_points(city, tmp_path / "city.ply", density=0)
    with pytest.raises(UserError, match="ends in"):
        write_points(city, tmp_path / "city.xyz")


def test_a_broken_origin_is_named(tiny_scene, tmp_path):
    scene = tiny_scene(0)
    scene.origin = {"lon": 1.0, "lat": 2.0, "crs": "nonsense"}
    with pytest.raises(UserError, match="origin"):
        write_geojson(scene, tmp_path / "x.geojson")
    assert not list(tmp_path.iterdir())
