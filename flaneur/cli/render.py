"""`flaneur render` and `flaneur view`: pictures and films of a city; pages of cities, runs and maps."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import tyro

from flaneur.cli.console import Command, print_json, progress
from flaneur.cli.evaluate import choose_device
from flaneur.errors import UserError


@dataclass
class Render(Command):
    """A picture, a contact sheet or a film of a city.

    Examples:
      flaneur render out/town --out town.png                                from above one corner
      flaneur render out/town --pose 100,80,2,90,0 --light night --out a.png
      flaneur render out/town --sheet --out sheet.png                       colour, labels, instances, depth
      flaneur render out/town --orbit --out orbit.mp4
    """

    scene: tyro.conf.Positional[Path]
    """Folder of a built city."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """.png or .jpg; .mp4 or .gif for a film."""
    pose: str | None = None
    """X,Y,Z in metres, YAW,PITCH in degrees."""
    sheet: bool = False
    """Eight views with labels, instances and depth."""
    orbit: bool = False
    """A film around the city."""
    light: Literal["day", "dusk", "night", "overcast"] | None = None
    """Default: the city's own."""
    size: str = "1280x720"
    """WIDTHxHEIGHT in pixels, but for the sheet."""
    fov: float = 75.0
    """Horizontal, degrees."""
    samples: int = 4
    """Rays per pixel."""
    frames: int = 120
    """Of a film."""
    device: str = "auto"
    """auto, cpu or cuda."""

    def run(self) -> None:
        from flaneur.city.scene import Scene
        from flaneur.geometry import Camera
        from flaneur.sim import Simulator, pictures

        if sum((self.pose is not None, self.sheet, self.orbit)) > 1:
            raise UserError("render: give one of --pose, --sheet, --orbit")
        width, height = _numbers(self.size.replace("x", ","), 2, "--size", "WIDTHxHEIGHT")
        scene = Scene.load(self.scene)
        if self.light:
            scene = replace(scene, light=self.light)
        camera = Camera.from_fov(int(width), int(height), self.fov, 6 * scene.size)
        if self.sheet:
            camera = Camera.from_fov(320, 200, 90.0, 150.0)
        sim = Simulator([scene], camera, choose_device(self.device), flight=(0.2, 4 * scene.size), samples=self.samples)
        if self.orbit:
            poses = pictures.orbit_poses(scene.size, self.frames, device=sim.device)
            with progress("frames", self.frames) as advance:
                pictures.write_video(self.out, pictures.render_frames(sim, poses), self.frames, progress=lambda done, _total: advance(done))
        elif self.sheet:
            pictures.write_image(self.out, pictures.view_sheet(sim, pictures.sheet_poses(sim)))
        else:
            poses = pictures.orbit_poses(scene.size, 8, device=sim.device)[-1:] if self.pose is None else _pose(self.pose, sim.device)
            pictures.write_image(self.out, next(iter(pictures.render_frames(sim, poses))))
        print_json({"out": str(self.out), "bytes": self.out.stat().st_size}) if self.json else print(self.out)


@dataclass
class View(Command):
    """One self-contained page of a city (3-D: fly, click objects), a training run (curves) or a map. Needs no network.

    Examples:
      flaneur view out/town --out town.html
      flaneur view runs/full                          curves of a run of flaneur train
      flaneur view out/street                         what flaneur map wrote
    """

    path: tyro.conf.Positional[Path]
    """Folder of a city, of a run or of a map; or a saved map (.npz)."""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """HTML file; default: view.html in the folder, or the map's name beside it."""

    def run(self) -> None:
        from flaneur.page import write_page

        out = self.out or (self.path / "view.html" if self.path.is_dir() else self.path.with_suffix(".html"))
        kind, page = _page(self.path)
        size = write_page(out, page)
        shown = f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.0f} kB"
        print_json({"kind": kind, "out": str(out), "bytes": size}) if self.json else print(f"{out}: {kind}, {shown}; open it in a browser")


def _page(path: Path) -> tuple[str, str]:
    """What lies at a path, and its page."""
    if (path / "scene.json").is_file():
        from flaneur.city.scene import Scene
        from flaneur.sim.viewer import viewer_html

        return "city", viewer_html(Scene.load(path))
    if (path / "curve.jsonl").is_file() or (path / "about.json").is_file():
        from flaneur.agent.run_page import run_html

        return "run", run_html(path)
    if (path / "map.npz").is_file() or (path.is_file() and path.suffix == ".npz"):
        from flaneur.mapping.map_page import map_html

        return "map", map_html(path)
    raise UserError(f"{path}: {'nothing to view' if path.exists() else 'no such folder'}; give a city (scene.json), a run of flaneur train (curve.jsonl) or a map of flaneur map (map.npz)")


def _pose(text: str, device):
    import torch

    x, y, z, yaw, pitch = _numbers(text, 5, "--pose", "X,Y,Z,YAW,PITCH")
    return torch.tensor([[x, y, z, 0.0, math.radians(pitch), math.radians(yaw)]], dtype=torch.float32, device=device)


def _numbers(text: str, n: int, option: str, meaning: str) -> list[float]:
    try:
        values = [float(v) for v in text.split(",")]
    except ValueError:
        values = []
    if len(values) != n or not all(map(math.isfinite, values)):
        raise UserError(f"{option} '{text}': give {meaning}")
    return values
