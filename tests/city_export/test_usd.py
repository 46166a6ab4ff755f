"""USD: valid by OpenUSD's own registry, labelled through instancing, readable by Newton."""

# pyright: reportAttributeAccessIssue=false
# OpenUSD's modules come without type stubs.
from __future__ import annotations

import dataclasses
import time

import numpy as np
import pytest
from pxr import Usd, UsdGeom, UsdLux, UsdPhysics, UsdSemantics, UsdShade, UsdValidation

from flaneur.city.export.usd import write_usd
from flaneur.city.export.usd_stage import lamp_heads
from flaneur.errors import UserError


@pytest.fixture(scope="module")
def city(tiny_scene):
    scene = tiny_scene(0)
    scene.light = "night"
    scene.licence = "(c) somebody"
    return scene


@pytest.fixture(scope="module")
def stage(city, tmp_path_factory):
    path = tmp_path_factory.mktemp("usd") / "city.usdc"
    write_usd(city, path)
    return Usd.Stage.Open(str(path))


def instance_prims(stage):
    return sorted((p for p in stage.Traverse() if p.HasAPI(UsdSemantics.LabelsAPI, "instance")), key=lambda p: int(p.GetName().rsplit("_", 1)[1]))


def errors_of(stage):
    context = UsdValidation.ValidationContext(UsdValidation.ValidationRegistry().GetOrLoadAllValidators())
    return [f"{e.GetName()}: {e.GetMessage()}" for e in context.Validate(stage)]


@pytest.mark.parametrize("deinstance", [False, True])
@pytest.mark.parametrize("suffix", [".usdc", ".usdz"])
def test_every_registered_validator_is_content(city, tmp_path, suffix, deinstance):
    path = tmp_path / f"city{suffix}"
    write_usd(city, path, deinstance=deinstance)
    stage = Usd.Stage.Open(str(path))
    assert not stage.GetCompositionErrors()
    assert errors_of(stage) == []
    # Validation looks at what is traversed: the prototypes' own prims are reached through the instances' proxies.
    names = {p.GetTypeName() for p in Usd.PrimRange.Stage(stage, Usd.TraverseInstanceProxies())}
    assert {"Mesh", "GeomSubset", "Material", "DistantLight", "DomeLight", "Camera"} <= names


def test_stage_states_units_axes_and_licence(stage, city):
    assert UsdGeom.GetStageUpAxis(stage) == "Z" and UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    assert UsdPhysics.GetStageKilogramsPerUnit(stage) == 1.0
    assert stage.GetDefaultPrim().GetPath() == "/World"
    assert stage.GetRootLayer().customLayerData["flaneur"]["licence"] == city.licence


def test_labels_reach_meshes_through_instancing(stage, city):
    prims = instance_prims(stage)
    assert len(prims) == len(city.instances)
    query = UsdSemantics.LabelsQuery("class", Usd.TimeCode.Default())
    number = UsdSemantics.LabelsQuery("instance", Usd.TimeCode.Default())
    for k, prim in enumerate(prims):
        assert prim.IsInstance()
        mesh = stage.GetPrimAtPath(prim.GetPath().AppendChild("mesh"))
        assert list(query.ComputeUniqueInheritedLabels(mesh)) == [city.classes.names[city.class_id[k]]]
        assert list(number.ComputeUniqueInheritedLabels(mesh)) == [str(k)]


def test_geometry_stands_where_the_scene_says(stage, city):
    cache = UsdGeom.XformCache()
    vertices, faces, _, _, owner = city.triangles()
    for k, prim in enumerate(instance_prims(stage)):
        mesh = UsdGeom.Mesh(stage.GetPrimAtPath(prim.GetPath().AppendChild("mesh")))
        matrix = np.array(cache.GetLocalToWorldTransform(mesh.GetPrim()))
        points = np.array(mesh.GetPointsAttr().Get(), np.float64) @ matrix[:3, :3] + matrix[3, :3]
        expected = vertices[np.unique(faces[owner == k])]
        assert np.abs(points.min(0) - expected.min(0)).max() < 1e-3
        assert np.abs(points.max(0) - expected.max(0)).max() < 1e-3


def test_every_face_has_a_material_and_tints_arrive(stage, city):
    car = next(k for k in range(len(city.instances)) if city.classes.names[city.class_id[k]] == "car")
    prim = instance_prims(stage)[car]
    mesh = stage.GetPrimAtPath(prim.GetPath().AppendChild("mesh"))
    subsets = UsdShade.MaterialBindingAPI(mesh).GetMaterialBindSubsets()
    assert sum(len(s.GetIndicesAttr().Get()) for s in subsets) == len(city.prototypes[city.instances.prototype[car]].faces)
    scales = {}
    for subset in subsets:
        bound, _ = UsdShade.MaterialBindingAPI(subset.GetPrim()).ComputeBoundMaterial()
        assert bound
        texture = UsdShade.Shader(bound.GetPrim().GetChild("Albedo"))
        scales[subset.GetPrim().GetName()] = np.array(texture.GetInput("scale").Get())
    tint = city.instances.tint[car] / 255
    assert np.abs(scales["car_paint"][:3] - ((tint + 0.055) / 1.055) ** 2.4).max() < 1e-4
    assert (scales["glass"] == 1).all()


def test_lights_follow_the_hour(stage, city):
    variants = stage.GetPrimAtPath("/World/Lights").GetVariantSet("light")
    assert set(variants.GetVariantNames()) == {"day", "dusk", "night", "overcast"}
    assert variants.GetVariantSelection() == "night"
    lamps = [p for p in stage.Traverse() if p.IsA(UsdLux.SphereLight)]
    assert len(lamps) == len(lamp_heads(city)) > 0
    variants.SetVariantSelection("day")
    assert not [p for p in stage.Traverse() if p.IsA(UsdLux.SphereLight)]
    variants.SetVariantSelection("night")


