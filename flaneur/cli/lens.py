"""`flaneur lens`: the small vision-language model that ships - train it, judge any evidence source, write the model card."""

from __future__ import annotations

import importlib.util
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from flaneur.cli.cities import check_target, names_of, open_cities
from flaneur.cli.console import Command, print_json, print_table, progress
from flaneur.errors import UserError


@dataclass
class Train(Command):
    """Train Lens on rendered cities: ordinary views (street level, 3 to 30 m, day), or all for the control.

    Examples:
      flaneur lens train --scenes data --out lens.safetensors --seconds 300
      flaneur lens train --scenes data --out lens_all.safetensors --views all --steps 3000
    """

    scenes: Path
    """A data set, a folder of scenes, or one scene."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """Weights (.safetensors)."""
    views: Literal["ordinary", "all"] = "ordinary"
    """ordinary: near, level and by day, as a camera in a street sees; all: the control, from everywhere in every light."""
    steps: int = 1500
    """Updates of the network."""
    seconds: float = 0.0
    """When positive: as many steps as fit."""
    split: str | None = None
    """Of a data set (default: train)."""
    limit: int | None = None
    """At most so many scenes."""
    batch: int = 128
    """Views per step."""
    learning_rate: float = 2e-3
    """Highest of the schedule."""
    poses: int = 6000
    """Views per scene, drawn beforehand."""
    without: tuple[str, ...] = ()
    """Classes left out, to see what a prompt for something never seen is worth."""
    widths: tuple[int, int, int] = (32, 96, 208)
    """Channels of the network."""
    blocks: tuple[int, int] = (3, 4)
    """Its residual blocks."""
    image: int = 256
    """Pixels a side."""
    patch: int = 4
    """Pixels a side of what gets an answer of its own: 4 or 2."""
    seed: int = 0
    """Of the views and the first weights."""
    device: str = "auto"
    """auto, cpu or cuda."""

    def run(self) -> None:
        from flaneur.perception.lens import LensConfig
        from flaneur.perception.lens_train import LensTrainConfig, train_to_file

        config = LensTrainConfig(
            LensConfig(self.widths, self.blocks, self.image, patch=self.patch), self.views, self.steps, self.seconds, self.batch, self.learning_rate,
            without=self.without, views_per_scene=self.poses, seed=self.seed,
        )  # fmt: skip
        sim = open_cities(self.scenes, self.split, "train", self.limit, self.image, self.device, light="day")
        check_target(self.out)
        try:
            with progress(f"lens, {self.views} views", 1) as advance:
                record = train_to_file(sim, config, self.out, lambda step, total, loss: advance(step / total, f"step {step:,} of {total:,}, loss {loss:.3f}"))
        except FloatingPointError as error:
            raise UserError(f"lens train: {error}; give a lower --learning-rate than {self.learning_rate:g}") from None
        report = {"weights": str(self.out), "bytes": self.out.stat().st_size, **record}
        if self.json:
            print_json(report)
            return
        print(f"{self.out}: {record['steps']:,} steps on {record['scenes']} scenes in {record['seconds']} s, loss {record['final_loss']}, {report['bytes'] / 1e6:.1f} MB")
        print(f"judge it: flaneur lens evaluate {self.out} --scenes {self.scenes} --out {self.out.with_suffix('')}_card")


@dataclass
class Evaluate(Command):
    """Judge Lens or any other evidence on held-out cities: figures as JSON, and a model card with its pictures.

    Examples:
      flaneur lens evaluate lens.safetensors --scenes data --out out/lens
      flaneur lens evaluate clip:weights/clip-vit-base-patch16 --scenes data --split validation --out out/clip
    """

    evidence: tyro.conf.Positional[str]
    """A file of Lens weights, or a source: lens, lens-all, twin:FILE, clip:FOLDER, dinotxt:FILE, oracle."""
    scenes: Path
    """A data set, a folder of scenes, or one scene."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """Folder of the figures and the card."""
    split: str | None = None
    """Of a data set (default: test)."""
    limit: int | None = None
    """At most so many scenes."""
    views: int = 128
    """Ordinary ones of every scene; a quarter as many from everywhere in each light."""
    image: int = 256
    """Pixels a side."""
    seed: int = 5
    """Of the views."""
    device: str = "auto"
    """auto, cpu or cuda."""

    def run(self) -> None:
        from flaneur.perception.reliability import judge
        from flaneur.sim.bench import machine

        if self.views < 1:
            raise UserError(f"--views {self.views}: at least 1 is needed")
        sim = open_cities(self.scenes, self.split, "test", self.limit, self.image, self.device)
        source = _source(self.evidence, sim)
        began = time.perf_counter()
        with progress(f"{source.name}, scenes in each light", 1) as advance:
            figures = judge(source, [sim], self.views, self.seed, lambda done, total: advance(done / total))
        figures |= {"scenes": names_of(sim), "pixels": self.image, "machine": machine(sim.device), "seconds": round(time.perf_counter() - began, 1), **_about(self.evidence)}
        written = _write(figures, self.out)
        if self.json:
            print_json({"files": [str(p) for p in written], **figures})
        else:
            _print(figures)
            _say(written)


@dataclass
class Card(Command):
    """Write model cards from the figures of a finished run; nothing is rendered.

    Examples:
      flaneur lens card perception.json --out docs/perception
      flaneur lens card out/lens/lens_figures.json --out out/lens
    """

    figures: tyro.conf.Positional[Path]
    """perception.json or *_figures.json."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """Folder of the cards and pictures."""

    def run(self) -> None:
        from flaneur.perception.card import read_figures, write_card

        written = write_card(read_figures(self.figures), self.out)
        print_json({"files": [str(p) for p in written]}) if self.json else _say(written)


def _source(name: str, sim: Any) -> Any:
    """A source by name; a bare file holds Lens weights."""
    from flaneur.perception.sources import make_source

    bare = (name.endswith(".safetensors") and ":" not in name) or Path(name).is_file()
    return make_source(f"lens:{name}" if bare else name, sim.scenes[0].classes, str(sim.device))


def _about(name: str) -> dict[str, Any]:
    """What is known of the weights: their size, and how they were trained when that lies beside them."""
    from flaneur.perception.lens_train import training_record

    path = Path(name.removeprefix("lens:"))
    if not path.is_file():
        return {}
    record = training_record(path)
    trained = {"training": json.loads(record.read_text("utf-8"))} if record.is_file() and path.suffix == ".safetensors" else {}
    return {"weights_bytes": path.stat().st_size, **trained}


def _write(figures: dict[str, Any], folder: Path) -> list[Path]:
    """The JSON first; the card's pictures only where matplotlib is."""
    from flaneur.city.export.files import replacing
    from flaneur.perception.card import slug, write_card

    path = folder / f"{slug(figures['source'])}_figures.json"
    with replacing(path) as target:
        target.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")
    return [path, *write_card([figures], folder, draw=importlib.util.find_spec("matplotlib") is not None)]


def _print(figures: dict[str, Any]) -> None:
    from flaneur.classes import SCALE_GROUPS

    percent = lambda v: "-" if v is None else f"{100 * v:.1f}"  # noqa: E731
    table = figures["shares"]["distance"]
    rows = [(name, *(f"{percent(table[g]['right'][k])} / {percent(table[g]['sure_and_wrong'][k])}" for g in SCALE_GROUPS)) for k, name in enumerate(table["bins"])]
    print_table(("distance", *SCALE_GROUPS), rows, f"{figures['source']}: right / confidently wrong, %, from everywhere")
    print(f"mean class accuracy, plainly visible: {percent(figures['mean_class_accuracy'])} % of {figures['objects']:,} objects")
    print(f"right, from everywhere: {percent(figures['everywhere_right'])} % of {figures['everywhere_objects']:,} objects")


def _say(written: Sequence[Path]) -> None:
    for path in written:
        if path.suffix in (".md", ".json"):
            print(path)
    if not any(p.suffix == ".svg" for p in written):
        print(f"no pictures: matplotlib is missing; pip install matplotlib, then: flaneur lens card {written[0]} --out {written[0].parent}")
