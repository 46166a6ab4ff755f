"""The first surface on the CPU: 16 neighbouring rays walk the tree together, in the lanes of one vector register.

Warp's own query walks it ray by ray, which leaves a CPU's vector units idle: on cities of a million triangles packets
are several times as fast. The tree is Warp's; on CUDA the queries of `flaneur.sim.surface` are used instead, and the
tests hold the two and Embree against each other.
"""

# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false, reportOperatorIssue=false, reportCallIssue=false, reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false, reportAssignmentType=false, reportReturnType=false
# (Warp compiles kernels from their syntax; Python's types do not describe them.)
from __future__ import annotations

import warp as wp

from flaneur.sim.surface import ViewTable
from flaneur.sim.upload import SceneTable

wp.set_module_options({"enable_backward": False})

PACKET = wp.constant(4)  # pixels along each side of a packet; the snippet's 16 lanes are its square

_WALK = """
    typedef float F __attribute__((ext_vector_type(16)));
    typedef int I __attribute__((ext_vector_type(16)));
    const wp::Mesh mesh = wp::mesh_get(id);
    const int height = rays.shape[0], width = rays.shape[1];
    F dx, dy, dz;
    for (int k = 0; k < 16; ++k) {
        const int i = wp::min(row + k / 4, height - 1), j = wp::min(column + k % 4, width - 1);
        const wp::vec2 ray = wp::index(rays, i, j);
        const wp::vec3 d = wp::mul(rotation, wp::vec3(ray[0], ray[1], -1.0f));
        dx[k] = d[0] == 0.0f ? 1.0e-20f : d[0];
        dy[k] = d[1] == 0.0f ? 1.0e-20f : d[1];
        dz[k] = d[2] == 0.0f ? 1.0e-20f : d[2];
    }
    const F rx = 1.0f / dx, ry = 1.0f / dy, rz = 1.0f / dz;
    const float ox = origin[0], oy = origin[1], oz = origin[2];
    const F none = (F)(1.0e30f);
    F best = (F)(1.0e6f), best_u = (F)(0.0f), best_v = (F)(0.0f);
    I best_face = (I)(-1);
    float farthest = 1.0e6f;

    // Entry distance of the nearest ray into a node's box, 1e30 where all miss.
    auto enter = [&](int node) {
        const wp::BVHPackedNodeHalf lo = mesh.bvh.node_lowers[node], hi = mesh.bvh.node_uppers[node];
        const F ax = (lo.x - ox) * rx, bx = (hi.x - ox) * rx;
        const F ay = (lo.y - oy) * ry, by = (hi.y - oy) * ry;
        const F az = (lo.z - oz) * rz, bz = (hi.z - oz) * rz;
        F in = __builtin_elementwise_max(__builtin_elementwise_min(ax, bx), __builtin_elementwise_min(ay, by));
        in = __builtin_elementwise_max(__builtin_elementwise_max(in, __builtin_elementwise_min(az, bz)), (F)(0.0f));
        F out = __builtin_elementwise_min(__builtin_elementwise_max(ax, bx), __builtin_elementwise_max(ay, by));
        out = __builtin_elementwise_min(out, __builtin_elementwise_max(az, bz)) * 1.0000005f;
        out = __builtin_elementwise_min(out, best);
        return __builtin_reduce_min(in <= out ? in : none);
    };

    int stack[64];
    float reach[64];
    int top = 0;
    stack[top] = *mesh.bvh.root;
    reach[top++] = 0.0f;
    while (top > 0) {
        int node = stack[--top];
        if (reach[top] > farthest)
            continue;
        while (!mesh.bvh.node_lowers[node].b) {
            const int left = mesh.bvh.node_lowers[node].i, right = mesh.bvh.node_uppers[node].i;
            const float a = enter(left), b = enter(right);
            if (a >= 1.0e30f && b >= 1.0e30f) {
                node = -1;
                break;
            }
            const bool left_first = a <= b;
            const float later = left_first ? b : a;
            if (later < 1.0e30f && top < 64) {
                stack[top] = left_first ? right : left;
                reach[top++] = later;
            }
            node = left_first ? left : right;
        }
        if (node < 0)
            continue;
        const int last = mesh.bvh.node_uppers[node].i;
        for (int at = mesh.bvh.node_lowers[node].i; at < last; ++at) {
            const int f = mesh.bvh.primitive_indices[at];
            const wp::vec3 p = mesh.points[mesh.indices[3 * f]], q = mesh.points[mesh.indices[3 * f + 1]], r = mesh.points[mesh.indices[3 * f + 2]];
            const wp::vec3 a = p - origin, b = q - origin, c = r - origin;
            // Edges are shared: both triangles of an edge compute the same number, so no ray slips between them.
            const wp::vec3 cb = wp::cross(c, b), ac = wp::cross(a, c), ba = wp::cross(b, a);
            const F u = dx * cb[0] + dy * cb[1] + dz * cb[2];
            const F v = dx * ac[0] + dy * ac[1] + dz * ac[2];
            const F w = dx * ba[0] + dy * ba[1] + dz * ba[2];
            const I inside = ((u >= 0.0f) & (v >= 0.0f) & (w >= 0.0f)) | ((u <= 0.0f) & (v <= 0.0f) & (w <= 0.0f));
            if (!__builtin_reduce_or(inside))
                continue;
            const wp::vec3 n = wp::cross(q - p, r - p);
            const F slope = dx * n[0] + dy * n[1] + dz * n[2];
            const F t = wp::dot(n, a) / slope;
            const I closer = inside & (t >= 0.0f) & (t < best);
            if (!__builtin_reduce_or(closer))
                continue;
            const F scale = 1.0f / (u + v + w);
            best = closer ? t : best;
            best_u = closer ? u * scale : best_u;
            best_v = closer ? v * scale : best_v;
            best_face = closer ? (I)(f) : best_face;
            farthest = __builtin_reduce_max(best);
        }
    }
    for (int k = 0; k < 16; ++k) {
        const int i = row + k / 4, j = column + k % 4;
        if (i < height && j < width) {
            wp::index(face, view, i, j) = best_face[k];
            wp::index(at_hit, view, i, j) = wp::vec3(best_u[k], best_v[k], best[k]);
        }
    }
"""


