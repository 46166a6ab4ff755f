"""A scene as one self-contained HTML page: looked at, flown through and asked about in a browser, without a network."""

from __future__ import annotations

import base64
import zlib
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from flaneur.city.assets.materials import MATERIALS, TILE_SIZE
from flaneur.errors import UserError
from flaneur.page import as_script
from flaneur.sim.texture import packed_tiles

if TYPE_CHECKING:
    from flaneur.city.scene import Prototype, Scene

TEMPLATE = "viewer.html"
TILE_LEVEL = 1  # the page carries tiles of half their size
STEPS = 65535  # corners and UVs are 16-bit fractions of their prototype's box


class _Blob:
    """Arrays one behind the other, each at a multiple of 8 bytes."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.length = 0
        self.places: dict[str, list[Any]] = {}

    def add(self, name: str, array: np.ndarray) -> None:
        data = np.ascontiguousarray(array).tobytes()
        self.places[name] = [array.dtype.str[1:], self.length, array.size]
        data += bytes(-len(data) % 8)
        self.parts.append(data)
        self.length += len(data)

    def encoded(self) -> str:
        return base64.b64encode(zlib.compress(b"".join(self.parts), 9)).decode("ascii")


def _fractions(values: np.ndarray) -> tuple[np.ndarray, list[float], list[float]]:
    """Values [n, k] as 16-bit fractions of their range, its low end and its size."""
    low, high = values.min(0).astype(np.float64), values.max(0).astype(np.float64)
    size = np.maximum(high - low, 1e-6)
    return np.rint((values - low) / size * STEPS).astype(np.uint16), low.round(5).tolist(), size.round(5).tolist()


def _corners(p: Prototype) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vertices used per material: (vertex, material) pairs [n, 2] and triangles over them [F, 3] u32."""
    pairs = np.stack([p.faces.reshape(-1), np.repeat(p.materials.astype(np.int64), 3)], -1)
    unique, index = np.unique(pairs, axis=0, return_inverse=True)
    return unique[:, 0], unique[:, 1], index.reshape(-1, 3).astype(np.uint32)


def _tiles(scene: Scene) -> np.ndarray:
    """[M, S, S, 4] u8 sRGB and mask of the scene's materials, row 0 at the bottom as WebGL wants it."""
    size = TILE_SIZE >> TILE_LEVEL
    start = sum((TILE_SIZE >> k) ** 2 for k in range(TILE_LEVEL))
    rows = [list(MATERIALS).index(m) for m in scene.materials]
    coded = packed_tiles()[rows, start : start + size * size].view(np.uint8).reshape(-1, size, size, 4)
    linear = (coded[..., :3] / 255.0) ** 2
    srgb = np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)
    return np.concatenate([np.rint(srgb * 255).astype(np.uint8), coded[..., 3:]], -1)[:, ::-1]


def _describe(scene: Scene) -> tuple[dict[str, Any], str]:
    """What the page needs: a header and the packed arrays."""
    blob, prototypes = _Blob(), []
    instances = scene.instances
    order = np.argsort(instances.prototype, kind="stable")
    first = np.searchsorted(instances.prototype[order], np.arange(len(scene.prototypes) + 1))
    corners, uvs, materials, triangles, at, index_at = [], [], [], [], 0, 0
    for k, p in enumerate(scene.prototypes):
        vertex, material, faces = _corners(p)
        position, low, size = _fractions(p.vertices[vertex])
        uv, uv_low, uv_size = _fractions(p.uv[vertex])
        prototypes.append({
            "class": int(p.class_id), "fine": p.fine_name, "volume": p.volume, "low": low, "size": size, "uvLow": uv_low, "uvSize": uv_size,
            "index": [index_at, faces.size], "first": int(first[k]), "count": int(first[k + 1] - first[k]),
        })  # fmt: skip
        index_at += faces.size
        corners.append(position)
        uvs.append(uv)
        materials.append(material.astype(np.uint16))
        triangles.append(faces + np.uint32(at))
        at += len(vertex)
    # A vertex's box is its prototype's, so the shader gets it as uniforms.
    blob.add("position", np.concatenate([np.concatenate(corners), np.concatenate(materials)[:, None]], 1))
    blob.add("uv", np.concatenate(uvs))
    blob.add("index", np.concatenate(triangles))
    place = np.concatenate([instances.position, instances.scale[:, None], instances.yaw[:, None]], 1)[order]
    blob.add("place", place.astype(np.float32))
    tint = np.concatenate([instances.tint, np.zeros((len(instances), 1), np.uint8)], 1)[order]
    blob.add("tint", tint.astype(np.uint8))
    blob.add("id", (order + 1).astype(np.uint32))
    for name, dtype in (("block", np.int32), ("rule", np.int32), ("osm_id", np.float64), ("osm_type", np.uint8), ("clipped", np.uint8)):
        blob.add(name, getattr(instances, name)[order].astype(dtype))
    blob.add("box", scene.box[order].astype(np.float32))
    blob.add("tiles", _tiles(scene))
    classes = [{"name": c.name, "group": c.group, "color": list(c.color), "count": int((scene.class_id == c.id).sum())} for c in scene.classes]
    header = {
        "name": scene.name, "place": scene.place_type, "seed": scene.seed, "size": scene.size, "licence": scene.licence, "classes": classes,
        "materials": [int(MATERIALS[m].tinted) for m in scene.materials], "tileSize": TILE_SIZE >> TILE_LEVEL,
        "rules": scene.rules, "blocks": [{"type": b.get("type", ""), "name": b.get("name", "")} for b in scene.blocks],
        "prototypes": prototypes, "arrays": blob.places,
    }  # fmt: skip
    return header, blob.encoded()


def viewer_html(scene: Scene) -> str:
    """The page as text."""
    unknown = [m for m in scene.materials if m not in MATERIALS]
    if unknown:
        raise UserError(f"scene '{scene.name}': unknown material '{unknown[0]}'; build it again with this version")
    if not len(scene.instances):
        raise UserError(f"scene '{scene.name}': holds no instances; build it again")
    header, data = _describe(scene)
    template = (resources.files("flaneur") / "data" / TEMPLATE).read_text("utf-8")
    return template.replace("__HEADER__", as_script(header)).replace("__DATA__", data)
