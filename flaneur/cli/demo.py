"""`flaneur demo`: the main job end to end, and a page to look at."""

from __future__ import annotations

import json
import os
import platform
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from flaneur import __version__
from flaneur.cli.console import Command, print_json, print_table, progress

AGENT = Path(__file__).parents[1] / "data" / "agent.safetensors"
RIVALS = ("activesgm", "nearest_frontier")


@dataclass
class Demo(Command):
    """A city from a street map, three methods that map it, a table, and a page: OUT/index.html.

    Examples:
      flaneur demo
      flaneur demo --osm map.osm.pbf --out out/village
      flaneur demo --synthetic suburb --methods random lawnmower ceiling
    """

    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("out/demo")
    """Folder to write."""
    osm: Path | None = None
    """Street map instead of an invented layout."""
    synthetic: Literal["cbd", "town", "suburb", "rural"] = "town"
    """Kind of the invented layout."""
    seed: int = 7
    """Of the city and the flights."""
    methods: tuple[str, ...] = ()
    """Default: the agent that ships and two rivals."""
    evidence: str = "twin"
    """twin (fitted to Lens), twin:easy, twin:hard, twin:FILE, oracle; lens, clip:FOLDER and dinotxt:FILE, slower."""
    steps: int = 384
    """Observations of each method."""
    image: int = 128
    """Pixels a side."""
    device: str = "auto"
    """auto, cpu or cuda."""

    def run(self) -> None:
        start = time.perf_counter()
        from flaneur.cli.city import Build
        from flaneur.cli.evaluate import choose_device
        from flaneur.evaluation.demo import fly, page, short_name, write_page
        from flaneur.evaluation.setup import TaskConfig, load_world
        from flaneur.evaluation.tables import method_table

        methods = self.methods or (str(AGENT), *RIVALS)
        city = self.out / "city"
        Build(out=city, osm=self.osm, synthetic=None if self.osm else self.synthetic, seed=self.seed, json=self.json).make()
        task = TaskConfig(image=self.image, episode_length=self.steps, lattice="cpu", evidence=self.evidence, starts=1)
        with progress("what can be seen", 1) as advance:
            world = load_world(city, task, device=choose_device(self.device))
            advance(1)
        with progress("flying", len(methods) * self.steps) as advance:
            at = {m: i * self.steps for i, m in enumerate(methods)}
            flights = fly(world, methods, self.seed, lambda m, done, _n: advance(at[m] + done, short_name(m)))
        rows = [f["row"] for f in flights]
        (self.out / "results.jsonl").write_text("".join(json.dumps(r, sort_keys=True) + "\n" for r in rows), "utf-8")
        facts = {"seconds": round(time.perf_counter() - start), "machine": f"{os.cpu_count()} cores, {platform.system()}, {world.device}", "flaneur": __version__, "steps": self.steps}
        index = self.out / "index.html"
        write_page(index, page(world, flights, facts))
        tables = [method_table([r]) for r in rows]
        if self.json:
            print_json({"page": str(index), "seconds": facts["seconds"], "tables": [t.plain() for t in tables]})
            return
        columns = ("small", "medium", "large", "ocr", "miou", "strict_miou", "plan_ms")
        print_table(("method", *columns), [(short_name(t.method), *(t.cells[c].mean for c in columns)) for t in tables], f"{world.scenes[0].name}: CCR, OCR, mIoU in %")
        print(f"page: {index}   ({index.stat().st_size / 1e6:.1f} MB, {facts['seconds']} s in all)")
