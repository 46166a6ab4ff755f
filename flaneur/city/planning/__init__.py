"""CityGraph -> CityPlan: which rule and parameters each block gets, by the built-in planner or by a language model."""
