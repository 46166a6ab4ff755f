"""Train and judge everything that ships as evidence, within a time: Lens, its control, the twins of both.

    python benchmarks/perception.py --scenes DATASET --out DIR [--fit-also DATASET] [--minutes 5] [--device auto] [--tiny]

Trains Lens (ordinary views) and `lens-all` on cities of the train split, judges them on cities of the other splits, fits
a twin to each on cities that neither saw, measures the match on the held-out ones, trains a short third network
without some classes, and times CLIP-sized models through the interface. Every file is written as soon as it exists and
not made again: a run that was stopped goes on. `perception.json` has every figure. Needs torch, warp, numpy and
safetensors; the last figure transformers too.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from flaneur.city.scene import Scene
from flaneur.evaluation.setup import scene_folders
from flaneur.geometry import Camera
from flaneur.perception.base import LIGHTS, EvidenceSource
from flaneur.perception.lens import Lens, LensConfig
from flaneur.perception.lens_train import LensTrainConfig, train_to_file
from flaneur.perception.reliability import detection, judge, look, plainly_visible
from flaneur.perception.twin_fit import fit_and_report
from flaneur.perception.twin_memory import Memory, MemoryTwin
from flaneur.sim import Simulator

WITHHELD = ("motorcycle", "truck", "shrub")
TINY = LensConfig((8, 16, 32), (1, 1), 64)  # widths, blocks, pixels
# Cities of the train split on which Lens is not trained and the twins are fitted, beside those for validation: one per place.
FITTED = ("at_krems_town-3", "fr_paris_9e-3", "us_austin_east-3", "synthetic_rural-3")
HELD_OUT = 8  # cities of the test split, spread over places


def split_of(dataset: Path) -> dict[str, list[Path]]:
    """Folders of the scenes: to train on, to fit the twins on, to judge on."""
    records = json.loads((dataset / "dataset.json").read_text("utf-8"))["scenes"]
    path = {r["name"]: dataset / r["path"] for r in records}
    train_on = [r["name"] for r in records if r["split"] == "train" and r["name"] not in FITTED]
    fit_on = [r["name"] for r in records if r["name"] in FITTED or r["split"] == "validation"]
    by_place: dict[str, list[str]] = {}
    for r in records:
        if r["split"] == "test":
            by_place.setdefault(r["place"].split("-")[0] if r["place"].startswith("synthetic") else r["place"], []).append(r["name"])
    places = sorted(by_place)
    count = min(HELD_OUT, len(places))
    judge_on = [by_place[places[k * len(places) // count]][0] for k in range(count)]
    return {"train": [path[n] for n in train_on], "fit": [path[n] for n in fit_on], "held_out": [path[n] for n in judge_on]}


class Run:
    def __init__(self, a: argparse.Namespace) -> None:
        self.began, self.a, self.out = time.perf_counter(), a, a.out
        self.out.mkdir(parents=True, exist_ok=True)
        self.device = a.device if a.device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
        self.camera = Camera.from_fov(a.pixels, a.pixels)
        self._sims: dict[str, Simulator] = {}
        self.folders = split_of(a.scenes)
        if a.fit_also:
            self.folders["fit"] += scene_folders(a.fit_also)
        if a.cities:
            self.folders = {k: v[: a.cities] for k, v in self.folders.items()}
        self.failed: list[str] = []

    @property
    def left(self) -> float:
        return 60 * self.a.minutes - (time.perf_counter() - self.began)

    def say(self, text: str) -> None:
        print(f"{time.perf_counter() - self.began:7.1f} s  {text}", flush=True)

    def sim(self, role: str) -> Simulator:
        if role not in self._sims:
            self._sims[role] = Simulator([Scene.load(p) for p in self.folders[role]], self.camera, self.device, light="day")
            self.say(f"{len(self.folders[role])} scenes for {role}")
        return self._sims[role]

    def stage(self, file: str, make: Callable[[Path], Any], least: float) -> None:
        """Make a file unless it is there; what goes wrong in one stage does not stop the next."""
        path = self.out / file
        if path.exists():
            return self.say(f"{file} is there")
        if self.left < least:
            return self.say(f"{file}: no time left ({self.left:.0f} s)")
        began = time.perf_counter()
        try:
            document = make(path)
        except Exception:
            traceback.print_exc()
            self.failed.append(file)
            return self.say(f"{file} FAILED")
        if document is not None:
            temporary = path.with_suffix(".part")
            temporary.write_text(json.dumps(document | {"seconds": round(time.perf_counter() - began, 1)}, indent=1) + "\n", "utf-8")
            temporary.replace(path)
        self.say(f"{file} done in {time.perf_counter() - began:.1f} s")

    def train(self, path: Path, views: Any, share: float, without: tuple[str, ...] = ()) -> None:
        a, sim = self.a, self.sim("train")
        network = TINY if a.tiny else LensConfig()
        config = LensTrainConfig(network, views, without=without, seconds=0.0 if a.steps else share * self.left, steps=a.steps or 1, batch=a.batch, views_per_scene=a.poses)
        sim.set_light("day")

        def note(step: int, total: int, loss: float) -> None:
            if step % 200 == 1 or step >= total:
                self.say(f"  {views} step {step} of {total}, loss {loss:.4f}")

        train_to_file(sim, config, path, note)
        sim.set_light("day")

    def judge(self, source: EvidenceSource) -> dict[str, Any]:
        return judge(source, [self.sim("held_out")], self.a.views)

    @property
    def classes(self) -> Any:
        return self.sim("held_out").scenes[0].classes

    def lens(self, name: str) -> Lens:
        return Lens.load(self.out / name, self.classes, self.device)

    def withheld(self) -> dict[str, Any]:
        """What prompts for classes never seen are worth, beside the same prompts of the network that saw them."""
        out: dict[str, Any] = {"chance": {"auroc": 0.5, "right": round(1 / len(self.classes), 4)}, "classes": {}}
        for name, file in (("never_seen", "lens_withheld.safetensors"), ("seen", "lens.safetensors")):
            seen = plainly_visible(look(self.lens(file), [self.sim("held_out")], self.a.views, False, ["day"], seed=5))
            for k in WITHHELD:
                out["classes"].setdefault(k, {})[name] = detection(seen, self.classes.index[k])
        return out

    def twin(self, path: Path, weights: str) -> None:
        memory = fit_and_report(self.lens(weights), [self.sim("fit")], [self.sim("held_out")], self.a.pairs, lights=LIGHTS)
        memory.save(path)
        self.say(f"  {json.dumps(memory.match)}")

    def collect(self) -> dict[str, Any]:
        """One document of all the figures."""
        document: dict[str, Any] = {
            "scenes": {k: [p.name for p in v] for k, v in self.folders.items()}, "pixels": self.a.pixels, "pairs": self.a.pairs, "failed": self.failed,
            "machine": {"device": torch.cuda.get_device_name() if self.device == "cuda" else platform.machine(), "cores": os.cpu_count(), "torch": torch.__version__},
            "seconds": round(time.perf_counter() - self.began, 1), "weights_bytes": {p.name: p.stat().st_size for p in sorted(self.out.glob("*.safetensors"))},
        }  # fmt: skip
        for file in sorted(self.out.glob("*.json")):
            if file.name != "perception.json":
                document[file.name.removesuffix(".json")] = json.loads(file.read_text("utf-8"))
        for file in ("twin_lens", "twin_lens_all"):
            if (self.out / f"{file}.safetensors").exists():
                memory = Memory.load(self.out / f"{file}.safetensors")
                shares = {k: getattr(memory, k) for k in ("share_surface", "share_view", "share_patch")}
                document[f"{file}_match"] = memory.match | shares | {"answers": len(memory.answer), "leaves": int((memory.feature < 0).sum())}
        return document


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=Path, required=True, help="a built dataset (dataset.json in it)")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--fit-also", type=Path, help="another dataset, of whose places none is judged on; the twins are fitted on it too")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--lens-share", type=float, default=0.42, help="of the time, for training Lens; what finds no time left is not made")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--pixels", type=int, default=256)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--views", type=int, default=128, help="per held-out scene")
    parser.add_argument("--pairs", type=int, default=24, help="of views per scene and light, for the twins")
    parser.add_argument("--poses", type=int, default=6000, help="per training scene, drawn beforehand")
    parser.add_argument("--steps", type=int, default=0, help="of training; 0: what fits the time")
    parser.add_argument("--cities", type=int, default=0, help="at most this many per role")
    parser.add_argument("--tiny", action="store_true", help="a tiny network, to see that everything runs")
    a = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    run = Run(a)
    run.say(f"{run.device}, {', '.join(f'{k} {len(v)}' for k, v in run.folders.items())} scenes")
    # What matters most comes first; shares are of the time left then.
    run.stage("lens.safetensors", lambda p: run.train(p, "ordinary", a.lens_share), 20)
    run.stage("lens_figures.json", lambda p: run.judge(run.lens("lens.safetensors")), 5)
    run.stage("twin_lens.safetensors", lambda p: run.twin(p, "lens.safetensors"), 5)
    run.stage("lens_all.safetensors", lambda p: run.train(p, "all", 0.45), 20)
    run.stage("lens_all_figures.json", lambda p: run.judge(run.lens("lens_all.safetensors")), 5)
    run.stage("twin_lens_all.safetensors", lambda p: run.twin(p, "lens_all.safetensors"), 5)
    run.stage("lens_withheld.safetensors", lambda p: run.train(p, "ordinary", 0.4, WITHHELD), 15)
    run.stage("withheld.json", lambda p: run.withheld(), 3)
    for kind in ("lens", "lens_all"):
        if (run.out / f"twin_{kind}.safetensors").exists():
            run.stage(f"twin_{kind}_figures.json", lambda p, k=kind: run.judge(MemoryTwin(Memory.load(run.out / f"twin_{k}.safetensors"), run.classes, run.device)), 3)
    document = run.collect()
    (run.out / "perception.json").write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    for kind in ("lens", "lens_all"):
        figures = document.get(f"{kind}_figures", {})
        run.say(f"{kind}: mean class accuracy {figures.get('mean_class_accuracy')} over {figures.get('objects')} objects; twin {json.dumps(document.get(f'twin_{kind}_match', {}))}")
    run.say(f"withheld {json.dumps(document.get('withheld', {}).get('classes', {}))}")
    return 1 if run.failed else 0


if __name__ == "__main__":
    sys.exit(main())
