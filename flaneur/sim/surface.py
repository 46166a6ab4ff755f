"""The first surface that every pixel sees: depth, instance, label, and on request normal and the hit itself."""

# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false, reportOperatorIssue=false, reportCallIssue=false, reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false, reportAssignmentType=false, reportReturnType=false
# (Warp compiles kernels from their syntax; Python's types do not describe them.)
from __future__ import annotations

import warp as wp

from flaneur.sim.upload import SceneTable

wp.set_module_options({"enable_backward": False})

TILE_WIDTH = wp.constant(8)  # 32 neighbouring threads cover 8 x 4 pixels, whose rays share most of their path
TILE_HEIGHT = wp.constant(4)
FAR = wp.constant(1.0e6)


@wp.struct
class ViewTable:
    """The cameras of a batch."""

    origin: wp.array(dtype=wp.vec3)  # [B]
    rotation: wp.array(dtype=wp.mat33)  # [B] camera to world
    scene: wp.array(dtype=wp.int32)  # [B]
    rays: wp.array2d(dtype=wp.vec2)  # [H, W] x right, y up at distance 1
    max_range: wp.float32


@wp.func
def rotation_of(roll: float, pitch: float, yaw: float) -> wp.mat33:
    """`flaneur.geometry.rotation_from_angles` on the device."""
    cr = wp.cos(roll)
    sr = wp.sin(roll)
    cp = wp.cos(pitch)
    sp = wp.sin(pitch)
    cy = wp.cos(yaw)
    sy = wp.sin(yaw)
    forward = wp.vec3(cp * cy, cp * sy, sp)
    right0 = wp.vec3(sy, -cy, 0.0)
    up0 = wp.vec3(-sp * cy, -sp * sy, cp)
    right = right0 * cr - up0 * sr
    up = up0 * cr + right0 * sr
    return wp.matrix_from_cols(right, up, -forward)


@wp.kernel
def place_views(poses: wp.array2d(dtype=wp.float32), origin: wp.array(dtype=wp.vec3), rotation: wp.array(dtype=wp.mat33)):
    b = wp.tid()
    origin[b] = wp.vec3(poses[b, 0], poses[b, 1], poses[b, 2])
    rotation[b] = rotation_of(poses[b, 3], poses[b, 4], poses[b, 5])


@wp.func
def pixel_of(index: int, tiles_across: int) -> wp.vec2i:
    """Row and column of a thread: tiles row by row, pixels row by row within."""
    tile = index // (TILE_WIDTH * TILE_HEIGHT)
    inside = index - tile * TILE_WIDTH * TILE_HEIGHT
    row = (tile // tiles_across) * TILE_HEIGHT + inside // TILE_WIDTH
    column = (tile - (tile // tiles_across) * tiles_across) * TILE_WIDTH + inside % TILE_WIDTH
    return wp.vec2i(row, column)


@wp.func
def cast(scenes: SceneTable, views: ViewTable, b: int, i: int, j: int):
    """The closest hit of a pixel's centre. The ray's component along the axis is 1, so its parameter is planar depth."""
    ray = views.rays[i, j]
    direction = views.rotation[b] * wp.vec3(ray[0], ray[1], -1.0)
    return wp.mesh_query_ray(scenes.mesh[views.scene[b]], views.origin[b], direction, FAR)


@wp.kernel
def first_surface(
    scenes: SceneTable,
    views: ViewTable,
    tiles_across: int,
    sky: wp.uint8,
    depth: wp.array3d(dtype=wp.float32),
    instance: wp.array3d(dtype=wp.int32),
    label: wp.array3d(dtype=wp.uint8),
):
    b, index = wp.tid()
    pixel = pixel_of(index, tiles_across)
    i = pixel[0]
    j = pixel[1]
    if i >= views.rays.shape[0] or j >= views.rays.shape[1]:
        return
    hit = cast(scenes, views, b, i, j)
    if hit.result:
        owner = scenes.owner[scenes.face_offset[views.scene[b]] + hit.face]
        depth[b, i, j] = wp.where(hit.t <= views.max_range, hit.t, 0.0)
        instance[b, i, j] = wp.int32(owner & wp.uint32(0xFFFFFF))
        label[b, i, j] = wp.uint8(owner >> wp.uint32(24))
    else:
        depth[b, i, j] = 0.0
        instance[b, i, j] = -1
        label[b, i, j] = sky


@wp.kernel
def first_surface_and_hit(
    scenes: SceneTable,
    views: ViewTable,
    tiles_across: int,
    sky: wp.uint8,
    depth: wp.array3d(dtype=wp.float32),
    instance: wp.array3d(dtype=wp.int32),
    label: wp.array3d(dtype=wp.uint8),
    normal: wp.array3d(dtype=wp.vec3),
    hit_face: wp.array3d(dtype=wp.int32),
    hit_at: wp.array3d(dtype=wp.vec3),  # barycentric u, v and planar depth without limit of range
):
    """`first_surface`, which also keeps the normal and what shading needs."""
    b, index = wp.tid()
    pixel = pixel_of(index, tiles_across)
    i = pixel[0]
    j = pixel[1]
    if i >= views.rays.shape[0] or j >= views.rays.shape[1]:
        return
    hit = cast(scenes, views, b, i, j)
    n = wp.vec3(0.0, 0.0, 0.0)
    if hit.result:
        owner = scenes.owner[scenes.face_offset[views.scene[b]] + hit.face]
        depth[b, i, j] = wp.where(hit.t <= views.max_range, hit.t, 0.0)
        instance[b, i, j] = wp.int32(owner & wp.uint32(0xFFFFFF))
        label[b, i, j] = wp.uint8(owner >> wp.uint32(24))
        n = wp.where(hit.sign > 0.0, hit.normal, -hit.normal)
    else:
        depth[b, i, j] = 0.0
        instance[b, i, j] = -1
        label[b, i, j] = sky
    if normal:
        normal[b, i, j] = n
    if hit_face:
        hit_face[b, i, j] = wp.where(hit.result, hit.face, -1)
        hit_at[b, i, j] = wp.vec3(hit.u, hit.v, hit.t)
