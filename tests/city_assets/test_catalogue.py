"""Every procedural variant: closed, of exact volume, in its class's range, of believable size, lean."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import trimesh

from flaneur.city.assets.catalogue import Variant, load_catalogue, material_indices
from flaneur.city.assets.materials import MATERIALS
from flaneur.city.assets.recipes import MOUNTS
from flaneur.classes import load_classes

CATALOGUE = load_catalogue()
CLASSES = load_classes()
VARIANTS = [v for group in CATALOGUE.variants.values() for v in group]
BUILT_BY_THE_GRAMMAR = ("building", "skyscraper")

# Metres: (least, most) of the longer side of the footprint, then of the height.
SIZES = {
    "person": ((0.25, 2.0), (1.0, 2.3)), "bicycle": ((1.2, 3.2), (0.8, 1.4)), "motorcycle": ((1.5, 2.3), (0.9, 1.6)), "bench": ((0.4, 2.6), (0.35, 1.0)),
    "waste_bin": ((0.4, 3.3), (0.8, 1.8)), "fire_hydrant": ((0.2, 0.6), (0.5, 1.2)), "bollard": ((0.1, 0.8), (0.4, 1.2)), "traffic_light": ((0.2, 3.0), (2.5, 6.5)),
    "traffic_sign": ((0.3, 2.6), (2.2, 3.8)), "street_lamp": ((0.2, 3.5), (3.3, 12.0)), "mailbox": ((0.2, 1.1), (1.1, 2.1)), "planter": ((0.4, 2.4), (0.5, 2.3)),
    "shrub": ((0.4, 3.0), (0.4, 2.5)), "fence": ((1.5, 3.2), (0.6, 2.0)), "air_conditioner": ((0.5, 2.6), (0.3, 2.0)), "car": ((3.4, 5.6), (1.1, 2.0)),
    "truck": ((4.4, 10.0), (1.8, 4.0)), "bus": ((6.0, 12.5), (2.5, 4.4)), "tree": ((1.2, 6.0), (3.8, 10.5)), "kiosk": ((1.5, 4.6), (2.3, 4.2)), "shed": ((2.0, 6.5), (2.0, 4.2)),
    "tank": ((5.0, 18.0), (4.0, 21.0)),
}  # fmt: skip


def solid(variant: Variant) -> trimesh.Trimesh:
    """The prototype without its UV seams."""
    p = variant.prototype
    return trimesh.Trimesh(p.vertices.astype(np.float64).round(4), p.faces, process=True)


def digest_of_catalogue() -> str:
    digest = hashlib.sha256()
    for v in VARIANTS:
        p = v.prototype
        digest.update(f"{p.name} {p.volume!r} {v.mount} {v.palette} {v.weight}".encode())
        for array in (p.vertices, p.faces, p.uv, p.materials):
            digest.update(array.tobytes())
    return digest.hexdigest()


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: v.prototype.name)
def test_variant(variant: Variant):
    p = variant.prototype
    mesh = solid(variant)
    assert mesh.is_watertight and mesh.is_winding_consistent
    assert p.volume == pytest.approx(mesh.volume, rel=1e-4)
    assert p.volume > 0
    least, most = CLASSES[p.class_id].volume_m3
    assert least <= p.volume < most
    assert 24 <= len(p.faces) <= 600
    assert p.faces.min() == 0 and p.faces.max() == len(p.vertices) - 1
    low, high = p.vertices.min(0), p.vertices.max(0)
    assert low[2] == 0 and np.abs(low + high)[:2].max() < 3e-4, "stands on the ground, centred"
    assert p.materials.max() < len(CATALOGUE.material_names) and np.isfinite(p.uv).all()
    across, tall = SIZES[CLASSES[p.class_id].name]
    assert across[0] <= max(variant.footprint) <= across[1] and tall[0] <= variant.size[2] <= tall[1]
    assert variant.mount in MOUNTS and variant.weight > 0
    assert all(len(c) == 3 and all(0 <= x <= 255 for x in c) for c in variant.palette)
    assert variant.scale_range[0] <= 1 <= variant.scale_range[1]
    assert least <= p.volume * variant.scale_range[0] ** 3


def test_all_classes_are_served():
    wanted = {CLASSES[int(k)].name for k in CLASSES.object_ids} - set(BUILT_BY_THE_GRAMMAR)
    assert set(CATALOGUE.variants) == wanted
    for name, group in CATALOGUE.variants.items():
        assert len(group) >= (8 if name in ("person", "car", "tree", "shrub") else 4), name
        assert CATALOGUE.radius(name) >= max(v.radius for v in group)


def test_names_are_distinct():
    names = [v.prototype.name for v in VARIANTS]
    assert len(set(names)) == len(names) and len(set(CATALOGUE.fine_names())) == len(names) >= 150


def test_smallest_objects_of_the_data_set():
    for name in ("bollard", "bicycle"):
        assert any(0.01 <= v.prototype.volume <= 0.012 for v in CATALOGUE[name]), name


def test_narrow_trees_exist():
    assert sum(max(v.footprint) < 2.2 for v in CATALOGUE["tree"]) >= 3


def test_what_hangs_on_walls_and_stands_on_roofs():
    assert len(CATALOGUE.on("air_conditioner", "wall")) >= 2 and len(CATALOGUE.on("air_conditioner", "roof")) >= 3
    assert all(v.mount == "ground" for name, group in CATALOGUE.variants.items() if name != "air_conditioner" for v in group)


def test_lean_on_average():
    triangles = [len(v.prototype.faces) for v in VARIANTS]
    assert np.mean(triangles) < 250
    assert np.mean([t > 250 for t in triangles]) < 0.35


def test_facing_lamps_and_fronts_look_along_x():
    """The materials that only a front has lie on the +x half."""
    at = {name: k for k, name in enumerate(CATALOGUE.material_names)}
    for name, material in (("car", "car_front"), ("traffic_light", "lamp_red"), ("bus", "bus_front")):
        for v in CATALOGUE[name]:
            faces = v.prototype.faces[v.prototype.materials == at[material]]
            if len(faces):
                assert v.prototype.vertices[faces].mean((0, 1))[0] > 0 or v.prototype.fine_name == "mast arm signal", v.prototype.name


def test_material_indices_follow_a_scenes_own_list():
    names = ["wood", "asphalt"]
    table = material_indices(names, CATALOGUE)
    at = CATALOGUE.material_names.index("wood")
    assert table[at] == 0 and table[CATALOGUE.material_names.index("asphalt")] == 1
    assert CATALOGUE.material_names == list(MATERIALS)


def test_built_once_and_fast():
    assert load_catalogue() is CATALOGUE
    load_catalogue.cache_clear()
    start = time.process_time()
    again = load_catalogue()
    assert time.process_time() - start < 3
    assert [v.prototype.volume for g in again.variants.values() for v in g] == [v.prototype.volume for v in VARIANTS]


def test_another_process_builds_the_same_bytes():
    code = "import sys; sys.path.insert(0, sys.argv[1]); from test_catalogue import digest_of_catalogue; print(digest_of_catalogue())"
    environment = {**os.environ, "PYTHONHASHSEED": "11"}
    there = subprocess.run([sys.executable, "-c", code, str(Path(__file__).parent)], capture_output=True, text=True, check=True, env=environment)
    assert there.stdout.strip() == digest_of_catalogue()
