"""The twin: a fast statistical model of a vision-language model, for training at thousands of steps a second."""

# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false, reportOperatorIssue=false, reportCallIssue=false, reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false, reportAssignmentType=false, reportReturnType=false

from __future__ import annotations

from pathlib import Path

import torch
import warp as wp
from torch import Tensor

from flaneur.classes import ClassList
from flaneur.perception.base import View, shipped
from flaneur.perception.patches import Patches, describe_patches, finer, launch
from flaneur.perception.twin_parameters import DISTANCE_EDGES, DOWN_EDGES, FILL_EDGES, TwinParameters, preset

wp.set_module_options({"enable_backward": False})

VIEW_CELL = wp.constant(2.0)  # metres: camera positions nearer than this see the same errors
SURFACE_CELL = wp.constant(4.0)  # metres: so do points of one instance (a road is one instance 90 m long)
SECTOR = wp.constant(0.5235988)  # radians (30 degrees) of heading and pitch
EXACT = wp.constant(0.001)  # metres, radians: what makes two views different
M1 = wp.constant(wp.uint32(3432918353))
M2 = wp.constant(wp.uint32(461845907))
M3 = wp.constant(wp.uint32(3864292196))
M4 = wp.constant(wp.uint32(2246822507))
M5 = wp.constant(wp.uint32(3266489909))
KNOTS = 4  # patches between the knots of the noise that neighbours share, where 32 go across


@wp.func
def mix(h: wp.uint32, value: int) -> wp.uint32:
    """One round of a counter-based hash (murmur3)."""
    k = wp.uint32(value) * M1
    k = (k << wp.uint32(15)) | (k >> wp.uint32(17))
    k = k * M2
    h = h ^ k
    h = (h << wp.uint32(13)) | (h >> wp.uint32(19))
    return h * wp.uint32(5) + M3


@wp.func
def finish(h: wp.uint32) -> wp.uint32:
    h = h ^ (h >> wp.uint32(16))
    h = h * M4
    h = h ^ (h >> wp.uint32(13))
    h = h * M5
    return h ^ (h >> wp.uint32(16))


@wp.func
def unit_normal(h: wp.uint32, k: int) -> float:
    state = finish(mix(h, k))
    return wp.randn(state)


@wp.func
def floor_to(x: float, cell: float) -> int:
    return int(wp.floor(x / cell))


@wp.func
def place_of(poses: wp.array2d(dtype=float), seeds: wp.array(dtype=wp.int64), b: int) -> wp.uint32:
    """From where: episode, position cell and sector of the view."""
    h = mix(mix(wp.uint32(1), int(seeds[b] & wp.int64(0x7FFFFFFF))), int(seeds[b] >> wp.int64(31)))
    h = mix(mix(mix(h, floor_to(poses[b, 0], VIEW_CELL)), floor_to(poses[b, 1], VIEW_CELL)), floor_to(poses[b, 2], VIEW_CELL))
    return mix(mix(h, floor_to(poses[b, 5], SECTOR)), floor_to(poses[b, 4], SECTOR))


@wp.kernel
def draw_knots(poses: wp.array2d(dtype=float), seeds: wp.array(dtype=wp.int64), knots: wp.array4d(dtype=float)):
    """The noise that neighbouring patches share, at every n-th patch: [B, C, h / n + 2, w / n + 2]."""
    b, k, i, j = wp.tid()
    knots[b, k, i, j] = unit_normal(mix(mix(place_of(poses, seeds, b), i), j), k)


@wp.kernel
def respond(
    mixture: wp.array4d(dtype=float),
    gain: wp.array3d(dtype=float),  # [B, h, w]
    noise: wp.array3d(dtype=float),  # [B, h, w] multiplier of sigma
    instance: wp.array3d(dtype=int),
    point: wp.array4d(dtype=float),
    poses: wp.array2d(dtype=float),
    seeds: wp.array(dtype=wp.int64),
    knots: wp.array4d(dtype=float),
    shared: int,  # patches between knots
    salience: wp.array(dtype=float),
    response: wp.array2d(dtype=float),
    neutral: wp.array(dtype=float),
    sigma: wp.array2d(dtype=float),
    of_view: float,  # amplitudes of the three parts of the noise
    of_patch: float,
    of_rest: float,
    out: wp.array4d(dtype=float),
):
    b, i, j = wp.tid()
    classes = mixture.shape[1]
    best = int(0)
    for k in range(1, classes):
        if mixture[b, k, i, j] > mixture[b, best, i, j]:
            best = k
    place = place_of(poses, seeds, b)
    surface = mix(mix(mix(place, instance[b, i, j]), floor_to(point[b, i, j, 0], SURFACE_CELL)), floor_to(point[b, i, j, 1], SURFACE_CELL))
    surface = mix(surface, floor_to(point[b, i, j, 2], SURFACE_CELL))
    # This very view: the pose to the millimetre.
    once = mix(mix(mix(place, floor_to(poses[b, 0], EXACT)), floor_to(poses[b, 1], EXACT)), floor_to(poses[b, 2], EXACT))
    once = mix(mix(mix(mix(once, floor_to(poses[b, 5], EXACT)), i), j), 77)
    i0 = i / shared
    j0 = j / shared
    fi = float(i % shared) / float(shared)
    fj = float(j % shared) / float(shared)
    # Interpolation shrinks the variance between knots; dividing by the weights' norm restores it.
    w00 = (1.0 - fi) * (1.0 - fj)
    w01 = (1.0 - fi) * fj
    w10 = fi * (1.0 - fj)
    w11 = fi * fj
    norm = wp.sqrt(w00 * w00 + w01 * w01 + w10 * w10 + w11 * w11)
    weight = float(0.0)
    for m in range(classes):
        weight += salience[m] * mixture[b, m, i, j]
    for k in range(classes):
        pure = float(0.0)
        for m in range(classes):
            q = salience[m] * mixture[b, m, i, j]
            if q > 0.0:
                pure += q / weight * response[m, k]
        error = of_view * unit_normal(surface, k) + of_rest * unit_normal(once, k)
        error += of_patch * (w00 * knots[b, k, i0, j0] + w01 * knots[b, k, i0, j0 + 1] + w10 * knots[b, k, i0 + 1, j0] + w11 * knots[b, k, i0 + 1, j0 + 1]) / norm
        out[b, k, i, j] = neutral[k] + gain[b, i, j] * (pure - neutral[k]) + sigma[best, k] * noise[b, i, j] * error


