"""USD: metres, z up, one instanceable prototype per mesh and tint, labels, physics, lights, camera.

Opens in Isaac Sim, Newton, Omniverse, Blender, usdview. Everything is authored through Sdf in one change block, which is
about ten times as fast as the Usd API for a city of 9,000 instances. Layout:

    /World                       default prim
      Objects/<class>/<class>_<instance id>     instanceable, references a look
      Background/<class>/...
      Materials, Lights (variant set "light"), Camera, PhysicsScene
    /Prototypes/<mesh>           abstract: the mesh, its collider
    /Looks/<mesh>_<tint>         abstract: the mesh with the materials of one tint
"""

# pyright: reportAttributeAccessIssue=false
# OpenUSD's modules come without type stubs.
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pxr import Gf, Sdf, Tf, UsdUtils, Vt

from flaneur.city.export import usd_materials, usd_stage
from flaneur.city.export.files import replacing
from flaneur.city.export.sdf import attribute, define, metadata, tokens
from flaneur.city.export.textures import linear, looks
from flaneur.city.scene import Prototype, Scene
from flaneur.errors import UserError

SUFFIXES = (".usd", ".usdc", ".usda", ".usdz")
# Static colliders. Ground and buildings must keep their flat faces and re-entrant corners; small things may be hulls.
EXACT, SIMPLIFIED, HULL, PARTS = "none", "meshSimplification", "convexHull", "convexDecomposition"
COLLIDERS = {"tree": PARTS, "street_lamp": PARTS, "traffic_light": PARTS, "traffic_sign": PARTS, "bench": PARTS}


def write_usd(scene: Scene, path: Path, deinstance: bool = False) -> None:
    """Write `scene` to a .usd, .usdc, .usda or .usdz file; textures lie beside it in `<stem>_textures` (inside a .usdz).

    `deinstance` writes plain prims, with the labels in the older form too: Isaac Sim 4.5 shows no semantics on
    instances and does not know `UsdSemantics`.
    """
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise UserError(f"{path}: a USD file ends in {', '.join(SUFFIXES)}")
    with replacing(path) as target:
        plain = target.with_suffix(".usdc") if path.suffix == ".usdz" else target
        textures = plain.with_name(f"{path.stem}_textures")
        usd_materials.write_textures(scene, textures)
        layer = Sdf.Layer.CreateNew(str(plain))
        with Sdf.ChangeBlock():
            author(layer, scene, textures.name, deinstance)
        layer.Save()
        del layer
        if path.suffix == ".usdz":
            UsdUtils.CreateNewUsdzPackage(str(plain), str(target))
            plain.unlink()
            for file in textures.iterdir():
                file.unlink()
            textures.rmdir()


def author(layer: Sdf.Layer, scene: Scene, textures: str, deinstance: bool = False) -> None:
    """All specs of `scene`; `textures` is the folder of images relative to the layer."""
    usd_stage.stage_metadata(layer, scene)
    world = define(layer, "World", "Xform")
    metadata(world, "kind", "assembly")
    distinct, look_of = looks(scene)
    bound = usd_materials.author_materials(define(world, "Materials", "Scope"), scene, distinct, textures)
    prototypes = define(layer, "Prototypes", "Scope", Sdf.SpecifierClass)
    names = _unique([p.name for p in scene.prototypes])
    for name, p in zip(names, scene.prototypes, strict=True):
        _prototype(prototypes, name, p, scene, bound)
    shelf = define(layer, "Looks", "Scope", Sdf.SpecifierClass)
    paths = [_look(shelf, names[row[0]], row, scene, bound) for row in distinct]
    _instances(world, scene, [paths[k] for k in look_of], deinstance)
    usd_stage.author_lights(world, scene)
    usd_stage.author_camera(world, scene)
    usd_stage.author_physics(world)


def _unique(names: list[str]) -> list[str]:
    """Valid, distinct prim names."""
    seen: dict[str, int] = {}
    out = []
    for name in names:
        name = Tf.MakeValidIdentifier(name)
        count = seen[name] = seen.get(name, -1) + 1
        out.append(f"{name}_{count}" if count else name)
    return out


