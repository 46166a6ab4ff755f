"""Result files: resumable, never doubled, never mixed."""

import json

import pytest

from flaneur.errors import UserError
from flaneur.evaluation.results import ResultFile, read_results


def row(method: str = "a", scene: str = "s", start: int = 0, seed: int = 0, **more) -> dict:
    return {"method": method, "scene": scene, "start": start, "seed": seed, "evidence": "twin", "dataset": "d", "task": "t"} | more


def test_a_row_is_never_written_twice(tmp_path) -> None:
    file = ResultFile(tmp_path / "r.jsonl")
    file.append(row())
    file.append(row())
    again = ResultFile(tmp_path / "r.jsonl")
    again.append(row())
    again.append(row(start=1))
    assert len((tmp_path / "r.jsonl").read_text().splitlines()) == 2 and again.missing([("a", "s", 0, 0, "twin"), ("a", "s", 2, 0, "twin")]) == [("a", "s", 2, 0, "twin")]


def test_a_line_cut_off_by_a_kill_is_dropped_and_redone(tmp_path) -> None:
    path = tmp_path / "r.jsonl"
    whole = json.dumps(row()) + "\n"
    path.write_text(whole + json.dumps(row(start=1))[:30])
    file = ResultFile(path)
    assert len(file.rows) == 1 and path.read_text() == whole
    file.append(row(start=1))
    assert len(ResultFile(path).rows) == 2


@pytest.mark.parametrize("field", ["dataset", "task", "evidence"])
def test_other_settings_are_not_mixed_into_a_file(tmp_path, field: str) -> None:
    file = ResultFile(tmp_path / "r.jsonl")
    file.append(row())
    with pytest.raises(UserError, match=f"holds rows of {field}"):
        file.append(row(start=1, **{field: "other"}))


def test_files_of_different_data_sets_are_not_read_together(tmp_path) -> None:
    for name in ("d1", "d2"):
        (tmp_path / name).write_text(json.dumps(row(dataset=name)) + "\n")
    with pytest.raises(UserError, match="row 1 was made with dataset 'd2'"):
        read_results([tmp_path / "d1", tmp_path / "d2"])
    assert len(read_results([tmp_path / "d1", tmp_path / "d1"])) == 1


@pytest.mark.parametrize("text", ["nonsense\n", "{}\n", "[1]\n"])
def test_other_files_are_refused(tmp_path, text: str) -> None:
    (tmp_path / "r.jsonl").write_text(text)
    with pytest.raises(UserError, match="row 1 is no result row"):
        ResultFile(tmp_path / "r.jsonl")
