"""`flaneur city`: build, fetch and check cities."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from flaneur.cli.console import Command, print_json, print_table, progress
from flaneur.errors import UserError

if TYPE_CHECKING:
    from flaneur.city.layout.graph import CityGraph


@dataclass
class Build(Command):
    """Build annotated cities from a street map, or from an invented layout.

    Examples:
      flaneur city build --synthetic town --seed 3 --out out/town
      flaneur city build --osm map.osm.pbf --center 40.7336,-74.0045 --out out/village
      flaneur city build --osm map.osm.pbf --auto 4 --out out/cities       one folder per window
      flaneur city build --synthetic cbd --planner local --out out/cbd     a small language model plans
    """

    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """Folder to write; what is there is replaced when the new city is complete."""
    osm: Path | None = None
    """Street map: .osm, .osm.gz or .osm.pbf."""
    window: str | None = None
    """W,S,E,N in degrees: a box of 200 m x 200 m."""
    center: str | None = None
    """LAT,LON of the window's middle."""
    auto: int | None = None
    """The N most varied windows of the map."""
    synthetic: Literal["cbd", "town", "suburb", "rural"] | None = None
    """Invent the layout instead."""
    seed: int = 0
    """The same seed gives the same bytes."""
    light: Literal["day", "dusk", "night", "overcast"] = "day"
    """Time of day and weather, for pictures and the USD export."""
    planner: Literal["builtin", "openai", "local", "replay"] = "builtin"
    """Who assigns rules to blocks: rules of our own, an OpenAI-compatible server, a model on this machine, a saved transcript."""
    rules: Path | None = None
    """Another rule library (TOML or JSON)."""
    pack: list[Path] = field(default_factory=list)
    """Folders of your own meshes (GLB, OBJ, USD with one pack.toml)."""
    rule_package: Path | None = None
    """CityEngine rule package (.rpk) that builds the lots, through PyPRT (extra cityengine, non-commercial licence)."""
    package_lots: str = ""
    """Only lots of this architecture style, such as plaster_perimeter; default: all."""
    transcript: Path | None = None
    """For the planner replay: what a model's planner wrote."""
    preset: str = "default"
    """Prompts: default, paper, or a folder of your own."""
    design: bool = False
    """The model designs the rule library too."""
    base_url: str = "http://127.0.0.1:8080/v1"
    """Of the OpenAI-compatible server; its key is read from OPENAI_API_KEY."""
    model: str = ""
    """Its model; for the planner local the path of a GGUF file."""

    def make(self) -> list[dict]:
        """Build and describe every city."""
        graphs = list(self._graphs())
        reports = []
        with progress("building", len(graphs)) as advance:
            for done, graph in enumerate(graphs):
                advance(done, graph.name)
                folder = self.out / graph.name if self.auto is not None else self.out
                reports.append(self._build(graph, folder))
            advance(len(graphs))
        return reports

    def run(self) -> None:
        reports = self.make()
        if self.json:
            print_json(reports)
            return
        for r in reports:
            repaired = f", {r['repairs']} plan repairs" if r["repairs"] else ""
            print(f"{r['scene']}: {r['place_type']}, {r['objects']:,} objects, {r['buildings']} buildings, {r['triangles']:,} triangles, {r['bytes'] / 1e6:.2f} MB, {r['seconds']:.1f} s{repaired}")
        print(f"look at it: flaneur view {reports[0]['scene']}")

    def _graphs(self) -> Iterator[CityGraph]:
        if (self.osm is None) == (self.synthetic is None):
            raise UserError("city build: give either --osm FILE or --synthetic cbd|town|suburb|rural")
        if self.synthetic is not None:
            from flaneur.city.layout.synthetic.city import synthetic_graph

            yield synthetic_graph(self.synthetic, self.seed)
            return
        chosen = [name for name in ("window", "center", "auto") if getattr(self, name) is not None]
        if len(chosen) > 1:
            raise UserError(f"city build: --{chosen[0]} and --{chosen[1]} cannot be given together")
        from flaneur.city.layout.auto import windows_auto
        from flaneur.city.layout.mapped import window_graph
        from flaneur.city.layout.osm import read_extract
        from flaneur.city.layout.window import Window

        assert self.osm is not None
        extract = read_extract(self.osm)
        if self.window is not None:
            windows = [Window.parse_box(self.window)]
        elif self.center is not None:
            windows = [Window.parse_center(self.center)]
        else:
            windows = windows_auto(extract, self.auto or 1)
        for i, window in enumerate(windows):
            yield window_graph(extract, window, self.seed, f"{extract.name}_{i + 1}" if len(windows) > 1 else extract.name)

    def _build(self, graph: CityGraph, folder: Path) -> dict:
        from flaneur.city.grammar.build import build_scene
        from flaneur.city.planning.chat import Usage
        from flaneur.city.planning.plan import PlannerConfig, make_plan

        start = time.perf_counter()
        config = PlannerConfig(preset=self.preset, design=self.design, base_url=self.base_url, model=self.model)
        usage = Usage()
        asked = self.planner in ("openai", "local")
        # Prompts and answers are written beside the city first: a scene that fails must not cost its answers.
        transcript = folder.with_name(f"{folder.name}.transcript.jsonl") if asked else self.transcript
        library, plan = make_plan(graph, self.planner, self.rules, self.seed, transcript, config, usage)
        catalogue = None
        if self.pack:
            from flaneur.city.assets.catalogue import load_catalogue
            from flaneur.city.assets.packs import with_packs

            catalogue = with_packs(load_catalogue(), self.pack)
        scene = build_scene(graph, library, plan, self.seed, catalogue, light=self.light, name=graph.name, rule_package=self.rule_package, package_lots=self.package_lots)
        models = {"graph.json": graph, "library.json": library, "plan.json": plan}
        scene.save(folder, {name: model.model_dump_json(indent=1) + "\n" for name, model in models.items()})
        if asked and transcript is not None:
            transcript.replace(folder / "transcript.jsonl")
        files = ("scene.json", "instances.npz", "prototypes.npz")
        return {
            "scene": str(folder), "name": scene.name, "place_type": scene.place_type, "objects": int(scene.is_object.sum()), "buildings": len(graph.buildings) + len(graph.lots),
            "triangles": int(sum(len(scene.prototypes[p].faces) for p in scene.instances.prototype)), "bytes": sum((folder / f).stat().st_size for f in files),
            "seconds": round(time.perf_counter() - start, 2), "planner": plan.planner, "repairs": len(plan.repairs), "usage": usage.as_json() if asked else None, "licence": scene.licence,
        }  # fmt: skip


