"""The report: the same bytes from the same results, self-contained, the paper's numbers marked, mixtures refused."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from smoke_runs import SmokeRuns

from flaneur.cli.main import main
from flaneur.errors import UserError
from flaneur.evaluation.experiment import Experiment, Row
from flaneur.evaluation.figures import nondominated
from flaneur.evaluation.paper import lint_paper
from flaneur.evaluation.report.build import build, label
from flaneur.evaluation.report.formats import latex, markdown
from flaneur.evaluation.report.load import Result
from flaneur.evaluation.report.model import Line, Table, with_best
from flaneur.evaluation.report.write import write_report
from flaneur.evaluation.step_curves import mean_curves
from flaneur.evaluation.tables import Cell

NAN = float("nan")


def row(method: str, scene: str, ccr: tuple[float, float, float], evidence: str = "twin") -> dict:
    scores = {"mauc": 0.9, "miou": 0.5, "f1": 0.6, "strict_miou": 0.4, "background_wrong": 0.1, "ece": 0.05, "nll": 1.0, "ocr": 0.5}
    base = {"method": method, "scene": scene, "seed": 0, "start": 0, "evidence": evidence, "dataset": "d", "task": f"t-{evidence}", "source": evidence, "device": "cpu"}
    curves = {"ccr": [[c / 2] * 3 for c in ccr[:1]] + [list(ccr)], "every": 1, "global_accuracy": [0.1, 0.3], "affected_accuracy": [None, 0.5]}
    more = {"scores": scores, "path_m": 10.0, "collisions": 0, "seconds": {"plan_ms": 1.0}, "curves": curves, "curve_area": list(ccr)}
    return base | more | {"ccr": dict(zip(("small", "medium", "large"), ccr, strict=True))}


def result(evidence: str = "twin", dataset: str = "d", offset: float = 0.0) -> Result:
    lines = (Row("a", {"Method": "Uncertainty"}, method="a", paper={"method": "Uncertainty"}), Row("ours", {"Method": "Ours"}, agent="full", paper={"method": "Ours"}))
    experiment = Experiment("main", "Main", "episodes", lines, "ours", tables=(("small", "medium", "large", "ocr", "var"),), captions=("C",), paper="main", figures=("groups",))
    rows = [row(m, s, (0.5 + d + offset, 0.6 + d, 0.7 + d), evidence) for m, d in (("a", 0.0), ("ours", 0.1)) for s in "xyz"]
    world = {"dataset": dataset, "task": {"evidence": evidence}, "source": evidence, "device": "cpu", "scenes": ["x", "y", "z"]}
    return Result(experiment, "full", rows, [], {}, {}, world)


def test_ours_stands_beside_the_papers_printed_numbers() -> None:
    table = build(result()).tables[0]
    assert [(r.lead, r.kind) for r in table.rows] == [
        (("Uncertainty", "twin"), "measured"), (("Uncertainty", "clip"), "paper"), (("Uncertainty", "dinotxt"), "paper"),
        (("Ours", "twin"), "measured"), (("Ours", "clip"), "paper"), (("Ours", "dinotxt"), "paper"),
    ]  # fmt: skip
    ours, printed = table.rows[3], table.rows[5]
    assert ours.text("ocr") == "70.0" and ours.interval("ocr") == "[70.0, 70.0]" and "ocr" in ours.best
    assert printed.text("ocr") == "97.1" and printed.spread("ocr") == "0.4" and not printed.best and "authors' data" in printed.note
    assert len(table.differences) == 1 and table.differences[0]["difference"] == pytest.approx(10) and table.differences[0]["pairs"] == 3


def test_two_evidences_share_a_table_but_two_data_sets_do_not() -> None:
    table = build(result("twin"), result("lens")).tables[0]
    assert [r.lead[-1] for r in table.rows if r.measured] == ["twin", "lens"] * 2
    with pytest.raises(UserError, match="rows of evidence 'lens' were made with dataset e, those of 'twin' with d"):
        build(result("twin"), result("lens", dataset="e"))
    with pytest.raises(UserError, match="given twice"):
        build(result(), result())


def test_linter_speaks_about_the_papers_ablation() -> None:
    assert len(lint_paper("ablation")) == 1 and "LC+MV: F1 92.8 exceeds 87.3" in lint_paper("ablation")[0]
    assert lint_paper("inference_time") == []


def test_best_is_marked_among_methods_only() -> None:
    def line(kind: str, ocr: float, var: float) -> Line:
        return Line(("m",), {"ocr": Cell(ocr, NAN, NAN, NAN), "var": Cell(var, NAN, NAN, NAN)}, kind)  # type: ignore[arg-type]

    rows = with_best([line("measured", 50, 9), line("measured", 60, 12), line("reference", 99, 1), line("paper", 98, 0)], ("ocr", "var"))
    assert [sorted(r.best) for r in rows] == [["var"], ["ocr"], [], []]


def test_formats_escape_and_mark() -> None:
    values = {"ocr": Cell(50.0, 1.5, 48.0, 52.0)}
    table = Table("t", "100 % of A & B", ("Method_x",), ("ocr",), (Line(("GLEAM_1 & co",), values, "measured", "3 runs", frozenset(("ocr",))), Line(("Ours",), values, "paper")), ("a remark",))
    text = latex(table)
    assert r"100 \% of A \& B" in text and r"GLEAM\_1 \& co & \textbf{50.0}$\pm$1.5{\tiny\,[48.0, 52.0]} \\" in text and r"\textit{Ours}" in text and "authors' data" in text
    assert text.count("{") == text.count("}")
    assert "| GLEAM_1 & co | **50.0** ± 1.5 [48.0, 52.0] | 3 runs |" in markdown(table) and "- a remark" in markdown(table)
    assert table.plain()["rows"][0]["values"]["ocr"] == {"mean": 50.0, "sd": 1.5, "low": 48.0, "high": 52.0}


def test_step_curves_are_means_over_scenes() -> None:
    rows = [row("a", "x", (0.2, 0.2, 0.2)), row("a", "y", (0.6, 0.6, 0.6))]
    curve = mean_curves(rows, ["a", "b"])["a"]
    np.testing.assert_allclose(curve["ocr"].mean, [20.0, 40.0])
    np.testing.assert_allclose(curve["global_accuracy"].mean, [10.0, 30.0])
    assert np.isnan(curve["affected_accuracy"].mean[0]) and (curve["ocr"].low[1], curve["ocr"].high[1]) == pytest.approx((20, 60))


def test_front() -> None:
    np.testing.assert_array_equal(nondominated(np.array([[1, 3], [2, 2], [3, 1], [1, 1], [2, 1.5]])), [True, True, True, False, False])


def test_labels() -> None:
    rows = (Row("a", {"LC": True, "MV": False}, agent="lc"), Row("b", {"LC": False, "MV": False}, agent="base"))
    experiment = Experiment("x", "X", "episodes", rows)
    assert label(experiment, "a") == "LC" and label(experiment, "b") == "none"


def test_the_page_is_whole_and_the_same_twice(smoke: SmokeRuns, tmp_path: Path) -> None:
    folders = [smoke(n) for n in ("main", "cca", "timing", "steps", "curves", "qualitative", "dataset")]
    first = write_report(folders, tmp_path / "a")
    second = write_report(folders, tmp_path / "b")
    assert [p.relative_to(tmp_path / "a") for p in first] == [p.relative_to(tmp_path / "b") for p in second]
    for a, b in zip(first, second, strict=True):
        assert a.read_bytes() == b.read_bytes(), a
    page = (tmp_path / "a" / "index.html").read_text()
    assert not re.search(r"(src|href)=\"(?!data:|#)", page) and "<!--" not in page and page.count("<figure>") >= 6 and "Smoke run" in page
    assert "not drawn" not in page.replace("figure 'curves' not drawn", "")
    assert all(p.stat().st_size > 1000 for p in first if p.suffix in (".svg", ".png"))
    assert json.loads((tmp_path / "a" / "tables" / "main.json").read_text())["columns"][0] == "small"
    assert not list((tmp_path / "a").rglob("*.part"))


def test_a_plain_result_file_is_reported_too(smoke: SmokeRuns, tmp_path: Path) -> None:
    assert main(["report", str(smoke("steps") / "results.jsonl"), "--out", str(tmp_path)]) == 0
    assert "nearest_frontier" in (tmp_path / "tables" / "results.md").read_text()


def test_bad_input_leaves_the_folder_as_it_was(tmp_path: Path, capsys) -> None:
    (tmp_path / "no").mkdir()
    assert main(["report", str(tmp_path / "no"), "--out", str(tmp_path / "out")]) == 2 and "experiment.json is missing" in capsys.readouterr().err
    (tmp_path / "no" / "experiment.json").write_text("{}")
    assert main(["report", str(tmp_path / "no"), "--out", str(tmp_path / "out")]) == 2 and "not an experiment's description" in capsys.readouterr().err
    for k, dataset in enumerate("de"):
        (tmp_path / f"{k}.jsonl").write_text(json.dumps(row("a", "x", (0.1, 0.2, 0.3)) | {"dataset": dataset}) + "\n")
    assert main(["report", str(tmp_path / "0.jsonl"), str(tmp_path / "1.jsonl"), "--out", str(tmp_path / "out")]) == 2
    assert "row 1 was made with dataset 'e'" in capsys.readouterr().err and not (tmp_path / "out").exists()
