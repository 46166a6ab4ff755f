"""Evidence sources by name, as typed on the command line."""

from __future__ import annotations

import json
from pathlib import Path

from flaneur.classes import ClassList
from flaneur.errors import UserError
from flaneur.perception.base import EvidenceSource, shipped

NAMES = "twin (fitted to lens), twin:lens-all, twin:easy, twin:hard, twin:FILE, oracle, lens, lens-all, lens:FILE, clip:FOLDER, dinotxt:FILE"


def make_source(name: str, classes: ClassList, device: str = "cpu") -> EvidenceSource:
    """`KIND` or `KIND:WHERE`. dinotxt's FILE is JSON with repository, weights, backbone_weights and vocabulary."""
    kind, _, where = name.partition(":")
    if kind == "oracle":
        from flaneur.perception.oracle import Oracle

        return Oracle(classes)
    if kind == "twin":
        from flaneur.perception.twin import Twin

        return Twin.named(where or "lens", classes, device)
    if kind in ("lens", "lens-all"):
        from flaneur.perception.lens import Lens

        return Lens.load(where or shipped(f"{kind.replace('-', '_')}.safetensors", "lens:FILE, trained with flaneur lens train"), classes, device)
    if kind == "clip" and where:
        from flaneur.perception.clip import Clip

        return Clip(where, classes, device)
    if kind == "dinotxt" and where:
        from flaneur.perception.dinotxt import DinoTxt

        try:
            paths = json.loads(Path(where).read_text("utf-8"))
            return DinoTxt(paths["repository"], paths["weights"], paths["backbone_weights"], paths["vocabulary"], classes, device)
        except (OSError, json.JSONDecodeError) as error:
            raise UserError(f"{where}: not readable as JSON ({error})") from None
        except KeyError as error:
            raise UserError(f"{where}: field {error} is missing; repository, weights, backbone_weights and vocabulary are needed") from None
    raise UserError(f"unknown evidence '{name}'; known are {NAMES}")
