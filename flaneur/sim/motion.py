"""Moving through the city without touching it: exact against the triangles, whatever they enclose.

A point at distance D from the nearest triangle may go anywhere within a ball of radius D. A move is a chain of such
steps, so it can neither enter matter nor jump through a wall, however thin. Near matter the direction is turned along
the surface: the move slides, or stops where sliding leads no nearer.
"""

# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false, reportOperatorIssue=false, reportCallIssue=false, reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false, reportAssignmentType=false, reportReturnType=false
# (Warp compiles kernels from their syntax; Python's types do not describe them.)
from __future__ import annotations

import warp as wp

from flaneur.sim.upload import SceneTable

wp.set_module_options({"enable_backward": False})

STEPS = wp.constant(64)  # balls in a chain
SHELL = wp.constant(0.5)  # metres beyond the clearance in which a move slides
ARRIVED = wp.constant(1.0e-3)  # metres
LEAST = wp.constant(1.0e-4)  # metres; a shorter step is none
WEDGED = wp.constant(0.01)  # metres beyond the clearance below which the chain of balls stands still
SKIN = wp.constant(1.0e-3)  # metres left at the edge of every ball, against rounding
INSIDE_RAYS = wp.constant(5)


@wp.func
def distance_to_matter(mesh: wp.uint64, point: wp.vec3, reach: float) -> wp.vec4:
    """Direction away from the nearest triangle and its distance; `reach` where nothing is nearer."""
    query = wp.mesh_query_point_no_sign(mesh, point, reach)
    if not query.result:
        return wp.vec4(0.0, 0.0, 1.0, reach)
    away = point - wp.mesh_eval_position(mesh, query.face, query.u, query.v)
    distance = wp.length(away)
    away = away / wp.max(distance, 1.0e-9)
    return wp.vec4(away[0], away[1], away[2], distance)


@wp.func
def inside_matter(mesh: wp.uint64, point: wp.vec3) -> bool:
    """Most of a few upward rays cross an odd number of surfaces, or meet the first one from behind.

    Both, because walls of neighbouring solids coincide (either may be hit first) and solids overlap (crossings cancel).
    Upward, because ground has no underside; the directions are odd, so that they run along no wall.
    """
    odd = int(0)
    behind = int(0)
    for k in range(INSIDE_RAYS):
        z = 0.93 - 0.11 * float(k)
        r = wp.sqrt(1.0 - z * z)
        angle = 0.37 + 2.3999632 * float(k)
        direction = wp.vec3(r * wp.cos(angle), r * wp.sin(angle), z)
        odd += wp.mesh_query_ray_count_intersections(mesh, point, direction) % 2
        hit = wp.mesh_query_ray(mesh, point, direction, 1.0e6)
        if hit.result:  # noqa: SIM102  (Warp evaluates both sides of `and`)
            if hit.sign < 0.0:
                behind += 1
    return 2 * wp.max(odd, behind) > INSIDE_RAYS


@wp.func
def in_volume(point: wp.vec3, size: float, low: float, high: float) -> bool:
    return point[0] >= 0.0 and point[0] <= size and point[1] >= 0.0 and point[1] <= size and point[2] >= low and point[2] <= high


@wp.func
def clamp_to_volume(point: wp.vec3, size: float, low: float, high: float) -> wp.vec3:
    return wp.vec3(wp.clamp(point[0], 0.0, size), wp.clamp(point[1], 0.0, size), wp.clamp(point[2], low, high))


