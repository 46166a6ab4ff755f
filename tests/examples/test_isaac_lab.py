"""The Isaac Lab example, as far as it goes without Isaac Sim: its files compile, what it reads of a city is there, its geometry is right."""

# pyright: reportAttributeAccessIssue=false
# OpenUSD's modules come without type stubs.
from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest
import torch
from pxr import Usd, UsdGeom, UsdLux, UsdPhysics, UsdSemantics

from flaneur.city.export.usd import write_usd
from flaneur.geometry import Camera
from flaneur.sim import Simulator

FOLDER = Path(__file__).parents[2] / "examples" / "isaac_lab"
sys.path.insert(0, str(FOLDER))

from city_layout import CITY, LIGHTS, OBJECTS, PHYSICS, city_facts, prepare_city  # noqa: E402
from coverage import Coverage, unproject  # noqa: E402


@pytest.fixture(scope="module")
def usd(tiny_scene, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("isaac") / "city.usdc"
    write_usd(tiny_scene(0), path)
    return path


@pytest.fixture
def stage(usd) -> Usd.Stage:
    """The city where Isaac Lab's spawner puts it: its default prim, referenced into the simulation's stage."""
    stage = Usd.Stage.CreateInMemory()
    stage.DefinePrim(CITY, "Xform").GetReferences().AddReference(str(usd))
    return stage


@pytest.mark.parametrize("name", sorted(p.name for p in FOLDER.glob("*.py")))
def test_the_files_compile_and_are_short(name: str) -> None:
    text = (FOLDER / name).read_text("utf-8")
    compile(text, name, "exec")
    assert len(text.splitlines()) <= 160


def test_what_the_task_reads_of_the_file(usd, tiny_scene) -> None:
    facts, scene = city_facts(str(usd)), tiny_scene(0)
    assert (facts.name, facts.size, facts.licence) == (scene.name, scene.size, scene.licence)


def test_the_city_is_prepared(stage, tiny_scene) -> None:
    scene = tiny_scene(0)
    assert [str(p.GetPath()) for p in stage.Traverse() if p.IsA(UsdPhysics.Scene)] == [PHYSICS]
    classes = prepare_city(stage, "night")
    assert set(classes) == {scene.classes.names[c] for c in scene.class_id[scene.is_object]}
    assert not [p for p in stage.Traverse() if p.IsA(UsdPhysics.Scene)]
    for light, lamps in (("night", True), ("day", False)):
        prepare_city_again = stage.GetPrimAtPath(LIGHTS).GetVariantSet("light")
        prepare_city_again.SetVariantSelection(light)
        below = [p for p in stage.Traverse() if str(p.GetPath()).startswith(LIGHTS)]
        assert sum(p.IsA(UsdLux.DistantLight) for p in below) == sum(p.IsA(UsdLux.DomeLight) for p in below) == 1
        assert any(p.IsA(UsdLux.SphereLight) for p in below) == lamps
    with pytest.raises(ValueError, match="light 'noon': give one of day"):
        prepare_city(stage, "noon")


def test_every_object_shows_its_class_to_the_camera(stage, tiny_scene) -> None:
    scene = tiny_scene(0)
    prims = [p for p in Usd.PrimRange(stage.GetPrimAtPath(OBJECTS)) if p.HasAPI(UsdSemantics.LabelsAPI, "class")]
    assert len(prims) == scene.is_object.sum()
    query = UsdSemantics.LabelsQuery("class", Usd.TimeCode.Default())
    for prim in prims:
        mesh = stage.GetPrimAtPath(prim.GetPath().AppendChild("mesh"))
        assert prim.IsInstance() and mesh.IsA(UsdGeom.Mesh) and mesh.HasAPI(UsdPhysics.CollisionAPI)
        assert list(query.ComputeUniqueInheritedLabels(mesh)) == [prim.GetParent().GetName()]


def test_points_lie_on_the_objects_that_pixels_show(tiny_scene) -> None:
    scene = tiny_scene(0)
    size, yaw, pitch = scene.size, torch.tensor([0.4, 2.5]), torch.tensor([-0.8, -0.5])
    position = torch.tensor([[0.4 * size, 0.4 * size, 45.0], [0.6 * size, 0.5 * size, 50.0]])
    simulator = Simulator([scene], Camera.from_fov(64, 64, 90.0))
    frame = simulator.render(torch.cat([position, torch.zeros(2, 1), pitch[:, None], yaw[:, None]], 1), torch.zeros(2, dtype=torch.int32))
    points = unproject(frame.depth, position, yaw, pitch, math.tan(math.radians(45.0)))
    vertices, faces, _, _, owner = scene.triangles()
    low, high = (torch.stack([torch.as_tensor(getattr(vertices[faces[owner == k]].reshape(-1, 3), f)(0)) for k in range(len(scene.instances))]) for f in ("min", "max"))
    hit = frame.instance >= 0
    k = frame.instance[hit].long()
    assert hit.sum() > 4000 and ((points[hit] >= low[k] - 0.02) & (points[hit] <= high[k] + 0.02)).all()
    objects = hit & torch.as_tensor(scene.is_object)[frame.instance.clamp(min=0).long()]
    coverage = Coverage(2, size, 4.0, "cpu")
    new = coverage.add(points, objects)
    assert (new > 0).all() and (coverage.add(points, objects) == 0).all() and (coverage.seen.sum(1) == new).all()
    coverage.reset(torch.tensor([1]))
    assert coverage.add(points, objects).tolist() == [0, new[1].item()]
    expected = {(int(x // 4), int(y // 4)) for x, y, _ in points[0][objects[0]].tolist()}
    assert len(expected) == new[0]
