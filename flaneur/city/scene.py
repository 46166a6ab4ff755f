"""Scene: what a city is once it is built. Prototypes (meshes), instances (the annotation), ground, provenance.

A scene is one folder: `scene.json` (metadata), `instances.npz`, `prototypes.npz`, and maybe `truth.npz`, which
scoring computes and the checksum leaves out. It loads with NumPy and json alone.

Every instance is one annotated thing: an object (a building, a tree, a hydrant) or a piece of background (a stretch
of road, a lawn). `instance id` everywhere means the row in `Instances`.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from flaneur.city.scene_folder import check_place, checksum, read_npz, swap, write_npz
from flaneur.classes import SCALE_GROUPS, ClassList, load_classes
from flaneur.errors import UserError

FORMAT_VERSION = 1
QUANTUM = 1e-4  # metres, radians, tile units: everything written is a multiple, so other CPUs write the same bytes


@dataclass(frozen=True)
class Prototype:
    """A mesh that instances place. Local frame: z up, the origin on the ground below its middle."""

    name: str
    class_id: int
    fine_name: str
    vertices: np.ndarray  # [V, 3] f32 metres
    faces: np.ndarray  # [F, 3] i32, counter-clockwise from outside
    uv: np.ndarray  # [V, 2] f32 in tile units: 1 is one repeat of the material's tile
    materials: np.ndarray  # [F] u16, index into Scene.materials
    volume: float  # m3 of the solid at scale 1; 0 for background


@dataclass
class Instances:
    """One row per instance, sorted by prototype."""

    prototype: np.ndarray  # [N] i32
    position: np.ndarray  # [N, 3] f32 metres
    yaw: np.ndarray  # [N] f32 radians, counter-clockwise
    scale: np.ndarray  # [N] f32, uniform
    tint: np.ndarray  # [N, 3] u8, multiplies the materials that are tinted
    block: np.ndarray  # [N] i32, index into Scene.blocks or -1
    rule: np.ndarray  # [N] i16, index into Scene.rules or -1
    osm_id: np.ndarray  # [N] i64, 0 where not mapped
    osm_type: np.ndarray  # [N] u8: 0 none, 1 node, 2 way, 3 relation
    clipped: np.ndarray  # [N] bool, cut by the window's edge

    def __len__(self) -> int:
        return len(self.prototype)


@dataclass
class Scene:
    name: str
    prototypes: list[Prototype]
    instances: Instances
    materials: list[str]  # names in flaneur.city.assets.materials
    ground: np.ndarray  # [n, n] f32 metres: height field, [y, x] from the south-west corner to the north-east
    place_type: str  # cbd, town, suburb, rural
    seed: int
    size: float = 200.0  # metres
    light: str = "day"  # day, dusk, night, overcast
    origin: dict[str, Any] = field(default_factory=dict)  # lon, lat, crs (PROJ string), or empty when invented
    blocks: list[dict[str, Any]] = field(default_factory=list)  # id, type, name, rule
    rules: list[str] = field(default_factory=list)
    licence: str = ""  # attribution line that travels with everything derived
    provenance: dict[str, Any] = field(default_factory=dict)  # generator version, source file and checksum, plan
    classes: ClassList = field(default_factory=load_classes)

    # Annotation, derived per instance -------------------------------------------------------------------------
    @cached_property
    def class_id(self) -> np.ndarray:  # [N] u8
        return np.array([p.class_id for p in self.prototypes], np.uint8)[self.instances.prototype]

    @cached_property
    def group(self) -> np.ndarray:  # [N] u8, index into flaneur.classes.GROUPS
        return self.classes.group_index[self.class_id]

    @cached_property
    def is_object(self) -> np.ndarray:  # [N] bool: counted as an object, that is not background
        return self.group < len(SCALE_GROUPS)

    @cached_property
    def volume(self) -> np.ndarray:  # [N] f64 m3
        volumes = np.array([p.volume for p in self.prototypes], np.float64)
        return volumes[self.instances.prototype] * self.instances.scale.astype(np.float64) ** 3

    @cached_property
    def transform(self) -> np.ndarray:  # [N, 4, 4] f64, prototype to world
        i = self.instances
        c, s, k = np.cos(i.yaw, dtype=np.float64), np.sin(i.yaw, dtype=np.float64), i.scale.astype(np.float64)
        out = np.zeros((len(i), 4, 4))
        out[:, 0, 0], out[:, 0, 1] = c * k, -s * k
        out[:, 1, 0], out[:, 1, 1] = s * k, c * k
        out[:, 2, 2], out[:, 3, 3] = k, 1.0
        out[:, :3, 3] = i.position
        return out

    @cached_property
    def box(self) -> np.ndarray:  # [N, 2, 3] f64 metres: centre and size of the oriented box (turned by yaw)
        low = np.array([p.vertices.min(0) for p in self.prototypes], np.float64)[self.instances.prototype]
        high = np.array([p.vertices.max(0) for p in self.prototypes], np.float64)[self.instances.prototype]
        centre = np.einsum("nij,nj->ni", self.transform[:, :3, :3], (low + high) / 2) + self.transform[:, :3, 3]
        return np.stack([centre, (high - low) * self.instances.scale[:, None]], 1)

    def ground_height(self, xy: np.ndarray) -> np.ndarray:
        """Bilinear height [...] of the ground at [..., 2] metres."""
        n = len(self.ground)
        at = np.clip(np.asarray(xy, np.float64) / self.size * (n - 1), 0, n - 1 - 1e-9)
        j, i = np.floor(at[..., 0]).astype(int), np.floor(at[..., 1]).astype(int)
        fx, fy = at[..., 0] - j, at[..., 1] - i
        g = self.ground
        return (g[i, j] * (1 - fx) + g[i, j + 1] * fx) * (1 - fy) + (g[i + 1, j] * (1 - fx) + g[i + 1, j + 1] * fx) * fy

    def triangles(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The whole city as one mesh: vertices [V, 3] f32 world, faces [F, 3] i32, uv [V, 2] f32, face material [F] u16, face instance [F] i32."""
        vertices, faces, uvs, materials, owners = [], [], [], [], []
        order = np.argsort(self.instances.prototype, kind="stable")
        starts = np.searchsorted(self.instances.prototype[order], np.arange(len(self.prototypes) + 1))
        offset = 0
        for k, p in enumerate(self.prototypes):
            rows = order[starts[k] : starts[k + 1]]
            if not len(rows):
                continue
            m = self.transform[rows]
            placed = np.einsum("nij,vj->nvi", m[:, :3, :3], p.vertices.astype(np.float64)) + m[:, None, :3, 3]
            vertices.append(placed.reshape(-1, 3).astype(np.float32))
            shift = offset + np.arange(len(rows), dtype=np.int32) * len(p.vertices)
            faces.append((p.faces[None] + shift[:, None, None]).reshape(-1, 3).astype(np.int32))
            uvs.append(np.tile(p.uv, (len(rows), 1)))
            materials.append(np.tile(p.materials, len(rows)))
            owners.append(np.repeat(rows.astype(np.int32), len(p.faces)))
            offset += len(rows) * len(p.vertices)
        return np.concatenate(vertices), np.concatenate(faces), np.concatenate(uvs), np.concatenate(materials), np.concatenate(owners)

    # Files ----------------------------------------------------------------------------------------------------
    def save(self, folder: Path, files: Mapping[str, str] | None = None) -> str:
        """Write the scene, and texts to keep with it, beside `folder`, then rename; returns the checksum. An interrupted save leaves nothing."""
        folder = Path(folder)
        check_place(folder)
        for p in self.prototypes:
            if not (np.isfinite(p.vertices).all() and np.isfinite(p.uv).all()):
                raise UserError(f"{folder}: prototype '{p.name}' has NaN vertices; mend the mesh")
        folder.parent.mkdir(parents=True, exist_ok=True)
        instances, prototypes = _pack_instances(self.instances), _pack_prototypes(self.prototypes, self.ground)
        meta = {
            "format": FORMAT_VERSION, "name": self.name, "place_type": self.place_type, "seed": self.seed, "size": self.size,
            "light": self.light, "origin": self.origin, "licence": self.licence, "classes": list(self.classes.names),
            "materials": self.materials, "rules": self.rules, "blocks": self.blocks, "provenance": self.provenance,
            "prototypes": [{"name": p.name, "class": self.classes[p.class_id].name, "fine_name": p.fine_name, "volume": round(p.volume, 6)} for p in self.prototypes],
        }  # fmt: skip
        meta["checksum"] = checksum(meta, instances, prototypes)
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            (temporary / "scene.json").write_text(json.dumps(meta, indent=1, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")
            write_npz(temporary / "instances.npz", instances)
            write_npz(temporary / "prototypes.npz", prototypes)
            for name, text in (files or {}).items():
                (temporary / name).write_text(text, "utf-8")
            temporary.chmod(0o755)
            swap(temporary, folder)
        except OSError as error:
            raise UserError(f"{folder}: cannot write the scene ({error.strerror}); nothing was changed") from None
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        return meta["checksum"]

    @classmethod
    def load(cls, folder: Path, verify: bool = False) -> Scene:
        """Read a scene folder; `verify` also compares the checksum of its content."""
        folder = Path(folder)
        if folder.is_file():
            raise UserError(f"{folder}: a file; give the folder of a built city")
        try:
            meta = json.loads((folder / "scene.json").read_text("utf-8"))
        except FileNotFoundError:
            raise UserError(f"{folder}: no scene here (scene.json is missing)") from None
        except (OSError, json.JSONDecodeError, UnicodeDecodeError) as error:
            raise UserError(f"{folder}/scene.json: not readable as JSON ({error})") from None
        if meta.get("format") != FORMAT_VERSION:
            raise UserError(f"{folder}/scene.json: format {meta.get('format')}, this version reads {FORMAT_VERSION}; build the scene again")
        classes = load_classes()
        unknown = sorted({p["class"] for p in meta["prototypes"]} - set(classes.names))
        if unknown:
            raise UserError(f"{folder}/scene.json: field 'prototypes': unknown class '{unknown[0]}'")
        packed_instances, packed_prototypes = read_npz(folder / "instances.npz"), read_npz(folder / "prototypes.npz")
        if verify and checksum(meta, packed_instances, packed_prototypes) != meta["checksum"]:
            raise UserError(f"{folder}: the content does not match scene.json's checksum; the files were changed or damaged")
        instances = _unpack_instances(packed_instances)
        prototypes, ground = _unpack_prototypes(packed_prototypes, meta["prototypes"], classes)
        for p in prototypes:
            if not len(p.faces):
                raise UserError(f"{folder}/prototypes.npz: prototype '{p.name}' is empty")
        if len(instances) and (instances.prototype.min() < 0 or instances.prototype.max() >= len(prototypes)):
            raise UserError(f"{folder}/instances.npz: field 'prototype' points outside the {len(prototypes)} prototypes")
        keys = ("name", "place_type", "seed", "size", "light", "origin", "licence", "materials", "rules", "blocks", "provenance")
        return cls(prototypes=prototypes, instances=instances, ground=ground, classes=classes, **{k: meta[k] for k in keys})


def _quantise(values: np.ndarray) -> np.ndarray:
    return np.rint(np.asarray(values, np.float64) / QUANTUM).astype(np.int32)


def _restore(values: np.ndarray) -> np.ndarray:
    return (values.astype(np.float64) * QUANTUM).astype(np.float32)


_FLOATS = ("position", "yaw", "scale")


def _pack_instances(instances: Instances) -> dict[str, np.ndarray]:
    return {f.name: _quantise(getattr(instances, f.name)) if f.name in _FLOATS else np.asarray(getattr(instances, f.name)) for f in fields(Instances)}


def _unpack_instances(packed: dict[str, np.ndarray]) -> Instances:
    return Instances(**{f.name: _restore(packed[f.name]) if f.name in _FLOATS else packed[f.name] for f in fields(Instances)})


def _pack_prototypes(prototypes: list[Prototype], ground: np.ndarray) -> dict[str, np.ndarray]:
    """All meshes concatenated. Columns are stored as differences between neighbours, which compress about twice as well."""

    def together(name: str, width: int) -> np.ndarray:
        parts = [getattr(p, name).reshape(-1, width) for p in prototypes]
        return np.concatenate(parts) if parts else np.zeros((0, width))

    def differences(a: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(np.diff(a, axis=0, prepend=np.zeros_like(a[:1])).T)

    return {
        "vertices": differences(_quantise(together("vertices", 3))),
        "uv": differences(_quantise(together("uv", 2))),
        "faces": _face_steps(together("faces", 3).astype(np.int32)),
        "materials": together("materials", 1)[:, 0].astype(np.uint16),
        "vertex_count": np.array([len(p.vertices) for p in prototypes], np.int32),
        "face_count": np.array([len(p.faces) for p in prototypes], np.int32),
        "ground": _quantise(ground),
    }


def _face_steps(faces: np.ndarray) -> np.ndarray:
    """[F, 3]: a face's first corner from the one before, the others from the corner before; small where faces are sorted."""
    return np.stack([np.diff(faces[:, 0], prepend=0), faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 1]], 1).astype(np.int32)


def _faces(steps: np.ndarray) -> np.ndarray:  # [F, 3] i32, the inverse
    return np.cumsum(np.column_stack([np.cumsum(steps[:, 0]), steps[:, 1:]]), 1).astype(np.int32)


def _unpack_prototypes(packed: dict[str, np.ndarray], described: list[dict[str, Any]], classes: ClassList) -> tuple[list[Prototype], np.ndarray]:
    vertices, uv = _restore(np.cumsum(packed["vertices"].T, 0)), _restore(np.cumsum(packed["uv"].T, 0))
    faces, materials = _faces(packed["faces"]), packed["materials"]
    v_ends, f_ends = np.cumsum(packed["vertex_count"]), np.cumsum(packed["face_count"])
    prototypes = []
    for k, d in enumerate(described):
        v = slice(v_ends[k] - packed["vertex_count"][k], v_ends[k])
        f = slice(f_ends[k] - packed["face_count"][k], f_ends[k])
        prototypes.append(Prototype(d["name"], classes[d["class"]].id, d["fine_name"], vertices[v], faces[f], uv[v], materials[f], d["volume"]))
    return prototypes, _restore(packed["ground"])
