"""The annotation of every instance as columns: what Parquet, GeoParquet and GeoJSON carry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from flaneur.city.export.files import replacing
from flaneur.city.scene import Scene
from flaneur.classes import GROUPS

OSM_TYPES = ("", "node", "way", "relation")


def columns(scene: Scene, rows: np.ndarray | None = None) -> dict[str, Any]:
    """Column name -> array or list of equal length, for all instances or the given rows."""
    rows = np.arange(len(scene.instances)) if rows is None else np.asarray(rows)
    i, prototypes = scene.instances, scene.prototypes
    kind = i.prototype[rows]
    box, transform = scene.box[rows], scene.transform[rows]
    triangles = np.array([len(p.faces) for p in prototypes], np.int32)
    block_types = [b.get("type", "") for b in scene.blocks]
    block, rule = i.block[rows], i.rule[rows]
    return {
        "id": rows.astype(np.int32),
        "class_id": scene.class_id[rows],
        "class": [scene.classes.names[c] for c in scene.class_id[rows]],
        "group": [GROUPS[g] for g in scene.group[rows]],
        "fine_name": [prototypes[k].fine_name for k in kind],
        "prototype": [prototypes[k].name for k in kind],
        "x": i.position[rows, 0], "y": i.position[rows, 1], "z": i.position[rows, 2],
        "yaw": i.yaw[rows], "scale": i.scale[rows],
        "transform": transform.reshape(len(rows), 16),  # row-major, prototype to world
        "box_center": box[:, 0], "box_size": box[:, 1],
        "volume_m3": scene.volume[rows],
        "triangles": triangles[kind],
        "tint": i.tint[rows].astype(np.int16),
        "block": block,
        "block_type": [block_types[b] if 0 <= b < len(block_types) else "" for b in block],
        "rule": [scene.rules[r] if r >= 0 else "" for r in rule],
        "osm_type": [OSM_TYPES[t] for t in i.osm_type[rows]],
        "osm_id": i.osm_id[rows],
        "clipped": i.clipped[rows],
    }  # fmt: skip


def table(scene: Scene, rows: np.ndarray | None = None) -> Any:
    """The columns as a pyarrow table; vectors become fixed-size lists, repeated words dictionaries."""
    import pyarrow as pa

    arrays: dict[str, Any] = {}
    for name, values in columns(scene, rows).items():
        if isinstance(values, list):
            arrays[name] = pa.array(values, pa.string()).dictionary_encode()
        elif values.ndim == 2:
            arrays[name] = pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values.shape[1])
        else:
            arrays[name] = pa.array(values)
    return pa.table(arrays)


def write_parquet(scene: Scene, path: Path) -> None:
    """Every instance's annotation as one Parquet file; the scene's own facts are in the file's metadata."""
    import pyarrow.parquet as pq

    facts = {"flaneur:name": scene.name, "flaneur:place_type": scene.place_type, "flaneur:seed": str(scene.seed), "flaneur:licence": scene.licence}
    with replacing(path) as target:
        pq.write_table(table(scene).replace_schema_metadata(facts), target, compression="zstd")