@wp.kernel
def move_points(
    scenes: SceneTable,
    scene_index: wp.array(dtype=wp.int32),
    start: wp.array(dtype=wp.vec3),
    target: wp.array(dtype=wp.vec3),
    max_step: float,
    clearance: float,
    low: float,
    high: float,
    end: wp.array(dtype=wp.vec3),
    travelled: wp.array(dtype=wp.float32),
    blocked: wp.array(dtype=wp.bool),
):
    b = wp.tid()
    s = scene_index[b]
    mesh = scenes.mesh[s]
    size = scenes.size[s]
    p = start[b]
    goal = clamp_to_volume(target[b], size, low, high)
    left = float(max_step)
    stopped = bool(False)
    for _step in range(STEPS):
        to_goal = goal - p
        remaining = wp.min(wp.length(to_goal), left)
        if remaining <= ARRIVED or stopped:
            break
        direction = wp.normalize(to_goal)
        found = distance_to_matter(mesh, p, remaining + clearance + SHELL)
        away = wp.vec3(found[0], found[1], found[2])
        distance = found[3]
        outward = wp.dot(direction, away)
        free = distance - clearance - SKIN
        along = direction - away * outward
        length = wp.max(free - SHELL, 0.6 * free)
        pushing = bool(False)
        if free < WEDGED:
            # A ball this small leads nowhere, not even out. A short step stays in the ball that holds no matter, and may be taken
            # where it ends clear, or no nearer than it began: onward, along the surface, along and away from it, or just away.
            length = wp.min(0.2 * distance, remaining)
            heading = direction
            found_way = bool(False)
            for k in range(4):
                if k == 1:
                    heading = wp.normalize(along)
                if k == 2:
                    heading = wp.normalize(wp.normalize(along) + away)
                if k == 3:
                    heading = away
                if not found_way and (k == 0 or (outward < 0.0 and wp.length(along) > 0.15)):
                    there = clamp_to_volume(p + heading * length, size, low, high)
                    if distance_to_matter(mesh, there, 2.0 * distance)[3] >= wp.min(distance, clearance + LEAST):
                        found_way = True
                        pushing = k >= 2
                        direction = heading
            free = wp.where(found_way, length, 0.0)
        elif free < SHELL and outward < 0.0:
            # Along the surface, turned outward by as much as the shell is missing.
            if wp.length(along) < 0.15:
                stopped = True
            missing = 1.0 - 2.0 * free / SHELL
            pushing = missing > 0.8
            direction = wp.normalize(wp.normalize(along) + away * (missing + 2.0 * wp.max(missing - 0.8, 0.0)))
        length = wp.min(length, remaining)
        q = clamp_to_volume(p + direction * length, size, low, high)
        gone = wp.length(q - p)
        nearer = wp.length(to_goal) - wp.length(goal - q)
        if stopped or not (gone <= free + 1.0e-6) or length < LEAST or (nearer < 0.02 * length and not pushing):
            stopped = True
        else:
            p = q
            left -= gone
    end[b] = p
    travelled[b] = max_step - left
    blocked[b] = stopped


@wp.kernel
def clear_points(
    scenes: SceneTable,
    scene_index: wp.array(dtype=wp.int32),
    points: wp.array(dtype=wp.vec3),
    clearance: float,
    low: float,
    high: float,
    clear: wp.array(dtype=wp.bool),
):
    """Free: in the flight volume, at least `clearance` from every triangle, inside none of the solids."""
    b = wp.tid()
    s = scene_index[b]
    p = points[b]
    free = in_volume(p, scenes.size[s], low, high)
    if free:
        free = distance_to_matter(scenes.mesh[s], p, clearance)[3] >= clearance
    if free:
        free = not inside_matter(scenes.mesh[s], p)
    clear[b] = free


@wp.kernel
def cast_rays(
    scenes: SceneTable,
    scene_index: wp.array(dtype=wp.int32),
    origins: wp.array(dtype=wp.vec3),
    directions: wp.array(dtype=wp.vec3),
    distance: wp.array(dtype=wp.float32),
    label: wp.array(dtype=wp.uint8),
    sky: wp.uint8,
):
    """Free rays: distance in lengths of the direction (0 where nothing) and the label of what they meet."""
    b = wp.tid()
    s = scene_index[b]
    hit = wp.mesh_query_ray(scenes.mesh[s], origins[b], directions[b], 1.0e6)
    if hit.result:
        distance[b] = hit.t
        label[b] = wp.uint8(scenes.owner[scenes.face_offset[s] + hit.face] >> wp.uint32(24))
    else:
        distance[b] = 0.0
        label[b] = sky
