"""`flaneur twin`: a fast statistical model of an evidence source - fit it, and say how well it matches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from flaneur.cli.cities import check_target, is_dataset, names_of, open_cities
from flaneur.cli.console import Command, print_json, print_table, progress
from flaneur.errors import UserError


@dataclass
class Fit(Command):
    """Fit a twin to an evidence source on some cities and measure the match on others, in every light.

    Examples:
      flaneur twin fit lens:lens.safetensors --scenes data --out twin_lens.safetensors
      flaneur twin fit clip:weights/clip-vit-base-patch16 --scenes out/fit --held-out out/judge --out twin_clip.safetensors
    """

    source: tyro.conf.Positional[str]
    """lens, lens-all, lens:FILE, clip:FOLDER, dinotxt:FILE, twin:easy, twin:hard, oracle."""
    scenes: Path
    """A data set, a folder of scenes, or one scene."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """The twin (.safetensors)."""
    held_out: Path | None = None
    """Where the match is measured; for a data set its split test."""
    split: str | None = None
    """Of a data set: where to fit (default: validation, which the source was not trained on)."""
    limit: int | None = None
    """At most so many scenes of each."""
    pairs: int = 100
    """Of views, per scene and light."""
    patches: int | None = None
    """Across the view (default: the source's own, at most 128)."""
    minimum: int = 1000
    """Patches below which a row of the confusion is not compared."""
    image: int = 256
    """Pixels a side."""
    seed: int = 0
    """Of the views."""
    device: str = "auto"
    """auto, cpu or cuda."""

    def run(self) -> None:
        from flaneur.perception.base import LIGHTS
        from flaneur.perception.sources import make_source
        from flaneur.perception.twin_fit import fit_and_report

        if self.held_out is None and not is_dataset(self.scenes):
            raise UserError(f"twin fit: {self.scenes} is no data set with a split test; give --held-out with scenes to measure the match on")
        _check(self.pairs, self.patches or self.image, self.image)
        fitted = open_cities(self.scenes, self.split, "validation", self.limit, self.image, self.device)
        judged = open_cities(self.held_out or self.scenes, None, "test", self.limit, self.image, self.device)
        if common := sorted(set(names_of(fitted)) & set(names_of(judged))):
            raise UserError(f"twin fit: scene '{common[0]}' is in both --scenes and --held-out; the match is measured on cities the twin has not seen")
        source = make_source(self.source, fitted.scenes[0].classes, str(fitted.device))
        check_target(self.out)
        with progress(f"twin of {source.name}, scenes in each light", 1) as advance:
            memory = fit_and_report(source, [fitted], [judged], self.pairs, self.patches, self.seed, LIGHTS, self.minimum, lambda done, total: advance(done / total))
        memory.save(self.out)
        report = {
            "twin": str(self.out),
            "bytes": self.out.stat().st_size,
            "fitted_to": source.name,
            "fitted_on": names_of(fitted),
            "held_out": names_of(judged),
            "answers": len(memory.answer),
            "match": _plain(memory.match),
        }
        if self.json:
            print_json(report)
            return
        _print(memory.match, f"{self.out}: {memory.origin} on {len(fitted.scenes)} scenes, {report['bytes'] / 1e6:.1f} MB; held out {len(judged.scenes)} scenes")


@dataclass
class Evaluate(Command):
    """Measure how well a twin matches its model on cities it was not fitted on, in every light.

    Example: flaneur twin evaluate twin_lens.safetensors --source lens:lens.safetensors --scenes data
    """

    twin: tyro.conf.Positional[Path]
    """A file made by flaneur twin fit."""
    source: str
    """What it imitates: lens, lens:FILE, clip:FOLDER, dinotxt:FILE, ..."""
    scenes: Path
    """A data set, a folder of scenes, or one scene."""
    split: str | None = None
    """Of a data set (default: test)."""
    limit: int | None = None
    """At most so many scenes."""
    pairs: int = 100
    """Of views, per scene and light."""
    minimum: int = 1000
    """Patches below which a row of the confusion is not compared."""
    image: int = 256
    """Pixels a side."""
    seed: int = 1
    """Of the views; another than the one it was fitted with."""
    device: str = "auto"
    """auto, cpu or cuda."""

    def run(self) -> None:
        from flaneur.perception.base import LIGHTS
        from flaneur.perception.sources import make_source
        from flaneur.perception.twin_fit import measure_match
        from flaneur.perception.twin_memory import Memory, MemoryTwin

        memory = Memory.load(self.twin)
        _check(self.pairs, memory.patches, self.image)
        sim = open_cities(self.scenes, self.split, "test", self.limit, self.image, self.device)
        source = make_source(self.source, sim.scenes[0].classes, str(sim.device))
        twin = MemoryTwin(memory, sim.scenes[0].classes, sim.device)
        done, total = 0, 2 * len(LIGHTS) * len(sim.scenes)
        with progress(f"{source.name} and its twin, scenes in each light", total) as advance:

            def count() -> None:
                nonlocal done
                done += 1
                advance(done)

            match = measure_match(source, twin, [sim], self.pairs, memory.patches, self.seed, LIGHTS, self.minimum, count)
        if self.json:
            print_json({"twin": str(self.twin), "origin": memory.origin, "source": source.name, "scenes": names_of(sim), "match": _plain(match)})
        else:
            _print(match, f"{self.twin} ({memory.origin}) against {source.name}, {len(sim.scenes)} scenes")


def _check(pairs: int, patches: int, image: int) -> None:
    if pairs < 1:
        raise UserError(f"--pairs {pairs}: at least 1 is needed")
    if patches < 1 or image % patches:
        raise UserError(f"--image {image}: must be a multiple of the twin's {patches} patches across the view")


def _plain(match: dict[str, Any]) -> dict[str, Any]:
    """JSON knows no NaN: null where too few patches were seen to compare."""
    return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in match.items()}


def _print(match: dict[str, Any], title: str) -> None:
    """The model's figures beside the twin's, then how far their confusions lie apart."""
    both = [(k.replace("_", " "), match[k], match[f"{k}_twin"]) for k in match if f"{k}_twin" in match]
    print_table(("", "model", "twin"), both, title)
    print_table(("total variation of confusion rows", ""), [(k.replace("_", " "), v) for k, v in match.items() if not k.endswith("_twin") and f"{k}_twin" not in match])
