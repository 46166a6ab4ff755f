"""What a scene and a dataset hold, in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from flaneur.city.scene import Scene
from flaneur.classes import GROUPS, SCALE_GROUPS


def scene_statistics(scene: Scene) -> dict[str, Any]:
    """Counts of objects by class, group and fine name, volumes, meshes: JSON values, the same for the same scene."""
    objects = np.flatnonzero(scene.is_object)
    names, groups = scene.classes.names, scene.group[objects]
    classes = Counter(names[c] for c in scene.class_id[objects].tolist())
    fine = Counter(scene.prototypes[k].fine_name for k in scene.instances.prototype[objects].tolist())
    background = Counter(names[c] for c in scene.class_id[~scene.is_object].tolist())
    triangles = np.array([len(p.faces) for p in scene.prototypes], np.int64)
    volume = scene.volume[objects]
    return {
        "objects": len(objects),
        "classes": _sorted(classes),
        "groups": {g: int((groups == GROUPS.index(g)).sum()) for g in SCALE_GROUPS},
        "fine_names": _sorted(fine),
        "background": _sorted(background),
        "smallest_m3": round(float(volume.min()), 6) if len(objects) else None,
        "largest_m3": round(float(volume.max()), 6) if len(objects) else None,
        "outside_range": _outside_range(scene, objects),
        "mapped": int((scene.instances.osm_id[objects] != 0).sum()),
        "prototypes": len(scene.prototypes),
        "triangles": int(triangles[scene.instances.prototype].sum()),
        "own_triangles": int(triangles.sum()),
    }


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _outside_range(scene: Scene, objects: np.ndarray) -> int:
    """How many objects have a volume outside their class's range (rounded to a litre's thousandth)."""
    low = np.array([c.volume_m3[0] for c in scene.classes])[scene.class_id[objects]]
    high = np.array([c.volume_m3[1] for c in scene.classes])[scene.class_id[objects]]
    volume = np.round(scene.volume[objects], 6)
    return int(((volume < low) | (volume >= high)).sum())


def summary(scenes: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """One table over the statistics of several scenes; each has `statistics`, `place_type`, `split` and `light` beside."""
    scenes = list(scenes)
    each = [s["statistics"] for s in scenes]
    classes, fine, groups, background = (_total(s[key] for s in each) for key in ("classes", "fine_names", "groups", "background"))
    objects = sum(s["objects"] for s in each)
    counts = np.array([s["objects"] for s in each]) if each else np.zeros(0)
    smallest = [s["smallest_m3"] for s in each if s["smallest_m3"] is not None]
    largest = [s["largest_m3"] for s in each if s["largest_m3"] is not None]
    by_type = {t: [s["statistics"]["objects"] for s in scenes if s["place_type"] == t] for t in sorted({s["place_type"] for s in scenes})}
    return {
        "scenes": len(scenes),
        "objects": objects,
        "mean_objects": round(float(counts.mean()), 1) if len(counts) else 0.0,
        "min_objects": int(counts.min()) if len(counts) else 0,
        "max_objects": int(counts.max()) if len(counts) else 0,
        "classes": classes,
        "groups": groups,
        "background": background,
        "fine_names": fine,
        "smallest_m3": min(smallest, default=None),
        "largest_m3": max(largest, default=None),
        "outside_range": sum(s["outside_range"] for s in each),
        "mapped": sum(s["mapped"] for s in each),
        "triangles": sum(s["triangles"] for s in each),
        "own_triangles": sum(s["own_triangles"] for s in each),
        "place_types": {t: {"scenes": len(v), "mean_objects": round(float(np.mean(v)), 1), "min_objects": min(v)} for t, v in by_type.items()},
        "splits": _sorted(Counter(s["split"] for s in scenes)),
        "lights": _sorted(Counter(s["light"] for s in scenes)),
        "places": len({s["place"] for s in scenes}),
    }


def _total(parts: Iterable[dict[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return _sorted(total)
