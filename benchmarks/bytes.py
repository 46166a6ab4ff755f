"""The same seed gives the same bytes: builds cities with several Pythons and compares the files.

    python benchmarks/bytes.py --osm ../shared/data/osm/at_krems_town.osm.pbf --python python3.12 --python python3.13

Each Python needs the packages that building needs (numpy, shapely, osmium, pydantic, manifold3d, mapbox-earcut, pyproj).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

FILES = ("scene.json", "instances.npz", "prototypes.npz")
CODE = "import sys; from flaneur.cli.main import main; sys.exit(main(sys.argv[1:]))"


def digests(python: str, arguments: list[str]) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "city"
        subprocess.run([python, "-c", CODE, "city", "build", *arguments, "--out", str(out)], check=True, capture_output=True)
        return {name: hashlib.sha256((out / name).read_bytes()).hexdigest()[:16] for name in FILES}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", default=[], help="another interpreter; may be given several times")
    parser.add_argument("--osm", type=Path, help="street map to build a window of, beside the invented cities")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "bytes.json")
    options = parser.parse_args()
    cities = [["--synthetic", kind, "--seed", "5"] for kind in ("cbd", "town", "suburb", "rural")] + ([["--osm", str(options.osm)]] if options.osm else [])
    rows = []
    for city in cities:
        found = {_version(p): digests(p, city) for p in [sys.executable, *options.python]}
        again = digests(sys.executable, city)
        first = next(iter(found.values()))
        name = " ".join(Path(a).name for a in city)
        rows.append({"city": name, "pythons": list(found), "equal": all(d == first for d in found.values()), "equal_when_repeated": again == first, "sha256": first})
        print(json.dumps(rows[-1]), flush=True)
    options.out.write_text(json.dumps({"cities": rows}, indent=1) + "\n", "utf-8")


def _version(python: str) -> str:
    return subprocess.run([python, "-c", "import platform; print(platform.python_version())"], check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    main()
