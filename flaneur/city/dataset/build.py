"""Building a dataset: resumable, parallel, the same bytes for any number of workers.

    out/scenes/<name>/     one scene each, written beside and renamed
    out/dataset.json       written when all scenes of the manifest are there

A scene carries the manifest entry and the generator it was made by, so a second run knows which ones are done.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from flaneur import __version__
from flaneur.city.dataset.index import Index, Record
from flaneur.city.dataset.manifest import Entry, Manifest, check_files, load_manifest
from flaneur.city.dataset.statistics import scene_statistics
from flaneur.city.scene import Scene
from flaneur.cluster import map_on_ray
from flaneur.errors import UserError

if TYPE_CHECKING:
    from flaneur.city.layout.graph import CityGraph
    from flaneur.city.layout.osm import Extract

GENERATOR = f"flaneur {__version__}"
ENTRY_KEY = "manifest_entry"
FULL_DISK = os.strerror(28)
Progress = Callable[[int, int, str], None]  # done, total, the scene just finished
Maker = Callable[[Entry, Path | None], Scene]


def build_dataset(
    manifest: Manifest | Path, out: Path, osm_root: Path | None = None, workers: int | None = None,
    shard: tuple[int, int] | None = None, progress: Progress | None = None, make: Maker | None = None, ray: str | None = None,
) -> Index | None:  # fmt: skip
    """Build what is missing; returns the index, or None while scenes of other shards are missing.

    shard (i, n), i from 1 to n: every n-th scene beginning with the i-th. `make` builds one scene (default: `make_scene`);
    with several workers it must be importable. workers: 1 unless said otherwise; ray: the address of a cluster
    (`flaneur.cluster`) whose machines see `out` and `osm_root` under the same paths.
    """
    manifest = manifest if isinstance(manifest, Manifest) else load_manifest(manifest)
    out, make = Path(out), make or make_scene
    if workers is not None and workers < 1:
        raise UserError(f"--workers {workers}: at least 1 is needed")
    chosen = shard_of(manifest, shard)
    check_files(manifest, osm_root, chosen)
    try:
        (out / "scenes").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{out}: cannot write here ({error.strerror})") from None
    records: dict[str, Record] = {}
    failures: list[str] = []
    todo: list[Entry] = []
    for entry in chosen:
        record = finished(entry, out)
        if record:
            records[entry.name] = record
            _tell(progress, len(records), len(chosen), entry.name)
        else:
            todo.append(entry)
    # Absolute: a worker on another machine has another current folder.
    attempt = partial(_attempt, out=out.absolute(), osm_root=osm_root and Path(osm_root).absolute(), make=make)
    outcomes = map_on_ray(attempt, todo, ray, workers) if ray and todo else _run(todo, attempt, workers or 1)
    for entry, outcome in outcomes:
        if isinstance(outcome, Record):
            records[entry.name] = outcome
            _tell(progress, len(records), len(chosen), entry.name)
        elif FULL_DISK in str(outcome):
            raise UserError(f"{outcome}; free some space and run again to resume ({len(records)} of {len(chosen)} scenes are done)")
        else:
            failures.append(f"{entry.name}: {outcome}")
    if failures:
        more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
        raise UserError(f"{len(failures)} of {len(chosen)} scenes failed; {failures[0]}{more}; the others are done, run again to resume")
    for entry in manifest.scenes:
        if entry.name not in records:
            other = finished(entry, out)
            if other is None:
                return None
            records[entry.name] = other
    index = Index(manifest.name, manifest.description, GENERATOR, manifest.sha256, tuple(records[e.name] for e in manifest.scenes))
    index.save(out)
    return index


def _tell(progress: Progress | None, done: int, total: int, name: str) -> None:
    if progress:
        progress(done, total, name)


def shard_of(manifest: Manifest, shard: tuple[int, int] | None) -> list[Entry]:
    if shard is None:
        return list(manifest.scenes)
    i, n = shard
    if not 1 <= i <= n:
        raise UserError(f"--shard {i}/{n}: the first number is 1 to the second")
    return list(manifest.scenes[i - 1 :: n])


def finished(entry: Entry, out: Path) -> Record | None:
    """The record of a scene that is built from exactly this entry by this version and undamaged; else None."""
    folder = out / "scenes" / entry.name
    try:
        meta = json.loads((folder / "scene.json").read_text("utf-8"))
        provenance = meta["provenance"]
        if provenance.get(ENTRY_KEY) != entry.facts() or provenance.get("generator") != GENERATOR:
            return None
        return _record(entry, Scene.load(folder, verify=True), meta["checksum"])
    except (OSError, ValueError, KeyError, AttributeError, UserError):
        return None  # missing, half there or damaged: it is built again


def build_entry(entry: Entry, out: Path, osm_root: Path | None, make: Maker) -> Record:
    """Build and save one scene; an interrupted earlier attempt's leftovers go first."""
    home = out / "scenes"
    for leftover in home.glob(f".{entry.name}.*"):
        shutil.rmtree(leftover, ignore_errors=True)
    scene = make(entry, osm_root)
    scene.name, scene.light = entry.name, entry.light
    scene.provenance = {**scene.provenance, "generator": GENERATOR, ENTRY_KEY: entry.facts()}
    checksum = scene.save(home / entry.name)
    return _record(entry, Scene.load(home / entry.name), checksum)


