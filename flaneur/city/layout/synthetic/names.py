"""Invented names for streets, places and public buildings."""

from __future__ import annotations

import numpy as np

_STEMS = {
    "cbd": "Exchange Harbour Commerce Liberty Granite Union Meridian Foundry Republic Signal Customs Guild Beacon Mercer Concord Atlas Sterling Quay",
    "town": "Market Mill Church Bridge Baker Tanner Weaver Cooper Fish Minster Abbey Well Bell Goose Corn Smith Castle Friar Orchard Salt",
    "suburb": "Maple Willow Birch Hawthorn Larch Robin Finch Meadow Sunset Hillcrest Juniper Elm Heron Clover Aspen Fern Hazel Linden Rowan Primrose",
    "rural": "Ash Stone Brook Upper Lower Fox Barley Sheep Quarry Oak Hollow Ridge Heath Marsh Miller's Chapel Wood Cart",
}
_STREETS = {
    "primary": ("Avenue", "Boulevard"), "secondary": ("Avenue", "Street", "Road"), "tertiary": ("Street", "Road"), "unclassified": ("Road", "Lane"),
    "residential": ("Street", "Drive", "Lane", "Road"), "living_street": ("Court", "Close", "Row"), "service": ("Alley", "Yard", "Mews"),
}  # fmt: skip
_PLACES = {
    "square": ("Square", "Place", "Plaza"), "park": ("Park", "Gardens", "Green"), "water": ("Pond", "Mere"), "forest": ("Wood", "Copse"),
    "playground": ("Playground",), "church": ("Church", "Minster", "Chapel"), "townhall": ("Town Hall",), "school": ("School",), "retail": ("Market Hall", "Stores"),
    "farm": ("Farm",), "station": ("Station",), "museum": ("Museum",), "hotel": ("Hotel",), "tower": ("Tower", "House", "Centre"),
}  # fmt: skip


class NameGiver:
    """Hands out every stem once before it repeats one."""

    def __init__(self, place_type: str, rng: np.random.Generator):
        self._rng = rng
        stems = _STEMS[place_type].split()
        self._all = [stems[i] for i in rng.permutation(len(stems))]
        self._left = list(self._all)

    def _stem(self) -> str:
        if not self._left:
            self._left = list(self._all)
        return self._left.pop()

    def street(self, kind: str) -> str:
        endings = _STREETS.get(kind)
        return f"{self._stem()} {endings[int(self._rng.integers(len(endings)))]}" if endings else ""

    def place(self, kind: str) -> str:
        endings = _PLACES.get(kind)
        return f"{self._stem()} {endings[int(self._rng.integers(len(endings)))]}" if endings else ""
