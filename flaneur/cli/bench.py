"""`flaneur bench`: how fast this machine is, one JSON line, with the machine and the peers measured beside."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import tyro

from flaneur.cli.console import Command
from flaneur.cli.evaluate import choose_device
from flaneur.errors import UserError


@dataclass
class Bench(Command):
    """Measure rendering or stepping on built cities; prints one JSON line.

    Examples:
      flaneur bench render --scenes out/town
      flaneur bench step --scenes data/scenes/* --views 64 --device cuda
    """

    what: tyro.conf.Positional[Literal["render", "step"]]
    scenes: list[Path] = field(default_factory=list)
    """Folders of built cities."""
    views: int = 8
    """Views or environments in a batch."""
    size: int = 256
    """Pixels a side."""
    seconds: float = 3.0
    """Per figure."""
    device: str = "auto"

    def run(self) -> None:
        from flaneur.city.scene import Scene
        from flaneur.sim import bench

        if not self.scenes:
            raise UserError("bench: name at least one built city with --scenes")
        scenes = [Scene.load(p) for p in self.scenes]
        device = choose_device(self.device)
        if self.what == "render":
            report = bench.bench_render(scenes, device, self.views, self.size, self.seconds)
        else:
            report = bench.bench_step(scenes, device, self.views, self.size, self.seconds)
        print(json.dumps(report, default=str))
