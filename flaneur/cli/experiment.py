"""`flaneur experiment` and `flaneur report`: the paper's tables and figures as one command each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from flaneur.cli.console import Command, print_json, print_table, progress
from flaneur.cli.evaluate import choose_device
from flaneur.cli.parsing import ray_address
from flaneur.errors import UserError


@dataclass
class Experiment(Command):
    """Run one experiment of the paper into a folder. Run again to go on where it stopped.

    Names: main, ablation, k-sweep, fixed-scaling, module-swap, cca, timing, pareto, curves, steps, qualitative,
    dataset, urbanbis, or a TOML file of your own. With --budget smoke everything is tiny and invented, agents included: it
    shows that the experiment runs, and its numbers mean nothing.

    Examples:
      flaneur experiment main --budget smoke --out out/main
      flaneur experiment ablation --scenes data --agents runs --out out/ablation
      flaneur experiment main --scenes data --agents runs --evidence twin:hard --image 128 --lattice cpu --out out/hard
      flaneur experiment main --scenes data --agents runs --out out/main --ray 10.0.0.1:6379
    """

    name: tyro.conf.Positional[str]
    """One of the names above, or a TOML file."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """Folder to write."""
    budget: Literal["smoke", "full"] = "full"
    """smoke: tiny and invented, a minute; full: the real thing."""
    scenes: Path | None = None
    """A data set, a folder of scenes, or one scene."""
    agents: Path | None = None
    """Folder with training runs; each row's run is found by its name, seed and switches."""
    split: str | None = None
    """Of a data set (default: test)."""
    validation: Path | None = None
    """Scenes on which the reference calibrations are fitted (default: the data set's validation split)."""
    limit: int | None = None
    """At most so many scenes."""
    evidence: str = "twin"
    """As in flaneur evaluate."""
    seeds: tuple[int, ...] = ()
    """Training seeds of learned methods, instead of the experiment's."""
    num_envs: int = 8
    """Environments in one batch."""
    image: int = 256
    """Pixels a side."""
    steps: int = 384
    """Observations per episode."""
    lattice: Literal["dense", "medium", "cpu"] = "dense"
    """As in flaneur evaluate."""
    device: str = "auto"
    """auto, cpu or cuda."""
    ray: tuple[str, ...] | None = None
    """Rows and seeds over a Ray cluster: HOST:PORT of its head, auto for this machine's, nothing for this machine alone."""
    workers: int | None = None
    """With --ray and no address: processes (default: the cores)."""

    def run(self) -> int:
        import dataclasses

        from flaneur.evaluation.experiment import load_experiment, with_plugins
        from flaneur.evaluation.experiment_agents import Runs
        from flaneur.evaluation.experiment_cluster import RayPool
        from flaneur.evaluation.experiment_run import check_can_be_shared, fit_references, prepare, run_dataset, run_experiment
        from flaneur.evaluation.methods import plugins
        from flaneur.evaluation.smoke_world import smoke_world, training_world

        experiment = with_plugins(load_experiment(self.name), plugins())
        smoke = self.budget == "smoke"
        if smoke:
            experiment = dataclasses.replace(experiment, seeds=experiment.seeds[:1])
        if self.seeds:
            experiment = dataclasses.replace(experiment, seeds=self.seeds)
        if not smoke and self.scenes is None:
            raise UserError("experiment: give --scenes (a data set or a folder of scenes), or --budget smoke")
        address = ray_address(self.ray)
        if address:
            check_can_be_shared(experiment)
        elif self.workers is not None:
            raise UserError("experiment: --workers goes with --ray")
        if experiment.kind == "dataset":
            name, statistics = self._statistics()
            notes = run_dataset(experiment, statistics, self.out, self.budget, name)
            return self._finish(notes)
        runs = Runs(self.agents or (self.out / "agents" if smoke else None))
        with progress("agents", 1) as advance:
            plan = prepare(experiment, runs, training_world() if smoke else None, lambda note: advance(0, note))
        world = smoke_world() if smoke else self._world(self.scenes, self.split or "test")
        if any(row.fit for row in experiment.rows):
            with progress("reference calibrations, on validation scenes", 1) as advance:
                validation = training_world() if smoke else self._validation()
                fit_references(experiment, plan, validation, self.out, self.budget, self.num_envs, lambda m, i, n: advance(i / n, m))
        with progress("episodes", 1) as advance:
            notes = run_experiment(experiment, plan, world, self.out, self.budget, self.num_envs, lambda m, i, n: advance(i / n, m), RayPool(address, self.workers) if address else None)
        return self._finish(notes)

    def _world(self, folder: Path | None, split: str) -> Any:
        from flaneur.evaluation.setup import TaskConfig, load_world

        assert folder is not None
        task = TaskConfig(image=self.image, episode_length=self.steps, lattice=self.lattice, evidence=self.evidence)
        wanted = split if (folder / "dataset.json").is_file() else None
        with progress("scenes and what can be seen in them", 1) as advance:
            return load_world(folder, task, wanted, self.limit, choose_device(self.device), lambda i, n, name: advance(i / n, name))

    def _validation(self) -> Any:
        """The validation split of a data set, or the scenes named; None where there are neither."""
        assert self.scenes is not None
        if self.validation is None and not (self.scenes / "dataset.json").is_file():
            return None
        return self._world(self.validation or self.scenes, "validation")

    def _statistics(self) -> tuple[str, dict[str, Any]]:
        from flaneur.evaluation.dataset_table import folder_statistics, smoke_statistics

        if self.budget == "smoke":
            return "invented box cities", smoke_statistics()
        assert self.scenes is not None
        return folder_statistics(self.scenes)

    def _finish(self, notes: list[str]) -> int:
        from flaneur.evaluation.report.build import build
        from flaneur.evaluation.report.load import load_result

        tables = build(load_result(self.out)).tables
        if self.json:
            print_json({"out": str(self.out), "notes": notes, "tables": [t.plain() for t in tables]})
        else:
            for table in tables:
                rows = [row for row in table.rows if row.measured]
                # The last leading column is the evidence; on a terminal it is worth its room only where it differs.
                kept = [i for i, name in enumerate(table.leads) if name != "evidence" or len({r.lead[i] for r in rows}) > 1]
                head = [*(table.leads[i] for i in kept), *table.head[len(table.leads) :]]
                print_table(head, [[*(row.lead[i] for i in kept), *(row.text(c) for c in table.columns)] for row in rows], table.caption)
            for line in notes:
                print(f"note: {line}")
            print(f"results: {self.out}   page: flaneur report {self.out} --out {self.out}/report")
        return 0


@dataclass
class Report(Command):
    """One page, tables (Markdown, LaTeX, JSON) and figures (SVG, PNG) from results, beside the paper's printed numbers.

    RESULTS: folders of `flaneur experiment`, or result files of `flaneur evaluate`.

    Examples:
      flaneur report out/main out/ablation --out out/report
      flaneur report out/results.jsonl --out out/report
    """

    results: tyro.conf.Positional[list[Path]]
    """Folders of experiments, or result files."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """Folder to write."""

    def run(self) -> None:
        from flaneur.evaluation.report.write import write_report

        if not self.results:
            raise UserError("report: name at least one folder of an experiment or result file")
        written = write_report(self.results, self.out)
        if self.json:
            print_json({"files": [str(p) for p in written]})
        else:
            print(f"{self.out / 'index.html'}   ({len(written)} files)")
