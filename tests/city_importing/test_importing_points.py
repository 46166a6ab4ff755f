"""Points become scenes: the right things of the right size in the right place, by UrbanBIS text and by LAS."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from invented_place import CAR, EDGE, HOUSE, HOUSE_TOP, POND, table, write_text

from flaneur.city.check import check_scene
from flaneur.city.importing import las, urbanbis
from flaneur.city.importing.bgt import read_layers
from flaneur.city.importing.cloud import IGNORED, POINT, Cloud
from flaneur.city.importing.raster import NODES, SUB, Raster, rasterise, without_pinholes
from flaneur.city.importing.surface import Layers, apply_layers, cells_inside
from flaneur.city.importing.tiles import Tiles
from flaneur.city.importing.urbanbis_writing import write_urbanbis
from flaneur.city.importing.windows import Source, scenes_from_points
from flaneur.city.scene import Scene
from flaneur.classes import load_classes

ID = load_classes().index
UNMEASURED = ("vehicle off the road", "vehicle across the lane", "in water", "person off walkable ground")  # what a survey finds where it finds it


def by_class(scene: Scene, name: str) -> np.ndarray:
    return np.flatnonzero(scene.class_id == ID[name])


def test_everything_of_a_place_comes_back(tmp_path):
    path = write_text(tmp_path / "place.txt", table(corner=(400.0, 1200.0)))
    scene = next(scenes_from_points(urbanbis.read_blocks(path), Source("place", (path.name,), "EPSG:28992"), (400.0, 1200.0)))
    house, car = by_class(scene, "building"), by_class(scene, "car")
    assert len(house) == 2 and len(car) == 1
    house = house[np.argsort(scene.box[house, 0, 0])]
    assert scene.instances.clipped[house].tolist() == [False, True]
    np.testing.assert_allclose(scene.box[house[1], 1, :2], (EDGE[2] - EDGE[0], EDGE[3] - EDGE[1]), atol=0.3)
    for row, (x0, y0, x1, y1) in ((house[0], HOUSE), (car[0], CAR)):
        np.testing.assert_allclose(scene.box[row, 0, :2], ((x0 + x1) / 2, (y0 + y1) / 2), atol=0.3)
        np.testing.assert_allclose(scene.box[row, 1, :2], (x1 - x0, y1 - y0), atol=0.6)
    assert scene.volume[house[0]] == pytest.approx(20 * 15 * HOUSE_TOP, rel=0.1)
    assert scene.origin["easting"] == 400.0 and scene.origin["height"] == 12.0
    assert not [v.text for v in check_scene(scene).violations if v.kind not in UNMEASURED]
    water = scene.ground_height(np.array([[(POND[0] + POND[2]) / 2, (POND[1] + POND[3]) / 2]]))
    assert water[0] == pytest.approx(-0.5, abs=0.05)


def test_a_cloud_is_cut_into_its_windows_whatever_the_order_of_its_points():
    rng = np.random.default_rng(0)
    points = np.zeros(60_000, POINT)
    points["x"], points["y"], points["z"] = rng.uniform(-300, 700, 60_000), rng.uniform(900, 1500, 60_000), np.arange(60_000)
    with Tiles() as tiles:
        for part in np.array_split(points, 7):
            tiles.add(part)
        found = list(tiles.windows())
    corners = [corner for corner, _ in found]
    assert corners == sorted(corners) and len(corners) == 6 * 4
    for (x, y), inside in found:
        assert (inside["x"] >= x).all() and (inside["x"] < x + 200).all() and (inside["y"] >= y).all() and (inside["y"] < y + 200).all()
        assert (np.diff(inside["z"]) > 0).all()  # the source's order is kept
    assert sum(len(p) for _, p in found) == 60_000


def test_small_blocks_read_the_same_points_and_say_how_far_they_are(tmp_path):
    path = write_text(tmp_path / "place.txt", table(2.0))
    whole, done = np.concatenate(list(urbanbis.read_blocks(path))), []
    parts = np.concatenate(list(urbanbis.read_blocks(path, 1000, done.append)))
    assert (whole == parts).all() and len(done) > 100 and done == sorted(done) and done[-1] == path.stat().st_size


def test_a_city_of_ours_has_the_format_and_the_labels_of_urbanbis(tmp_path, tiny_scene):
    scene = tiny_scene(3)
    count = write_urbanbis(scene, tmp_path / "city.txt", 2.0, offset=(1000.0, 0.0))
    lines = (tmp_path / "city.txt").read_text().splitlines()
    assert len(lines) == count and {len(line.split(" ")) for line in lines} == {9}
    points = np.concatenate(list(urbanbis.read_blocks(tmp_path / "city.txt")))
    assert set(points["label"]) <= {ID[n] for n in ("terrain", "tree", "water", "car", "building")} | {IGNORED}
    assert points["x"].min() >= 1000 and (points["instance"][points["label"] == ID["building"]] >= 0).all()


def test_laz_of_another_program_reads_as_it_was_written(tmp_path):
    laspy = pytest.importorskip("laspy")
    header = laspy.LasHeader(point_format=3, version="1.2")
    header.scales, header.offsets = np.full(3, 0.001), np.array([84830.0, 447430.0, 0.0])
    cloud = laspy.LasData(header)
    cloud.x, cloud.y, cloud.z = np.array([84831.5, 84900.25, 84999.0]), np.array([447431.0, 447500.5, 447600.0]), np.array([1.0, 7.5, -0.25])
    cloud.classification = np.array([2, 6, 9], np.uint8)
    cloud.red = np.array([255, 128, 0], np.uint16) * 257
    cloud.write(str(tmp_path / "a.laz"))
    points = np.concatenate(list(las.read_chunks(tmp_path / "a.laz")))
    np.testing.assert_allclose(points["x"], cloud.x)
    np.testing.assert_allclose(points["z"], cloud.z)
    assert points["label"].tolist() == [ID["terrain"], ID["building"], ID["water"]] and points["red"].tolist() == [255, 128, 0]


def flat_raster(n: int = 512) -> Raster:
    """Ground everywhere, and two blocks of buildings."""
    label = np.full((n, n), ID["terrain"], np.uint8)
    label[100:200, 100:200] = label[300:400, 300:400] = ID["building"]
    ground_label, zero = np.full((n, n), ID["terrain"], np.uint8), np.zeros((n, n), np.float32)
    top = np.where(label == ID["building"], np.float32(8), zero)
    return Raster(label, top, np.zeros((n, n, 3), np.uint8), np.full((n, n), -1), ground_label, np.zeros((NODES, NODES), np.float32), 1.0, np.zeros((n * SUB, n * SUB), np.uint8), 1)


def test_a_map_overrules_the_points_where_it_says_something_and_only_there():
    raster, cell = flat_raster(), 200 / 512
    footprint, street = shapely.box(110 * cell, 110 * cell, 190 * cell, 190 * cell), shapely.box(60 * cell, 60 * cell, 240 * cell, 240 * cell)
    apply_layers(raster, Layers([footprint], [("road", street)]))
    building = raster.label == ID["building"]
    assert building[110:190, 110:190].all() and building[60:240, 60:240].sum() == 80 * 80
    assert (raster.label[100:110, 100:200] == ID["road"]).all()
    assert building[300:400, 300:400].all() and not (raster.ground_label[300:400] == ID["road"]).any()


def test_a_roof_keeps_its_court_and_loses_its_pinholes():
    """A roof of a real survey has thousands of chance gaps; as holes of its outline they kept a town from ever being finished."""
    rng = np.random.default_rng(0)
    roof = np.zeros((300, 300), bool)
    roof[20:280, 20:280] = True
    court = np.zeros_like(roof)
    court[100:160, 100:160] = True
    gaps = roof & (rng.random(roof.shape) < 0.02)
    gaps[98:162, 98:162] = False
    others = court & (rng.random(roof.shape) < 0.3)
    others[50, 50] = True  # one stray point
    holed = roof & ~court & ~gaps
    holed[50, 50] = False
    found = without_pinholes(holed, others, 5)
    assert (found[40:260, 40:260] == (roof & ~court)[40:260, 40:260]).all() and not (found & ~roof).any()


@pytest.mark.slow
def test_delft_agrees_with_its_building_register(shared_data):
    """Seen straight from above; benchmarks/importing.py measures the planar truth, as the task's poses see it."""
    folder, corner = shared_data / "delft", (84830.0, 447430.0)
    if not folder.is_dir():
        pytest.skip(f"{folder} is absent; set FLANEUR_DATA")
    with Tiles(corner) as tiles:
        for file in sorted(folder.glob("*.laz")):
            for chunk in las.read_chunks(file):
                tiles.add(chunk)
        points = next(points for _, points in tiles.windows())
    assert len(points) == 522_218
    layers = read_layers(folder, corner)
    assert len(layers.buildings) == 155
    raster = rasterise(Cloud.of_points(points, corner, False), "delft")
    wanted = np.any([cells_inside(shape, len(raster.label)) for shape in layers.buildings], 0)
    known = wanted | np.any([cells_inside(shape, len(raster.label)) for _, shape in layers.background], 0)
    for least in (0.84, 0.999):  # points alone, which also see eaves and sheds no register lists, then with its footprints
        found = (raster.label == ID["building"]) & known
        assert (wanted & found).sum() / (wanted | found).sum() >= least
        apply_layers(raster, layers)
