"""What the task relies on in a city's USD, and reads from it. Needs OpenUSD alone, so that it is tested without Isaac Sim.

The file's default prim /World is referenced at CITY, so that everything in it lies below.
"""

from dataclasses import dataclass

from pxr import Sdf, Usd

CITY = "/World/City"
OBJECTS = f"{CITY}/Objects"  # one scope for every class of objects; streets, grass and water are in Background
LIGHTS = f"{CITY}/Lights"  # with the variant set "light"
PHYSICS = f"{CITY}/PhysicsScene"  # Isaac Lab makes its own


@dataclass(frozen=True)
class CityFacts:
    name: str
    size: float  # metres a side; x and y go from 0 to it
    licence: str  # cities from OpenStreetMap: to be shown beside pictures


def city_facts(usd_path: str) -> CityFacts:
    about = Sdf.Layer.FindOrOpen(usd_path).customLayerData["flaneur"]
    return CityFacts(about["name"], float(about["size"]), about["licence"])


def prepare_city(stage: Usd.Stage, light: str) -> tuple[str, ...]:
    """After the city was spawned: its hour, one physics scene only; returns the names of its object classes."""
    variants = stage.GetPrimAtPath(LIGHTS).GetVariantSet("light")
    if light not in variants.GetVariantNames():
        raise ValueError(f"light '{light}': give one of {', '.join(variants.GetVariantNames())}")
    variants.SetVariantSelection(light)
    stage.GetPrimAtPath(PHYSICS).SetActive(False)
    return tuple(prim.GetName() for prim in stage.GetPrimAtPath(OBJECTS).GetChildren())
