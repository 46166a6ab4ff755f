"""Whether a CPU and a GPU give the same images, where no machine has compilers for both.

    python benchmarks/devices_agree.py write --scenes DATA --images FILE.npz          on one machine
    python benchmarks/devices_agree.py compare --scenes DATA --images FILE.npz        on the other

DATA is a built dataset; of every validation city a few free poses are rendered. `compare` judges depth (1e-4 relative on
every pixel with the same instance), instance and class, edges excepted by one pixel and not. Exit code 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from flaneur.city.scene import Scene
from flaneur.evaluation.setup import scene_folders
from flaneur.geometry import Camera
from flaneur.sim import Simulator
from flaneur.sim.bench import machine

VIEWS, SIZE = 8, 128
OUTPUTS = ("depth", "instance", "label", "rgb")


def render(folders: list[Path], device: str, poses: Tensor | None) -> dict[str, np.ndarray]:
    """[cities * VIEWS, SIZE, SIZE] of each output; poses are drawn where none are given."""
    camera, out = Camera.from_fov(SIZE, SIZE), {}
    for k, folder in enumerate(folders):
        sim = Simulator([Scene.load(folder)], camera, device)
        mine = sim.sample_free(torch.Generator().manual_seed(k), VIEWS, 0, (1.5, 40.0)) if poses is None else poses[k * VIEWS : (k + 1) * VIEWS].to(sim.device)
        frame = sim.render(mine, torch.zeros(VIEWS, dtype=torch.int32, device=sim.device), OUTPUTS)
        for name in OUTPUTS:
            out.setdefault(name, []).append(getattr(frame, name).cpu().numpy())
        out.setdefault("poses", []).append(mine.cpu().numpy())
    return {name: np.concatenate(parts) for name, parts in out.items()}


def compare(mine: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> dict[str, float]:
    a, b = ({k: torch.from_numpy(v[k]) for k in OUTPUTS} for v in (mine, theirs))
    same = a["instance"] == b["instance"]
    both = same & (a["depth"] > 0) & (b["depth"] > 0)
    gap = ((a["depth"] - b["depth"]).abs() / b["depth"].clamp(min=1e-6))[both]
    rim = functional.max_pool2d((b["instance"].float() != functional.max_pool2d(b["instance"].float(), 3, 1, 1)).float(), 3, 1, 1) > 0
    share = lambda x: round(float(x.double().mean()), 6)  # noqa: E731
    return {
        "pixels": same.numel(), "instance_equal": share(same), "class_equal": share(a["label"] == b["label"]), "instance_equal_off_edges": share(same[~rim]),
        "depth_within_1e-4": share(gap <= 1e-4), "depth_largest_relative": round(float(gap.max()), 6), "rgb_within_2_of_255": share((a["rgb"].int() - b["rgb"].int()).abs() <= 2),
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=("write", "compare"))
    parser.add_argument("--scenes", type=Path, required=True)
    parser.add_argument("--images", type=Path, required=True)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/devices_agree.json"))
    a = parser.parse_args()
    folders = scene_folders(a.scenes, "validation")
    if a.mode == "write":
        np.savez_compressed(a.images, machine=json.dumps(machine(torch.device(a.device))), **render(folders, a.device, None))
        return 0
    theirs = dict(np.load(a.images))
    found = compare(render(folders, a.device, torch.from_numpy(theirs["poses"])), theirs)
    passed = found["instance_equal"] >= 0.9999 and found["class_equal"] >= 0.9999 and found["depth_within_1e-4"] >= 0.9999
    document = {"cities": [p.name for p in folders], "views": VIEWS, "size": SIZE, "machines": [json.loads(str(theirs["machine"])), machine(torch.device(a.device))], **found, "passed": passed}
    a.out.write_text(json.dumps(document, indent=1) + "\n")
    print(json.dumps(found, indent=1))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