def test_colliders_are_static_and_say_their_approximation(stage):
    mesh = next(p for p in Usd.PrimRange.Stage(stage, Usd.TraverseInstanceProxies()) if p.IsA(UsdGeom.Mesh))
    assert mesh.HasAPI(UsdPhysics.CollisionAPI) and mesh.HasAPI(UsdPhysics.MeshCollisionAPI)
    kinds = {UsdPhysics.MeshCollisionAPI(p).GetApproximationAttr().Get() for p in Usd.PrimRange.Stage(stage, Usd.TraverseInstanceProxies()) if p.IsA(UsdGeom.Mesh)}
    assert kinds <= {"none", "meshSimplification", "convexHull", "convexDecomposition"} and len(kinds) > 2
    assert not [p for p in stage.Traverse() if p.HasAPI(UsdPhysics.RigidBodyAPI)]


def test_colliders_suit_what_they_stand_for(stage, city):
    """Exact where a robot stands and drives, simpler for what it only bumps into."""
    wanted = {"background": {"none"}, "large": {"meshSimplification"}, "medium": {"convexHull", "convexDecomposition"}, "small": {"convexHull", "convexDecomposition"}}
    for k, prim in enumerate(instance_prims(stage)):
        mesh = stage.GetPrimAtPath(prim.GetPath().AppendChild("mesh"))
        kind = UsdPhysics.MeshCollisionAPI(mesh).GetApproximationAttr().Get()
        assert kind in wanted[city.classes[city.class_id[k]].group] and UsdPhysics.CollisionAPI(mesh).GetCollisionEnabledAttr().Get()


def test_it_is_whole_where_another_stage_references_it(city, tmp_path):
    """As Isaac Lab and Newton place a city: only the default prim arrives, with prototypes, looks and materials that lie outside of it."""
    write_usd(city, tmp_path / "city.usdc")
    stage = Usd.Stage.CreateNew(str(tmp_path / "simulation.usda"))
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    stage.SetDefaultPrim(stage.DefinePrim("/World", "Xform"))
    UsdGeom.XformCommonAPI(UsdGeom.Xform.Define(stage, "/World/City")).SetTranslate((10, 20, 0))
    stage.GetPrimAtPath("/World/City").GetReferences().AddReference("./city.usdc")
    assert not stage.GetCompositionErrors() and errors_of(stage) == []
    prims, query, cache = instance_prims(stage), UsdSemantics.LabelsQuery("class", Usd.TimeCode.Default()), UsdGeom.XformCache()
    assert len(prims) == len(city.instances)
    for k, prim in enumerate(prims):
        mesh = stage.GetPrimAtPath(prim.GetPath().AppendChild("mesh"))
        assert list(query.ComputeUniqueInheritedLabels(mesh)) == [city.classes.names[city.class_id[k]]]
        faces = [s.GetPrim() for s in UsdShade.MaterialBindingAPI(mesh).GetMaterialBindSubsets()] or [mesh]
        assert all(str(UsdShade.MaterialBindingAPI(f).ComputeBoundMaterial()[0].GetPath()).startswith("/World/City/Materials/") for f in faces)
        moved = np.array(cache.GetLocalToWorldTransform(mesh))[3, :3]
        assert np.abs(moved - (city.transform[k, :3, 3] + [10, 20, 0])).max() < 1e-3


def test_deinstanced_carries_the_older_labels(city, tmp_path):
    write_usd(city, tmp_path / "plain.usda", deinstance=True)
    stage = Usd.Stage.Open(str(tmp_path / "plain.usda"))
    prims = instance_prims(stage)
    assert not any(p.IsInstance() for p in prims)
    assert prims[3].GetAttribute("semantic:Semantics_class:params:semanticData").Get() == city.classes.names[city.class_id[3]]


def test_ten_thousand_objects_in_under_five_seconds(city, tmp_path):
    objects = np.flatnonzero(city.is_object)
    rows = np.sort(np.concatenate([np.arange(len(city.instances)), np.resize(objects, 9300)]))
    many = dataclasses.replace(city, instances=type(city.instances)(**{f.name: getattr(city.instances, f.name)[rows] for f in dataclasses.fields(city.instances)}))
    start = time.process_time()  # the machine is shared with other tests
    write_usd(many, tmp_path / "many.usdc")
    assert time.process_time() - start < 5.0


def test_bad_suffix_and_unwritable_folder(city, tmp_path):
    with pytest.raises(UserError, match="ends in"):
        write_usd(city, tmp_path / "city.fbx")
    (tmp_path / "file").write_text("here")
    with pytest.raises(UserError, match="cannot write"):
        write_usd(city, tmp_path / "file" / "city.usdc")
    assert (tmp_path / "file").read_text() == "here" and sorted(p.name for p in tmp_path.iterdir()) == ["file"]


def test_newton_opens_it(city, tmp_path):
    newton = pytest.importorskip("newton", reason="newton is not installed")
    pytest.importorskip("newton_usd_schemas", reason="newton's USD importer needs newton-usd-schemas")
    write_usd(city, tmp_path / "city.usdc")
    builder = newton.ModelBuilder(up_axis=newton.Axis.Z)
    builder.add_usd(str(tmp_path / "city.usdc"), skip_mesh_approximation=True)
    assert builder.shape_count == len(city.instances) and builder.body_count == 0
