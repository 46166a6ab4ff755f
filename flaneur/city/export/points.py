"""A semantic point cloud sampled evenly on the surfaces: binary PLY, or LAS/LAZ through laspy."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from flaneur.city.assets.materials import tile_image
from flaneur.city.export.files import replacing
from flaneur.city.export.georeference import anchor
from flaneur.city.export.textures import TILE_PIXELS, material
from flaneur.city.scene import Scene
from flaneur.errors import UserError

DENSITY = 10.0  # points per square metre
SUFFIXES = (".ply", ".las", ".laz")
POINT = np.dtype([("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("red", "u1"), ("green", "u1"), ("blue", "u1"), ("label", "u1"), ("instance", "<i4")])


def sample(scene: Scene, density: float = DENSITY, seed: int = 0) -> np.ndarray:
    """Points [n] of dtype POINT: `density` per square metre of surface, coloured by the material, in the window's frame."""
    if not 0 < density <= 10_000:
        raise UserError(f"points, field 'density': {density} is outside (0, 10000] points per m2")
    rng = np.random.default_rng([seed, scene.seed])
    vertices, faces, uv, materials, owners = scene.triangles()
    a, b, c = (vertices[faces[:, k]].astype(np.float64) for k in range(3))
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2
    # One random offset into the running area spreads points evenly: every triangle gets its share, rounded fairly.
    edges = np.floor(np.cumsum(area * density) + rng.random()).astype(np.int64)
    counts = np.diff(edges, prepend=0)
    face = np.repeat(np.arange(len(faces)), counts)
    u, v = rng.random((2, len(face)))
    fold = u + v > 1
    u[fold], v[fold] = 1 - u[fold], 1 - v[fold]
    weights = np.stack([1 - u - v, u, v], 1)
    out = np.zeros(len(face), POINT)
    place = a[face] * weights[:, :1] + b[face] * weights[:, 1:2] + c[face] * weights[:, 2:]
    out["x"], out["y"], out["z"] = place.T
    texture = np.einsum("nk,nkd->nd", weights, uv[faces[face]].astype(np.float64))
    color = _colors(scene, materials[face], texture, scene.instances.tint[owners[face]])
    out["red"], out["green"], out["blue"] = color.T
    out["instance"] = owners[face]
    out["label"] = scene.class_id[owners[face]]
    return out


def _colors(scene: Scene, materials: np.ndarray, uv: np.ndarray, tint: np.ndarray) -> np.ndarray:  # [n, 3] u8
    out = np.zeros((len(materials), 3), np.uint8)
    for index in np.unique(materials):
        m = material(scene.materials[index])
        at = materials == index
        tile = tile_image(m.tile, TILE_PIXELS)
        column = np.floor(uv[at, 0] % 1 * TILE_PIXELS).astype(int) % TILE_PIXELS
        row = np.floor((1 - uv[at, 1] % 1) * TILE_PIXELS).astype(int) % TILE_PIXELS
        pixel = tile[row, column]
        shown = pixel[:, :3].astype(np.float64)
        if m.tinted:
            mask = pixel[:, 3:].astype(np.float64) / 255
            shown *= mask + (1 - mask) * tint[at] / 255
        out[at] = np.rint(shown)
    return out


def write_points(scene: Scene, path: Path, density: float = DENSITY, seed: int = 0) -> None:
    """Write .ply (window frame) or .las/.laz (georeferenced where the city is real)."""
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise UserError(f"{path}: a point cloud ends in {', '.join(SUFFIXES)}")
    points = sample(scene, density, seed)
    with replacing(path) as target:
        if path.suffix == ".ply":
            _write_ply(target, points, scene)
        else:
            _write_las(target, points, scene)


def _write_ply(path: Path, points: np.ndarray, scene: Scene) -> None:
    kinds = {"<f4": "float", "|u1": "uchar", "<i4": "int"}
    comments = [f"Flaneur city {scene.name}", *([scene.licence] if scene.licence else []), *(f"label {c.id} {c.name}" for c in scene.classes)]
    lines = ["ply", "format binary_little_endian 1.0", *(f"comment {line}" for line in comments), f"element vertex {len(points)}"]
    for name in POINT.names or ():
        lines.append(f"property {kinds[POINT[name].str]} {name}")
    with path.open("wb") as file:
        file.write(("\n".join([*lines, "end_header"]) + "\n").encode())
        file.write(points.tobytes())


def _write_las(path: Path, points: np.ndarray, scene: Scene) -> None:
    try:
        import laspy
    except ImportError:
        raise UserError(f"{path}: LAS and LAZ need laspy; pip install 'flaneur[realdata]'") from None
    header = laspy.LasHeader(point_format=7, version="1.4")
    header.scales = np.full(3, 1e-4)
    header.add_extra_dims([laspy.ExtraBytesParams("label", "u1", "class id"), laspy.ExtraBytesParams("instance", "i4", "instance id")])
    found, shift = anchor(scene), np.zeros(2)
    if found:
        header.add_crs(found[0])
        shift = found[1]
    header.offsets = np.array([*np.floor(shift), 0.0])
    cloud = laspy.LasData(header)
    cloud.x, cloud.y, cloud.z = points["x"] + shift[0], points["y"] + shift[1], points["z"].astype(np.float64)
    cloud.red, cloud.green, cloud.blue = (points[c].astype(np.uint16) * 257 for c in ("red", "green", "blue"))
    cloud.label, cloud.instance = points["label"], points["instance"]
    try:
        cloud.write(str(path))
    except laspy.errors.LaspyException as error:
        raise UserError(f"{path}: {error}; LAZ needs lazrs: pip install 'flaneur[realdata]'") from None
