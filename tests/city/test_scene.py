"""Scene files: what is written comes back, equal bytes, and bad folders get one line."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from flaneur.city.scene import Instances, Scene
from flaneur.city.scene_folder import read_npz, write_npz
from flaneur.errors import UserError


@pytest.fixture
def saved(tmp_path: Path, tiny_scene) -> Path:
    tiny_scene(3).save(tmp_path / "scene")
    return tmp_path / "scene"


def test_round_trip(saved: Path, tiny_scene) -> None:
    scene, loaded = tiny_scene(3), Scene.load(saved, verify=True)
    for name in Instances.__dataclass_fields__:
        np.testing.assert_allclose(getattr(loaded.instances, name), getattr(scene.instances, name), atol=1e-4)
    for a, b in zip(loaded.prototypes, scene.prototypes, strict=True):
        np.testing.assert_allclose(a.vertices, b.vertices, atol=1e-4)
        np.testing.assert_array_equal(a.faces, b.faces)
        np.testing.assert_array_equal(a.materials, b.materials)
        assert (a.name, a.class_id, a.fine_name) == (b.name, b.class_id, b.fine_name)
    assert sorted(p.name for p in saved.parent.iterdir()) == ["scene"]


def test_saving_what_was_loaded_writes_the_same_bytes(saved: Path, tmp_path: Path) -> None:
    Scene.load(saved).save(tmp_path / "again")
    for name in ("scene.json", "instances.npz", "prototypes.npz"):
        assert (saved / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_another_seed_differs(saved: Path, tmp_path: Path, tiny_scene) -> None:
    assert tiny_scene(4).save(tmp_path / "other") != json.loads((saved / "scene.json").read_text())["checksum"]


def test_triangles_place_every_instance(tiny_scene) -> None:
    scene = tiny_scene(0)
    vertices, faces, uv, materials, owners = scene.triangles()
    assert len(vertices) == len(uv) and len(faces) == len(materials) == len(owners)
    for row in range(0, len(scene.instances), 17):
        p = scene.prototypes[scene.instances.prototype[row]]
        expected = p.vertices @ scene.transform[row, :3, :3].T + scene.transform[row, :3, 3]
        corners = vertices[faces[owners == row]]
        np.testing.assert_allclose(corners, expected[p.faces], atol=1e-4)
        centre, size = scene.box[row]
        assert np.all(np.abs(corners - centre).max((0, 1))[2] <= size[2] / 2 + 1e-3)


def test_ground_height_is_bilinear(tiny_scene) -> None:
    scene = tiny_scene(0)
    scene.ground = np.array([[0.0, 1.0], [2.0, 3.0]], np.float32)
    np.testing.assert_allclose(scene.ground_height(np.array([[0, 0], [200, 0], [0, 200], [100, 100]])), [0, 1, 2, 1.5], atol=1e-6)


def _without(name: str):
    return lambda folder: (folder / name).unlink()


def _edit(change):
    def apply(folder: Path) -> None:
        meta = json.loads((folder / "scene.json").read_text())
        change(meta)
        (folder / "scene.json").write_text(json.dumps(meta))

    return apply


def _poison(folder: Path) -> None:
    arrays = read_npz(folder / "prototypes.npz")
    arrays["vertex_count"], arrays["face_count"] = arrays["vertex_count"].copy(), arrays["face_count"].copy()
    arrays["face_count"][0] = 0
    write_npz(folder / "prototypes.npz", arrays)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_without("scene.json"), "scene.json is missing"),
        (_without("instances.npz"), "instances.npz: missing"),
        (_without("prototypes.npz"), "prototypes.npz: missing"),
        (lambda f: (f / "scene.json").write_text("{"), "not readable as JSON"),
        (lambda f: (f / "instances.npz").write_bytes((f / "instances.npz").read_bytes()[:300]), "damaged"),
        (_edit(lambda m: m.update(format=99)), "format 99"),
        (_edit(lambda m: m["prototypes"][0].update({"class": "dragon"})), "unknown class 'dragon'"),
        (_poison, "is empty"),
    ],
)
def test_bad_folder(saved: Path, damage, message: str) -> None:
    damage(saved)
    with pytest.raises(UserError, match=message) as caught:
        Scene.load(saved)
    assert "\n" not in str(caught.value)


def test_nan_vertices_are_not_written(tmp_path: Path, tiny_scene) -> None:
    scene = tiny_scene(0)
    scene.prototypes[2].vertices[0, 1] = np.nan
    with pytest.raises(UserError, match="NaN vertices"):
        scene.save(tmp_path / "scene")
    assert not list(tmp_path.iterdir())


def test_changed_content_is_noticed(saved: Path) -> None:
    arrays = read_npz(saved / "instances.npz")
    arrays["tint"] = arrays["tint"].copy()
    arrays["tint"][0] ^= 1
    write_npz(saved / "instances.npz", arrays)
    Scene.load(saved)
    with pytest.raises(UserError, match="does not match"):
        Scene.load(saved, verify=True)


def test_unwritable_place_leaves_what_was_there(saved: Path, tiny_scene, monkeypatch) -> None:
    def full(*_args):
        raise OSError(28, "No space left on device")

    before = (saved / "scene.json").read_bytes()
    monkeypatch.setattr("flaneur.city.scene.write_npz", full)
    with pytest.raises(UserError, match="No space left"):
        tiny_scene(4).save(saved)
    assert (saved / "scene.json").read_bytes() == before and sorted(p.name for p in saved.parent.iterdir()) == ["scene"]


def test_a_folder_of_other_things_is_not_replaced(saved: Path, tmp_path: Path, tiny_scene, monkeypatch) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("years")
    with pytest.raises(UserError, match=r"holds other things \('chapter.tex'\)"):
        tiny_scene(3).save(tmp_path / "thesis")
    monkeypatch.chdir(tmp_path / "thesis")
    with pytest.raises(UserError, match="holds other things"):
        tiny_scene(3).save(Path())
    assert (tmp_path / "thesis" / "chapter.tex").read_text() == "years"
    tiny_scene(4).save(saved, {"graph.json": "{}"})
    assert (saved / "graph.json").read_text() == "{}" and Scene.load(saved, verify=True).seed == 4
    assert sorted(p.name for p in tmp_path.iterdir()) == ["scene", "thesis"]


def test_a_rename_that_fails_puts_the_old_scene_back(saved: Path, tiny_scene, monkeypatch) -> None:
    before, replace = (saved / "scene.json").read_bytes(), os.replace

    def refuse(source, target) -> None:
        if Path(target) == saved and not str(source).endswith(".old"):
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(UserError, match="No space left"):
        tiny_scene(4).save(saved)
    assert (saved / "scene.json").read_bytes() == before and sorted(p.name for p in saved.parent.iterdir()) == ["scene"]
