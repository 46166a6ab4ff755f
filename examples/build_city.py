"""Street map, or an invented layout, to an annotated city.

python examples/build_city.py --out out/town
python examples/build_city.py --osm map.osm.pbf --center 40.7336,-74.0045 --out out/village
"""

from collections import Counter
from pathlib import Path
from typing import Literal

import tyro

from flaneur.city.check import check_scene
from flaneur.city.grammar.build import build_scene
from flaneur.city.layout.mapped import window_graph
from flaneur.city.layout.osm import read_extract
from flaneur.city.layout.synthetic.city import synthetic_graph
from flaneur.city.layout.window import Window
from flaneur.city.planning.plan import make_plan


def main(out: Path, osm: Path | None = None, center: str = "", kind: Literal["cbd", "town", "suburb", "rural"] = "town", seed: int = 3) -> None:
    # Layout: one connected street graph, blocks, buildings, lots, mapped trees and lamps.
    graph = synthetic_graph(kind, seed) if osm is None else window_graph(read_extract(osm), Window.parse_center(center), seed, osm.stem)
    print(f"{len(graph.streets)} streets, {len(graph.blocks)} blocks, {len(graph.buildings)} mapped buildings")

    # Planning: which rule, with which parameters, every block gets. "openai" and "local" ask a language model.
    library, plan = make_plan(graph, "builtin", seed=seed)
    print(Counter(a.rule for a in plan.assignments).most_common(3))

    # Grammar: rules to meshes and instances. The same seed gives the same bytes.
    scene = build_scene(graph, library, plan, seed, name=graph.name)
    scene.save(out)
    graph.save(out / "graph.json")  # what `flaneur city check` compares the streets with

    # Every object is a row: class, scale group, volume, pose, oriented box, block, rule, OSM id.
    names = [scene.classes[c].name for c in scene.class_id[scene.is_object]]
    print(Counter(names).most_common(5))
    largest = scene.volume.argmax()
    print(f"largest: {scene.classes[scene.class_id[largest]].name}, {scene.volume[largest]:,.0f} m3, OSM id {scene.instances.osm_id[largest]}")
    print(f"{out}: {int(scene.is_object.sum())} objects, {len(check_scene(scene, graph).violations)} violations")


if __name__ == "__main__":
    tyro.cli(main)
