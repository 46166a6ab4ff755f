"""Exports one scene and lets other people's software judge the files.

    NODE_PATH=.../node_modules python benchmarks/exports.py SCENE... [--out benchmarks/results/exports.json]

For each scene: seconds to write USD, all validators of OpenUSD's registry, Newton's importer, and the Khronos glTF validator
(npm install gltf-validator). Exit code 1 when one of them finds an error, or when USD takes 5 s of CPU time or more.
"""

# pyright: reportAttributeAccessIssue=false
# OpenUSD's modules come without type stubs.
from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flaneur.city.export.gltf import write_gltf
from flaneur.city.export.usd import write_usd
from flaneur.city.scene import Scene

USD_SECONDS = 5.0
GLTF_VALIDATOR = Path(__file__).parents[1] / "tests" / "city_export" / "validate_gltf.js"


def timed(write: Callable[[Scene, Path], Any], scene: Scene, path: Path) -> dict[str, Any]:
    # CPU time of all threads: at least the wall time of an idle machine, and the same on a busy one.
    cpu, wall = time.process_time(), time.perf_counter()
    write(scene, path)
    return {"cpu_seconds": round(time.process_time() - cpu, 2), "wall_seconds": round(time.perf_counter() - wall, 2), "bytes": path.stat().st_size}


def usd_validation(path: Path) -> dict[str, Any]:
    from pxr import Usd, UsdValidation

    stage = Usd.Stage.Open(str(path))
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    errors = [f"{e.GetName()}: {e.GetMessage()}" for e in UsdValidation.ValidationContext(validators).Validate(stage)]
    return {"validators": len(validators), "errors": len(errors), "composition_errors": len(stage.GetCompositionErrors()), "first": errors[:3]}


def newton_import(path: Path, instances: int) -> dict[str, Any]:
    import newton

    builder = newton.ModelBuilder(up_axis=newton.Axis.Z)
    started = time.perf_counter()
    builder.add_usd(str(path), skip_mesh_approximation=True)
    return {"newton": newton.__version__, "shapes": builder.shape_count, "instances": instances, "bodies": builder.body_count, "seconds": round(time.perf_counter() - started, 1)}


def gltf_validation(path: Path) -> dict[str, Any]:
    found = subprocess.run(["node", str(GLTF_VALIDATOR), str(path)], capture_output=True, text=True, check=False)
    if found.returncode:
        sys.exit(f"the glTF validator did not run (npm install gltf-validator, set NODE_PATH): {found.stderr.strip()[:200]}")
    issues = json.loads(found.stdout)
    return {"errors": issues["numErrors"], "warnings": issues["numWarnings"], "infos": issues["numInfos"]}


def measure(folder: Path) -> dict[str, Any]:
    scene = Scene.load(folder)
    with tempfile.TemporaryDirectory() as temporary:
        usd, glb = Path(temporary) / "city.usdc", Path(temporary) / "city.glb"
        row: dict[str, Any] = {"scene": scene.name, "objects": int(scene.is_object.sum()), "usd": timed(write_usd, scene, usd)}
        row["usd_validation"] = usd_validation(usd)
        row["newton"] = newton_import(usd, len(scene.instances))
        row["gltf"] = timed(write_gltf, scene, glb)
        row["gltf_validation"] = gltf_validation(glb)
    row["pass"] = (
        row["usd"]["cpu_seconds"] < USD_SECONDS
        and row["usd_validation"]["errors"] == row["usd_validation"]["composition_errors"] == row["gltf_validation"]["errors"] == 0
        and row["newton"]["shapes"] == row["newton"]["instances"]
    )
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/exports.json"))
    options = parser.parse_args()
    rows = []
    for folder in options.scenes:
        rows.append(measure(folder))
        print(json.dumps(rows[-1]), flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps({"scenes": rows}, indent=1) + "\n", "utf-8")
    return 0 if all(r["pass"] for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
