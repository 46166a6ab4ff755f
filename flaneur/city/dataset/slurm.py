"""A data set built by SLURM jobs, each a shard; submitit writes the job files and brings errors back.

A job that is preempted or runs out of its time is queued again and goes on where it stopped, as every shard does.
"""

from __future__ import annotations

import importlib.util
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flaneur.city.dataset.build import Maker, Progress, build_dataset
from flaneur.city.dataset.index import Index
from flaneur.city.dataset.manifest import load_manifest
from flaneur.errors import UserError

LOGS = "slurm"  # folder beside the scenes: job files, what jobs printed
COMMON = ("timeout_min", "mem_gb", "gpus_per_node", "stderr_to_stdout")  # submitit's names for every kind of cluster
HOURS = 4
POLL_S = 1.0


@dataclass
class Shard:
    """What one job does."""

    manifest: Path
    out: Path
    osm_root: Path | None
    workers: int
    shard: tuple[int, int]
    make: Maker | None = None

    def __call__(self) -> str | None:
        """The error's line rather than the error: submitit would send a traceback."""
        try:
            build_dataset(self.manifest, self.out, self.osm_root, self.workers, self.shard, make=self.make)
        except UserError as error:
            return str(error)

    def checkpoint(self) -> Any:
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)


def build_on_slurm(
    manifest: Path, out: Path, osm_root: Path | None = None, jobs: int = 10, workers: int = 1, settings: dict[str, Any] | None = None,
    progress: Progress | None = None, make: Maker | None = None, cluster: str = "slurm",
) -> Index | None:  # fmt: skip
    """Submit `jobs` shards, wait for them, write the index. `cluster` "local" runs them as processes of this machine."""
    if importlib.util.find_spec("submitit") is None:
        raise UserError("--slurm: the package 'submitit' is missing; pip install 'flaneur[slurm]'")
    if cluster == "slurm" and shutil.which("sbatch") is None:
        raise UserError("--slurm: there is no 'sbatch' on this machine; run it on a login node, or share the work out with --shard I/N")
    if jobs < 1:
        raise UserError(f"--jobs {jobs}: at least 1 is needed")
    import submitit

    manifest, out = Path(manifest).absolute(), Path(out).absolute()
    osm_root = osm_root and Path(osm_root).absolute()
    entries = load_manifest(manifest).scenes
    jobs = min(jobs, len(entries))
    out.mkdir(parents=True, exist_ok=True)
    executor = submitit.AutoExecutor(folder=out / LOGS, cluster=cluster)
    try:
        executor.update_parameters(**({"name": "flaneur", "timeout_min": HOURS * 60, "cpus_per_task": workers} | (settings or {})))
    except (ValueError, NameError, TypeError) as error:
        raise UserError(f"--slurm-set: {str(error).splitlines()[0]}") from None
    shards = [Shard(manifest, out, osm_root, workers, (i + 1, jobs), make) for i in range(jobs)]
    with executor.batch():
        running = [executor.submit(s) for s in shards]
    try:
        while not all([job.done() for job in running]):
            if progress:
                progress(sum(1 for _ in (out / "scenes").glob("[!.]*")), len(entries), "")
            time.sleep(POLL_S)
    except KeyboardInterrupt:
        for job in running:
            job.cancel()
        raise
    failures = [(job, line) for job in running if (line := _failure(job))]
    if failures:
        job, line = failures[0]
        raise UserError(f"{len(failures)} of {jobs} jobs failed; job {job.job_id}: {line} ({job.paths.stderr}); run again to resume")
    return build_dataset(manifest, out, osm_root, progress=progress, make=make)


def _failure(job: Any) -> str | None:
    error = job.exception()  # of the job itself: killed, out of time, a bug
    return job.result() if error is None else str(error).strip().splitlines()[0]


def parameters(words: tuple[str, ...]) -> dict[str, Any]:
    """`partition=cpu` and the like for submitit, which wants slurm_ before what is SLURM's alone."""
    found: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not (name and equals):
            raise UserError(f"--slurm-set {word}: give name=value, as in partition=cpu")
        found[name if name in COMMON or name.startswith("slurm_") else f"slurm_{name}"] = int(value) if value.isdigit() else value
    return found
