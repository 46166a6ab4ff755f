"""Small hand-made graphs for the planning tests: a 3 x 3 grid of blocks with streets between."""

from flaneur.city.layout.graph import Block, Building, CityGraph, Junction, Polygon, Street


def rectangle(x: float, y: float, w: float, h: float) -> Polygon:
    return Polygon(exterior=[(x, y), (x + w, y), (x + w, y + h), (x, y + h)])


def grid_graph(place: str, types: list[str], height: float = 10.0, tags: dict[str, str] | None = None, columns: int = 3) -> CityGraph:
    """Up to `columns` blocks a row, each 56 m square with one building; row streets are named and bound."""
    blocks, buildings = [], []
    pitch = 66.0
    for i, kind in enumerate(types):
        x, y = 5 + (i % columns) * pitch, 5 + (i // columns) * pitch
        near = [j for j in (i - 1 if i % columns else -1, i + 1 if (i + 1) % columns else -1, i - columns, i + columns) if 0 <= j < len(types)]
        blocks.append(Block(id=i, type=kind, polygon=rectangle(x, y, 56, 56), neighbours=near, streets=[i // columns], name=f"Block {i}" if i % 4 == 0 else "", tags=tags or {}))
        if kind not in ("park", "square", "farmland", "forest", "water"):
            buildings.append(Building(id=i, block=i, polygon=rectangle(x + 8, y + 8, 30, 30), height=height, use="yes", name=f"House {i}" if i % 3 == 0 else ""))
    rows = (len(types) + columns - 1) // columns
    junctions = [Junction(id=j, at=((j % 2) * 200.0, (j // 2) * pitch)) for j in range(2 * rows)]
    streets = [Street(id=r, kind="tertiary", carriageway=True, line=[junctions[2 * r].at, junctions[2 * r + 1].at], start=2 * r, end=2 * r + 1, width=7.0, name=f"Street {r}") for r in range(rows)]
    return CityGraph(name="grid", place_type=place, source="synthetic", junctions=junctions, streets=streets, blocks=blocks, buildings=buildings)
