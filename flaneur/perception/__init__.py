"""Images -> class evidence per patch: clip, dinotxt, lens, twin, oracle."""

from flaneur.perception.base import LIGHTS, EvidenceSource, View, make_view
from flaneur.perception.oracle import Oracle
from flaneur.perception.twin import Twin
from flaneur.perception.twin_parameters import TwinParameters

__all__ = ["LIGHTS", "EvidenceSource", "Oracle", "Twin", "TwinParameters", "View", "make_view"]
