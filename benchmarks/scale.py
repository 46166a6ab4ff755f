"""The same scenes built by one process and over Ray: seconds of both, and whether the bytes agree.

python benchmarks/scale.py --scenes 6 --workers 2
"""

from __future__ import annotations

import json
import os
import platform
import tempfile
import time
from pathlib import Path

import tyro

from flaneur.city.dataset.build import build_dataset
from flaneur.city.dataset.index import load_index
from flaneur.city.dataset.manifest import Entry, Manifest

KINDS = ("town", "cbd", "suburb", "rural")
RESULTS = Path(__file__).parent / "results" / "scale.json"


def main(scenes: int = 8, workers: int = 2, ray: str = "local", out: Path = RESULTS) -> None:
    entries = tuple(Entry(f"s{k}", f"p{k}", "train", "day", k, synthetic=KINDS[k % 4]) for k in range(scenes))
    manifest = Manifest("scale", "", {}, entries, "0" * 64)
    seconds, busy, checksums = {}, {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for name, options in (("one process", {}), ("ray", {"ray": ray, "workers": workers}), ("ray, all there", {"ray": ray, "workers": workers})):
            target = Path(folder) / name.partition(",")[0].replace(" ", "_")
            start, cpu = time.perf_counter(), time.process_time()
            build_dataset(manifest, target, **options)
            seconds[name], busy[name] = round(time.perf_counter() - start, 2), round(time.process_time() - cpu, 2)
            checksums[name] = [r.checksum for r in load_index(target).scenes]
    result = {
        "scenes": scenes, "workers": workers, "seconds": seconds, "cpu_seconds_of_the_command": busy,
        "checksums_agree": len({tuple(c) for c in checksums.values()}) == 1, "machine": {"cores": os.cpu_count(), "python": platform.python_version()}, "load": os.getloadavg()[0],
    }  # fmt: skip
    out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    tyro.cli(main)
