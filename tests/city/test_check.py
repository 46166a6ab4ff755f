"""The checker finds every kind of violation that is planted, and none in a clean scene."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from scenes import tiny_scene
from small_town import small_town

from flaneur.city.check import KINDS, check_scene
from flaneur.city.scene import Instances, Prototype, Scene


@pytest.fixture
def scene() -> Scene:
    made = tiny_scene(0)
    made.provenance = {"generator": "test", "source": "synthetic"}
    # The tiny city stands its cars on the pavement's edge; here only what each test plants may be wrong.
    names = np.array(made.classes.names)[made.class_id]
    return keep(made, ~np.isin(names, ("car", "bus", "tree", "person")))


def keep(scene: Scene, rows: np.ndarray) -> Scene:
    return renew(scene, Instances(*(getattr(scene.instances, f.name)[rows] for f in fields(Instances))))


def renew(scene: Scene, instances: Instances, prototypes: list[Prototype] | None = None) -> Scene:
    """The same scene with other instances; prototypes without any are dropped."""
    prototypes = prototypes or scene.prototypes
    used, renumbered = np.unique(instances.prototype, return_inverse=True)
    return replace(scene, prototypes=[prototypes[k] for k in used], instances=replace(instances, prototype=renumbered.astype(np.int32)))


def plant(scene: Scene, prototype: Prototype, x: float, y: float, z: float, yaw: float = 0.0, scale: float = 1.0) -> Scene:
    row = {f.name: np.zeros_like(getattr(scene.instances, f.name)[:1]) for f in fields(Instances)}
    row |= {"prototype": np.array([len(scene.prototypes)], np.int32), "position": np.array([[x, y, z]], np.float32), "yaw": np.array([yaw], np.float32), "scale": np.array([scale], np.float32)}
    joined = Instances(**{f.name: np.concatenate([getattr(scene.instances, f.name), row[f.name]]) for f in fields(Instances)})
    return renew(scene, joined, [*scene.prototypes, prototype])


def stock(name: str) -> Prototype:
    return next(p for p in tiny_scene(0).prototypes if p.name.startswith(name))


def kinds(scene: Scene, **also) -> set[str]:
    return set(check_scene(scene, **also).counts)


def test_clean_scene_has_none(scene):
    report = check_scene(scene)
    assert report.ok, [v.text for v in report.violations[:5]]
    assert report.objects == int(scene.is_object.sum())


def test_overlap_is_the_exact_share_of_the_smaller(scene):
    lamp = scene.instances.position[scene.class_id == scene.classes.index["street_lamp"]][0]
    found = [v for v in check_scene(plant(scene, stock("hydrant"), lamp[0], lamp[1], lamp[2])).violations if v.kind == "overlap"]
    assert len(found) == 1 and 0.05 < found[0].amount < 0.5
    beside = plant(scene, stock("hydrant"), lamp[0] + 0.3, lamp[1], lamp[2])
    assert "overlap" not in kinds(beside)


def test_inside_building_and_floating(scene):
    building = scene.instances.position[scene.class_id == scene.classes.index["building"]][0]
    assert "inside building" in kinds(plant(scene, stock("bench"), building[0], building[1], 0.1))
    assert "floating" in kinds(plant(scene, stock("bench"), 46.0, 93.5, 0.9))


def test_water_window_and_walkable_ground(scene):
    assert "in water" in kinds(plant(scene, stock("bench"), 154.0, 154.0, -0.3))
    assert "outside window" in kinds(plant(scene, stock("bench"), 199.9, 120.0, 0.1))
    assert kinds(plant(scene, stock("person"), 100.0, 60.0, 0.0)) == {"person off walkable ground"}
    assert not kinds(plant(scene, stock("person"), 93.4, 60.0, 0.12))


def test_vehicles_need_a_road_and_its_direction(scene):
    assert not kinds(plant(scene, stock("car"), 60.0, 98.0, -0.15, 0.02))
    assert kinds(plant(scene, stock("car"), 60.0, 98.0, -0.15, 0.7)) == {"vehicle across the lane"}
    assert "vehicle off the road" in kinds(plant(scene, stock("car"), 20.0, 80.0, -0.05))


def test_volumes(scene):
    bench = stock("bench")
    assert kinds(plant(scene, replace(bench, volume=bench.volume * 1.05), 46.0, 93.5, 0.12)) == {"volume wrong"}
    assert "volume out of range" in kinds(plant(scene, bench, 46.0, 93.5, 0.12, scale=0.3))
    torn = replace(bench, faces=bench.faces[1:], materials=bench.materials[1:])
    assert "not watertight" in kinds(plant(scene, torn, 46.0, 93.5, 0.12))


def test_materials_empty_prototypes_holes_and_provenance(scene):
    assert "unknown material" in kinds(replace(scene, materials=["unheard_of", *scene.materials[1:]]))
    unused = replace(scene, prototypes=[*scene.prototypes, stock("car")])
    assert "empty" in kinds(unused)
    pond = scene.classes.index["water"]
    assert "hole in the ground" in kinds(keep(scene, scene.class_id != pond))
    assert kinds(replace(scene, provenance={})) == {"provenance"}
    assert kinds(replace(scene, provenance={"generator": "x", "source": "osm"}, licence="")) == {"provenance"}


def test_unconnected_streets(scene):
    graph = small_town()
    graph.streets[0].start = graph.streets[0].end = 1
    assert kinds(scene, graph=graph) == {"unconnected streets"}


def test_every_kind_is_named():
    assert len(set(KINDS)) == len(KINDS)
