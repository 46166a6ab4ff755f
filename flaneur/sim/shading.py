"""RGB: what the light of the scene makes of the surfaces that the first pass found."""

# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false, reportOperatorIssue=false, reportCallIssue=false, reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false, reportAssignmentType=false, reportReturnType=false
# (Warp compiles kernels from their syntax; Python's types do not describe them.)
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import warp as wp

from flaneur.sim.light import Light, hash_cell, light_preset, sky_gradient, sky_radiance, value_noise
from flaneur.sim.surface import FAR, ViewTable, pixel_of
from flaneur.sim.surroundings import LAMP_CELLS, LAMP_REACH, Surroundings, open_sky, surroundings
from flaneur.sim.texture import TextureTable, sample_texture, texture_table
from flaneur.sim.upload import SceneTable

if TYPE_CHECKING:
    from flaneur.geometry import Camera
    from flaneur.sim.upload import SceneSet

wp.set_module_options({"enable_backward": False})

LAMP_GRID = wp.constant(LAMP_CELLS)
REACH = wp.constant(LAMP_REACH)
LAMP_STRENGTH = wp.constant(18.0)
LAMP_BODY = wp.constant(0.6)  # metres of lamp head and pole that shade nothing


@wp.struct
class Shading:
    """Everything beside scenes and views that RGB needs."""

    textures: TextureTable
    around: Surroundings
    lights: wp.array(dtype=Light)
    hashed: wp.array(dtype=wp.uint8)  # [C] 1 where windows of a class are lit bay by bay
    water: int  # class id
    samples: int  # rays per pixel
    ambient_rays: int
    pixel: wp.vec2  # size of a pixel at distance 1


@wp.func
def lamp_light(scenes: SceneTable, around: Surroundings, s: int, point: wp.vec3, normal: wp.vec3) -> float:
    """Irradiance from the street lamps near a point, each behind a shadow ray."""
    cell = scenes.size[s] / float(LAMP_GRID)
    i = wp.clamp(int(point[1] / cell), 0, LAMP_GRID - 1)
    j = wp.clamp(int(point[0] / cell), 0, LAMP_GRID - 1)
    k = (s * LAMP_GRID + i) * LAMP_GRID + j
    total = float(0.0)
    for lamp in range(around.lamp_start[k], around.lamp_start[k + 1]):
        to = around.lamp[lamp] - point
        distance = wp.length(to)
        direction = to / wp.max(distance, 1.0e-3)
        cone = wp.smoothstep(0.1, 0.6, direction[2]) + 0.05
        fade = wp.max(1.0 - distance / REACH, 0.0)
        share = LAMP_STRENGTH * wp.max(wp.dot(direction, normal), 0.0) * cone * fade / (distance * distance + 4.0)
        if share > 0.004:  # noqa: SIM102  (Warp evaluates both sides of `and`, and this one is a ray)
            if not wp.mesh_query_ray_anyhit(scenes.mesh[s], point, direction, distance - LAMP_BODY):
                total += share
    return total


@wp.func
def ambient_rays_open(scenes: SceneTable, s: int, point: wp.vec3, normal: wp.vec3, count: int, key: int) -> float:
    """Share of short rays over the hemisphere that meet nothing near: the darkening where things touch."""
    helper = wp.where(wp.abs(normal[2]) < 0.9, wp.vec3(0.0, 0.0, 1.0), wp.vec3(1.0, 0.0, 0.0))
    a = wp.normalize(wp.cross(normal, helper))
    b = wp.cross(normal, a)
    turn = hash_cell(key, count, 77) * 6.2831853
    total = float(0.0)
    for k in range(count):
        height = wp.sqrt(1.0 - (float(k) + 0.5) / float(count))
        flat = wp.sqrt(1.0 - height * height)
        angle = turn + 2.3999632 * float(k)
        direction = normal * height + (a * wp.cos(angle) + b * wp.sin(angle)) * flat
        hit = wp.mesh_query_ray(scenes.mesh[s], point, direction, 2.5)
        if hit.result:
            total += wp.sqrt(hit.t / 2.5)
        else:
            total += 1.0
    return total / float(count)


