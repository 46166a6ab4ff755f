"""Pictures of the documentation: four renders per city type, the pipeline in four panels, the assets on one sheet.

    python docs/make_images.py --osm-root ../shared/data/osm

Without --osm-root every city is an invented one. Points of view are chosen by what they show, always the same ones.
"""

from __future__ import annotations

import argparse
import csv
import io
import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from flaneur.city.grammar.build import build_scene
from flaneur.city.layout.graph import PLACE_TYPES, CityGraph
from flaneur.city.layout.mapped import window_graph
from flaneur.city.layout.osm import read_extract
from flaneur.city.layout.synthetic.city import synthetic_graph
from flaneur.city.layout.window import Window
from flaneur.city.planning.builtin import plan_builtin
from flaneur.city.planning.library import CityPlan
from flaneur.city.planning.rules import builtin_library
from flaneur.city.scene import Instances, Scene
from flaneur.geometry import Camera
from flaneur.sim import Simulator
from flaneur.sim.pictures import colour_labels, look_at

SIZE = (960, 540)
MOST_BYTES = 120_000
EYE = 1.7  # metres
ABOVE = 60.0  # metres, looking 30 degrees down
REAL = {
    "cbd": ("fr_paris_9e_1", "sg_marina_bay_2"), "town": ("us_newyork_westvillage_1", "at_krems_town_1"),
    "suburb": ("us_austin_east_3", "fi_kotka_suburb_2"), "rural": ("de_bindlach_rural_1", "br_brumadinho_rural_0"),
}  # fmt: skip
SEEDS = {"cbd": (2, 4, 1, 3), "town": (0, 3, 1, 2), "suburb": (1, 4, 0, 2), "rural": (2, 4, 0, 1)}
BUILT = ("building", "skyscraper")
ALIVE = ("person", "tree", "car", "bicycle", "street_lamp", "road", "pavement", "shrub", "bench", "fence", "bus", "truck", "traffic_light", "shed", "planter")


def real_graph(osm_root: Path, name: str) -> CityGraph:
    row = next(r for r in csv.DictReader((osm_root / "windows.csv").open()) if f"{r['extract']}_{r['window']}" == name)
    return window_graph(read_extract(osm_root / f"{row['extract']}.osm.pbf"), Window.from_box(*(float(row[k]) for k in ("west", "south", "east", "north"))), 0, name)


def build(graph: CityGraph) -> tuple[Scene, CityPlan]:
    library = builtin_library()
    plan = plan_builtin(graph, library, graph.seed)
    return build_scene(graph, library, plan, graph.seed), plan


def street_poses(graph: CityGraph) -> np.ndarray:
    """Candidates [n, 6] at eye height: along every carriageway, a little beside its middle."""
    found = []
    for street in graph.streets:
        if not street.carriageway or street.passage:
            continue
        points = np.array(street.line)
        for a, b in itertools.pairwise(points):
            length = float(np.hypot(*(b - a)))
            if length < 12.0:
                continue
            along = (b - a) / length
            for share in (0.1, 0.5, 0.9):
                for way in (1.0, -1.0):
                    for side in (-0.3, 0.3, 0.62):
                        direction = way * along
                        right = np.array([direction[1], -direction[0]])
                        at = a + share * (b - a) + side * street.width * right
                        # Looking a few degrees to the street's other side shows both walls of it.
                        yaw = math.atan2(direction[1], direction[0]) + 0.12 * np.sign(side)
                        found.append((*at, EYE, 0.0, 0.06, yaw))
    return np.array(found).reshape(-1, 6)


def aerial_poses(size: float) -> np.ndarray:
    """Candidates [n, 6] over the window's edge: they look over its middle, 30 degrees down."""
    found = []
    for turn in np.arange(16) / 16 * 2 * math.pi:
        for radius in (0.3, 0.42, 0.55):
            at = np.array([size / 2 + radius * size * math.cos(turn), size / 2 + radius * size * math.sin(turn), ABOVE])
            pose = look_at(at, np.array([size / 2, size / 2, 0.0]))
            pose[4] = -math.radians(30.0)
            found.append(pose)
    return np.array(found)