@wp.func_native(_WALK)
def walk(
    id: wp.uint64,
    origin: wp.vec3,
    rotation: wp.mat33,
    rays: wp.array2d(dtype=wp.vec2),
    row: int,
    column: int,
    view: int,
    face: wp.array3d(dtype=wp.int32),
    at_hit: wp.array3d(dtype=wp.vec3),
): ...


@wp.kernel
def first_surface_packets(
    scenes: SceneTable,
    views: ViewTable,
    packets_across: int,
    sky: wp.uint8,
    depth: wp.array3d(dtype=wp.float32),
    instance: wp.array3d(dtype=wp.int32),
    label: wp.array3d(dtype=wp.uint8),
    normal: wp.array3d(dtype=wp.vec3),
    hit_face: wp.array3d(dtype=wp.int32),
    hit_at: wp.array3d(dtype=wp.vec3),  # barycentric u, v and planar depth without limit of range
):
    """What `first_surface_and_hit` computes, a packet of pixels per thread."""
    b, index = wp.tid()
    row = (index // packets_across) * PACKET
    column = (index % packets_across) * PACKET
    s = views.scene[b]
    walk(scenes.mesh[s], views.origin[b], views.rotation[b], views.rays, row, column, b, hit_face, hit_at)
    for i in range(row, wp.min(row + PACKET, views.rays.shape[0])):
        for j in range(column, wp.min(column + PACKET, views.rays.shape[1])):
            face = hit_face[b, i, j]
            n = wp.vec3(0.0, 0.0, 0.0)
            if face >= 0:
                owner = scenes.owner[scenes.face_offset[s] + face]
                t = hit_at[b, i, j][2]
                depth[b, i, j] = wp.where(t <= views.max_range, t, 0.0)
                instance[b, i, j] = wp.int32(owner & wp.uint32(0xFFFFFF))
                label[b, i, j] = wp.uint8(owner >> wp.uint32(24))
                if normal:
                    ray = views.rays[i, j]
                    n = wp.mesh_eval_face_normal(scenes.mesh[s], face)
                    n = wp.where(wp.dot(n, views.rotation[b] * wp.vec3(ray[0], ray[1], -1.0)) > 0.0, -n, n)
            else:
                depth[b, i, j] = 0.0
                instance[b, i, j] = -1
                label[b, i, j] = sky
            if normal:
                normal[b, i, j] = n
