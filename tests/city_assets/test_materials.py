"""Materials and the tiles they are drawn with."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from flaneur.city.assets.facades import FACADES, KINDS
from flaneur.city.assets.materials import MATERIALS, drawing_digest, facade_materials, tile_image
from flaneur.city.assets.tiles import PLAIN
from flaneur.city.planning.library import ARCHITECTURE_STYLES
from flaneur.errors import UserError

SMALL = 32  # pixels


def digest_of_tiles() -> str:
    digest = hashlib.sha256()
    for name in sorted(MATERIALS):
        digest.update(tile_image(name, SMALL).tobytes())
    return digest.hexdigest()


@pytest.mark.parametrize("name", list(MATERIALS))
def test_material_is_sound(name: str):
    material = MATERIALS[name]
    image = tile_image(material.tile, SMALL)
    assert image.shape == (SMALL, SMALL, 4) and image.dtype == np.uint8
    assert material.name == name and min(material.size) > 0
    assert all(0 <= v <= 1 for v in (material.roughness, material.reflectivity, material.emission))
    mean = image[..., :3].mean((0, 1))
    assert np.abs(mean - material.color).max() < 20, "the flat colour stands for the tile"
    if material.reflectivity or material.emission:
        assert image[..., 3].max() > 0 or name.startswith(("car_", "wheel", "van_", "camper_")) or name.endswith("_wall"), "nothing in the tile is glass or lamp"


def test_tiles_repeat_without_a_seam():
    """Along the edges neighbouring pixels differ no more than inside, for tiles made of noise."""
    for name in ("asphalt", "grass", "leaves_oak", "water", "sand", "bark", "roof_gravel", "granite"):
        rgb = tile_image(name)[..., :3].astype(float)
        inside = np.abs(np.diff(rgb, axis=1)).mean()
        across = np.abs(rgb[:, 0] - rgb[:, -1]).mean()
        assert across < 2 * inside + 2, name


def test_every_style_has_its_four_tiles():
    for style in (*ARCHITECTURE_STYLES, *FACADES):
        assert set(facade_materials(style)) == set(KINDS)
        assert all(m in MATERIALS for m in facade_materials(style).values())
    window = tile_image("brick_row_window")
    assert 0.1 < (window[..., 3] > 128).mean() < 0.6, "a window tile shows glass and wall"
    assert (tile_image("brick_row_wall")[..., 3] == 0).all()


def test_plain_tiles_are_nearly_one_colour():
    for name in PLAIN:
        assert tile_image(name)[..., :3].std((0, 1)).max() < 30, name


def test_images_are_read_only_and_unknown_names_are_told():
    with pytest.raises(ValueError):
        tile_image("asphalt")[0, 0] = 0
    with pytest.raises(UserError, match="unknown tile 'moss'"):
        tile_image("moss")
    with pytest.raises(UserError, match="unknown architecture style"):
        facade_materials("gothic")


def test_another_process_draws_the_same_bytes():
    code = "import sys; sys.path.insert(0, sys.argv[1]); from test_materials import digest_of_tiles; print(digest_of_tiles())"
    there = subprocess.run([sys.executable, "-c", code, str(Path(__file__).parent)], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONHASHSEED": "7"})
    assert there.stdout.strip() == digest_of_tiles()
    assert len(drawing_digest()) == 64