def most_telling(scene: Scene, candidates: np.ndarray, built: tuple[float, float], limit: int = 90) -> np.ndarray:
    """The candidate [6] that is in no matter, has nothing before its lens, and shows most kinds of things in a good share of buildings."""
    preview = Simulator([scene], Camera.from_fov(96, 54, 72.0, 600.0), flight=(0.2, 400.0))
    if len(candidates) > limit:
        candidates = candidates[np.linspace(0, len(candidates) - 1, limit).astype(int)]
    poses = torch.from_numpy(candidates.astype(np.float32))
    inside = (candidates[:, :2] > -0.2 * scene.size).all(1) & (candidates[:, :2] < 1.2 * scene.size).all(1)
    within = ((candidates[:, :2] > 0) & (candidates[:, :2] < scene.size)).all(1)
    clear = preview.clear(poses[:, :3].contiguous(), 0.6).numpy() | ~within
    poses, candidates = poses[inside & clear], candidates[inside & clear]
    frame = preview.render(poses, outputs=("label", "depth"))
    assert frame.label is not None and frame.depth is not None
    label, depth = frame.label.numpy(), frame.depth.numpy()
    ids = {name: k for k, name in enumerate(scene.classes.names)}
    walls = np.isin(label, [ids[n] for n in BUILT]).mean((1, 2))
    kinds = sum(np.minimum((label == ids[n]).mean((1, 2)) / 0.01, 1.0) for n in ALIVE)
    near = ((depth > 0) & (depth < 3.0))[:, :40].mean((1, 2))
    sky = (label == preview.sky).mean((1, 2))
    # Sky below the horizon is where the window ends: a picture of a city's edge tells little.
    end = (label == preview.sky)[:, 30:].mean((1, 2))
    score = kinds - 25.0 * np.maximum(built[0] - walls, 0) - 25.0 * np.maximum(walls - built[1], 0) - 30.0 * near - 8.0 * np.maximum(sky - 0.35, 0) - 12.0 * end
    return candidates[int(score.argmax())]


def write_jpeg(path: Path, image: np.ndarray) -> None:
    """As good as fits into MOST_BYTES."""
    for quality in (88, 82, 76, 70, 62, 54, 46, 38):
        buffer = io.BytesIO()
        Image.fromarray(image).save(buffer, "JPEG", quality=quality, optimize=True, progressive=True)
        if buffer.tell() <= MOST_BYTES:
            break
    path.write_bytes(buffer.getvalue())
    print(f"{path} {buffer.tell() // 1000} kB, quality {quality}", flush=True)


def render(scene: Scene, pose: np.ndarray, samples: int = 4, fov: float = 72.0) -> tuple[np.ndarray, np.ndarray]:
    """RGB and coloured classes [H, W, 3] u8."""
    sim = Simulator([scene], Camera.from_fov(*SIZE, fov, 800.0), flight=(0.2, 400.0), samples=samples)
    frame = sim.render(torch.from_numpy(pose[None].astype(np.float32)), outputs=("rgb", "label"))
    assert frame.rgb is not None and frame.label is not None
    return frame.rgb[0].numpy(), colour_labels(frame.label[0].numpy(), scene.classes)


def gallery(out: Path, types: Sequence[str], osm_root: Path | None) -> None:
    for place in types:
        names = [*SEEDS[place][:2], *(REAL[place] if osm_root else SEEDS[place][2:])]
        for n, name in enumerate(names, 1):
            graph = real_graph(osm_root, name) if osm_root and isinstance(name, str) else synthetic_graph(place, int(name))
            scene, _ = build(graph)
            aerial = n in (2, 4)
            built = {"cbd": (0.3, 0.65), "town": (0.25, 0.6), "suburb": (0.12, 0.45), "rural": (0.05, 0.35)}[place]
            pose = most_telling(scene, aerial_poses(scene.size) if aerial else street_poses(graph), built)
            print(f"{name} {np.round(pose, 2).tolist()}")
            write_jpeg(out / f"{place}_{n}.jpg", render(scene, pose)[0])


