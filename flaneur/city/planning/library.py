"""The rule library and the plan: what the two planning stages produce and the grammar executes.

Stage 1 designs a `RuleLibrary` out of scene types, block types, assets and the distribution functions below.
Stage 2 makes a `CityPlan`: one rule and its parameters for every block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict

from flaneur.city.layout.graph import BlockType, PlaceType

MOUNTED = ("air_conditioner",)  # only on walls and roofs
DRIVEN = ("car", "truck", "bus")  # only on carriageways and in bays


@dataclass(frozen=True)
class Parameter:
    low: float
    high: float
    default: float
    unit: str
    meaning: str


@dataclass(frozen=True)
class DistributionFunction:
    meaning: str
    parameters: dict[str, Parameter]
    only: tuple[str, ...] = ()  # the assets it can place; empty for all that it does not refuse
    refuses: tuple[str, ...] = (*MOUNTED, *DRIVEN)

    def places(self, asset: str) -> bool:
        return asset in self.only if self.only else asset not in self.refuses


_SPACING = Parameter(1.5, 80.0, 20.0, "m", "distance between neighbours")
_JITTER = Parameter(0.0, 1.0, 0.2, "share", "share of the spacing by which a place may move")
_CLUSTER = Parameter(0.0, 1.0, 0.3, "share", "share that stands in groups of two to six")

# The vocabulary that both planners and the grammar know. An asset is a class name of flaneur/data/classes.toml.
FUNCTIONS: dict[str, DistributionFunction] = {
    "along_kerb": DistributionFunction("in a row on the pavement's kerb side", {"spacing": _SPACING, "offset": Parameter(0.3, 2.0, 0.6, "m", "from the kerb"), "jitter": _JITTER}),
    "along_facade": DistributionFunction("in a row on the pavement's house side", {"spacing": _SPACING, "offset": Parameter(0.3, 3.0, 0.6, "m", "from the facade"), "jitter": _JITTER}),
    "parked_at_kerb": DistributionFunction("parked along the carriageway's edge", {"occupancy": Parameter(0.0, 1.0, 0.6, "share", "share of the places taken")}, (*DRIVEN, "motorcycle")),
    "in_traffic": DistributionFunction("driving in the lanes", {"density": Parameter(0.0, 8.0, 2.0, "per 100 m of lane", "")}, (*DRIVEN, "motorcycle", "bicycle")),
    "on_pavement": DistributionFunction("anywhere on the pavement and paved ground", {"density": Parameter(0.0, 60.0, 3.0, "per 100 m2", ""), "cluster": _CLUSTER}),
    "in_open_space": DistributionFunction(
        "on the block's unbuilt ground", {"density": Parameter(0.0, 60.0, 2.0, "per 100 m2", ""), "cluster": _CLUSTER, "margin": Parameter(0.0, 10.0, 0.5, "m", "from the open space's edge")}
    ),
    "along_boundary": DistributionFunction(
        "end to end along lot or block boundaries", {"coverage": Parameter(0.0, 1.0, 0.7, "share", "share of the boundary covered"), "inset": Parameter(0.0, 3.0, 0.3, "m", "from the boundary")}
    ),
    "around_buildings": DistributionFunction("in a ring around each building", {"spacing": _SPACING, "offset": Parameter(0.3, 5.0, 0.8, "m", "from the wall"), "jitter": _JITTER}),
    "at_entrances": DistributionFunction(
        "beside the doors of buildings", {"probability": Parameter(0.0, 1.0, 0.5, "share", "of the entrances"), "offset": Parameter(0.4, 4.0, 1.0, "m", "from the wall")}
    ),
    "on_roof": DistributionFunction("on flat roofs", {"density": Parameter(0.0, 20.0, 1.5, "per 100 m2", ""), "margin": Parameter(0.5, 5.0, 1.0, "m", "from the roof's edge")}, MOUNTED),
    "on_facade": DistributionFunction("fixed to facades", {"density": Parameter(0.0, 20.0, 1.0, "per 100 m2", "")}, MOUNTED),
    "in_rows": DistributionFunction(
        "in rows on the block's open or parking ground",
        {"spacing": _SPACING, "row_spacing": Parameter(2.0, 40.0, 6.0, "m", "between rows"), "occupancy": Parameter(0.0, 1.0, 0.7, "share", "share of the places taken")},
        refuses=MOUNTED,
    ),
    "at_junctions": DistributionFunction("at the corners of junctions", {"probability": Parameter(0.0, 1.0, 0.8, "share", "of the corners")}),
}

# The limits of a rule's architecture, by field of `Architecture`.
ARCHITECTURE: dict[str, Parameter] = {
    "storeys": Parameter(1.0, 80.0, 4.0, "storeys", "of buildings whose height the map does not tell"),
    "shop_share": Parameter(0.0, 1.0, 0.3, "share", "of buildings with shops at street level"),
    "balcony_share": Parameter(0.0, 1.0, 0.2, "share", "of facade bays with a balcony"),
    "coverage": Parameter(0.0, 0.9, 0.5, "share", "of a lot that is built over"),
}

ARCHITECTURE_STYLES = ("glass_tower", "stone_office", "plaster_perimeter", "brick_row", "modern_apartment", "shop_house", "detached_house", "timber_house", "farm", "industrial", "civic")
ArchitectureStyle = Literal["glass_tower", "stone_office", "plaster_perimeter", "brick_row", "modern_apartment", "shop_house", "detached_house", "timber_house", "farm", "industrial", "civic"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Range(_Model):
    low: float
    high: float
    default: float


class Distribution(_Model):
    asset: str  # class name
    function: str  # key of FUNCTIONS
    parameters: dict[str, Range]  # the rule's own limits, within the function's


class Architecture(_Model):
    """How buildings look, and how many storeys those get whose height the map does not tell."""

    style: ArchitectureStyle
    storeys: Range
    shop_share: Range  # of buildings with shops at street level
    balcony_share: Range  # of facade bays with a balcony
    coverage: Range  # of a lot that is built over (lots only)


class Rule(_Model):
    name: str
    scene_types: list[PlaceType]
    block_types: list[BlockType]
    architecture: Architecture | None = None  # None: nothing is built here
    distributions: list[Distribution]
    reason: str = ""  # the designer's thought
    hints: list[str] = []  # words in the map's names and tags that speak for this rule (the built-in planner reads them)
    heights: tuple[float, float] | None = None  # metres: mapped buildings of this height speak for it

    def range(self, key: str) -> Range | None:
        """The range behind a plan's parameter key, "asset.function.parameter" or "architecture.field"."""
        return self.ranges().get(key)

    def ranges(self) -> dict[str, Range]:
        found: dict[str, Range] = {}
        if self.architecture is not None:
            found |= {f"architecture.{field}": getattr(self.architecture, field) for field in ARCHITECTURE}
        for d in self.distributions:
            found |= {f"{d.asset}.{d.function}.{name}": limits for name, limits in d.parameters.items()}
        return found


