"""How long a city takes: an invented layout, its plan, its objects, and writing it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flaneur.city.grammar.build import build_scene
from flaneur.city.layout.synthetic.city import synthetic_graph
from flaneur.city.planning.builtin import plan_builtin
from flaneur.city.planning.rules import builtin_library


def bench_build(places: Sequence[str], seed: int = 0, tick: Callable[[int], None] | None = None) -> dict[str, Any]:
    """One city of each place type; seconds of processor time by stage, which other jobs do not lengthen, and in all on the clock."""
    library, rows = builtin_library(), []
    for done, place in enumerate(places, 1):
        started, clock = time.perf_counter(), [time.process_time()]
        graph = synthetic_graph(place, seed)
        clock.append(time.process_time())
        plan = plan_builtin(graph, library, seed)
        clock.append(time.process_time())
        scene = build_scene(graph, library, plan, seed)
        clock.append(time.process_time())
        with tempfile.TemporaryDirectory() as folder:
            scene.save(Path(folder) / "scene")
            clock.append(time.process_time())
            size = sum(f.stat().st_size for f in (Path(folder) / "scene").iterdir())
        stages = dict(zip(("layout_cpu_s", "plan_cpu_s", "objects_cpu_s", "save_cpu_s"), np.diff(clock).round(3).tolist(), strict=True))
        rows.append({"place_type": place, **stages, "wall_s": round(time.perf_counter() - started, 3), "objects": int(scene.is_object.sum()), "bytes": size})
        if tick is not None:
            tick(done)
    total = sum(r[k] for r in rows for k in r if k.endswith("cpu_s"))
    return {"cities": len(rows), "seed": seed, "cpu_s_per_city": round(total / len(rows), 3), "objects_per_cpu_s": round(sum(r["objects"] for r in rows) / total, 1), "rows": rows}
