"""Every experiment runs at smoke budget, says what is missing, goes on after a kill and mixes nothing."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from smoke_runs import SMOKE, SmokeRuns, description, rows

from flaneur.agent.training import TrainConfig
from flaneur.cli.main import main
from flaneur.configuration import from_values, load_config
from flaneur.errors import UserError
from flaneur.evaluation.box_city import box, box_city
from flaneur.evaluation.experiment import AGENTS, Experiment, Row, agent_config, agent_values, experiment_from, load_experiment, names, with_plugins
from flaneur.evaluation.experiment_agents import Runs, train_command
from flaneur.evaluation.paper import paper_rows, paper_table

CONFIGS = Path(__file__).parents[2] / "configs"
PAPER = ("main", "ablation", "k-sweep", "fixed-scaling", "module-swap", "cca", "timing", "pareto", "curves", "steps", "qualitative", "dataset")


def test_all_of_the_papers_experiments_are_there() -> None:
    assert set(PAPER) <= set(names())


@pytest.mark.parametrize("name", names())
def test_definitions_point_at_printed_rows_that_exist(name: str) -> None:
    experiment = load_experiment(name)
    for row in experiment.rows:
        if experiment.paper and row.paper and "column" not in row.paper:
            assert paper_rows(experiment.paper, row.paper)
    if experiment.paper:
        assert paper_table(experiment.paper)["rows"]


@pytest.mark.parametrize("name", ["main", "ablation", "k-sweep", "fixed-scaling", "module-swap", "timing"])
def test_every_printed_row_stands_beside_one_of_ours(name: str) -> None:
    experiment = load_experiment(name)
    assert experiment.paper is not None
    matched = [r for row in experiment.rows if row.paper for r in paper_rows(experiment.paper, row.paper)]
    assert sorted(map(str, matched)) == sorted(map(str, paper_table(experiment.paper)["rows"]))


@pytest.mark.parametrize("name", sorted(agent_values()))
def test_agents_are_those_of_the_configuration_files(name: str) -> None:
    path = CONFIGS / f"{name}.toml"
    if not path.exists():
        pytest.skip("configs/ is not beside the tests")
    values = agent_config(name, {})
    assert values is not None and from_values(TrainConfig, values, str(AGENTS)) == load_config(TrainConfig, path)


def test_bad_definitions_are_refused() -> None:
    with pytest.raises(UserError, match="unknown experiment 'mian'; known are ablation"):
        load_experiment("mian")
    with pytest.raises(UserError, match="either 'method' or 'agent'"):
        Row("a", {}, method="random", agent="full")
    with pytest.raises(UserError, match="id 'a' is used twice"):
        Experiment("x", "X", "episodes", (Row("a", {}, method="random"),) * 2)
    with pytest.raises(UserError, match=r"unknown field 'rows.*metod'"):
        experiment_from({"name": "x", "title": "X", "kind": "episodes", "rows": [{"id": "a", "columns": {}, "metod": "random"}]}, "x.toml")


def test_box_city_is_solid_and_repeatable() -> None:
    vertices, faces, _ = box(2, 4, 0, 3)
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    assert np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6 == pytest.approx(24)
    first, again, other = box_city(0), box_city(0), box_city(1)
    assert (first.instances.position == again.instances.position).all() and not (first.instances.position == other.instances.position).all()
    volume, low, high = first.volume, *np.array([c.volume_m3 for c in first.classes]).T
    objects = first.is_object
    assert ((volume >= low[first.class_id]) & (volume < high[first.class_id]))[objects].all() and objects.sum() > 100


def test_main_at_smoke_budget(smoke: SmokeRuns) -> None:
    out = smoke("main")
    about = description(out)
    found = rows(out)
    assert {"random", "lawnmower", "nearest_frontier", "ours", "ours_table"} <= {r["method"] for r in found}
    assert all(r["budget"] == "smoke" and r["experiment"] == "main" and r["collisions"] == 0 for r in found)
    ours = [r for r in found if r["method"] == "ours"]
    assert ours[0]["agents"]["agent"]["digest"] == about["agents"]["ours"]["agent-0"]["digest"]
    known = set(agent_values())
    assert ("gleam" in known) != any("no agent 'gleam'" in n for n in about["notes"])


def test_run_again_it_adds_nothing_and_a_cut_row_is_redone(smoke: SmokeRuns) -> None:
    out = smoke("main")
    whole = (out / "results.jsonl").read_bytes()
    smoke._done.pop("main")
    smoke("main")
    assert (out / "results.jsonl").read_bytes() == whole
    (out / "results.jsonl").write_bytes(whole[:-100])
    smoke._done.pop("main")
    smoke("main")

    def plain(data: bytes) -> list[dict]:
        import json

        return [{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in data.splitlines()]

    assert plain((out / "results.jsonl").read_bytes()) == plain(whole)


def test_a_folder_of_another_experiment_or_another_run_is_refused(smoke: SmokeRuns, tmp_path: Path, capsys) -> None:
    out = smoke("main")
    assert main(["experiment", "steps", *SMOKE, "--agents", str(smoke.agents), "--out", str(out)]) == 2
    assert "holds results of experiment 'main', this is 'steps'" in capsys.readouterr().err
    text = (out / "results.jsonl").read_text()
    digest = next(r for r in rows(out) if r["method"] == "ours")["agents"]["agent"]["digest"]
    try:
        (out / "results.jsonl").write_text(text.replace(digest, "0" * 16))
        assert main(["experiment", "main", *SMOKE, "--agents", str(smoke.agents), "--out", str(out)]) == 2
        assert "is of another training run of 'ours' (seed 0)" in capsys.readouterr().err
    finally:
        (out / "results.jsonl").write_text(text)


def test_runs_are_found_by_what_they_were_trained_with(smoke: SmokeRuns) -> None:
    smoke("main")
    runs = Runs(smoke.agents)
    assert runs.find("full", {}, 0) is not None
    assert runs.find("full", {}, 1) is None and runs.find("full", {"ppo.k": 0.2}, 0) is None and runs.find("gleam?", {}, 0) is None
    assert train_command("full", {"ppo.k": 0.05}, 1) == "flaneur train configs/full.toml --set ppo.k=0.05 --set seed=1"


def test_a_missing_run_is_a_note_with_its_command(tmp_path: Path, capsys) -> None:
    from flaneur.evaluation.experiment_run import prepare

    plan = prepare(load_experiment("ablation"), Runs(tmp_path))
    assert not plan.seeds and len(plan.notes) == 6 * 3 and "flaneur train configs/lc_mi.toml --set seed=2" in "".join(plan.notes)
    assert main(["experiment", "main", "--out", str(tmp_path / "o")]) == 2 and "give --scenes" in capsys.readouterr().err and not (tmp_path / "o").exists()


def test_agents_of_a_smoke_run_are_no_agents_of_a_real_one(smoke: SmokeRuns) -> None:
    from flaneur.evaluation.experiment_run import prepare

    smoke("main")
    plan = prepare(replace(load_experiment("steps"), seeds=(0,)), Runs(smoke.agents))
    assert "ours" not in plan.seeds and any("was trained in a smoke run; flaneur train configs/full.toml" in n for n in plan.notes)


def test_reference_calibrations_are_fitted_and_said(smoke: SmokeRuns) -> None:
    out = smoke("main")
    fitted = description(out)["measured"]["fitted"]
    assert {k: len(v["values"]) for k, v in fitted.items()} == {"ours_fixed-0": 1, "ours_group-0": 4, "ours_table-0": 16}
    assert all(r["beta"] == fitted[f"{r['method']}-0"]["values"] for r in rows(out) if r["method"] in ("ours_fixed", "ours_group", "ours_table"))
    assert fitted["ours_group-0"]["validation_score"] >= fitted["ours_fixed-0"]["validation_score"]


def test_coordinate_search_finds_a_separable_optimum() -> None:
    from flaneur.evaluation.calibration_fit import Search, _ascend

    target = (0.4, 1.8, 1.0, 0.6)
    found = _ascend((1.0,) * 4, lambda v: -sum(abs(a - b) for a, b in zip(v, target, strict=True)), Search())
    assert found == target


def test_table_beta_depends_on_the_distance_to_the_camera() -> None:
    from flaneur.evaluation.smoke_world import smoke_world
    from flaneur.planners import NearestFrontier
    from flaneur.planners.calibrated import DistanceBeta

    env = smoke_world().env(2)
    env.reset([0, 1], [0, 0], [0, 0])
    table = [[0.2, 0.4, 0.6, 0.8], [1.0] * 4, [1.2, 1.4, 1.6, 1.8], [1.0] * 4]
    _, beta = DistanceBeta(NearestFrontier(), table, (10.0, 25.0, 60.0), "t", grid=20).plan(env.context())
    assert beta is not None and beta.shape == (2, 4, 20, 20) and (beta[:, [1, 3]] == 1).all()
    x, y, z = env.poses[0, :3].tolist()
    for i, j in ((0, 0), (5, 12), (19, 19), (int(y // 10), int(x // 10))):
        distance = ((j * 10 + 5 - x) ** 2 + (i * 10 + 5 - y) ** 2 + z**2) ** 0.5
        assert beta[0, 0, i, j] == pytest.approx(table[0][int(np.searchsorted([10, 25, 60], distance))])
    with pytest.raises(UserError, match="4 distances, 2 edges"):
        DistanceBeta(NearestFrontier(), table, (10.0, 25.0), "t")


def test_the_ceiling_sees_perfectly_and_stays_apart(smoke: SmokeRuns) -> None:
    from flaneur.evaluation.report.build import build
    from flaneur.evaluation.report.load import load_result

    out = smoke("main")
    assert "oracle" not in {r["evidence"] for r in rows(out)} and (out / "results-oracle.jsonl").exists()
    table = build(load_result(out)).tables[0]
    share = {r.lead[0]: r.text("ocr_share") for r in table.rows if r.measured}
    assert share["Ceiling"] == "100.0" and float(share["Ours"]) < 100 and "Ceiling" not in {d["other"] for d in table.differences}


def test_planners_of_other_packages_join_the_tables() -> None:
    main_table = with_plugins(load_experiment("main"), ["mine", "random"])
    assert main_table.rows[-1] == Row("mine", {"Method": "mine"}, method="mine") and len(main_table.rows) == len(load_experiment("main").rows) + 1
    assert with_plugins(load_experiment("ablation"), ["mine"]) == load_experiment("ablation")


def test_cca_at_smoke_budget(smoke: SmokeRuns) -> None:
    measured = description(smoke("cca"))["measured"]["cca"]
    for run in measured.values():
        found = run["0"]
        assert found["samples"] == 40 and found["rank"] <= 31 and 0 <= found["mean"] <= found["top10"] <= found["max"] <= 1 and set(found["null"]) == {"max", "mean", "top10"}


def test_steps_and_curves_at_smoke_budget(smoke: SmokeRuns) -> None:
    assert all(len(r["curves"]["global_accuracy"]) == 10 for r in rows(smoke("steps")))
    curves = description(smoke("curves"))["measured"]["curves"]
    assert set(curves) == {"lc", "lc_mi"} and all(p[0] > 0 and 0 <= p[1] <= 100 for runs in curves.values() for points in runs.values() for p in points)


def test_timing_splits_a_step(smoke: SmokeRuns) -> None:
    for row in rows(smoke("timing")):
        s = row["seconds"]
        assert s["total_ms"] == pytest.approx(s["plan_ms"] + s["step_ms"], abs=1e-3) and s["plan_map_ms"] == pytest.approx(s["plan_ms"] + s["map_ms"], abs=1e-3)
        assert min(s["render_ms"], s["evidence_ms"], s["map_ms"]) > 0


def test_swap_takes_the_goal_of_one_and_beta_of_the_other(smoke: SmokeRuns) -> None:
    from flaneur.evaluation.smoke_world import smoke_world
    from flaneur.planners.agent import Agent
    from flaneur.planners.calibrated import BorrowedBeta

    smoke("cca")
    runs = Runs(smoke.agents)
    env = smoke_world().env(2)
    env.reset([0, 1], [0, 0], [0, 0])

    def agent(name: str) -> Agent:
        found = runs.find(name, {}, 0)
        assert found is not None
        return Agent.load(found.path, env.classes, env.device, seed=3)

    swapped = BorrowedBeta(agent("lc"), agent("lc_mi"), "swap")
    goal, beta = swapped.plan(env.context())
    torch.testing.assert_close(goal, agent("lc").plan(env.context())[0])
    torch.testing.assert_close(beta, agent("lc_mi").plan(env.context())[1])


def test_qualitative_and_dataset_at_smoke_budget(smoke: SmokeRuns) -> None:
    maps = description(smoke("qualitative"))["measured"]["maps"]
    assert "boxes-0--truth.png" in maps and "boxes-1--ours.png" in maps
    assert description(smoke("dataset"))["measured"]["statistics"]["scenes"] == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ablation", "module-swap", "k-sweep", "pareto", "fixed-scaling"])
def test_the_others_at_smoke_budget(smoke: SmokeRuns, name: str) -> None:
    out = smoke(name)
    wanted = {r.id for r in load_experiment(name).rows if r.agent is None or r.agent in agent_values()}
    assert {r["method"] for r in rows(out)} == wanted


def test_reward_weights_scale_the_groups_gains() -> None:
    from flaneur.agent.ppo import PpoConfig
    from flaneur.agent.rollout import Collector
    from flaneur.evaluation.smoke_world import smoke_world

    env = smoke_world().env(1)
    gains = torch.tensor([[0.1, 0.2, 0.4]])
    for mv, weights, expected in ((False, (0.2, 1.0, 1.8), [[(0.02 + 0.2 + 0.72) * 10 / 3]]), (True, (1.0, 1.0, 1.0), [[1.0, 2.0, 4.0]])):
        collector = Collector(env, None, PpoConfig(mv=mv, po=mv), 10.0, torch.Generator(), weights)  # type: ignore[arg-type]
        torch.testing.assert_close(collector.group_reward(gains), torch.tensor(expected))
