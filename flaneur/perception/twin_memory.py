"""The twin that is fitted to a model: a patch is answered as the model once answered a patch like it.

What "like it" means is a decision tree per class over the things that make evidence fail: how far, how much of the
patch the class fills and what else is in it, how much of the surroundings one object fills, how steeply it is seen,
in which light and from how high. A leaf holds real answers of the model, ordered from wrong to right. Which of them is
given is one number per patch, a normal deviate of four parts: the piece of surface (the same from anywhere in an
episode), the surface as seen from this place, the neighbourhood in the image, this very view.
"""

# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false, reportOperatorIssue=false, reportCallIssue=false, reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false, reportAssignmentType=false, reportReturnType=false

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
import warp as wp
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file
from torch import Tensor

from flaneur.classes import GROUPS, ClassList
from flaneur.errors import UserError
from flaneur.perception.base import LIGHTS, View
from flaneur.perception.patches import Patches, describe_patches, finer, launch
from flaneur.perception.twin import EXACT, KNOTS, SURFACE_CELL, Twin, floor_to, mix, place_of, unit_normal

wp.set_module_options({"enable_backward": False})

FEATURES = ("distance", "fill", "down", "share", "second", "rival", "light", "height")
DARKNESS = {"day": 0.0, "overcast": 1.0, "dusk": 2.0, "night": 3.0}
NOWHERE = wp.constant(1.0e4)  # metres: the sky
FLOOR = wp.constant(0.005)  # share below which a second class does not count
NONE = 255
Features = wp.types.vector(length=8, dtype=float)