class Twin:
    outputs = ("depth", "instance", "label")
    recordable = True

    def __init__(self, parameters: TwinParameters, classes: ClassList, device: str | torch.device = "cpu") -> None:
        parameters.check_classes(classes)
        self.parameters, self.classes, self.logit_scale = parameters, classes, parameters.logit_scale
        self.name = f"twin ({parameters.origin})"
        put = lambda x: torch.as_tensor(x, dtype=torch.float32, device=device)  # noqa: E731
        self._response, self._neutral, self._sigma = put(parameters.response), put(parameters.neutral), put(parameters.sigma)
        self._salience = put(parameters.salience)
        self._gains = [put(t) for t in (parameters.gain_distance, parameters.gain_fill, parameters.gain_down, parameters.gain_light)]
        self._noises = [put(parameters.noise_distance), put(parameters.noise_light)]
        self._edges = [put(DISTANCE_EDGES), put(FILL_EDGES), put([e * torch.pi / 180 for e in DOWN_EDGES])]
        self.class_mean: Tensor | None = self._neutral

    @classmethod
    def named(cls, name: str | Path, classes: ClassList, device: str | torch.device = "cpu") -> Twin:
        """An invented preset (`easy`, `hard`), the one fitted to a shipped model (`lens`, `lens-all`), or a file made by `flaneur twin fit`."""
        if str(name) in ("easy", "hard"):
            return cls(preset(str(name), classes), classes, device)
        from flaneur.perception.twin_memory import Memory, MemoryTwin

        instead = "twin:easy or twin:hard (invented), or twin:FILE made by flaneur twin fit"
        path = shipped(f"twin_{str(name).replace('-', '_')}.safetensors", instead) if str(name) in ("lens", "lens-all") else Path(name)
        return MemoryTwin(Memory.load(path), classes, device)

    def bins(self, patches: Patches) -> tuple[Tensor, Tensor, Tensor]:
        """Indices [B, h, w] into the tables of distance, fill and angle."""
        # A patch of sky has no distance; it stands with the farthest.
        distance = torch.where(patches.distance > 0, patches.distance, torch.inf)
        values = (distance, patches.fill, patches.down)
        d, f, e = (torch.bucketize(v.contiguous(), edges) for v, edges in zip(values, self._edges, strict=True))
        return d, f, e

    def similarity(self, view: View) -> Tensor:
        patches = describe_patches(view, len(self.classes), self.parameters.patches)
        d, f, e = self.bins(patches)
        light = view.lights[:, None, None]
        gain = self._gains[0][d] * self._gains[1][f] * self._gains[2][e] * self._gains[3][light]
        noise = self._noises[0][d] * self._noises[1][light]
        out = torch.empty_like(patches.mixture)
        p = self.parameters
        parts = [p.share_view**0.5, p.share_patch**0.5, max(0.0, 1 - p.share_view - p.share_patch) ** 0.5]
        poses, seeds = view.poses.contiguous(), view.seeds.contiguous()
        b, c, h, w = patches.mixture.shape
        shared = KNOTS * finer(w)
        knots = torch.empty(b, c, h // shared + 2, w // shared + 2, device=out.device)
        launch(draw_knots, tuple(knots.shape), [poses, seeds, knots], out.device)
        launch(
            respond, tuple(gain.shape),
            [patches.mixture, gain, noise, patches.instance, patches.point, poses, seeds, knots, shared, self._salience, self._response, self._neutral, self._sigma, *parts, out],
            out.device,
        )  # fmt: skip
        return out
