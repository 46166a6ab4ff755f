"""Invented street plans, the embedded default: no download, the same seed gives the same bytes."""

from flaneur.city.layout.synthetic.city import synthetic_graph

__all__ = ["synthetic_graph"]
