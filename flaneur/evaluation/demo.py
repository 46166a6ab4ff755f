"""The demo: one city, three methods, a table and a page that shows everything."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import torch

from flaneur.evaluation.episodes import Episode, run_episodes
from flaneur.evaluation.methods import make_planner
from flaneur.evaluation.protocol import label_row
from flaneur.evaluation.recorder import Recorder, group_legend, jpeg_uri, png_uri, qualitative_map
from flaneur.evaluation.setup import World
from flaneur.evaluation.tables import episode_values
from flaneur.geometry import Camera
from flaneur.sim import Simulator
from flaneur.sim.pictures import look_at
from flaneur.sim.viewer import viewer_html

FRAMES = 48  # moments on the page's slider


def fly(world: World, methods: Sequence[str], seed: int = 0, tick: Callable[[str, int, int], None] | None = None) -> list[dict[str, Any]]:
    """Every method once, from the city's first start pose; row, maps and pictures of each."""
    flights = []
    for method in methods:
        env = world.env(1, seed, step_metrics=True)
        recorder = Recorder(env, max(1, world.task.episode_length // FRAMES))
        count = lambda done, total, method=method: tick(method, done, total) if tick else None  # noqa: E731
        row = next(run_episodes(env, make_planner(method, env, seed), [Episode(0, 0, seed)], count, recorder))
        flights.append({"row": label_row(world, method, row), "maps": recorder.maps, "pictures": recorder.pictures, "steps": recorder.steps, "poses": recorder.poses})
    return flights


def page(world: World, flights: Sequence[dict[str, Any]], facts: dict[str, Any]) -> str:
    """One HTML file that needs no network."""
    scene, truth = world.scenes[0], world.truths[0].planar().cpu().numpy()
    table = [{"method": short_name(f["row"]["method"]), **_finite(episode_values(f["row"])), "ocr": _ocr(f["row"])} for f in flights]
    shown = [c for c in scene.classes if c.group in ("small", "medium", "large")]
    data = {
        "facts": facts | {"city": scene.name, "place_type": scene.place_type, "objects": int(scene.is_object.sum()), "evidence": world.source.name, "licence": scene.licence, "size": scene.size},
        "methods": [short_name(f["row"]["method"]) for f in flights], "table": table,
        "curves": [f["row"]["curves"] for f in flights],
        "classes": [{"name": c.name, "group": c.group, "color": "#{:02x}{:02x}{:02x}".format(*c.color), "ccr": [f["row"]["scores"]["class_ccr"][c.id] for f in flights]} for c in shown],
        "legend": group_legend(scene.classes), "truth": png_uri(qualitative_map(truth, truth, scene.classes)), "hero": _hero(world),
        "flights": [{k: f[k] for k in ("maps", "pictures", "steps", "poses")} for f in flights],
    }  # fmt: skip
    template = resources.files("flaneur").joinpath("data/demo.html").read_text("utf-8")
    # "</" must not end the script element that carries the data.
    return template.replace("/*DATA*/null", json.dumps(data).replace("</", "<\\/")).replace("/*VIEWER*/null", json.dumps(viewer_html(scene)).replace("</", "<\\/"))


def write_page(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(text, "utf-8")
    os.replace(part, path)


def short_name(method: str) -> str:
    """What people call it: the file of an agent is `ours`."""
    base, _, beta = method.partition("@")
    return ("ours" if base.endswith(".safetensors") else base.replace("_", " ")) + (f" @ {beta}" if beta else "")


def _ocr(row: dict[str, Any]) -> float | None:
    value = row["scores"]["ocr"]
    return None if value is None else 100 * value


def _finite(values: dict[str, float]) -> dict[str, float | None]:
    return {k: None if v != v else v for k, v in values.items()}


def _hero(world: World) -> str:
    """The city from above one corner."""
    scene = world.scenes[0]
    size = scene.size
    camera = Camera.from_fov(1120, 420, 62.0, 6 * size)
    sim = Simulator([scene], camera, world.device, flight=(1.5, 300.0), samples=4)
    eye = np.array([-0.18, -0.25, 0.52]) * size
    pose = torch.from_numpy(look_at(eye, np.array([size / 2, size / 2, 8.0])).astype(np.float32))[None].to(world.device)
    frame = sim.render(pose, torch.zeros(1, dtype=torch.int32, device=world.device), ("rgb",), check=False)
    assert frame.rgb is not None
    return jpeg_uri(frame.rgb[0].cpu().numpy(), 80)