@wp.func
def shade(scenes: SceneTable, shading: Shading, s: int, origin: wp.vec3, ray: wp.vec3, face: int, u: float, v: float, t: float, key: int) -> wp.vec3:
    """Radiance that comes back along `ray` (length 1 along the optical axis) from a face, or from the sky where face < 0."""
    light = shading.lights[s]
    direction = wp.normalize(ray)
    if face < 0:
        return sky_radiance(light, direction)
    mesh = wp.mesh_get(scenes.mesh[s])
    i0 = mesh.indices[3 * face]
    i1 = mesh.indices[3 * face + 1]
    i2 = mesh.indices[3 * face + 2]
    p0 = mesh.points[i0]
    e1 = mesh.points[i1] - p0
    e2 = mesh.points[i2] - p0
    area = wp.cross(e1, e2)
    normal = wp.normalize(area)
    if wp.dot(normal, direction) > 0.0:
        normal = -normal
    corner = scenes.corner_offset[s]
    uv0 = scenes.uv[corner + i0]
    uv1 = scenes.uv[corner + i1]
    uv2 = scenes.uv[corner + i2]
    uv = uv0 * u + uv1 * v + uv2 * (1.0 - u - v)
    d1 = uv1 - uv0
    d2 = uv2 - uv0
    density = wp.sqrt(wp.abs(d1[0] * d2[1] - d1[1] * d2[0]) / wp.max(wp.length(area), 1.0e-9))

    facing = wp.max(-wp.dot(normal, direction), 0.02)
    distance = t * wp.length(ray)
    # Between the short and the long side of the pixel's footprint: a compromise of blur and shimmer at grazing angles.
    footprint = distance * shading.pixel[0] * density / wp.sqrt(wp.max(facing, 0.06)) / wp.sqrt(float(shading.samples))
    row = scenes.face_offset[s] + face
    material = int(scenes.material[row])
    texture = sample_texture(shading.textures, material, uv, footprint)
    mask = texture[3]
    albedo = wp.vec3(texture[0], texture[1], texture[2])
    owner = scenes.owner[row]
    instance = int(owner & wp.uint32(0xFFFFFF))
    label = int(owner >> wp.uint32(24))
    if shading.textures.tinted[material] != wp.uint8(0):
        tint8 = scenes.tint[scenes.instance_offset[s] + instance]
        tint = wp.vec3(float(tint8[0]), float(tint8[1]), float(tint8[2])) / 255.0
        tint = wp.cw_mul(tint, tint)
        albedo = wp.cw_mul(albedo, tint * (1.0 - mask) + wp.vec3(1.0, 1.0, 1.0) * mask)

    point = origin + ray * t + normal * (1.0e-3 + 2.0e-5 * distance)
    # Weathering larger than a tile, so that repetition does not show.
    along = wp.where(wp.abs(normal[2]) > 0.7, wp.vec2(point[0], point[1]), wp.vec2(point[0] + point[1], point[2]))
    stain = 0.6 * value_noise(along[0] * 0.13, along[1] * 0.13, instance) + 0.4 * value_noise(along[0] * 0.7, along[1] * 0.7, instance + 1)
    albedo = albedo * (1.0 + 0.22 * (1.0 - mask) * (stain - 0.5)) * (0.94 + 0.12 * hash_cell(instance, 3, 5))

    lit = wp.dot(normal, light.sun_direction)
    sun = float(0.0)
    if lit > 0.0:  # noqa: SIM102
        if not wp.mesh_query_ray_anyhit(scenes.mesh[s], point, light.sun_direction, FAR):
            sun = 1.0
    opened = open_sky(shading.around, s, scenes.size[s], point, normal)
    near = float(1.0)
    if shading.ambient_rays > 0:
        near = ambient_rays_open(scenes, s, point, normal, shading.ambient_rays, key)
    upward = 0.5 + 0.5 * normal[2]
    ambient = (light.zenith * 0.55 + light.horizon * 0.35 + light.cloud * (0.25 * light.clouds)) * upward + light.ground * (1.0 - upward)
    irradiance = light.sun * (sun * wp.max(lit, 0.0)) + ambient * (light.ambient * opened * near)
    if light.lamps > 0.5:
        irradiance += wp.vec3(1.0, 0.78, 0.5) * (light.lamps * lamp_light(scenes, shading.around, s, point, normal))
    radiance = wp.cw_mul(albedo, irradiance)

    mirror_normal = normal
    if label == shading.water:
        ripple = value_noise(point[0] * 1.7, point[1] * 1.7, 21) - 0.5 + 0.6 * (value_noise(point[0] * 4.9, point[1] * 4.1, 22) - 0.5)
        mirror_normal = wp.normalize(normal + wp.vec3(ripple, value_noise(point[0] * 1.9 + 7.0, point[1] * 1.5, 23) - 0.5, 0.0) * 0.06)
    mirror = direction - mirror_normal * (2.0 * wp.dot(direction, mirror_normal))
    grazing = wp.pow(1.0 - wp.clamp(-wp.dot(mirror_normal, direction), 0.0, 1.0), 5.0)
    # Water sends little back from above and nearly all at grazing angles; panes are coated.
    reflectivity = wp.where(label == shading.water, 0.06, shading.textures.reflectivity[material])
    smooth = 1.0 - shading.textures.roughness[material]
    share = mask * (reflectivity + (1.0 - reflectivity) * grazing) + (1.0 - mask) * (0.04 + 0.5 * grazing) * smooth * smooth
    if share > 0.01:
        # Low mirror rays meet the other side of the street, which is about as bright as a shaded wall.
        sky = sky_radiance(light, wp.vec3(mirror[0], mirror[1], wp.max(mirror[2], 0.02)))
        street = ambient * 0.3
        free = wp.smoothstep(-0.05, 0.3, mirror[2] + (point[2] - 10.0) * 0.012 * (1.0 - wp.abs(normal[2])))
        radiance = radiance * (1.0 - share) + (sky * free + street * (1.0 - free)) * (share * (0.4 + 0.6 * opened))

    emission = shading.textures.emission[material]
    if mask * emission > 0.01 and light.lamps > 0.0:
        if shading.hashed[label] == wp.uint8(0):
            radiance += wp.vec3(texture[0], texture[1], texture[2]) * (mask * emission * light.lamps * 1.6)
        else:
            column = int(wp.floor(uv[0]))
            storey = int(wp.floor(uv[1]))
            if hash_cell(column, storey, instance) < light.lit_windows:
                warmth = hash_cell(column, storey, instance + 7919)
                colour = wp.vec3(1.0, 0.7, 0.36) * (1.0 - warmth) + wp.vec3(0.85, 0.85, 0.8) * warmth
                radiance += colour * (mask * emission * light.lamps * (0.15 + 0.35 * hash_cell(storey, column, instance + 31)))

    haze = wp.exp(-light.haze * distance)
    far = sky_gradient(light, wp.normalize(wp.vec3(direction[0], direction[1], 0.03)))
    return radiance * haze + far * (1.0 - haze)


