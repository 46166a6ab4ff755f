"""CityGraph: the street map of one window, cleaned and connected. What a planner reads and the grammar builds on.

All coordinates are metres in the window's frame (x east, y north, origin at its south-west corner).
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from flaneur.errors import UserError

Point = tuple[float, float]
PlaceType = Literal["cbd", "town", "suburb", "rural"]
BlockType = Literal["residential", "commercial", "mixed", "industrial", "civic", "park", "square", "parking", "farmland", "forest", "water"]
PLACE_TYPES: tuple[str, ...] = PlaceType.__args__
BLOCK_TYPES: tuple[str, ...] = BlockType.__args__


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Polygon(_Model):
    exterior: list[Point]  # counter-clockwise, not closed
    holes: list[list[Point]] = []


class OsmRef(_Model):
    type: Literal["node", "way", "relation"]
    id: int


class Junction(_Model):
    id: int
    at: Point
    signals: bool = False
    radius: float = 0.0  # metres of a turning circle; 0 for none


class Street(_Model):
    """One piece between two junctions."""

    id: int
    kind: str  # OSM's highway value: primary, residential, service, footway, ...
    carriageway: bool  # cars drive here
    line: list[Point]
    start: int  # Junction.id
    end: int
    width: float  # metres, kerb to kerb
    lanes: int = 1
    oneway: bool = False
    pavement: float = 2.0  # metres on either side; 0 for none
    name: str = ""
    osm: OsmRef | None = None
    connector: bool = False  # added by the repair so that the graph is connected
    passage: bool = False  # inside or under a building that stands on the ground: no surface is laid here


class Block(_Model):
    """A face of the carriageway network and the window's edge, up to the kerb."""

    id: int
    type: BlockType
    polygon: Polygon
    neighbours: list[int] = []
    streets: list[int] = []  # Street.id that border or cross it
    name: str = ""
    tags: dict[str, str] = {}


class BuildingPart(_Model):
    polygon: Polygon
    min_height: float = 0.0  # metres
    height: float  # metres above the ground, roof included
    roof_shape: str = "flat"
    roof_height: float = 0.0


class Building(_Model):
    id: int
    block: int  # Block.id
    polygon: Polygon
    height: float  # metres above the ground, roof included
    min_height: float = 0.0
    levels: int = 1
    roof_shape: str = "flat"  # flat, gabled, hipped, pyramidal, skillion, mansard, dome, onion
    roof_height: float = 0.0
    height_source: Literal["tag", "levels", "prior"] = "prior"
    use: str = "yes"  # OSM's building value
    name: str = ""
    colour: str = ""
    parts: list[BuildingPart] = []
    clipped: bool = False
    osm: OsmRef | None = None


class Lot(_Model):
    """Land for one building that the grammar designs (synthetic layouts; unmapped blocks)."""

    id: int
    block: int
    polygon: Polygon
    front: int | None = None  # Street.id it faces
    use: str = ""  # what stands here where the plan is sure: church, townhall, school, farm, barn, house, ...
    name: str = ""


class Area(_Model):
    """Mapped land cover: water, park, grass, parking, pitch, playground, forest, farmland, square, ..."""

    kind: str
    polygon: Polygon
    name: str = ""
    osm: OsmRef | None = None


class Feature(_Model):
    """A mapped point: tree, street_lamp, bench, crossing, fire_hydrant, ..."""

    kind: str
    at: Point
    tags: dict[str, str] = {}
    osm: OsmRef | None = None


class Barrier(_Model):
    kind: str  # fence, wall, hedge
    line: list[Point]
    osm: OsmRef | None = None


class Origin(_Model):
    lon: float
    lat: float
    crs: str  # PROJ string of the local metric projection; the window's south-west corner is at (easting, northing)
    easting: float
    northing: float


class CityGraph(_Model):
    format: int = 1
    name: str
    place_type: PlaceType
    source: Literal["osm", "synthetic"]
    seed: int = 0
    size: float = 200.0
    origin: Origin | None = None
    attribution: str = ""
    source_file: str = ""
    source_sha256: str = ""
    junctions: list[Junction] = []
    streets: list[Street] = []
    blocks: list[Block] = []
    buildings: list[Building] = []
    lots: list[Lot] = []
    areas: list[Area] = []
    features: list[Feature] = []
    barriers: list[Barrier] = []
    repairs: dict[str, int] = Field(default_factory=dict)  # what the clean-up did, and how often

    def save(self, path: Path) -> None:
        Path(path).write_text(self.model_dump_json(indent=1) + "\n", "utf-8")

    @classmethod
    def load(cls, path: Path) -> CityGraph:
        try:
            return cls.model_validate_json(Path(path).read_text("utf-8"))
        except FileNotFoundError:
            raise UserError(f"{path}: no such file") from None
        except ValidationError as error:
            first = error.errors()[0]
            raise UserError(f"{path}: field '{'.'.join(map(str, first['loc']))}': {first['msg']}") from None
