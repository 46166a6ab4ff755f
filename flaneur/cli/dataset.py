"""`flaneur dataset`: many cities from one manifest, their statistics and card, and where they are kept."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from flaneur.cli.console import Command, print_json, print_table, progress
from flaneur.cli.parsing import ray_address
from flaneur.errors import UserError


@dataclass
class Build(Command):
    """Build the scenes of a manifest. Run again to go on; the bytes do not depend on workers or interruptions.

    Examples:
      flaneur dataset build flaneur/data/benchmark.toml --osm-root maps --out data --workers 2
      flaneur dataset build my.toml --out data --shard 3/10
      flaneur dataset build my.toml --out data --ray 10.0.0.1:6379
      flaneur dataset build my.toml --out data --slurm --jobs 50 --slurm-set partition=cpu
    """

    manifest: tyro.conf.Positional[Path]
    """TOML file: scenes with their split, light and source."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """Folder of the data set."""
    osm_root: Path | None = None
    """Folder of the street maps the manifest names."""
    workers: int | None = None
    """Processes (default: 1; with --ray and no address: the machine's cores; with --slurm: of every job)."""
    shard: str | None = None
    """I/N: every N-th scene from the I-th; the last shard to finish writes the index."""
    ray: tuple[str, ...] | None = None
    """On a Ray cluster: HOST:PORT of its head, auto for the one this machine belongs to, nothing for this machine alone."""
    slurm: bool = False
    """As SLURM jobs; run on a login node, waits for them."""
    jobs: int = 10
    """With --slurm: how many."""
    slurm_set: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """With --slurm: a parameter of submitit, as in partition=cpu, timeout_min=240, account=me."""

    def run(self) -> None:
        from flaneur.city.dataset.build import build_dataset

        address = ray_address(self.ray)
        if sum(map(bool, (address, self.slurm, self.shard))) > 1:
            raise UserError("dataset build: --ray, --slurm and --shard exclude each other")
        if self.slurm_set and not self.slurm:
            raise UserError("dataset build: --slurm-set goes with --slurm")
        with progress("scenes", 1) as advance:
            tick = lambda done, total, name: advance(done / total, name)  # noqa: E731
            if self.slurm:
                from flaneur.city.dataset.slurm import build_on_slurm, parameters

                index = build_on_slurm(self.manifest, self.out, self.osm_root, self.jobs, self.workers or 1, parameters(self.slurm_set), tick)
            else:
                index = build_dataset(self.manifest, self.out, self.osm_root, self.workers, _shard(self.shard), tick, ray=address)
        report = {"out": str(self.out), "complete": index is not None, "scenes": len(index.scenes) if index else None}
        if self.json:
            print_json(report)
        else:
            print(f"{self.out}: {len(index.scenes)} scenes, index written" if index else f"{self.out}: this shard is done, others are missing")


@dataclass
class Stats(Command):
    """Statistics of a built data set.

    Example: flaneur dataset stats data
    """

    folder: tyro.conf.Positional[Path]
    """Folder of the data set."""

    def run(self) -> None:
        from flaneur.city.dataset.card import dataset_statistics

        numbers = dataset_statistics(self.folder)
        if self.json:
            print_json(numbers)
            return
        print_table(("", "value"), [(k.replace("_", " "), v) for k, v in numbers.items() if not isinstance(v, (dict, list))], str(self.folder))
        for name, value in numbers.items():
            if isinstance(value, dict) and value and all(isinstance(v, (int, float)) for v in value.values()):
                print_table((name.replace("_", " "), "value"), sorted(value.items(), key=lambda kv: -kv[1])[:30])


@dataclass
class Card(Command):
    """Write the data card (README.md) and the statistics figure into a built data set.

    Example: flaneur dataset card data
    """

    folder: tyro.conf.Positional[Path]
    """Folder of the data set."""

    def run(self) -> None:
        from flaneur.city.dataset.card import write_card

        path = write_card(self.folder)
        print_json({"card": str(path)}) if self.json else print(path)


@dataclass
class Push(Command):
    """Copy a data set to a folder, an S3 path or a Hugging Face data set, verified.

    Examples:
      flaneur dataset push data s3://bucket/cities
      flaneur dataset push data hf://datasets/me/cities
    """

    folder: tyro.conf.Positional[Path]
    """Folder of the data set."""
    target: tyro.conf.Positional[str]
    """Folder, s3://BUCKET/... or hf://datasets/..."""

    def run(self) -> None:
        from flaneur.city.dataset.hosting import push

        with progress("scenes", 1) as advance:
            index = push(self.folder, self.target, lambda done, total, name: advance(done / total, name))
        print_json({"target": self.target, "scenes": len(index.scenes)}) if self.json else print(f"{self.target}: {len(index.scenes)} scenes")


@dataclass
class Pull(Command):
    """Copy a data set from a folder, an S3 path or a Hugging Face data set, verified.

    Example: flaneur dataset pull s3://bucket/cities data
    """

    source: tyro.conf.Positional[str]
    """Folder, s3://BUCKET/... or hf://datasets/..."""
    folder: tyro.conf.Positional[Path]
    """Folder of the data set."""

    def run(self) -> None:
        from flaneur.city.dataset.hosting import pull

        with progress("scenes", 1) as advance:
            index = pull(self.source, self.folder, lambda done, total, name: advance(done / total, name))
        print_json({"folder": str(self.folder), "scenes": len(index.scenes)}) if self.json else print(f"{self.folder}: {len(index.scenes)} scenes")


def _shard(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    first, slash, second = text.partition("/")
    if not (slash and first.isdigit() and second.isdigit()):
        raise UserError(f"--shard {text}: give I/N, as in 3/10")
    return int(first), int(second)
