"""Asset packs of the user's own: what is read, and the one line that bad input gets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh

from flaneur.city.assets.catalogue import load_catalogue
from flaneur.city.assets.packs import load_pack, with_packs
from flaneur.classes import load_classes
from flaneur.errors import UserError

ENTRY = 'file = "{file}"\nclass = "{class_name}"\nfine_name = "{fine}"\n'


def write_pack(folder: Path, mesh: trimesh.Trimesh | bytes | None = None, file: str = "thing.glb", class_name: str = "bench", fine: str = "stone block", more: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    if isinstance(mesh, trimesh.Trimesh):
        mesh.export(folder / file)
    elif mesh is not None:
        (folder / file).write_bytes(mesh)
    (folder / "pack.toml").write_text('name = "mine"\n[[asset]]\n' + ENTRY.format(file=file, class_name=class_name, fine=fine) + more)
    return folder


def block(extents=(0.5, 0.6, 1.6)) -> trimesh.Trimesh:
    """Long in z, as a bench of a y-up file is long across its front."""
    return trimesh.creation.box(extents)


def error_of(folder: Path) -> str:
    with pytest.raises(UserError) as caught:
        load_pack(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("file", ["thing.glb", "thing.obj", "thing.ply", "thing.stl"])
def test_volume_is_exact_in_every_format(tmp_path: Path, file: str):
    (variant,) = load_pack(write_pack(tmp_path / "p", block(), file))
    assert variant.prototype.volume == pytest.approx(0.48, rel=1e-6)
    assert variant.prototype.name == "mine/bench/stone_block"
    assert variant.prototype.vertices[:, 2].min() == 0
    assert load_classes()[variant.prototype.class_id].name == "bench"


def test_axes_scale_and_turn(tmp_path: Path):
    (y_up,) = load_pack(write_pack(tmp_path / "a", block()))
    assert y_up.size == pytest.approx((1.6, 0.5, 0.6), abs=1e-4), "y is up, +z is the front"
    (turned,) = load_pack(write_pack(tmp_path / "b", block(), more="turn = 90\nscale = 0.5\n"))
    assert turned.size == pytest.approx((0.25, 0.8, 0.3), abs=1e-4)
    assert turned.prototype.volume == pytest.approx(0.06, rel=1e-4)
    (z_up,) = load_pack(write_pack(tmp_path / "c", block(), more='up = "z"\n'))
    assert z_up.size == pytest.approx((0.5, 0.6, 1.6), abs=1e-4)


def test_material_and_colour(tmp_path: Path):
    names = load_catalogue().material_names
    (wood,) = load_pack(write_pack(tmp_path / "a", block(), more='material = "wood"\n'))
    assert {names[m] for m in wood.prototype.materials} == {"wood"} and wood.palette == ((255, 255, 255),)
    (green,) = load_pack(write_pack(tmp_path / "b", block(), more="color = [10, 200, 30]\n"))
    assert {names[m] for m in green.prototype.materials} == {"plastic"} and green.palette == ((10, 200, 30),)


def test_overlapping_bodies_count_once_and_cavities_not(tmp_path: Path):
    two = trimesh.util.concatenate([block((1, 1, 1)), block((1, 1, 1)).apply_translation((0.5, 0, 0))])
    (variant,) = load_pack(write_pack(tmp_path / "a", two))
    assert variant.prototype.volume == pytest.approx(1.5, rel=1e-4)
    inner = block((0.5, 0.5, 0.5))
    inner.invert()
    (hollow,) = load_pack(write_pack(tmp_path / "b", trimesh.util.concatenate([block((1, 1, 1)), inner])))
    assert hollow.prototype.volume == pytest.approx(0.875, rel=1e-4)
    inside_out = block()
    inside_out.invert()
    (mended,) = load_pack(write_pack(tmp_path / "c", inside_out))
    assert mended.prototype.volume == pytest.approx(0.48, rel=1e-4)


def test_usd_with_its_own_unit_and_axis(tmp_path: Path):
    from pxr import Gf, Usd, UsdGeom

    folder = write_pack(tmp_path / "p", file="thing.usda")
    stage = Usd.Stage.CreateNew(str(folder / "thing.usda"))
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 0.01)
    mesh = UsdGeom.Mesh.Define(stage, "/thing/mesh")
    box = block((50, 160, 40))
    mesh.CreatePointsAttr([Gf.Vec3f(*v) for v in box.vertices.tolist()])
    mesh.CreateFaceVertexCountsAttr([3] * len(box.faces))
    mesh.CreateFaceVertexIndicesAttr(box.faces.reshape(-1).tolist())
    mesh.CreateDisplayColorAttr([Gf.Vec3f(1, 0, 0)])
    stage.Save()
    (variant,) = load_pack(folder)
    assert variant.size == pytest.approx((0.5, 1.6, 0.4), abs=1e-4)
    assert variant.prototype.volume == pytest.approx(0.32, rel=1e-4) and variant.palette == ((255, 0, 0),)


def test_packs_join_or_replace(tmp_path: Path):
    folder = write_pack(tmp_path / "p", block())
    base = load_catalogue()
    joined, alone = with_packs(base, [folder]), with_packs(base, [folder], replace=True)
    assert len(joined["bench"]) == len(base["bench"]) + 1 and len(alone["bench"]) == 1
    assert joined["tree"] == base["tree"] and list(joined.variants) == list(base.variants)
    assert len(base["bench"]) == len(load_catalogue()["bench"]), "the built-in catalogue is left alone"


def test_not_watertight_says_by_how_many_edges(tmp_path: Path):
    box = block()
    box.update_faces(np.arange(len(box.faces)) > 0)
    text = error_of(write_pack(tmp_path / "p", box))
    assert "thing.glb" in text and "3 open edges" in text and "close the holes" in text


def test_absurd_sizes(tmp_path: Path):
    assert "correct the field 'scale'" in error_of(write_pack(tmp_path / "a", block((900, 900, 900))))
    text = error_of(write_pack(tmp_path / "b", block((3, 3, 3))))
    assert "27 m3" in text and "set 'scale' to about 0.4" in text
    ball = trimesh.creation.icosphere(5, 0.5).subdivide()
    assert "81920 triangles" in error_of(write_pack(tmp_path / "c", ball))
    big = write_pack(tmp_path / "d", b"")
    with open(big / "thing.glb", "wb") as file:
        file.truncate(65 * 2**20)
    assert "65 MB" in error_of(big)


@pytest.mark.parametrize(
    ("more", "expected"),
    [("", ""), ('colour = "red"\n', "unknown field 'colour'"), ("scale = 0\n", "'scale'"), ("scale = nan\n", "'scale'"), ('up = "x"\n', "'up'"), ("color = [1, 2]\n", "'color'"),
     ('material = "moss"\n', "no material 'moss'"), ('mount = "tree"\n', "'mount'"), ('scale = "big"\n', "'scale' has the wrong type"), ("weight = -1\n", "'weight'")],
)  # fmt: skip
def test_fields(tmp_path: Path, more: str, expected: str):
    folder = write_pack(tmp_path / "p", block(), more=more)
    if not expected:
        assert load_pack(folder)
    else:
        assert expected in error_of(folder) and "asset 1" in error_of(folder)


def test_unknown_class_and_missing_file(tmp_path: Path):
    text = error_of(write_pack(tmp_path / "a", block(), class_name="dragon"))
    assert "asset 1" in text and "unknown object class 'dragon'" in text and "person" in text
    assert "unknown object class 'road'" in error_of(write_pack(tmp_path / "b", block(), class_name="road"))
    text = error_of(write_pack(tmp_path / "c"))
    assert "thing.glb: missing" in text
    assert "outside the pack" in error_of(write_pack(tmp_path / "d", file="../a/thing.glb"))
    assert "no pack.toml" in error_of(tmp_path / "nowhere")


def test_damaged_input(tmp_path: Path):
    assert "not readable as GLB" in error_of(write_pack(tmp_path / "a", b"glTF\x02\x00\x00\x00"))
    whole = write_pack(tmp_path / "b", block())
    data = (whole / "thing.glb").read_bytes()
    (whole / "thing.glb").write_bytes(data[: len(data) // 2])
    assert "not readable as GLB" in error_of(whole)
    assert "format '.blend'" in error_of(write_pack(tmp_path / "c", b"x", "thing.blend"))
    assert "not readable as USDA" in error_of(write_pack(tmp_path / "d", b"#usda 1.0\n(", "thing.usda"))
    (tmp_path / "d" / "pack.toml").write_text("[[asset]\n")
    assert "not readable as TOML" in error_of(tmp_path / "d")
    (tmp_path / "d" / "pack.toml").write_text('name = "x"\n')
    assert "'asset'" in error_of(tmp_path / "d")
    empty = trimesh.Trimesh(np.zeros((3, 3)), [[0, 1, 2]])
    assert error_of(write_pack(tmp_path / "e", empty))