def _prototype(parent: Any, name: str, p: Prototype, scene: Scene, bound: usd_materials.Bound) -> None:
    root = define(parent, name, "Xform")
    mesh = define(root, "mesh", "Mesh")
    faces = np.ascontiguousarray(p.faces, np.int32)
    metadata(mesh, "apiSchemas", tokens("PhysicsCollisionAPI", "PhysicsMeshCollisionAPI", "MaterialBindingAPI"))
    attribute(mesh, "points", "point3f[]", Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(p.vertices, np.float32)))
    attribute(mesh, "faceVertexCounts", "int[]", Vt.IntArray.FromNumpy(np.full(len(faces), 3, np.int32)))
    attribute(mesh, "faceVertexIndices", "int[]", Vt.IntArray.FromNumpy(faces.reshape(-1)))
    attribute(mesh, "extent", "float3[]", Vt.Vec3fArray.FromNumpy(np.stack([p.vertices.min(0), p.vertices.max(0)]).astype(np.float32)))
    attribute(mesh, "subdivisionScheme", "token", "none", uniform=True)
    uv = attribute(mesh, "primvars:st", "texCoord2f[]", Vt.Vec2fArray.FromNumpy(np.ascontiguousarray(p.uv, np.float32)))
    uv.SetInfo("interpolation", "vertex")
    attribute(mesh, "physics:approximation", "token", collider(p, scene), uniform=True)
    used = np.unique(p.materials)
    if len(used) == 1:
        usd_materials.bind(mesh, bound[int(used[0]), usd_materials.WHITE])
        return
    attribute(mesh, "subsetFamily:materialBind:familyType", "token", "partition", uniform=True)
    for m in used:
        subset = define(mesh, Tf.MakeValidIdentifier(scene.materials[m]), "GeomSubset")
        attribute(subset, "elementType", "token", "face", uniform=True)
        attribute(subset, "familyName", "token", "materialBind", uniform=True)
        attribute(subset, "indices", "int[]", Vt.IntArray.FromNumpy(np.flatnonzero(p.materials == m).astype(np.int32)))
        metadata(subset, "apiSchemas", tokens("MaterialBindingAPI"))
        usd_materials.bind(subset, bound[int(m), usd_materials.WHITE])


def collider(p: Prototype, scene: Scene) -> str:
    c = scene.classes[p.class_id]
    if c.group == "background":
        return EXACT
    return COLLIDERS.get(c.name, SIMPLIFIED if c.group == "large" else HULL)


def _look(shelf: Any, prototype: str, row: np.ndarray, scene: Scene, bound: usd_materials.Bound) -> Sdf.Path:
    """The path that instances of this prototype and tint reference; an untinted one needs no look of its own."""
    tint = (int(row[1]), int(row[2]), int(row[3]))
    if tint == usd_materials.WHITE:
        return Sdf.Path(f"/Prototypes/{prototype}")
    root = define(shelf, f"{prototype}_{tint[0]:02x}{tint[1]:02x}{tint[2]:02x}", "Xform")
    root.referenceList.prependedItems = [Sdf.Reference("", Sdf.Path(f"/Prototypes/{prototype}"))]
    mesh = define(root, "mesh", "", Sdf.SpecifierOver)
    used = np.unique(scene.prototypes[row[0]].materials)
    for m in used:
        if (int(m), tint) in bound:
            at = mesh if len(used) == 1 else define(mesh, Tf.MakeValidIdentifier(scene.materials[m]), "", Sdf.SpecifierOver)
            usd_materials.bind(at, bound[int(m), tint])
    return root.path


def _instances(world: Any, scene: Scene, looks_of: list[Sdf.Path], deinstance: bool) -> None:
    scopes: dict[int, Any] = {}
    homes = {True: define(world, "Objects", "Scope"), False: define(world, "Background", "Scope")}
    names, fine = scene.classes.names, [p.fine_name for p in scene.prototypes]
    prototype, osm = scene.instances.prototype.tolist(), scene.instances.osm_id.tolist()
    class_id, volume, is_object = scene.class_id.tolist(), scene.volume.tolist(), scene.is_object.tolist()
    colors = linear(scene.instances.tint).astype(np.float32).tolist()
    schemas = tokens("SemanticsLabelsAPI:class", "SemanticsLabelsAPI:instance")
    if deinstance:
        schemas = tokens("SemanticsLabelsAPI:class", "SemanticsLabelsAPI:instance", "SemanticsAPI:Semantics_class", "SemanticsAPI:Semantics_instance")
    order = Vt.TokenArray(["xformOp:transform"])
    for k in range(len(scene.instances)):
        name = names[class_id[k]]
        scope = scopes.get(class_id[k])
        if scope is None:
            scope = scopes[class_id[k]] = define(homes[is_object[k]], name, "Scope")
        prim = define(scope, f"{name}_{k:06d}", "Xform")
        prim.referenceList.prependedItems = [Sdf.Reference("", looks_of[k])]
        metadata(prim, "apiSchemas", schemas)
        metadata(prim, "instanceable", not deinstance)
        # USD multiplies row vectors, so its matrices are the transposes of ours.
        attribute(prim, "xformOp:transform", "matrix4d", Gf.Matrix4d(*scene.transform[k].T.reshape(-1).tolist()))
        attribute(prim, "xformOpOrder", "token[]", order, uniform=True)
        attribute(prim, "semantics:labels:class", "token[]", Vt.TokenArray([name]))
        attribute(prim, "semantics:labels:instance", "token[]", Vt.TokenArray([str(k)]))
        attribute(prim, "primvars:displayColor", "color3f[]", Vt.Vec3fArray([Gf.Vec3f(*colors[k])])).SetInfo("interpolation", "constant")
        attribute(prim, "flaneur:fineName", "string", fine[prototype[k]], custom=True)
        attribute(prim, "flaneur:volume", "double", volume[k], custom=True)
        if osm[k]:
            attribute(prim, "flaneur:osmId", "int64", osm[k], custom=True)
        if deinstance:
            for kind, data in (("class", name), ("instance", str(k))):
                attribute(prim, f"semantic:Semantics_{kind}:params:semanticType", "string", kind)
                attribute(prim, f"semantic:Semantics_{kind}:params:semanticData", "string", data)
