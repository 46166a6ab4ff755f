"""What the size of a patch alone costs: a source that knows the largest class of every patch, and nothing else.

    python benchmarks/patch_resolution.py --scenes DATA [--out benchmarks/results/patch_resolution.json]

DATA is a built dataset. The nearest frontier maps one city of each training place from its first start; the source
answers with the class that fills most of a patch, for several numbers of patches across the view, and at last with the
label of every pixel. No model with such patches can do better than by luck (decision 0080).
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from flaneur.classes import ClassList
from flaneur.evaluation.episodes import Episode, run_episodes
from flaneur.evaluation.setup import TaskConfig, load_world, scene_folders
from flaneur.perception import Oracle, View
from flaneur.perception.patches import describe_patches
from flaneur.planners import NearestFrontier
from flaneur.sim.bench import machine

CITIES = ("us_austin_east-0", "fr_paris_9e-2", "synthetic_rural-2", "at_krems_town-1")
ACROSS = (32, 64, 128)


class LargestOfPatch:
    """One-hot evidence for the class that fills most of each patch."""

    recordable = True
    outputs = ("depth", "instance", "label")
    logit_scale = 5.0
    class_mean: Tensor | None = None

    def __init__(self, classes: ClassList, across: int) -> None:
        self.classes, self.across, self.name = classes, across, f"largest class of {across} patches"

    def similarity(self, view: View) -> Tensor:
        mixture = describe_patches(view, len(self.classes), self.across).mixture
        return torch.zeros_like(mixture).scatter_(1, mixture.argmax(1, keepdim=True), 1.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=Path, required=True)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/patch_resolution.json"))
    a = parser.parse_args()
    world = load_world(a.scenes, TaskConfig(lattice="medium", evidence="oracle"), "train", None, a.device)
    kept = [k for k, p in enumerate(scene_folders(a.scenes, "train")) if p.name in CITIES]
    world = replace(world, names=[world.names[k] for k in kept], scenes=[world.scenes[k] for k in kept], truths=[world.truths[k] for k in kept])
    classes, rows = world.scenes[0].classes, []
    for across in (*ACROSS, None):
        source: Any = LargestOfPatch(classes, across) if across else Oracle(classes)
        env = replace(world, _source=source, _kept=None).env(len(kept))
        scores = [r["scores"] for r in run_episodes(env, NearestFrontier(), [Episode(k, 0, 0) for k in range(len(kept))])]
        mean = lambda key, scores=scores: np.round(100 * np.mean([s[key] for s in scores], axis=0), 1).tolist()  # noqa: E731
        rows.append({"patches": across or "every pixel", "ocr": mean("ocr"), "ccr": mean("ccr"), "strict_miou": mean("strict_miou"), "background_wrong": mean("background_wrong")})
        print(rows[-1], flush=True)
    a.out.write_text(json.dumps({"cities": world.names, "pixels": 256, "planner": "nearest_frontier", "machine": machine(torch.device(a.device)), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