@wp.func
def filmic(x: float) -> float:
    """Narkowicz's fit of the ACES curve, then the sRGB transfer."""
    y = wp.clamp(x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14), 0.0, 1.0)
    if y <= 0.0031308:
        return 12.92 * y
    return 1.055 * wp.pow(y, 1.0 / 2.4) - 0.055


@wp.kernel
def color(
    scenes: SceneTable,
    views: ViewTable,
    shading: Shading,
    tiles_across: int,
    hit_face: wp.array3d(dtype=wp.int32),
    hit_at: wp.array3d(dtype=wp.vec3),
    rgb: wp.array3d(dtype=wp.vec3ub),
):
    b, index = wp.tid()
    pixel = pixel_of(index, tiles_across)
    i = pixel[0]
    j = pixel[1]
    if i >= views.rays.shape[0] or j >= views.rays.shape[1]:
        return
    s = views.scene[b]
    exposure = shading.lights[s].exposure
    total = wp.vec3(0.0, 0.0, 0.0)
    for k in range(shading.samples):
        x = float(k) * 0.7548777 + 0.5
        y = float(k) * 0.5698403 + 0.5
        ray2 = views.rays[i, j] + wp.vec2((x - wp.floor(x) - 0.5) * shading.pixel[0], (y - wp.floor(y) - 0.5) * shading.pixel[1])
        ray = views.rotation[b] * wp.vec3(ray2[0], ray2[1], -1.0)
        # The first sample is the pixel's centre, whose hit is known.
        face = hit_face[b, i, j]
        at = hit_at[b, i, j]
        if k > 0:
            hit = wp.mesh_query_ray(scenes.mesh[s], views.origin[b], ray, FAR)
            face = wp.where(hit.result, hit.face, -1)
            at = wp.vec3(hit.u, hit.v, hit.t)
        c = shade(scenes, shading, s, views.origin[b], ray, face, at[0], at[1], at[2], (i * views.rays.shape[1] + j) * shading.samples + k) * exposure
        total += wp.vec3(filmic(c[0]), filmic(c[1]), filmic(c[2]))
    total = total * (255.0 / float(shading.samples)) + wp.vec3(0.5, 0.5, 0.5)
    rgb[b, i, j] = wp.vec3ub(wp.uint8(total[0]), wp.uint8(total[1]), wp.uint8(total[2]))


class ShadingTables:
    """`Shading` for a set of scenes, with the light of each."""

    def __init__(self, scene_set: SceneSet, camera: Camera, lights: list[str], samples: int, ambient_rays: int):
        classes = scene_set.scenes[0].classes
        bays = [c.group == "large" or c.name in ("shed", "kiosk") for c in classes]
        table = Shading()
        table.textures = texture_table(scene_set.wp_device)
        table.around = surroundings(scene_set)
        table.hashed = wp.array(np.array(bays, np.uint8), dtype=wp.uint8, device=scene_set.wp_device)
        table.water = classes.index.get("water", -1)
        table.samples = samples
        table.ambient_rays = ambient_rays
        table.pixel = wp.vec2(1.0 / camera.fx, 1.0 / camera.fy)
        self.table, self.device = table, scene_set.wp_device
        self._made: dict[tuple[str, ...], wp.array] = {}  # kept: pictures still being made may read the light before
        self.set_lights(lights)

    def set_lights(self, lights: list[str]) -> None:
        """One preset per scene."""
        key = tuple(lights)
        if key not in self._made:
            self._made[key] = wp.array([light_preset(name) for name in lights], dtype=Light, device=self.device)
        self.table.lights = self._made[key]
