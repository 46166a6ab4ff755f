"""The data card: what is in a built dataset, where it comes from, what may be done with it, what it is not good for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flaneur.city.dataset.figure import write_figure
from flaneur.city.dataset.index import Index, load_index, size_of
from flaneur.city.dataset.manifest import LIGHTS, SPLITS
from flaneur.city.dataset.statistics import summary
from flaneur.city.dataset.table import comparison, markdown, volume
from flaneur.city.export.files import replacing
from flaneur.classes import load_classes

CARD, FIGURE = "README.md", "statistics.png"


def dataset_statistics(folder: Path) -> dict[str, Any]:
    """`statistics.summary` of a built dataset, with its size on disk."""
    index = load_index(folder)
    return index_summary(index) | {"bytes": sum(size_of(Path(folder) / r.path) for r in index.scenes)}


def index_summary(index: Index) -> dict[str, Any]:
    return summary({"statistics": r.statistics, "place_type": r.place_type, "split": r.split, "light": r.light, "place": r.place} for r in index.scenes)


def write_card(folder: Path) -> Path:
    """Write README.md and statistics.png/.svg into the dataset's folder; returns the card's path."""
    folder = Path(folder)
    index, numbers = load_index(folder), dataset_statistics(folder)
    write_figure(numbers, folder / FIGURE)
    with replacing(folder / CARD) as target:
        target.write_text(card_text(index, numbers), "utf-8")
    return folder / CARD


def card_text(index: Index, numbers: dict[str, Any]) -> str:
    sections = (_head(index, numbers), _contents(numbers), _splits(index), _comparison(index, numbers), _classes(numbers), _scenes(index), _making(index), _licence(index), _limitations(numbers))
    return "\n\n".join(s.strip() for s in sections) + "\n"


def _head(index: Index, n: dict[str, Any]) -> str:
    return f"""---
pretty_name: {index.name}
license: {"odbl" if _attributions(index) else "cc0-1.0"}
tags: [semantic-mapping, embodied-ai, city, 3d, openstreetmap]
---
# {index.name}

{index.description}
{n["scenes"]} scenes, {n["objects"]:,} annotated objects ({n["mean_objects"]:,.1f} a scene), {n["bytes"] / 1e6:.1f} MB.
"""


def _contents(n: dict[str, Any]) -> str:
    rows = [
        ("scenes", n["scenes"]), ("places", n["places"]), ("objects", f"{n['objects']:,}"), ("objects per scene", f"{n['mean_objects']:,.1f} ({n['min_objects']:,} to {n['max_objects']:,})"),
        ("small / medium / large", " / ".join(f"{n['groups'][g]:,}" for g in ("small", "medium", "large"))), ("object volume", f"{volume(n['smallest_m3'])} to {volume(n['largest_m3'])} m3"),
        ("fine names", f"{len(n['fine_names'])}"), ("objects with an OSM id", f"{n['mapped']:,}"), ("triangles as placed", f"{n['triangles']:,}"),
        ("bytes per scene", f"{n['bytes'] / max(n['scenes'], 1) / 1e6:.3f} MB"),
    ]  # fmt: skip
    return f"## Contents\n\n{markdown(('what', 'how much'), rows)}\n![fine names and classes]({FIGURE})"


def _splits(index: Index) -> str:
    rows = []
    for split in SPLITS:
        records = index.split(split)
        lights = ", ".join(f"{sum(r.light == light for r in records)} {light}" for light in LIGHTS)
        types = ", ".join(f"{sum(r.place_type == t for r in records)} {t}" for t in sorted({r.place_type for r in records}))
        rows.append((split, len(records), len({r.place for r in records}), types, lights))
    return f"## Splits\n\nBy place: no place lies in two splits (an invented city is a place of its own).\n\n{markdown(('split', 'scenes', 'places', 'types', 'lights'), rows)}"


def _comparison(index: Index, n: dict[str, Any]) -> str:
    return f"## Beside others\n\nThe rows of others and of the paper as printed in the paper's Table 1; ours is computed from the files.\n\n{comparison(index.name, n)}"


def _classes(n: dict[str, Any]) -> str:
    rows = []
    for c in load_classes():
        if c.group == "sky":
            continue
        count = n["classes"].get(c.name, n["background"].get(c.name, 0))
        share = f"{100 * n['classes'][c.name] / n['objects']:.2f} %" if c.name in n["classes"] else "-"
        low, high = c.volume_m3
        rows.append((c.id, c.name, c.group, f"{low:g} to {high:g}" if high else "-", f"{count:,}", share))
    return f"## Classes\n\n{markdown(('id', 'class', 'group', 'volume (m3)', 'instances', 'share of objects'), rows)}"


def _scenes(index: Index) -> str:
    rows = [(r.name, r.split, r.place_type, r.light, f"{r.statistics['objects']:,}", f"{volume(r.statistics['largest_m3'])}", r.checksum[:12]) for r in index.scenes]
    return f"## Scenes\n\n{markdown(('scene', 'split', 'type', 'light', 'objects', 'largest (m3)', 'checksum'), rows)}"


def _making(index: Index) -> str:
    return f"""## How it was made

{index.generator} from a manifest with SHA-256 `{index.manifest_sha256}`. Street maps are cut to 200 m x 200 m, repaired and connected; a planner assigns
a rule and its parameters to every block; a shape grammar builds ground, buildings and street objects from them. Every object has an id, class,
fine name, pose, oriented box, exact mesh, volume, block, rule and, where mapped, its OpenStreetMap id. Values are quantised to 1e-4, so the same
manifest gives the same bytes. Check with `flaneur dataset build MANIFEST --out HERE`, which compares checksums and rebuilds only what differs."""


def _attributions(index: Index) -> list[str]:
    return sorted({r.licence for r in index.scenes if r.licence})


def _licence(index: Index) -> str:
    lines = [f"- {line}" for line in _attributions(index)]
    mapped = sum(bool(r.licence) for r in index.scenes)
    return f"""## Licence and attribution

{mapped} scenes derive from OpenStreetMap; as a database they are under the Open Database License 1.0 (share alike), and whatever is made from them
carries their attribution line:

{chr(10).join(lines) or "- none: all scenes are invented"}

The {len(index.scenes) - mapped} invented scenes are free of rights (CC0). Every scene names its own line in `scene.json`."""


def _limitations(n: dict[str, Any]) -> str:
    return f"""## Limitations

- Buildings stand where the map says and are as high as it says ({n["mapped"]:,} objects carry an OSM id); everything else on the street is placed by rules, not surveyed.
- The ground is flat. Interiors, underground and moving things are absent; people and vehicles stand still.
- Appearance comes from procedural textures: models that tell real photographs apart may do better or worse here than on them.
- Some extracts are years old, and mapped detail differs between places; heights without a tag are a prior by type of place.
- Names of streets and buildings come from the map. The figures of people are generic, no real person is shown."""
