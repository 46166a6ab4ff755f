"""Flaneur: annotated cities from street maps, and agents that map everything in them."""

__version__ = "0.1.0"
