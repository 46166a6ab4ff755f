"""Three shorthands for authoring USD specs in bulk."""

# pyright: reportAttributeAccessIssue=false
# OpenUSD's modules come without type stubs.
from __future__ import annotations

from functools import lru_cache
from typing import Any

from pxr import Sdf


def define(parent: Any, name: str, type_name: str, specifier: Any = Sdf.SpecifierDef) -> Sdf.PrimSpec:
    """A new prim below a prim spec or at the top of a layer."""
    return Sdf.PrimSpec(parent, name, specifier, type_name)


@lru_cache(maxsize=64)
def _value_type(name: str) -> Any:
    return Sdf.ValueTypeNames.Find(name)


def attribute(prim: Sdf.PrimSpec, name: str, type_name: str, value: Any = None, uniform: bool = False, custom: bool = False) -> Sdf.AttributeSpec:
    spec = Sdf.AttributeSpec(prim, name, _value_type(type_name), Sdf.VariabilityUniform if uniform else Sdf.VariabilityVarying, custom)
    if value is not None:
        spec.default = value
    return spec


def metadata(prim: Sdf.PrimSpec, key: str, value: Any) -> None:
    prim.SetInfo(key, value)


def tokens(*names: str) -> Any:
    """Applied API schemas as list operation."""
    return Sdf.TokenListOp.Create(prependedItems=list(names))
