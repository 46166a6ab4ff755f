"""Every method behind one interface: rules, references and the learned agent."""

from flaneur.planners.activesgm import ActiveSGM
from flaneur.planners.base import Planner
from flaneur.planners.ceiling import Ceiling
from flaneur.planners.lawnmower import Lawnmower
from flaneur.planners.nearest_frontier import NearestFrontier
from flaneur.planners.random_goals import RandomGoals
from flaneur.planners.rayfronts import RayFronts
from flaneur.planners.uncertainty import Uncertainty
from flaneur.planners.zhang import Zhang

__all__ = ["ActiveSGM", "Ceiling", "Lawnmower", "NearestFrontier", "Planner", "RandomGoals", "RayFronts", "Uncertainty", "Zhang"]