@dataclass
class Check(Command):
    """Check built cities: placement, volumes, surfaces, provenance. Exit code 1 when a violation is found.

    Example: flaneur city check out/town out/village
    """

    scenes: tyro.conf.Positional[list[Path]] = field(default_factory=list)
    """Folders of built cities."""
    limit: int = 20
    """Violations printed per city."""

    def run(self) -> int:
        if not self.scenes:
            raise UserError("city check: name at least one folder of a built city")
        from flaneur.city.check import check_scene
        from flaneur.city.layout.graph import CityGraph
        from flaneur.city.scene import Scene

        reports = []
        with progress("checking", len(self.scenes)) as advance:
            for done, folder in enumerate(self.scenes):
                advance(done, folder.name)
                graph = CityGraph.load(folder / "graph.json") if (folder / "graph.json").is_file() else None
                reports.append(check_scene(Scene.load(folder, verify=True), graph))
            advance(len(self.scenes))
        if self.json:
            print_json([asdict(r) for r in reports])
        else:
            print_table(("city", "objects", "violations", "seconds"), [(r.scene, r.objects, len(r.violations), r.seconds) for r in reports])
            for r in reports:
                for v in r.violations[: self.limit]:
                    print(f"{r.scene}: {v.kind}: {v.text}")
                if len(r.violations) > self.limit:
                    print(f"{r.scene}: and {len(r.violations) - self.limit} more")
        return int(any(r.violations for r in reports))


@dataclass
class Fetch(Command):
    """Get a street map from an Overpass server.

    Examples:
      flaneur city fetch --place "Krems an der Donau" --out krems.osm
      flaneur city fetch --window 15.60,48.40,15.61,48.41 --out krems.osm --server URL
    """

    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """File that ends in .osm."""
    place: str = ""
    """Name of a place."""
    window: str | None = None
    """W,S,E,N in degrees."""
    extent: float = 600.0
    """Metres each way around a place."""
    server: str | None = None
    """Overpass server; default: the public one."""
    timeout: float = 90.0
    """Seconds for one answer."""

    def run(self) -> None:
        from flaneur.city.layout.fetch import OVERPASS, Server, fetch_extract
        from flaneur.city.layout.window import parse_bounds

        box = parse_bounds(self.window) if self.window else None
        found = fetch_extract(self.out, self.place, box, self.extent, Server(overpass=self.server or OVERPASS, timeout=self.timeout))
        if self.json:
            print_json(asdict(found))
        else:
            print(f"{found.path}: {found.streets} streets, {found.areas} areas. {found.attribution}")
