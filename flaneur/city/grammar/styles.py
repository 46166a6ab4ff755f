"""Architecture styles as data: what the rules read, and what the CityEngine exporter writes as attributes."""

from __future__ import annotations

from dataclasses import dataclass

Color = tuple[int, int, int]

_PLASTER: tuple[Color, ...] = ((255, 250, 240), (250, 226, 178), (238, 205, 160), (226, 226, 218), (222, 190, 168), (206, 214, 196), (244, 214, 196), (214, 206, 190))
_VIVID: tuple[Color, ...] = ((255, 244, 220), (250, 205, 140), (226, 150, 120), (168, 206, 200), (186, 204, 232), (250, 226, 150), (232, 180, 188))
_TIMBER: tuple[Color, ...] = ((255, 255, 252), (182, 206, 222), (176, 84, 66), (236, 214, 150), (150, 176, 150), (196, 196, 188), (120, 134, 150))
_NEUTRAL: tuple[Color, ...] = ((255, 255, 255), (236, 232, 224), (216, 216, 220), (250, 240, 226))


@dataclass(frozen=True)
class Style:
    facades: tuple[str, ...]  # facade families of flaneur.city.assets.facades
    lot: str  # how it fills a lot: tower, perimeter, row, slab, detached, farm, hall, civic
    storey: float  # metres
    ground: float  # metres of the ground floor; `shop_ground` where it holds shops
    bay: float  # metres
    roofs: dict[str, float]  # shape -> weight, where the map tells none
    pitch: float  # metres up per metre in
    roof_materials: tuple[str, ...]
    flat_materials: tuple[str, ...]
    tints: tuple[Color, ...]
    trim: str  # cornice, parapet
    fine_names: tuple[str, ...]
    shop_ground: float = 4.2
    overhang: float = 0.0  # of the cornice, metres
    cornice: float = 0.0
    parapet: float = 0.6
    eaves: float = 0.0
    ridge: str = "long"  # or "street": parallel to it
    details: tuple[str, ...] = ()  # balcony, awning, canopy, steps, dormer, chimney, stairhead, bay_window, column, gate


STYLES: dict[str, Style] = {
    "glass_tower": Style(("glass_tower",), "tower", 3.8, 5.0, 3.0, {"flat": 1}, 0.0, ("roof_metal",), ("roof_gravel", "roof_bitumen"), _NEUTRAL, "steel",
                         ("glass office tower", "corporate headquarters", "hotel tower"), 5.0, parapet=1.2, details=("stairhead", "canopy")),
    "stone_office": Style(("stone_office", "brick_dark", "concrete"), "tower", 3.8, 4.8, 3.2, {"flat": 1}, 0.0, ("roof_copper",), ("roof_gravel", "roof_bitumen"), _NEUTRAL, "granite",
                          ("office building", "bank building", "department store"), 4.8, 0.6, 0.9, 0.9, details=("stairhead", "canopy")),
    "plaster_perimeter": Style(("plaster_perimeter",), "perimeter", 3.4, 3.8, 2.8, {"gabled": 5, "mansard": 3, "flat": 2, "hipped": 1}, 0.75, ("roof_red", "roof_brown", "roof_slate"), ("roof_bitumen", "roof_gravel"), _PLASTER, "paint_white",
                               ("apartment building", "corner apartment building", "tenement house"), 4.2, 0.45, 0.5, 0.5, 0.35, "street", ("bay_window", "balcony", "awning", "dormer", "chimney", "stairhead")),
    "brick_row": Style(("brick_row", "brick_dark"), "row", 3.1, 3.3, 2.4, {"flat": 5, "gabled": 4, "mansard": 1}, 0.8, ("roof_slate", "roof_brown"), ("roof_bitumen",), _NEUTRAL, "concrete",
                       ("row house", "townhouse", "brownstone"), 3.9, 0.4, 0.6, 0.5, 0.25, "street", ("steps", "chimney", "dormer", "awning", "stairhead")),
    "modern_apartment": Style(("modern_apartment", "concrete"), "slab", 3.0, 3.2, 3.4, {"flat": 1}, 0.0, ("roof_metal",), ("roof_gravel", "roof_green", "roof_bitumen"), _NEUTRAL, "concrete",
                              ("apartment block", "residential slab", "apartment house"), 4.0, parapet=0.8, details=("balcony", "canopy", "stairhead", "awning")),
    "shop_house": Style(("shop_house", "plaster_perimeter"), "row", 3.3, 4.0, 2.6, {"gabled": 4, "flat": 4, "hipped": 1}, 0.6, ("roof_red", "roof_brown"), ("roof_bitumen", "roof_gravel"), _VIVID, "paint_white",
                        ("shop house", "cafe house", "corner shop"), 4.0, 0.4, 0.4, 0.5, 0.4, "street", ("awning", "balcony", "chimney", "dormer")),
    "detached_house": Style(("detached_house",), "detached", 2.8, 2.9, 3.0, {"gabled": 6, "hipped": 4}, 0.8, ("roof_red", "roof_brown", "roof_slate"), ("roof_bitumen",), _PLASTER, "concrete",
                            ("family house", "villa", "bungalow"), 3.6, parapet=0.4, eaves=0.5, details=("steps", "chimney", "dormer", "porch")),
    "timber_house": Style(("timber_house",), "detached", 2.8, 2.9, 2.8, {"gabled": 8, "hipped": 2, "gambrel": 1}, 0.9, ("roof_slate", "roof_brown", "roof_metal"), ("roof_bitumen",), _TIMBER, "paint_white",
                          ("wooden house", "clapboard house", "cottage"), 3.6, parapet=0.4, eaves=0.45, details=("porch", "chimney", "dormer", "steps")),
    "farm": Style(("farm", "rubble", "timber_house"), "farm", 2.8, 3.0, 2.8, {"gabled": 8, "hipped": 2, "gambrel": 2}, 0.95, ("roof_red", "roof_brown", "roof_slate"), ("roof_bitumen",), _PLASTER, "concrete",
                  ("farmhouse", "barn", "stable"), 3.6, parapet=0.3, eaves=0.55, details=("chimney", "steps", "dormer")),
    "industrial": Style(("industrial", "concrete"), "hall", 4.5, 4.5, 5.0, {"flat": 5, "gabled": 3, "skillion": 1}, 0.25, ("roof_metal",), ("roof_bitumen", "roof_gravel", "roof_metal"), _NEUTRAL + ((190, 206, 222), (206, 196, 176)), "steel",
                        ("warehouse", "factory hall", "workshop"), 4.5, parapet=0.4, details=("gate", "canopy")),
    "civic": Style(("civic", "stone_office"), "civic", 4.2, 4.6, 3.6, {"hipped": 4, "flat": 4, "mansard": 1}, 0.5, ("roof_copper", "roof_slate"), ("roof_gravel",), _NEUTRAL, "granite",
                   ("town hall", "museum", "school", "library"), 4.6, 0.6, 0.9, 0.8, details=("column", "steps")),
}  # fmt: skip

