"""Aggregation by hand, and the protocol on a tiny world."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from worlds import CAMERA, GRID, world

from flaneur.env.config import EnvConfig
from flaneur.env.semantic import SemanticEnv
from flaneur.errors import UserError
from flaneur.evaluation import protocol
from flaneur.evaluation.demo import page
from flaneur.evaluation.episodes import Episode, PlannerFailure, run_episodes
from flaneur.evaluation.methods import make_planner
from flaneur.evaluation.recorder import BLACK, GREY, WHITE, Recorder, qualitative_map
from flaneur.evaluation.setup import TaskConfig, World
from flaneur.evaluation.tables import differences, lint, method_table, tables
from flaneur.perception import Twin
from flaneur.scoring import coverage


def row(method: str, scene: str, seed: int, ccr: tuple[float, float | None, float], start: int = 0) -> dict:
    scores = {"mauc": 0.9, "miou": 0.5, "f1": 0.6, "strict_miou": 0.4, "background_wrong": 0.1, "ece": 0.05, "nll": 1.0, "ocr": 0.5}
    base = {"method": method, "scene": scene, "seed": seed, "start": start, "evidence": "twin", "scores": scores, "path_m": 10.0, "collisions": 0, "seconds": {"plan_ms": 1.0}}
    return base | {"ccr": dict(zip(("small", "medium", "large"), ccr, strict=True))}


def test_var_is_the_runs_own_then_averaged() -> None:
    rows = [row("a", s, seed, ccr) for seed, ccr in ((0, (0.8, 0.9, 1.0)), (1, (0.6, 0.9, 0.9))) for s in ("x", "y")]
    table = method_table(rows)
    assert table.runs == 2 and table.scenes == 2 and table.episodes == 4
    assert table.cells["ocr"].mean == pytest.approx((90 + 80) / 2)
    assert table.cells["ocr"].sd == pytest.approx(np.std([90, 80], ddof=1))
    assert table.cells["var"].mean == pytest.approx((np.var([80, 90, 100]) + np.var([60, 90, 90])) / 2)


def test_an_absent_group_is_left_out_of_the_means() -> None:
    table = method_table([row("a", "x", 0, (0.5, None, 1.0)), row("a", "y", 0, (0.7, 0.9, 0.8))])
    assert table.cells["medium"].mean == pytest.approx(90) and table.cells["small"].mean == pytest.approx(60)


def test_paired_differences_use_the_shared_scenes() -> None:
    rows = [row("ours", s, 0, (0.8 + 0.01 * i,) * 3) for i, s in enumerate("abcdef")] + [row("other", s, 0, (0.7 + 0.01 * i,) * 3) for i, s in enumerate("abcdeg")]
    found = differences(rows, "ours")["other"]
    assert found["pairs"] == 5 and found["unit"] == "scenes" and found["low"] == pytest.approx(10) and found["high"] == pytest.approx(10)
    with pytest.raises(UserError, match="no rows of method 'mine'"):
        differences(rows, "mine")


def test_one_scene_has_intervals_over_its_episodes() -> None:
    rows = [row(m, "delft", seed, (0.5 + more + 0.1 * start,) * 3, start) for m, more in (("ours", 0.1), ("other", 0.0)) for seed in (0, 1) for start in range(3)]
    cell = method_table([r for r in rows if r["method"] == "other"]).cells["ocr"]
    assert cell.mean == pytest.approx(60) and 50 <= cell.low < 60 < cell.high <= 70
    found = differences(rows, "ours")["other"]
    assert (found["pairs"], found["unit"]) == (6, "episodes") and found["difference"] == pytest.approx(10) and found["low"] == pytest.approx(10)
    alone = method_table([row("a", "delft", 0, (0.5,) * 3)]).cells["ocr"]
    assert alone.mean == pytest.approx(50) and np.isnan(alone.low)  # one episode has no interval


def test_qualitative_map_has_the_papers_colours() -> None:
    scenes, _ = world()
    classes = scenes[0].classes
    tree, car, road = (classes[n].id for n in ("tree", "car", "road"))
    truth = np.array([[tree, tree, tree], [road, road, road]], np.uint8)
    labels = np.array([[tree, car, 255], [road, car, 255]], np.uint8)
    picture = qualitative_map(labels, truth, classes)[::-1]
    expected = [[classes["tree"].color, GREY, WHITE], [BLACK, GREY, WHITE]]
    np.testing.assert_array_equal(picture, np.array(expected, np.uint8))


@pytest.fixture
def tiny() -> World:
    scenes, truths = world((0, 1))
    task = TaskConfig(image=CAMERA.width, cells=GRID.cells, episode_length=10, evidence="twin:easy", starts=2)

    class Tiny(World):
        def env(self, num_envs: int, seed: int = 0, step_metrics: bool = False) -> SemanticEnv:
            config = EnvConfig(num_envs=num_envs, episode_length=10, camera=CAMERA, grid=GRID, starts=2, step_metrics=step_metrics, final_observation=False)
            return SemanticEnv(self.scenes, self.truths, self.source, config, seed=seed)

    return Tiny(["one", "two"], scenes, truths, "digest", task, _source=Twin.named("easy", scenes[0].classes))


def test_protocol_is_complete_resumable_and_repeatable(tiny: World, tmp_path: Path) -> None:
    methods = ["lawnmower", "random", "lawnmower@0.6"]
    file, failures = protocol.evaluate(tiny, methods, tmp_path / "a.jsonl", num_envs=3, step_metrics=True)
    assert not failures and len(file.rows) == 3 * 2 * 2 and all(r["collisions"] == 0 for r in file.rows)
    assert not lint(tables(file.rows))
    # Cut the file in the middle of a row, go on, and compare with the whole run but for the clock.
    whole = (tmp_path / "a.jsonl").read_bytes()
    (tmp_path / "a.jsonl").write_bytes(whole[: len(whole) // 2])
    again, _ = protocol.evaluate(tiny, methods, tmp_path / "a.jsonl", num_envs=3, step_metrics=True)

    def plain(rows: list[dict]) -> set[str]:
        return {json.dumps({k: v for k, v in r.items() if k != "seconds"}, sort_keys=True) for r in rows}

    assert len(again.rows) == 12
    first_method = [r for r in file.rows if r["method"] == "lawnmower"]
    assert plain(first_method) <= plain(again.rows)


class Broken:
    name = "broken"

    def reset(self, env_ids) -> None: ...

    def plan(self, context):
        return context.poses[:, :5] * float("nan"), None


def test_a_planner_that_fails_says_so_and_the_others_go_on(tiny: World, tmp_path: Path, monkeypatch) -> None:
    from flaneur.evaluation import methods

    with pytest.raises(PlannerFailure, match="broken: goals or beta that are no numbers"):
        list(run_episodes(tiny.env(1), Broken(), [Episode(0, 0, 0)]))
    monkeypatch.setitem(methods.BUILTIN, "broken", lambda env, seed: Broken())
    file, failures = protocol.evaluate(tiny, ["broken", "random"], tmp_path / "a.jsonl")
    assert len(failures) == 1 and {r["method"] for r in file.rows} == {"random"}


def test_unknown_methods_and_bad_betas(tiny: World) -> None:
    env = tiny.env(1)
    with pytest.raises(UserError, match="unknown method 'lawnmover'; known are"):
        make_planner("lawnmover", env)
    with pytest.raises(UserError, match="is no beta"):
        make_planner("lawnmower@x", env)
    with pytest.raises(UserError, match="2 values of beta"):
        make_planner("lawnmower@1,2", env)


def test_the_last_map_that_is_watched_is_the_one_that_is_scored(tiny: World) -> None:
    env, seen = tiny.env(2), []
    watch = lambda env, t, labels: seen.append((labels.clone(), env.target.rows(torch.arange(2))))  # noqa: E731
    rows = list(run_episodes(env, make_planner("lawnmower", env), [Episode(0, 0, 0), Episode(1, 0, 0)], watch=watch))
    assert len(seen) == 10
    found = coverage(seen[-1][0], seen[-2][1], env._groups)  # the truth of before: by then the next episode has begun
    torch.testing.assert_close(found, torch.tensor([[float("nan") if v is None else v for v in r["scores"]["ccr"]] for r in rows], dtype=found.dtype), equal_nan=True, atol=1e-6, rtol=0)


def test_page_is_one_file_without_network(tiny: World) -> None:
    env = tiny.env(1, step_metrics=True)
    recorder = Recorder(env, 3, width=32, height=24)
    result = next(run_episodes(env, make_planner("random", env), [Episode(0, 0, 0)], watch=recorder))
    flight = {"row": protocol.label_row(tiny, "random", result), "maps": recorder.maps, "pictures": recorder.pictures, "steps": recorder.steps, "poses": recorder.poses}
    text = page(tiny, [flight], {"seconds": 1, "machine": "test", "flaneur": "0", "steps": 10})
    assert len(recorder.maps) == len(recorder.pictures) == 4 and recorder.steps == [0, 3, 6, 9]
    assert np.shape(recorder.poses) == (9, 5)  # no place after the last observation: the environment is at the next start
    assert "http://" not in text.replace("http://www.w3.org", "") and "https://" not in text and "/*DATA*/null" not in text
