"""Materials as UsdPreviewSurface networks, one per material and tint; images beside the layer."""

# pyright: reportAttributeAccessIssue=false
# OpenUSD's modules come without type stubs.
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pxr import Gf, Sdf, Tf

from flaneur.city.export.sdf import attribute, define
from flaneur.city.export.textures import LIT, images, linear, material
from flaneur.city.scene import Scene

Tint = tuple[int, int, int]
Bound = dict[tuple[int, Tint], Sdf.Path]  # (index into Scene.materials, tint) -> material prim
WHITE: Tint = (255, 255, 255)


def write_textures(scene: Scene, folder: Path) -> None:
    folder.mkdir()
    for name in scene.materials:
        picture = images(name)
        for kind in ("albedo", "surface", "glow"):
            data = getattr(picture, kind)
            if data is not None:
                (folder / f"{name}_{kind}.png").write_bytes(data)


def bind(prim: Sdf.PrimSpec, target: Sdf.Path) -> None:
    relationship = Sdf.RelationshipSpec(prim, "material:binding", False)
    relationship.targetPathList.explicitItems = [target]


def author_materials(scope: Sdf.PrimSpec, scene: Scene, looks: np.ndarray, textures: str) -> Bound:
    """A material for every name in white, and for every tint that a tinted material is seen in."""
    wanted: dict[tuple[int, Tint], None] = {(k, WHITE): None for k in range(len(scene.materials))}
    for row in looks:
        tint = (int(row[1]), int(row[2]), int(row[3]))
        for m in np.unique(scene.prototypes[row[0]].materials):
            if material(scene.materials[m]).tinted:
                wanted[int(m), tint] = None
    return {key: _material(scope, scene.materials[key[0]], key[1], textures, scene.light) for key in sorted(wanted)}


def _material(scope: Sdf.PrimSpec, name: str, tint: Tint, textures: str, light: str) -> Sdf.Path:
    m, picture = material(name), images(name)
    suffix = "" if tint == WHITE else f"_{tint[0]:02x}{tint[1]:02x}{tint[2]:02x}"
    root = define(scope, Tf.MakeValidIdentifier(name) + suffix, "Material")
    surface = _shader(root, "Surface", "UsdPreviewSurface")
    attribute(surface, "outputs:surface", "token")
    output = attribute(root, "outputs:surface", "token")
    _connect(output, surface.path.AppendProperty("outputs:surface"))

    reader = _shader(root, "Coordinates", "UsdPrimvarReader_float2")
    attribute(reader, "inputs:varname", "string", "st")
    attribute(reader, "outputs:result", "float2")
    st = reader.path.AppendProperty("outputs:result")

    scale = Gf.Vec4f(*linear(np.array(tint)).tolist(), 1.0)
    albedo = _texture(root, "Albedo", f"./{textures}/{name}_albedo.png", "sRGB", st, "rgb", "float3", scale)
    _connect(attribute(surface, "inputs:diffuseColor", "color3f"), albedo)
    if picture.surface is None:
        attribute(surface, "inputs:roughness", "float", float(m.roughness))
    else:
        packed = _texture(root, "Finish", f"./{textures}/{name}_surface.png", "raw", st, "g", "float")
        _connect(attribute(surface, "inputs:roughness", "float"), packed)
    if picture.glow is not None and light in LIT:
        strength = Gf.Vec4f(m.emission, m.emission, m.emission, 1.0)
        glow = _texture(root, "Glow", f"./{textures}/{name}_glow.png", "sRGB", st, "rgb", "float3", strength)
        _connect(attribute(surface, "inputs:emissiveColor", "color3f"), glow)
    attribute(surface, "inputs:metallic", "float", 0.0)
    return root.path


def _shader(parent: Sdf.PrimSpec, name: str, kind: str) -> Sdf.PrimSpec:
    shader = define(parent, name, "Shader")
    attribute(shader, "info:id", "token", kind, uniform=True)
    return shader


def _texture(parent: Sdf.PrimSpec, name: str, file: str, space: str, st: Sdf.Path, output: str, type_name: str, scale: Any = None) -> Sdf.Path:
    texture = _shader(parent, name, "UsdUVTexture")
    attribute(texture, "inputs:file", "asset", Sdf.AssetPath(file))
    attribute(texture, "inputs:sourceColorSpace", "token", space)
    attribute(texture, "inputs:wrapS", "token", "repeat")
    attribute(texture, "inputs:wrapT", "token", "repeat")
    if scale is not None:
        attribute(texture, "inputs:scale", "float4", scale)
    _connect(attribute(texture, "inputs:st", "float2"), st)
    attribute(texture, f"outputs:{output}", type_name)
    return texture.path.AppendProperty(f"outputs:{output}")


def _connect(spec: Sdf.AttributeSpec, source: Sdf.Path) -> None:
    spec.connectionPathList.explicitItems = [source]
