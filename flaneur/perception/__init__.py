"""Images -> class evidence per patch: clip, dinotxt, lens, twin, oracle."""

from flaneur.perception.base import LIGHTS, EvidenceSource, View, make_view
from flaneur.perception.oracle import Oracle

__all__ = ["LIGHTS", "EvidenceSource", "Oracle", "View", "make_view"]
