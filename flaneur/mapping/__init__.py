"""Evidence, depth and pose -> voxel log-odds -> planar map."""

from flaneur.mapping.config import PAPER, MapConfig, calibration_index
from flaneur.mapping.semantic_map import FREE, OCCUPIED, UNEXPLORED, UNKNOWN, SemanticMap

__all__ = ["FREE", "OCCUPIED", "PAPER", "UNEXPLORED", "UNKNOWN", "MapConfig", "SemanticMap", "calibration_index"]
