"""How far an evidence source can be trusted: every object seen, what it was taken for, and how sure the source was."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from flaneur.classes import SCALE_GROUPS, ClassList
from flaneur.perception.base import LIGHTS, EvidenceSource, make_view
from flaneur.perception.lens_train import LensTrainConfig, draw_poses
from flaneur.perception.twin_parameters import DISTANCE_EDGES, DOWN_EDGES
from flaneur.sim import Simulator

SIZE_EDGES = (4.0, 8.0, 12.0, 24.0, 48.0, 96.0)  # pixels across, of 256
HEIGHT_EDGES = (3.0, 8.0, 20.0, 45.0)  # metres, z of the camera
SURE = 0.8  # a wrong answer with more confidence than this is confidently wrong
ENOUGH = 30  # objects below which a share is not printed


@dataclass(frozen=True)
class Seen:
    """Objects in frames, one row each."""

    label: np.ndarray  # [N] class
    similarity: np.ndarray  # [N, C] f16, less the class's mean, averaged over the object's pixels
    distance: np.ndarray  # [N] metres, mean over pixels
    size: np.ndarray  # [N] pixels across: root of the pixel count, scaled to an image 256 pixels wide
    height: np.ndarray  # [N] metres, z of the camera
    down: np.ndarray  # [N] degrees, pitch of the camera below the horizon
    light: np.ndarray  # [N] index into LIGHTS
    logit_scale: float

    def where(self, keep: np.ndarray) -> Seen:
        return Seen(*(getattr(self, f.name)[keep] for f in fields(self) if f.name != "logit_scale"), self.logit_scale)  # pyright: ignore[reportCallIssue]

    def __len__(self) -> int:
        return len(self.label)

    @cached_property
    def taken(self) -> np.ndarray:  # [N] class with the largest similarity
        return self.similarity.argmax(1)

    @cached_property
    def confidence(self) -> np.ndarray:  # [N] its softmax
        logits = self.similarity.astype(np.float32) * self.logit_scale
        return 1.0 / np.exp(logits - logits.max(1, keepdims=True)).sum(1)

    @property
    def right(self) -> np.ndarray:
        return self.label == self.taken

    @property
    def sure_and_wrong(self) -> np.ndarray:
        return ~self.right & (self.confidence > SURE)


@torch.no_grad()
def look(
    source: EvidenceSource, sims: Sequence[Simulator], views: int, everywhere: bool, lights: Sequence[str] | None = None, seed: int = 0, batch: int = 64, tick: Callable[[], None] | None = None
) -> Seen:  # fmt: skip
    """Ask the source about `views` views of every scene, aimed as Lens's training views are: at eye level, or from everywhere.

    lights: all scenes once in each; each scene's own when None. tick: after every scene and light.
    """
    generator = torch.Generator().manual_seed(seed)
    config = LensTrainConfig(views="all" if everywhere else "ordinary")
    outputs = tuple(sorted({"depth", "instance", "label", *source.outputs}))
    rows: list[list[Tensor]] = []
    for sim in sims:
        before = sim.lights
        for scene, city in enumerate(sim.scenes):
            is_object = torch.from_numpy(city.is_object).to(sim.device)
            for light in lights or [city.light]:
                sim.set_light(light)
                for poses in draw_poses(sim, scene, config, views, generator).split(batch):
                    frame = sim.render(poses, torch.full((len(poses),), scene, dtype=torch.int32, device=sim.device), outputs, check=False)
                    rows.append(_objects(source, make_view(frame, poses, sim.camera, seed, light), len(city.is_object), is_object))
                if tick is not None:
                    tick()
        sim.set_light(before[0] if len(set(before)) == 1 else None)
    parts = [torch.cat(column).cpu().numpy() for column in zip(*rows, strict=True)]
    return Seen(*parts, source.logit_scale)  # pyright: ignore[reportCallIssue]


def _objects(source: EvidenceSource, view: Any, instances: int, is_object: Tensor) -> list[Tensor]:
    frame, camera = view.frame, view.camera
    similarity = source.similarity(view)
    pixels = torch.nn.functional.interpolate(similarity, frame.label.shape[1:], mode="nearest").permute(0, 2, 3, 1)
    of_object = (frame.instance >= 0) & is_object[frame.instance.clamp(min=0).long()]
    frame_of = torch.arange(len(frame.label), device=frame.label.device)[:, None, None].expand_as(frame.label)
    key = (frame_of * instances + frame.instance)[of_object]
    unique, at, count = torch.unique(key, return_inverse=True, return_counts=True)
    mean = lambda x: torch.zeros(len(unique), *x.shape[1:], device=x.device).index_add_(0, at, x.float()) / count.view(-1, *[1] * (x.ndim - 1))  # noqa: E731
    centre = source.class_mean.to(similarity.device) if source.class_mean is not None else 0.0
    similarity_of = (mean(pixels[of_object]) - centre).half()
    label = torch.zeros(len(unique), dtype=torch.long, device=at.device).scatter_(0, at, frame.label[of_object].long())
    which = unique // instances
    pose = view.poses[which]
    size = count.float().sqrt() * 256 / camera.width
    return [label, similarity_of, mean(frame.depth[of_object]), size, pose[:, 2], -torch.rad2deg(pose[:, 4]), view.lights[which]]


def class_accuracy(seen: Seen, classes: ClassList, enough: int = ENOUGH) -> dict[str, float]:
    """Share right per class with enough objects."""
    return {c.name: round(float(seen.right[seen.label == c.id].mean()), 4) for c in classes if (seen.label == c.id).sum() >= enough}


def share_table(seen: Seen, classes: ClassList) -> dict[str, Any]:
    """Objects, share right and share confidently wrong, by scale group along each of what makes evidence unreliable."""
    group = classes.group_index[seen.label]
    axes = {
        "distance": (np.digitize(seen.distance, DISTANCE_EDGES), _names(DISTANCE_EDGES, " m")), "size": (np.digitize(seen.size, SIZE_EDGES), _names(SIZE_EDGES, " px")),
        "height": (np.digitize(seen.height, HEIGHT_EDGES), _names(HEIGHT_EDGES, " m")), "down": (np.digitize(seen.down, DOWN_EDGES), _names(DOWN_EDGES, " deg")), "light": (seen.light, list(LIGHTS)),
    }  # fmt: skip
    out: dict[str, Any] = {}
    for axis, (bin_of, names) in axes.items():
        out[axis] = {"bins": names}
        for g, name in enumerate(SCALE_GROUPS):
            rows = [(group == g) & (bin_of == k) for k in range(len(names))]
            out[axis][name] = _shares(seen, rows)
    return out


def by_class_and_distance(seen: Seen, classes: ClassList) -> dict[str, dict[str, Any]]:
    """The same per class and distance."""
    bin_of = np.digitize(seen.distance, DISTANCE_EDGES)
    out = {}
    for c in classes:
        rows = [(seen.label == c.id) & (bin_of == k) for k in range(len(DISTANCE_EDGES) + 1)]
        if sum(r.sum() for r in rows):
            out[c.name] = {
                "objects": [int(r.sum()) for r in rows],
                "right": [_share(seen.right[r]) for r in rows],
                "sure_and_wrong": [_share(seen.sure_and_wrong[r]) for r in rows],
                "confidence": [_share(seen.confidence[r]) for r in rows],
            }
    return out


def by_distance_and_size(seen: Seen, classes: ClassList) -> dict[str, dict[str, Any]]:
    """The same by scale group over distance x apparent size: what is small because it is far apart from what is small."""
    group, far, across = classes.group_index[seen.label], np.digitize(seen.distance, DISTANCE_EDGES), np.digitize(seen.size, SIZE_EDGES)
    out = {}
    for g, name in enumerate(SCALE_GROUPS):
        tables = [_shares(seen, [(group == g) & (far == d) & (across == s) for s in range(len(SIZE_EDGES) + 1)]) for d in range(len(DISTANCE_EDGES) + 1)]
        out[name] = {k: [t[k] for t in tables] for k in tables[0]}
    return out


def plainly_visible(seen: Seen, near: float = 3.0, far: float = 30.0, across: float = 12.0) -> Seen:
    """Objects within what ordinary views are about, and at least `across` pixels across."""
    return seen.where((seen.distance >= near) & (seen.distance <= far) & (seen.size >= across))


def detection(seen: Seen, class_id: int) -> dict[str, float | None]:
    """How well the similarity to one class's prompts tells its objects from all others: area under the ROC curve (0.5 is
    chance), and the share of its objects taken for it among all classes (chance: one in the number of classes)."""
    score, member = seen.similarity[:, class_id].astype(np.float64), seen.label == class_id
    if not member.any() or member.all():
        return {"objects": int(member.sum()), "auroc": None, "right": None}
    _, inverse, count = np.unique(score, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[inverse]  # ties share their mean rank
    n = int(member.sum())
    auroc = (rank[member].sum() - n * (n + 1) / 2) / (n * (len(member) - n))
    return {"objects": n, "auroc": round(float(auroc), 4), "right": round(float(seen.right[member].mean()), 4)}


def summary(ordinary: Seen, everywhere: Seen, classes: ClassList) -> dict[str, Any]:
    """Everything the model card says about a source."""
    clear = plainly_visible(ordinary)
    per_class = class_accuracy(clear, classes)
    return {
        "mean_class_accuracy": round(float(np.mean(list(per_class.values()))), 4) if per_class else None, "class_accuracy": per_class, "objects": len(clear), "enough": ENOUGH,
        "sure": SURE, "ordinary_confusion": confusion(clear, classes), "everywhere_objects": len(everywhere), "everywhere_right": _share(everywhere.right),
        "everywhere_sure_and_wrong": _share(everywhere.sure_and_wrong), "shares": share_table(everywhere, classes), "by_class_and_distance": by_class_and_distance(everywhere, classes),
        "by_distance_and_size": by_distance_and_size(everywhere, classes), "distance_bins": _names(DISTANCE_EDGES, " m"), "size_bins": _names(SIZE_EDGES, " px"),
        "confusion": confusion(everywhere, classes), "classes": list(classes.names),
    }  # fmt: skip


def judge(source: EvidenceSource, sims: Sequence[Simulator], views: int = 128, seed: int = 5, tick: Callable[[int, int], None] | None = None) -> dict[str, Any]:
    """What the model card says about a source, from `views` ordinary views of every scene and a quarter as many from everywhere in each light."""
    elsewhere = max(views // 4, 4)
    done, total = 0, (1 + len(LIGHTS)) * sum(len(s.scenes) for s in sims)

    def count() -> None:
        nonlocal done
        done += 1
        if tick is not None:
            tick(done, total)

    ordinary = look(source, sims, views, False, ["day"], seed, tick=count)
    everywhere = look(source, sims, elsewhere, True, LIGHTS, seed + 1, tick=count)
    return {"source": source.name, "views": {"ordinary": views, "everywhere": elsewhere * len(LIGHTS)}} | summary(ordinary, everywhere, sims[0].scenes[0].classes)


def confusion(seen: Seen, classes: ClassList) -> list[list[int]]:
    """[C, C] objects by true class and what they were taken for."""
    table = np.zeros((len(classes), len(classes)), int)
    np.add.at(table, (seen.label, seen.taken), 1)
    return table.tolist()


def _shares(seen: Seen, rows: Sequence[np.ndarray]) -> dict[str, list[Any]]:
    share = lambda x: [_share(x[r]) for r in rows]  # noqa: E731
    return {"objects": [int(r.sum()) for r in rows], "right": share(seen.right), "sure_and_wrong": share(seen.sure_and_wrong), "confidence": share(seen.confidence)}


def _names(edges: Sequence[float], unit: str) -> list[str]:
    bounds = [0.0, *edges]
    return [f"{a:g} to {b:g}{unit}" for a, b in pairwise(bounds)] + [f"over {edges[-1]:g}{unit}"]


def _share(x: np.ndarray) -> float | None:
    return None if len(x) < ENOUGH or math.isnan(float(x.mean())) else round(float(x.mean()), 4)
