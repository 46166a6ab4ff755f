"""glTF 2.0 binary (GLB): one mesh per prototype and tint, one node per instance, tiles embedded as PNG.

glTF is y up: the root node turns the z-up city by -90 degrees about x. Flat shading follows from leaving normals out.
"""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path
from typing import Any

import numpy as np

from flaneur.city.export.files import replacing
from flaneur.city.export.textures import LIT, images, linear, looks, material
from flaneur.city.scene import Prototype, Scene
from flaneur.errors import UserError

FLOAT, UNSIGNED_INT, UNSIGNED_SHORT = 5126, 5125, 5123
ARRAY_BUFFER, ELEMENT_ARRAY_BUFFER = 34962, 34963
REPEAT, LINEAR, LINEAR_MIPMAP_LINEAR = 10497, 9729, 9987
WHITE = (255, 255, 255)


def write_gltf(scene: Scene, path: Path, gpu_instancing: bool = False) -> None:
    """Write `scene` as .glb. `gpu_instancing` packs each mesh's copies into one node (EXT_mesh_gpu_instancing): a tenth
    of the nodes, but fewer viewers know it, and per-instance annotation moves from nodes to an `_INSTANCE_ID` attribute."""
    path = Path(path)
    if path.suffix != ".glb":
        raise UserError(f"{path}: a glTF file of ours ends in .glb")
    with replacing(path) as target:
        target.write_bytes(_Document(scene).build(gpu_instancing))