class RuleLibrary(_Model):
    format: int = 1
    name: str
    rules: list[Rule]

    def named(self, name: str) -> Rule | None:
        return next((rule for rule in self.rules if rule.name == name), None)

    def fitting(self, place_type: str, block_type: str) -> list[Rule]:
        """The rules made for this kind of block in this kind of scene, in the library's order."""
        return [rule for rule in self.rules if place_type in rule.scene_types and block_type in rule.block_types]

    def describe(self) -> str:
        """One line per rule, for people."""
        lines = [f"{r.name}: {'/'.join(r.scene_types)}; {'/'.join(r.block_types)}; {len(r.distributions)} distributions" for r in self.rules]
        return "\n".join([f"library '{self.name}', {len(self.rules)} rules", *lines])


class Assignment(_Model):
    block: int
    rule: str  # Rule.name
    style: ArchitectureStyle | None = None  # overrides the rule's
    parameters: dict[str, float] = {}  # "asset.function.parameter" or "architecture.field" -> value; the default where absent
    semantics: str = ""  # what the planner thinks this block is ("theatre quarter")
    reason: str = ""


class CityPlan(_Model):
    format: int = 1
    library: str  # RuleLibrary.name
    planner: str  # builtin, openai:MODEL, local:MODEL
    seed: int
    assignments: list[Assignment]
    repairs: list[str] = []  # what had to be mended in a model's answer