def pipeline(out: Path, osm_root: Path | None) -> None:
    """Street graph, plan coloured by rule, RGB, class map."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.patches import Polygon as Patch

    graph = real_graph(osm_root, "us_newyork_westvillage_1") if osm_root else synthetic_graph("town", 1)
    scene, plan = build(graph)
    rgb, classes = render(scene, most_telling(scene, aerial_poses(scene.size), (0.25, 0.6)))
    figure, axes = plt.subplots(1, 4, figsize=(15, 3.1), gridspec_kw={"width_ratios": [1, 1, 16 / 9, 16 / 9]}, layout="constrained")
    rules = {a.block: a.rule for a in plan.assignments}
    colour = {r: plt.get_cmap("tab20")(k / 20) for k, r in enumerate(sorted(set(rules.values())))}
    for block in graph.blocks:
        axes[1].add_patch(Patch(block.polygon.exterior, facecolor=colour.get(rules.get(block.id, ""), "0.9"), edgecolor="white", linewidth=0.5))
    for k in (0, 1):
        for building in graph.buildings:
            axes[k].add_patch(Patch(building.polygon.exterior, facecolor="0.88" if k == 0 else (0, 0, 0, 0.12)))
        for street in graph.streets if k == 0 else []:
            axes[k].plot(*np.array(street.line).T, color="#204060" if street.carriageway else "#c07030", linewidth=1.6 if street.carriageway else 0.7)
        axes[k].set(xlim=(0, graph.size), ylim=(0, graph.size), aspect="equal", xticks=[], yticks=[])
    at = np.array([j.at for j in graph.junctions])
    axes[0].plot(*at.T, "o", color="#204060", markersize=2.5)
    for axis, image in zip(axes[2:], (rgb, classes), strict=True):
        axis.imshow(image)
        axis.set(xticks=[], yticks=[])
    for axis, title in zip(axes, ("street graph", "plan: a rule per block", "colour", "classes"), strict=True):
        axis.set_title(title, fontsize=10)
    figure.savefig(out / "pipeline.png", dpi=80, metadata={"Software": None})
    plt.close(figure)
    image = Image.open(out / "pipeline.png").convert("RGB").quantize(128, dither=Image.Dither.FLOYDSTEINBERG)
    image.save(out / "pipeline.png", optimize=True)
    print(out / "pipeline.png", (out / "pipeline.png").stat().st_size // 1000, "kB")


def assets(out: Path) -> None:
    """Every variant of every procedural asset, a class per row, the largest behind."""
    from flaneur.city.assets.catalogue import load_catalogue
    from flaneur.city.assets.materials import MATERIALS

    catalogue = load_catalogue()
    index = {name: k for k, name in enumerate(MATERIALS)}
    order = np.array([index[name] for name in catalogue.material_names], np.uint16)
    rows = sorted(catalogue.variants.values(), key=lambda row: max(v.size[2] for v in row))
    tints = [v.palette[k % len(v.palette)] for row in rows for k, v in enumerate(row)]
    prototypes, at, y = [], [], 0.0
    for row in rows:
        depth = max(v.size[1] for v in row)
        x = -sum(v.size[0] + 0.6 for v in row) / 2
        for v in row:
            at.append((x + v.size[0] / 2 + 0.3, y + depth / 2, 0.0))
            prototypes.append(replace(v.prototype, materials=order[v.prototype.materials]))
            x += v.size[0] + 0.6
        y += depth + 1.0
    n = len(prototypes)
    position = np.array(at, np.float32) + np.array([60.0, 5.0, 0.0], np.float32)
    zeros = np.zeros(n, np.float32)
    instances = Instances(
        prototype=np.arange(n, dtype=np.int32), position=position, yaw=zeros, scale=zeros + 1, block=np.full(n, -1, np.int32), rule=np.full(n, -1, np.int16),
        osm_id=np.zeros(n, np.int64), osm_type=np.zeros(n, np.uint8), tint=np.array(tints, np.uint8), clipped=np.zeros(n, bool),
    )  # fmt: skip
    scene = Scene("assets", prototypes, instances, list(MATERIALS), np.zeros((2, 2), np.float32), "town", 0, 200.0, "overcast")
    pose = look_at(np.array([60.0, -10.0, 16.0]), np.array([60.0, 5.0 + 0.42 * y, 1.0]))
    write_jpeg(out / "assets.jpg", render(scene, pose, fov=66.0)[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--osm-root", type=Path)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("images"))
    parser.add_argument("--only", default="", help="one of cbd, town, suburb, rural, pipeline, assets")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    gallery(options.out, [t for t in PLACE_TYPES if options.only in ("", t)], options.osm_root)
    if options.only in ("", "pipeline"):
        pipeline(options.out, options.osm_root)
    if options.only in ("", "assets"):
        assets(options.out)


if __name__ == "__main__":
    main()
