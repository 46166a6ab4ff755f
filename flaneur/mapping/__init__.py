"""Evidence, depth and pose -> voxel log-odds -> planar map."""

from flaneur.mapping.config import PAPER, MapConfig, calibration_index
from flaneur.mapping.semantic_map import FREE, OCCUPIED, UNEXPLORED, UNKNOWN, SemanticMap
from flaneur.mapping.storage import load_map, save_map

__all__ = ["FREE", "OCCUPIED", "PAPER", "UNEXPLORED", "UNKNOWN", "MapConfig", "SemanticMap", "calibration_index", "load_map", "save_map"]