class _Document:
    def __init__(self, scene: Scene):
        self.scene = scene
        self.binary = bytearray()
        self.json: dict[str, Any] = {
            "asset": {"version": "2.0", "generator": "flaneur", **({"copyright": scene.licence} if scene.licence else {})},
            "scene": 0,
            "bufferViews": [], "accessors": [], "meshes": [], "nodes": [], "materials": [], "images": [], "textures": [],
            "samplers": [{"magFilter": LINEAR, "minFilter": LINEAR_MIPMAP_LINEAR, "wrapS": REPEAT, "wrapT": REPEAT}],
        }  # fmt: skip
        self._textures: dict[tuple[str, str], int] = {}
        self._materials: dict[tuple[str, tuple[int, int, int]], int] = {}

    def build(self, gpu_instancing: bool) -> bytes:
        scene, j = self.scene, self.json
        distinct, look_of = looks(scene)
        geometry = [self._geometry(p) for p in scene.prototypes]
        for row in distinct:
            j["meshes"].append(self._mesh(scene.prototypes[row[0]], geometry[row[0]], (int(row[1]), int(row[2]), int(row[3]))))
        root = {"name": scene.name, "rotation": [-math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5)], "children": [], "extras": self._about()}
        j["nodes"].append(root)
        nodes = self._instanced_nodes(look_of) if gpu_instancing else [self._node(k, int(look_of[k])) for k in range(len(scene.instances))]
        root["children"] = list(range(1, len(nodes) + 1))
        j["nodes"] += nodes
        j["scenes"] = [{"name": scene.name, "nodes": [0]}]
        if gpu_instancing:
            j["extensionsUsed"] = j["extensionsRequired"] = ["EXT_mesh_gpu_instancing"]
        if not j["textures"]:
            for key in ("textures", "images", "samplers"):
                del j[key]
        return self._pack()

    def _about(self) -> dict[str, Any]:
        s = self.scene
        return {"place_type": s.place_type, "seed": s.seed, "size": s.size, "licence": s.licence, "origin": s.origin, "light": s.light}

    # Nodes ----------------------------------------------------------------------------------------------------
    def _node(self, k: int, mesh: int) -> dict[str, Any]:
        s, i = self.scene, self.scene.instances
        name = s.classes.names[s.class_id[k]]
        yaw, scale = float(i.yaw[k]) / 2, float(i.scale[k])
        node: dict[str, Any] = {"name": f"{name}_{k:06d}", "mesh": mesh, "translation": [round(float(v), 4) for v in i.position[k]]}
        if yaw:
            node["rotation"] = [0.0, 0.0, math.sin(yaw), math.cos(yaw)]
        if scale != 1:
            node["scale"] = [scale] * 3
        extras = {"id": k, "class": name, "class_id": int(s.class_id[k]), "fine_name": s.prototypes[i.prototype[k]].fine_name, "volume_m3": round(float(s.volume[k]), 6)}
        if i.osm_id[k]:
            extras |= {"osm_id": int(i.osm_id[k]), "osm_type": ("", "node", "way", "relation")[i.osm_type[k]]}
        node["extras"] = extras
        return node

    def _instanced_nodes(self, look_of: np.ndarray) -> list[dict[str, Any]]:
        i, nodes = self.scene.instances, []
        for mesh in range(len(self.json["meshes"])):
            rows = np.flatnonzero(look_of == mesh)
            half = i.yaw[rows].astype(np.float64) / 2
            rotation = np.stack([0 * half, 0 * half, np.sin(half), np.cos(half)], 1).astype(np.float32)
            attributes = {
                "TRANSLATION": self._accessor(i.position[rows], "VEC3"),
                "ROTATION": self._accessor(rotation, "VEC4"),
                "SCALE": self._accessor(np.repeat(i.scale[rows, None], 3, 1), "VEC3"),
                "_INSTANCE_ID": self._accessor(rows.astype(np.float32), "SCALAR"),  # floats: exact to 16 million
            }
            nodes.append({"name": self.json["meshes"][mesh]["name"], "mesh": mesh, "extensions": {"EXT_mesh_gpu_instancing": {"attributes": attributes}}})
        return nodes

    # Meshes ---------------------------------------------------------------------------------------------------
    def _geometry(self, p: Prototype) -> dict[str, Any]:
        """Accessors that all tints of a prototype share."""
        uv = np.stack([p.uv[:, 0], 1 - p.uv[:, 1]], 1)  # glTF's v points down
        indices = {int(m): self._accessor(p.faces[p.materials == m].reshape(-1), "SCALAR", ELEMENT_ARRAY_BUFFER) for m in np.unique(p.materials)}
        return {"position": self._accessor(p.vertices, "VEC3", ARRAY_BUFFER), "uv": self._accessor(uv, "VEC2", ARRAY_BUFFER), "indices": indices}

    def _mesh(self, p: Prototype, geometry: dict[str, Any], tint: tuple[int, int, int]) -> dict[str, Any]:
        attributes = {"POSITION": geometry["position"], "TEXCOORD_0": geometry["uv"]}
        primitives = [{"attributes": attributes, "indices": index, "material": self._material(self.scene.materials[m], tint)} for m, index in geometry["indices"].items()]
        return {"name": p.name, "primitives": primitives}

    def _accessor(self, array: np.ndarray, kind: str, target: int | None = None) -> int:
        array = np.ascontiguousarray(array)
        if target == ELEMENT_ARRAY_BUFFER:
            array = array.astype(np.uint16 if array.max(initial=0) < 65535 else np.uint32)
            component = UNSIGNED_SHORT if array.dtype == np.uint16 else UNSIGNED_INT
        else:
            array, component = array.astype(np.float32), FLOAT
        accessor: dict[str, Any] = {"bufferView": self._view(array.tobytes(), target), "componentType": component, "count": len(array), "type": kind}
        if target == ARRAY_BUFFER:
            flat = array.reshape(len(array), -1)
            accessor |= {"min": flat.min(0).tolist(), "max": flat.max(0).tolist()}
        self.json["accessors"].append(accessor)
        return len(self.json["accessors"]) - 1

    def _view(self, data: bytes, target: int | None = None) -> int:
        view: dict[str, Any] = {"buffer": 0, "byteOffset": len(self.binary), "byteLength": len(data)}
        if target:
            view["target"] = target
        self.binary += data + b"\0" * (-len(data) % 4)
        self.json["bufferViews"].append(view)
        return len(self.json["bufferViews"]) - 1

    # Materials ------------------------------------------------------------------------------------------------
    def _texture(self, name: str, kind: str) -> dict[str, int]:
        if (name, kind) not in self._textures:
            self.json["images"].append({"name": f"{name}_{kind}", "mimeType": "image/png", "bufferView": self._view(getattr(images(name), kind))})
            self.json["textures"].append({"sampler": 0, "source": len(self.json["images"]) - 1})
            self._textures[name, kind] = len(self.json["textures"]) - 1
        return {"index": self._textures[name, kind]}

    def _material(self, name: str, tint: tuple[int, int, int]) -> int:
        m, picture = material(name), images(name)
        tint = tint if m.tinted else WHITE
        if (name, tint) in self._materials:
            return self._materials[name, tint]
        surface: dict[str, Any] = {"baseColorTexture": self._texture(name, "albedo"), "metallicFactor": 0.0, "roughnessFactor": 1.0 if picture.surface else m.roughness}
        if tint != WHITE:
            surface["baseColorFactor"] = [*(round(float(v), 5) for v in linear(np.array(tint))), 1.0]
        if picture.surface:
            surface["metallicRoughnessTexture"] = self._texture(name, "surface")
        out: dict[str, Any] = {"name": name, "pbrMetallicRoughness": surface}
        if picture.glow and self.scene.light in LIT:
            out |= {"emissiveTexture": self._texture(name, "glow"), "emissiveFactor": [m.emission] * 3}
        self.json["materials"].append(out)
        self._materials[name, tint] = len(self.json["materials"]) - 1
        return self._materials[name, tint]

    def _pack(self) -> bytes:
        self.json["buffers"] = [{"byteLength": len(self.binary)}]
        text = json.dumps(self.json, separators=(",", ":"), ensure_ascii=False).encode()
        text += b" " * (-len(text) % 4)
        chunks = struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II", len(self.binary), 0x004E4942) + bytes(self.binary)
        return struct.pack("<III", 0x46546C67, 2, 12 + len(chunks)) + chunks
