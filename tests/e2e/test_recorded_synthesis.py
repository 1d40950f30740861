"""Replies as people and models really write them, through the whole of `evosyn synthesize`: nothing is lost on the way
but what cannot be used, and that is counted."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from evosyn.cli.synthesize import command
from evosyn.dataset import SETTINGS, read_dataset, read_rejects
from evosyn.strategies import load_known
from tests.recorded.playing import HERE, teacher, written

RECORDED, FURTHER = HERE / "synthesis", HERE / "problems"
SIZES = ("--problems", "3", "-M", "3", "-N", "4")


def synthesize(place: Path, *more: str, directory: Path = RECORDED, sizes: tuple[str, ...] = SIZES) -> Result:
    (place / "strategy.py").write_text(load_known("codet_gap"))
    line = [str(place / "strategy.py"), "--out", str(place / "data"), "--teacher", teacher(directory), *sizes]
    line += ["--seeds", "builtin:python-seeds", "--quiet", "--set", "sampling.example=other", *more]
    return CliRunner().invoke(command, line)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("recorded")
    ended = synthesize(place)
    assert ended.exit_code == 0, ended.output
    return place / "data"


def test_there_are_twelve_replies_of_each_kind():
    for kind in ("problem", "solution", "testing", "inputs"):
        assert written(RECORDED, kind) + written(FURTHER, kind) >= 12, kind


def test_problems_of_every_form_are_made_and_refusals_cut_and_empty_ones_are_asked_for_again(tmp_path: Path):
    ended = synthesize(tmp_path, directory=FURTHER, sizes=("--problems", "9", "-M", "2", "-N", "2"))
    assert ended.exit_code == 0, (ended.output, ended.exception)
    data = tmp_path / "data"
    replies = {(one.stage, one.reason, one.index) for one in read_rejects(data) if one.item == "reply"}
    assert {(stage, index) for stage, _, index in replies} == {
        *(("problem", index) for index in (3, 5, 8)), *(("inputs", index) for index in (6, 7))
    }  # fmt: skip
    report = json.loads((data / "report.json").read_text())
    assert len(list(FURTHER.glob("*.md"))) == 57
    assert report["calls"] == 57 + 2, "large inputs of two problems are asked for again, and nobody wrote a reply"
    assert report["kept"] == 9
    for row in read_dataset(data):
        assert [one["verdict"] for one in json.loads(row.solutions_ranked)] == ["P", "P"]
        index = int(row.problem_id.removeprefix("syn-"))
        large = json.loads(row.lineage)["reward"]["large_cases"]
        assert (large > 0) == (index not in (6, 7)), index


def test_only_what_cannot_be_used_is_lost_and_it_is_counted(data: Path):
    replies = {(one.stage, one.reason, one.index) for one in read_rejects(data) if one.item == "reply"}
    assert replies == {("problem", "no-json", 2)}
    (cut,) = (one for one in read_rejects(data) if one.item == "case")
    assert (cut.stage, cut.reason, cut.index) == ("testing", "cases-lost", 0) and "1 of 5" in cut.detail
    report = json.loads((data / "report.json").read_text())
    assert report["calls"] == len(list(RECORDED.glob("*.md"))) - 1 == 28, (
        "of a reply that was cut the whole cases count"
    )
    assert report["kept"] == 2
    assert report["dropped"] == {"zero-variance-testings": 1}


def test_each_wrong_expectation_costs_one_case_and_a_slow_solution_is_not_paid(data: Path):
    row = read_dataset(data, "relaxed")[0]
    assert json.loads(row.lineage)["reward"]["dropped_cases"] == 2, "one of the reply that was cut"
    assert json.loads(row.lineage)["reward"]["large_cases"] >= 3
    assert len(json.loads(row.lineage)["reward"]["joined"]) == 3
    verdicts = {one["source"]: one["verdict"] for one in json.loads(row.solutions_ranked)}
    slow = next(source for source in verdicts if "range(i + gap + 1, n)" in source)
    assert verdicts.pop(slow) == "T"
    assert set(verdicts.values()) == {"P"}
    assert row.solution != slow
    assert {"input": [[1, 1, 2, 1], 2], "output": 2} not in json.loads(row.testing)["cases"]


def test_wrong_programs_are_told_from_right_ones(data: Path):
    rows = read_dataset(data, "relaxed")
    assert [round(row.difficulty, 2) for row in rows] == [0.33, 0.33, 0.33]
    for row, wrong in zip(rows[1:], ("one[1][0] - one[1][1], one[0]", "return kept[::-1]"), strict=True):
        (refused,) = (one["source"] for one in json.loads(row.solutions_ranked) if not one["passes"])
        assert wrong in refused


def test_the_reasoning_of_the_teacher_stays_with_the_solution(data: Path):
    for row in read_dataset(data):
        for one in json.loads(row.solutions_ranked):
            assert one["source"].strip().splitlines()[-1] in one["reply"] or "Solution()." in one["source"]
            assert one["reasoning"].startswith("thoughts of ")


def test_a_run_that_keeps_nothing_fails_and_says_what_happened(tmp_path: Path):
    ended = synthesize(tmp_path, directory=tmp_path)
    assert ended.exit_code != 0
    assert "next:" not in ended.output
    assert "reply-empty" in str(ended.exception)
    assert (tmp_path / "data" / "report.json").is_file()


@pytest.mark.slow
def test_a_statement_whose_own_example_is_wrong_is_dropped_and_the_card_says_what_that_means(tmp_path: Path):
    replies = tmp_path / "replies"
    shutil.copytree(RECORDED, replies)
    first = replies / "0.problem.0.0.md"
    first.write_text(first.read_text().replace("[7, 7, 3, 7], 1) -> 2", "[7, 7, 3, 7], 1) -> 3"))
    ended = synthesize(tmp_path, directory=replies)
    assert ended.exit_code == 0, ended.output
    data = tmp_path / "data"
    (dropped,) = (one for one in read_rejects(data) if one.reason == "example-contradicted")
    assert (dropped.stage, dropped.problem_id, dropped.settings) == ("reward", "syn-000000", SETTINGS)
    assert "gets F from the examples that stand in the statement" in dropped.detail
    assert "syn-000000" not in {row.problem_id for setting in SETTINGS for row in read_dataset(data, setting)}
    card = (data / "README.md").read_text()
    assert "| example-contradicted | 1 | 1 | 1 |" in card
    assert "the best solution gives another answer than an example in the statement" in card
    assert json.loads((data / "report.json").read_text())["dropped"]["example-contradicted"] == 1
