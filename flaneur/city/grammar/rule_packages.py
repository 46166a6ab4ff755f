"""CityEngine rule packages (.rpk) on chosen lots through Esri's PyPRT: the optional backend `cityengine`.

PyPRT's licence covers non-commercial use only, so it is an extra and never a default: pip install 'flaneur[cityengine]'.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flaneur.errors import UserError

ENCODER = "com.esri.pyprt.PyEncoder"


def generate(rule_package: Path, footprints: Sequence[np.ndarray], attributes: Sequence[Mapping[str, Any]], seeds: Sequence[int]) -> list[tuple[np.ndarray, np.ndarray] | None]:
    """Run the package's start rule on each footprint.

    footprints: counter-clockwise rings [n, 2] metres; attributes: one mapping per footprint (the package's own names).
    Returns vertices [V, 3] f32 (z up, ground at 0, the window's frame) and triangles [F, 3] i32 per footprint,
    None where the package made no geometry.
    """
    pyprt = _runtime()
    package = Path(rule_package)
    if not package.is_file():
        raise UserError(f"{package}: no such rule package")
    known = pyprt.get_rpk_attributes_info(str(package))
    unknown = sorted({k for a in attributes for k in a} - set(known))
    if unknown:
        raise UserError(f"{package}: attribute '{unknown[0]}' is not in this rule package; it has {', '.join(sorted(known)) or 'none'}")
    # PRT is y up and right-handed: ours (x, y) is its (x, 0, -y).
    shapes = [pyprt.InitialShape(np.stack([r[:, 0], 0 * r[:, 0], -r[:, 1]], 1).reshape(-1).tolist()) for r in footprints]
    wanted = [{**a, "seed": int(seed)} for a, seed in zip(attributes, seeds, strict=True)]
    models = pyprt.ModelGenerator(shapes).generate_model(wanted, str(package), ENCODER, {"emitGeometry": True, "emitReport": False, "triangulate": True})
    if len(models) != len(shapes):
        raise UserError(f"{package}: made {len(models)} models for {len(shapes)} lots; is it a readable rule package?")
    return [_mesh(m) for m in sorted(models, key=lambda m: m.get_initial_shape_index())]


def _runtime() -> Any:
    try:
        import pyprt
    except ImportError:
        raise UserError("rule package: PyPRT is not installed; pip install 'flaneur[cityengine]' (non-commercial licence)") from None
    return pyprt


def _mesh(model: Any) -> tuple[np.ndarray, np.ndarray] | None:
    vertices = np.array(model.get_vertices(), np.float64).reshape(-1, 3)
    faces = np.array(model.get_indices(), np.int32).reshape(-1, 3)
    return (np.stack([vertices[:, 0], -vertices[:, 2], vertices[:, 1]], 1).astype(np.float32), faces) if len(faces) else None
