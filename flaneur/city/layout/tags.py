"""OSM tag values as numbers. A value that makes no sense gives None, never a guess; the caller falls back and counts it."""

from __future__ import annotations

import re
from collections.abc import Mapping

MAX_HEIGHT = 850.0  # metres; the tallest building stands at 828
METRES_PER_LEVEL = 3.2

_NUMBER = r"([0-9]{1,6}(?:[.,][0-9]{1,6})?)"
_LENGTH = re.compile(rf"^{_NUMBER}\s*(m|meters?|metres?|cm|ft|feet|foot|km|in)?\.?$", re.ASCII)
_FEET_INCHES = re.compile(rf"^{_NUMBER}\s*(?:'|ft)\s*(?:{_NUMBER}\s*(?:\"|''|in)?)?$", re.ASCII)
_UNITS = {"m": 1.0, "cm": 0.01, "km": 1000.0, "ft": 0.3048, "fe": 0.3048, "fo": 0.3048, "in": 0.0254, "me": 1.0}
_TYPOGRAPHY = str.maketrans({"′": "'", "’": "'", "″": '"', "”": '"', "\u00a0": " "})


def _number(text: str) -> float:
    return float(text.replace(",", "."))


def length(value: str | None) -> float | None:
    """Metres of '12', '12 m', '12,5', '40 ft' or 40'6"; None for anything else."""
    if value is None:
        return None
    text = value.translate(_TYPOGRAPHY).strip().lower()
    match = _LENGTH.match(text)
    if match:
        unit = match.group(2)
        return _number(match.group(1)) * (_UNITS[unit[:2]] if unit else 1.0)
    match = _FEET_INCHES.match(text)
    if match:
        return _number(match.group(1)) * 0.3048 + (_number(match.group(2)) * 0.0254 if match.group(2) else 0.0)
    return None


def bounded(value: str | None, low: float, high: float) -> float | None:
    """The length in metres where it lies in [low, high]."""
    metres = length(value)
    return metres if metres is not None and low <= metres <= high else None


def count(value: str | None, low: float, high: float) -> float | None:
    """A plain number such as '3' or '2.5' within [low, high]."""
    if value is None or not re.fullmatch(_NUMBER, value.strip(), re.ASCII):
        return None
    number = _number(value.strip())
    return number if low <= number <= high else None


def oneway(tags: Mapping[str, str]) -> int:
    """1 along the way, -1 against it, 0 both ways."""
    value = tags.get("oneway", "").lower()
    if value in ("yes", "true", "1"):
        return 1
    if value in ("-1", "reverse"):
        return -1
    if value == "" and (tags.get("junction") in ("roundabout", "circular") or tags.get("highway") in ("motorway", "motorway_link")):
        return 1
    return 0


def layer(tags: Mapping[str, str]) -> int:
    value = tags.get("layer", "0").strip()
    return int(value) if re.fullmatch(r"-?[0-9]", value, re.ASCII) else 0


def underground(tags: Mapping[str, str]) -> bool:
    if tags.get("tunnel", "no") in ("yes", "culvert", "covered", "flooded") or tags.get("location") in ("underground", "indoor"):
        return True
    return tags.get("indoor", "no") not in ("no", "") or (layer(tags) < 0 and tags.get("tunnel") != "building_passage" and tags.get("bridge", "no") == "no")
