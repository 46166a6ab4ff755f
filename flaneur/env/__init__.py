"""Simulator, perception, mapping and scoring as one vector environment; the executor that moves every method."""

from flaneur.env.config import EnvConfig, ExecutorConfig
from flaneur.env.context import Context
from flaneur.env.executor import Executor
from flaneur.env.layers import frontier, planar_layers
from flaneur.env.semantic import SemanticEnv
from flaneur.env.sensor import SensorConfig, SensorEnv

__all__ = ["Context", "EnvConfig", "Executor", "ExecutorConfig", "SemanticEnv", "SensorConfig", "SensorEnv", "frontier", "planar_layers"]
