"""What surrounds the city in USD: stage metadata, lights for every hour, a camera, the physics scene."""

# pyright: reportAttributeAccessIssue=false
# OpenUSD's modules come without type stubs.
from __future__ import annotations

import math

import numpy as np
from pxr import Gf, Sdf, Vt

from flaneur.city.export.sdf import attribute, define
from flaneur.city.scene import Scene
from flaneur.geometry import camera_to_world

LIGHTS = ("day", "dusk", "night", "overcast")
LAMP_CLASS = "street_lamp"
# Per hour: sun (elevation and azimuth in degrees, intensity, colour), sky (intensity, colour), street lamps on.
SUN = {"day": (52.0, 215.0, 3000.0, (1.0, 0.96, 0.9)), "dusk": (6.0, 280.0, 500.0, (1.0, 0.55, 0.3)), "night": (40.0, 120.0, 8.0, (0.6, 0.7, 1.0)), "overcast": (52.0, 215.0, 200.0, (1.0, 1.0, 1.0))}
SKY = {"day": (900.0, (0.62, 0.78, 1.0)), "dusk": (250.0, (0.6, 0.5, 0.7)), "night": (12.0, (0.2, 0.28, 0.5)), "overcast": (1100.0, (0.85, 0.88, 0.92))}
LAMPS_ON = {"dusk": 15000.0, "night": 30000.0}
LAMP_RADIUS = 0.12  # metres


def stage_metadata(layer: Sdf.Layer, scene: Scene) -> None:
    root = layer.pseudoRoot
    layer.defaultPrim = "World"
    root.SetInfo("upAxis", "Z")
    root.SetInfo("metersPerUnit", 1.0)
    root.SetInfo("kilogramsPerUnit", 1.0)
    layer.documentation = f"Flaneur city '{scene.name}' ({scene.place_type}, seed {scene.seed}). {scene.licence}".strip()
    about = {"name": scene.name, "placeType": scene.place_type, "seed": scene.seed, "size": scene.size, "licence": scene.licence}
    about |= {k: float(v) for k, v in scene.origin.items() if isinstance(v, (int, float))} | {k: v for k, v in scene.origin.items() if isinstance(v, str)}
    layer.customLayerData = {"flaneur": about}


def author_lights(world: Sdf.PrimSpec, scene: Scene) -> None:
    """Variant set "light" with day, dusk, night and overcast; the scene's own is selected."""
    root = define(world, "Lights", "Xform")
    root.variantSetNameList.prependedItems = ["light"]
    root.variantSelections["light"] = scene.light
    variants = Sdf.VariantSetSpec(root, "light")
    for light in LIGHTS:
        over = Sdf.VariantSpec(variants, light).primSpec
        elevation, azimuth, intensity, color = SUN[light]
        sun = define(over, "Sun", "DistantLight")
        _light(sun, intensity, color)
        attribute(sun, "inputs:angle", "float", 0.53)
        # A distant light shines along its own -z: tilted from the zenith, then turned to the sun's compass bearing.
        _transform(sun, Gf.Matrix4d().SetRotate(Gf.Rotation(Gf.Vec3d(1, 0, 0), 90 - elevation) * Gf.Rotation(Gf.Vec3d(0, 0, 1), 180 - azimuth)))
        sky = define(over, "Sky", "DomeLight")
        _light(sky, *SKY[light])
        if light in LAMPS_ON:
            _lamps(over, scene, LAMPS_ON[light])


def _light(prim: Sdf.PrimSpec, intensity: float, color: tuple[float, float, float]) -> None:
    attribute(prim, "inputs:intensity", "float", float(intensity))
    attribute(prim, "inputs:color", "color3f", Gf.Vec3f(*color))


def _transform(prim: Sdf.PrimSpec, matrix: Gf.Matrix4d) -> None:
    attribute(prim, "xformOp:transform", "matrix4d", matrix)
    attribute(prim, "xformOpOrder", "token[]", Vt.TokenArray(["xformOp:transform"]), uniform=True)


def lamp_heads(scene: Scene) -> np.ndarray:
    """Where street lamps shine from: just below the middle of the highest faces [n, 3] metres."""
    if LAMP_CLASS not in scene.classes.index:
        return np.zeros((0, 3))
    rows = np.flatnonzero(scene.class_id == scene.classes.index[LAMP_CLASS])
    heads = np.zeros((len(rows), 3))
    for i, row in enumerate(rows):
        v = scene.prototypes[scene.instances.prototype[row]].vertices
        top = v[v[:, 2] > v[:, 2].max() - 0.5]
        local = np.array([*(top[:, :2].min(0) + top[:, :2].max(0)) / 2, top[:, 2].min() - LAMP_RADIUS - 0.05])
        heads[i] = scene.transform[row, :3, :3] @ local + scene.transform[row, :3, 3]
    return heads


def _lamps(over: Sdf.PrimSpec, scene: Scene, intensity: float) -> None:
    scope = define(over, "Lamps", "Scope")
    for k, at in enumerate(lamp_heads(scene)):
        lamp = define(scope, f"Lamp_{k:04d}", "SphereLight")
        _light(lamp, intensity, (1.0, 0.82, 0.56))
        attribute(lamp, "inputs:radius", "float", LAMP_RADIUS)
        _transform(lamp, Gf.Matrix4d().SetTranslate(Gf.Vec3d(*at.tolist())))


def author_camera(world: Sdf.PrimSpec, scene: Scene) -> None:
    """A 90 degree camera above the southern edge that sees the whole window."""
    pose = np.array([scene.size / 2, -0.2 * scene.size, 0.45 * scene.size, 0.0, math.radians(-35.0), math.pi / 2])
    camera = define(world, "Camera", "Camera")
    attribute(camera, "focalLength", "float", 18.0)
    attribute(camera, "horizontalAperture", "float", 36.0)
    attribute(camera, "verticalAperture", "float", 36.0)
    attribute(camera, "clippingRange", "float2", Gf.Vec2f(0.05, 10000.0))
    _transform(camera, Gf.Matrix4d(*camera_to_world(pose).T.reshape(-1).tolist()))


def author_physics(world: Sdf.PrimSpec) -> None:
    physics = define(world, "PhysicsScene", "PhysicsScene")
    attribute(physics, "physics:gravityDirection", "vector3f", Gf.Vec3f(0, 0, -1))
    attribute(physics, "physics:gravityMagnitude", "float", 9.81)