# What the map's `building=` value says beyond the block's style: style, fine name, most storeys where the height is unknown.
# ruff: noqa: E501
USES: dict[str, tuple[str | None, str, int]] = {
    "church": ("civic", "church", 3), "cathedral": ("civic", "cathedral", 4), "chapel": ("civic", "chapel", 2), "mosque": ("civic", "mosque", 3), "temple": ("civic", "temple", 3), "synagogue": ("civic", "synagogue", 3),
    "school": ("civic", "school", 4), "university": ("civic", "university building", 6), "hospital": ("civic", "hospital", 8), "public": ("civic", "public building", 5), "civic": ("civic", "civic building", 5),
    "government": ("civic", "government building", 6), "townhall": ("civic", "town hall", 5), "train_station": ("civic", "train station", 3), "museum": ("civic", "museum", 4), "kindergarten": ("civic", "kindergarten", 2),
    "tower": ("glass_tower", "office tower", 60), "station": ("civic", "train station", 3),
    "office": ("stone_office", "office building", 40), "commercial": ("stone_office", "commercial building", 20), "hotel": ("stone_office", "hotel", 20), "retail": ("shop_house", "shop building", 3),
    "supermarket": ("industrial", "supermarket", 1), "kiosk": ("shop_house", "kiosk", 1), "apartments": (None, "apartment building", 20), "residential": (None, "residential building", 20),
    "dormitory": ("modern_apartment", "dormitory", 10), "terrace": ("brick_row", "row house", 3), "house": (None, "house", 4), "detached": ("detached_house", "family house", 3), "semidetached_house": ("detached_house", "semi-detached house", 3),
    "bungalow": ("detached_house", "bungalow", 1), "farm": ("farm", "farmhouse", 2), "barn": ("farm", "barn", 2), "stable": ("farm", "stable", 1), "cowshed": ("farm", "cowshed", 1), "farm_auxiliary": ("farm", "farm building", 2),
    "industrial": ("industrial", "factory hall", 2), "warehouse": ("industrial", "warehouse", 2), "hangar": ("industrial", "hangar", 2), "manufacture": ("industrial", "workshop", 2), "garage": ("industrial", "garage", 1),
    "garages": ("industrial", "garages", 1), "shed": ("timber_house", "garden shed", 1), "hut": ("timber_house", "hut", 1), "carport": ("timber_house", "carport", 1), "roof": ("industrial", "canopy roof", 1),
    "greenhouse": ("industrial", "greenhouse", 1), "service": ("industrial", "service building", 1), "parking": ("stone_office", "parking garage", 5), "grandstand": ("industrial", "grandstand", 3), "bridge": (None, "bridge building", 3),
}  # fmt: skip
PLACES_OF_WORSHIP = ("church", "cathedral", "chapel")