def _record(entry: Entry, scene: Scene, checksum: str) -> Record:
    return Record(entry.name, f"scenes/{entry.name}", entry.split, entry.light, entry.place, scene.place_type, checksum, scene.licence, scene_statistics(scene))


def make_scene(entry: Entry, osm_root: Path | None) -> Scene:
    """Layout, plan and grammar for one manifest entry."""
    # Here and not above: a dataset is indexed and described without the libraries that building needs.
    from flaneur.city.grammar.build import build_scene
    from flaneur.city.planning.plan import make_plan

    graph = _layout(entry, osm_root)
    library, plan = make_plan(graph, planner=entry.planner, seed=entry.seed)
    return build_scene(graph, library, plan, entry.seed, light=entry.light, name=entry.name)


def _layout(entry: Entry, osm_root: Path | None) -> CityGraph:
    if entry.synthetic:
        from flaneur.city.layout.synthetic.city import synthetic_graph

        return synthetic_graph(entry.synthetic, entry.seed, entry.name)
    from flaneur.city.layout.mapped import window_graph
    from flaneur.city.layout.window import Window

    if osm_root is None or entry.window is None:
        raise UserError(f"scene '{entry.name}': the folder of '{entry.osm}' is needed; name it with --osm-root")
    return window_graph(_extract(Path(osm_root) / entry.osm), Window.from_box(*entry.window), entry.seed, entry.name)


@lru_cache(maxsize=2)
def _extract(path: Path) -> Extract:
    """A manifest lists a place's windows one after the other, so its map is read once."""
    from flaneur.city.layout.osm import read_extract

    return read_extract(path)


def _run(todo: list[Entry], attempt: Callable[[Entry], Record | UserError], workers: int) -> Iterator[tuple[Entry, Record | UserError]]:
    """Outcomes as they come. Ctrl-C and a dead worker leave finished scenes behind and nothing half-written."""
    if workers == 1 or len(todo) < 2:
        for entry in todo:
            yield entry, attempt(entry)
        return
    # Fresh interpreters: threads of loaded libraries do not survive a fork.
    pool = ProcessPoolExecutor(min(workers, len(todo)), mp_context=get_context("spawn"))
    try:
        running: dict[Future[Record | UserError], Entry] = {pool.submit(attempt, e): e for e in todo}
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()
    except BrokenProcessPool:
        raise UserError("a worker process died (out of memory?); run again with fewer --workers to resume") from None
    finally:
        processes = list((pool._processes or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()


def _attempt(entry: Entry, out: Path, osm_root: Path | None, make: Maker) -> Record | UserError:
    try:
        return build_entry(entry, out, osm_root, make)
    except UserError as error:
        return error
