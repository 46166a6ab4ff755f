"""glTF: valid by the Khronos validator where it is installed, and read back by trimesh."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
import trimesh

from flaneur.city.export.gltf import write_gltf
from flaneur.errors import UserError

VALIDATOR = Path(__file__).with_name("validate_gltf.js")


@pytest.fixture(scope="module")
def city(tiny_scene):
    scene = tiny_scene(1)
    scene.light = "dusk"
    return scene


@pytest.fixture(scope="module")
def file(city, tmp_path_factory):
    path = tmp_path_factory.mktemp("gltf") / "city.glb"
    write_gltf(city, path)
    return path


def document(path: Path) -> dict:
    data = path.read_bytes()
    magic, version, total = struct.unpack_from("<III", data)
    assert magic == 0x46546C67 and version == 2 and total == len(data)
    length, kind = struct.unpack_from("<II", data, 12)
    assert kind == 0x4E4F534A
    return json.loads(data[20 : 20 + length])


def khronos_issues(path: Path) -> dict:
    node = shutil.which("node")
    if not node:
        pytest.skip("node is not installed")
    # NODE_PATH or a node_modules folder above the repository holds the package: npm install gltf-validator
    found = subprocess.run([node, str(VALIDATOR), str(path)], capture_output=True, text=True, env=os.environ, timeout=60)
    if "Cannot find module 'gltf-validator'" in found.stderr:
        pytest.skip("npm package gltf-validator is not found; npm install gltf-validator and set NODE_PATH")
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


@pytest.mark.parametrize("gpu_instancing", [False, True])
def test_khronos_validator_finds_no_error(city, tmp_path, gpu_instancing):
    write_gltf(city, tmp_path / "city.glb", gpu_instancing=gpu_instancing)
    issues = khronos_issues(tmp_path / "city.glb")
    assert issues["numErrors"] == 0, issues["messages"]


def test_geometry_is_the_scenes_turned_y_up(city, file):
    loaded = trimesh.load(file)
    vertices = city.triangles()[0].astype(np.float64)
    low, high = vertices.min(0), vertices.max(0)
    expected = np.array([[low[0], low[2], -high[1]], [high[0], high[2], -low[1]]])
    assert np.abs(loaded.bounds - expected).max() < 1e-3
    assert sum(len(loaded.geometry[loaded.graph[n][1]].faces) for n in loaded.graph.nodes_geometry) == len(city.triangles()[1])


def test_nodes_carry_the_annotation(city, file):
    nodes = [n for n in document(file)["nodes"] if "mesh" in n]
    assert [n["extras"]["id"] for n in nodes] == list(range(len(city.instances)))
    assert [n["extras"]["class_id"] for n in nodes] == city.class_id.tolist()
    assert np.allclose([n["extras"]["volume_m3"] for n in nodes], city.volume, atol=1e-6)


def test_tints_share_geometry(file):
    meshes = document(file)["meshes"]
    cars = [m for m in meshes if m["name"] == "car"]
    assert len(cars) > 1
    assert len({m["primitives"][0]["attributes"]["POSITION"] for m in cars}) == 1
    assert len({m["primitives"][0]["material"] for m in cars}) == len(cars)


def test_images_are_embedded_and_glow_in_the_dark(file):
    loaded = document(file)
    assert all(i["mimeType"] == "image/png" and "bufferView" in i for i in loaded["images"])
    assert any("emissiveTexture" in m for m in loaded["materials"])


def test_other_suffix_is_refused(city, tmp_path):
    with pytest.raises(UserError, match=r"\.glb"):
        write_gltf(city, tmp_path / "city.obj")