@dataclass(frozen=True)
class Memory:
    """Trees and answers. Inner node n: feature[n] >= 0, its children child[n] and child[n] + 1; a leaf's answers begin at child[n]."""

    origin: str  # what it was fitted to
    classes: tuple[str, ...]
    logit_scale: float
    neutral: np.ndarray  # [C] f32: per-class mean of the model's similarities as the map subtracts it, or zeros
    root: np.ndarray  # [C] i32
    feature: np.ndarray  # [N] i8, index into FEATURES, -1 leaf
    threshold: np.ndarray  # [N] f32: below goes to the first child
    child: np.ndarray  # [N] i32
    count: np.ndarray  # [N] i32 answers of a leaf
    answer: np.ndarray  # [R, C] f16 similarity - neutral
    largest: np.ndarray  # [R] u8 the class that filled most of that patch
    second: np.ndarray  # [R] u8 the next one, 255 where there was none
    patches: int = 32  # across the view
    centred: bool = False  # whether neutral is the model's class mean
    share_surface: float = 0.0  # of the deviate's variance: the piece of surface, from anywhere
    share_view: float = 0.3  # the surface from this place
    share_patch: float = 0.2  # neighbouring patches
    match: dict[str, Any] = field(default_factory=dict)  # held-out agreement with the model, as `fit` measured it

    def __post_init__(self) -> None:
        c, n, r = len(self.classes), len(self.feature), len(self.answer)
        shapes = {
            "neutral": (c,), "root": (c,), "feature": (n,), "threshold": (n,), "child": (n,), "count": (n,), "answer": (r, c), "largest": (r,), "second": (r,),
        }  # fmt: skip
        for name, shape in shapes.items():
            value = np.asarray(getattr(self, name))
            if value.shape != shape or not np.isfinite(value.astype(np.float64)).all():
                raise UserError(f"twin, field '{name}': expected finite numbers of shape {list(shape)}, found shape {list(value.shape)}")
        inner = self.feature >= 0
        ends = np.where(inner, self.child + 1, self.child + np.maximum(self.count, 1) - 1)
        if (self.root >= n).any() or (self.child < 0).any() or (ends >= np.where(inner, n, r)).any() or (self.feature >= len(FEATURES)).any():
            raise UserError("twin, field 'child': points beyond the tree; fit it again")
        if min(self.share_surface, self.share_view, self.share_patch) < 0 or self.share_surface + self.share_view + self.share_patch > 1.0001:
            raise UserError("twin: 'share_surface', 'share_view' and 'share_patch' must be shares that add up to at most 1")

    def save(self, path: Path) -> None:
        """safetensors: the arrays as tensors, the rest as JSON in the header; written beside and renamed."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        arrays = {k: np.ascontiguousarray(v) for k, v in values.items() if isinstance(v, np.ndarray)}
        rest = {k: v for k, v in values.items() if k not in arrays}
        temporary = Path(f"{path}.part")
        save_file(arrays, temporary, metadata={"twin": json.dumps(rest, sort_keys=True)})
        os.replace(temporary, path)

    @classmethod
    def load(cls, path: Path) -> Memory:
        path = Path(path)
        if not path.is_file():
            raise UserError(f"{path}: no twin here; make one with `flaneur twin fit`, or name easy or hard")
        try:
            with safe_open(path, "np") as file:
                arrays = {k: file.get_tensor(k) for k in file.keys()}  # noqa: SIM118  not a dict
                rest = json.loads((file.metadata() or {})["twin"])
            return cls(**arrays, **{k: tuple(v) if isinstance(v, list) else v for k, v in rest.items()})
        except (SafetensorError, KeyError, json.JSONDecodeError, TypeError) as error:
            raise UserError(f"{path}: not a fitted twin ({str(error).splitlines()[0]}); make one with `flaneur twin fit`") from None


@wp.func
def describe_patch(
    mixture: wp.array4d(dtype=float),
    distance: wp.array3d(dtype=float),
    fill: wp.array3d(dtype=float),
    down: wp.array3d(dtype=float),
    poses: wp.array2d(dtype=float),
    darkness: wp.array(dtype=float),
    group: wp.array(dtype=float),
    no_group: float,
    b: int,
    i: int,
    j: int,
    best: int,
    rival: int,
) -> Features:
    """The FEATURES of a patch whose largest class is `best` and whose second is `rival` (-1: none)."""
    f = Features()
    f[0] = distance[b, i, j]
    if not f[0] > 0.0:
        f[0] = NOWHERE
    f[1] = fill[b, i, j]
    f[2] = down[b, i, j]
    f[3] = mixture[b, best, i, j]
    f[4] = float(0.0)
    f[5] = no_group
    if rival >= 0:
        f[4] = mixture[b, rival, i, j]
        f[5] = group[rival]
    f[6] = darkness[b]
    f[7] = poses[b, 2]
    return f


@wp.func
def largest_two(mixture: wp.array4d(dtype=float), b: int, i: int, j: int) -> wp.vec2i:
    best = int(0)
    rival = int(-1)
    for k in range(1, mixture.shape[1]):
        q = mixture[b, k, i, j]
        if q > mixture[b, best, i, j]:
            rival = best
            best = k
        elif q > FLOOR and (rival < 0 or q > mixture[b, wp.max(rival, 0), i, j]):  # Warp evaluates both sides
            rival = k
    if rival >= 0 and mixture[b, wp.max(rival, 0), i, j] <= FLOOR:
        rival = -1
    return wp.vec2i(best, rival)


@wp.kernel
def tabulate(
    mixture: wp.array4d(dtype=float),
    distance: wp.array3d(dtype=float),
    fill: wp.array3d(dtype=float),
    down: wp.array3d(dtype=float),
    poses: wp.array2d(dtype=float),
    darkness: wp.array(dtype=float),
    group: wp.array(dtype=float),
    no_group: float,
    features: wp.array4d(dtype=float),  # [B, h, w, F]
    classes: wp.array4d(dtype=int),  # [B, h, w, 2] largest and second class
):
    b, i, j = wp.tid()
    two = largest_two(mixture, b, i, j)
    f = describe_patch(mixture, distance, fill, down, poses, darkness, group, no_group, b, i, j, two[0], two[1])
    for k in range(8):
        features[b, i, j, k] = f[k]
    classes[b, i, j, 0] = two[0]
    classes[b, i, j, 1] = two[1]


@wp.kernel
def recall(
    mixture: wp.array4d(dtype=float),
    distance: wp.array3d(dtype=float),
    fill: wp.array3d(dtype=float),
    down: wp.array3d(dtype=float),
    poses: wp.array2d(dtype=float),
    darkness: wp.array(dtype=float),
    group: wp.array(dtype=float),
    no_group: float,
    instance: wp.array3d(dtype=int),
    point: wp.array4d(dtype=float),
    seeds: wp.array(dtype=wp.int64),
    root: wp.array(dtype=int),
    feature: wp.array(dtype=int),
    threshold: wp.array(dtype=float),
    child: wp.array(dtype=int),
    count: wp.array(dtype=int),
    answer: wp.array2d(dtype=wp.float16),
    largest: wp.array(dtype=int),
    second: wp.array(dtype=int),
    neutral: wp.array(dtype=float),
    of_surface: float,  # amplitudes of the four parts of the deviate
    of_view: float,
    of_patch: float,
    of_rest: float,
    shared: int,  # patches between the knots of what neighbours share
    out: wp.array4d(dtype=float),
):
    b, i, j = wp.tid()
    two = largest_two(mixture, b, i, j)
    best = two[0]
    rival = two[1]
    f = describe_patch(mixture, distance, fill, down, poses, darkness, group, no_group, b, i, j, best, rival)
    node = root[best]
    while feature[node] >= 0:
        if f[feature[node]] < threshold[node]:
            node = child[node]
        else:
            node = child[node] + 1
    # The deviate.
    episode = mix(mix(wp.uint32(11), int(seeds[b] & wp.int64(0x7FFFFFFF))), int(seeds[b] >> wp.int64(31)))
    x = floor_to(point[b, i, j, 0], SURFACE_CELL)
    y = floor_to(point[b, i, j, 1], SURFACE_CELL)
    z = floor_to(point[b, i, j, 2], SURFACE_CELL)
    piece = mix(mix(mix(mix(episode, instance[b, i, j]), x), y), z)
    place = place_of(poses, seeds, b)
    seen = mix(mix(mix(mix(place, instance[b, i, j]), x), y), z)
    # This very view: the pose to the millimetre.
    once = mix(mix(mix(place, floor_to(poses[b, 0], EXACT)), floor_to(poses[b, 1], EXACT)), floor_to(poses[b, 2], EXACT))
    once = mix(mix(mix(once, floor_to(poses[b, 5], EXACT)), i), j)
    i0 = i / shared
    j0 = j / shared
    fi = float(i % shared) / float(shared)
    fj = float(j % shared) / float(shared)
    # Interpolation shrinks the variance between knots; dividing by the weights' norm restores it.
    w00 = (1.0 - fi) * (1.0 - fj)
    w01 = (1.0 - fi) * fj
    w10 = fi * (1.0 - fj)
    w11 = fi * fj
    near = w00 * unit_normal(mix(mix(place, i0), j0), 3) + w01 * unit_normal(mix(mix(place, i0), j0 + 1), 3)
    near += w10 * unit_normal(mix(mix(place, i0 + 1), j0), 3) + w11 * unit_normal(mix(mix(place, i0 + 1), j0 + 1), 3)
    near = near / wp.sqrt(w00 * w00 + w01 * w01 + w10 * w10 + w11 * w11)
    deviate = of_surface * unit_normal(piece, 1) + of_view * unit_normal(seen, 2) + of_patch * near + of_rest * unit_normal(once, 4)
    u = 0.5 * (1.0 + wp.erf(deviate * 0.70710678))
    row = child[node] + wp.min(int(u * float(count[node])), count[node] - 1)
    # The remembered patch may have held other classes: theirs and this one's change places.
    theirs = largest[row]
    their_rival = second[row]
    swap_rival = rival >= 0 and their_rival >= 0 and their_rival != best and rival != theirs
    for k in range(mixture.shape[1]):
        source = k
        if k == best:
            source = theirs
        elif k == theirs:
            source = best
        if swap_rival:
            if k == rival:
                source = their_rival
            elif k == their_rival and k != theirs:
                source = rival
        out[b, k, i, j] = neutral[k] + float(answer[row, source])


class MemoryTwin(Twin):
    """A Twin that answers from a Memory."""

    def __init__(self, memory: Memory, classes: ClassList, device: str | torch.device = "cpu") -> None:
        if tuple(classes.names) != tuple(memory.classes):
            odd = sorted(set(classes.names) ^ set(memory.classes)) or ["(another order)"]
            raise UserError(f"the twin is for {len(memory.classes)} other classes than the scene's {len(classes)} (first difference: {odd[0]}); fit it again")
        self.memory, self.classes, self.logit_scale = memory, classes, memory.logit_scale
        self.name = f"twin ({memory.origin})"
        put = lambda x, dtype: torch.as_tensor(np.asarray(x).astype(dtype), device=device)  # noqa: E731
        self._tree = [put(getattr(memory, k), t) for k, t in (("root", np.int32), ("feature", np.int32), ("threshold", np.float32), ("child", np.int32), ("count", np.int32))]
        rival = np.where(memory.second == NONE, -1, memory.second.astype(np.int32))
        self._answers = [put(memory.answer, np.float16), put(memory.largest, np.int32), put(rival, np.int32), put(memory.neutral, np.float32)]
        self._darkness = put([DARKNESS[light] for light in LIGHTS], np.float32)
        self._group = put(classes.group_index, np.float32)
        self.class_mean: Tensor | None = self._answers[3] if memory.centred else None

    def similarity(self, view: View) -> Tensor:
        patches = describe_patches(view, len(self.classes), self.memory.patches)
        return self.answer(patches, view)

    def answer(self, patches: Patches, view: View) -> Tensor:
        m = self.memory
        out = torch.empty_like(patches.mixture)
        rest = max(0.0, 1 - m.share_surface - m.share_view - m.share_patch)
        parts = [share**0.5 for share in (m.share_surface, m.share_view, m.share_patch, rest)]
        poses, seeds = view.poses.contiguous(), view.seeds.contiguous()
        inputs = described(patches, poses, self._darkness[view.lights], self._group)
        launch(recall, tuple(patches.distance.shape), [*inputs, patches.instance, patches.point, seeds, *self._tree, *self._answers, *parts, KNOTS * finer(out.shape[3]), out], out.device)
        return out


def described(patches: Patches, poses: Tensor, darkness: Tensor, group: Tensor) -> list[Any]:
    return [patches.mixture, patches.distance, patches.fill, patches.down, poses, darkness.contiguous(), group, float(len(GROUPS))]


def tabulate_patches(patches: Patches, view: View, classes: ClassList) -> tuple[Tensor, Tensor]:
    """FEATURES [B, h, w, F] and the largest and second class [B, h, w, 2] of every patch."""
    device = patches.mixture.device
    darkness = torch.tensor([DARKNESS[light] for light in LIGHTS], device=device)[view.lights]
    group = torch.from_numpy(classes.group_index.astype(np.float32)).to(device)
    shape = tuple(patches.distance.shape)
    features = torch.empty(*shape, len(FEATURES), device=device)
    two = torch.empty(*shape, 2, dtype=torch.int32, device=device)
    launch(tabulate, shape, [*described(patches, view.poses.contiguous(), darkness, group), features, two], device)
    return features, two
