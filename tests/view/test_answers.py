"""What the page gets to know of a run and of a dataset: the contract of the JSON."""

import json
import shutil

import numpy as np
import pytest

from evosyn.dataset import SETTINGS, read_dataset, read_rejects
from evosyn.errors import UsageError
from evosyn.matrices import write_matrices
from evosyn.reading.search import SearchReading
from evosyn.records import PassMatrix
from evosyn.view import answers
from evosyn.view.answers import encoded, open_view


def run_at(path):
    return SearchReading(path, "evolve")


def asked(path, question, **query):
    return json.loads(encoded(open_view(path).answer(question, query)))


def test_the_overview_of_a_run_agrees_with_its_report_and_its_replayed_state(run_dir):
    seen, state = asked(run_dir, "overview"), run_at(run_dir).state
    report = json.loads((run_dir / "report.json").read_text())
    assert seen["kind"] == "evolve" and seen["finished"] and not seen["simulated"]
    assert seen["report"]["leaderboard"] == report["leaderboard"]
    assert all(len(row["ci"]) == 2 for row in seen["report"]["leaderboard"]["heldout"]["strategies"] if row["ci"])
    assert seen["curve"] == report["curve"]
    assert seen["proposers"] == report["proposers"] | {
        name: {**row, "evaluated": seen["proposers"][name]["evaluated"]} for name, row in report["proposers"].items()
    }
    assert len(seen["grids"]["grids"]) == len(state.islands) + 1
    for grid, archive in zip(seen["grids"]["grids"], [*state.islands, state.record], strict=True):
        assert {tuple(one["cell"]): one["score"] for one in grid["cells"]} == {
            cell: elite.evaluation.score for cell, elite in archive.cells().items()
        }
    assert [axis["bins"] for axis in seen["grids"]["axes"]] == [axis.bins for axis in state.axes]


def test_the_candidates_are_those_of_the_journal_in_each_order(run_dir):
    entries = list(run_at(run_dir).entries())
    oldest = asked(run_dir, "candidates", sort="oldest")
    assert [row["id"] for row in oldest["rows"]] == [entry.id for entry in entries][: answers.LISTED]
    assert oldest["total"] == len(entries)
    scores = [row["score"] for row in asked(run_dir, "candidates")["rows"] if row["score"] is not None]
    assert scores == sorted(scores, reverse=True) and scores[0] == max(one.score or 0 for one in entries)
    newest = asked(run_dir, "candidates", sort="newest")["rows"]
    assert [row["number"] for row in newest[:2]] == [len(entries) - 1, len(entries) - 2]


def test_a_filter_wants_every_word_and_looks_beyond_the_first_rows(run_dir, monkeypatch):
    monkeypatch.setattr(answers, "LISTED", 3)
    all_of_them = asked(run_dir, "candidates", sort="oldest")
    assert len(all_of_them["rows"]) == 3 < all_of_them["matching"] == all_of_them["total"]
    last = list(run_at(run_dir).entries())[-1]
    found = asked(run_dir, "candidates", q=f"{last.id.upper()} {last.fate.value}", sort="oldest")
    assert last.id in [row["id"] for row in found["rows"]]
    assert asked(run_dir, "candidates", q=f"{last.id} nosuchword")["matching"] == 0


def test_a_candidate_comes_with_source_difference_and_lineage_to_an_initial_program(run_dir):
    run = run_at(run_dir)
    kept = [one for one in run.entries() if one.fate.value in ("new", "improved")]
    best = [one for one in kept if one.trial.candidate.parents][-1]
    seen = asked(run_dir, f"candidate/{best.id}")
    assert seen["text"] == best.trial.candidate.text and seen["score"] == best.score
    assert [row["id"] for row in seen["lineage"]] == [row.id for row in run.lineage(best.id)]
    assert seen["lineage"][-1]["parents"] == []
    assert all("text" not in row for row in seen["lineage"])
    assert seen["difference"]["lines"][0].startswith(f"--- {best.trial.candidate.parents[0]}")
    assert seen["why"].startswith("kept")


def test_a_duplicate_names_the_candidate_that_it_repeats(run_dir):
    entries = {entry.id: entry for entry in run_at(run_dir).entries() if entry.trial.evaluation is not None}
    twins = [entry for entry in run_at(run_dir).entries() if entry.fate.value == "same-behaviour"]
    assert twins
    seen = asked(run_dir, f"candidate/{twins[0].id}")
    named = seen["why"].rsplit(" ", 1)[1]
    assert entries[named].trial.evaluation.signature == twins[0].trial.evaluation.signature


def test_a_run_that_grows_is_seen_to_grow(hostile_run, run_dir):
    view = open_view(hostile_run)
    before = view.answer("overview", {})
    assert before["finished"] is False and before["report"] is None
    journal = hostile_run / "journal.jsonl"
    journal.write_bytes((run_dir / "journal.jsonl").read_bytes())
    after = view.answer("overview", {})
    assert after["counts"]["candidates"] == before["counts"]["candidates"] - 1


def test_the_overview_of_a_dataset_is_its_report(data_dir):
    seen = asked(data_dir, "overview")
    report = json.loads((data_dir / "report.json").read_text())
    assert seen["kind"] == "synthesize" and seen["finished"] and seen["simulated"]
    assert seen["report"]["stages"] == report["stages"] and seen["report"]["settings"] == report["settings"]
    assert seen["ended"] == report["asked"]


@pytest.mark.parametrize("setting", SETTINGS)
def test_samples_and_rejects_are_those_of_the_files(data_dir, setting):
    found = asked(data_dir, f"samples/{setting}")
    assert [row["id"] for row in found["rows"]] == [row.id for row in read_dataset(data_dir, setting)]
    rejects = read_rejects(data_dir)
    assert [row["reason"] for row in asked(data_dir, "rejects")["rows"]] == [one.reason for one in rejects]
    reason = rejects[0].reason
    expected = sum(reason in f"{one.stage} {one.reason} {one.item} {one.problem_id} {one.detail}" for one in rejects)
    assert asked(data_dir, "rejects", q=reason)["matching"] == expected


def test_a_problem_comes_with_its_matrix_the_chosen_pair_first(data_dir):
    sample = read_dataset(data_dir)[0]
    scores, index = json.loads(sample.scores), json.loads(sample.lineage)["index"]
    seen = asked(data_dir, f"problem/{index}")
    matrix = seen["matrix"]
    assert seen["problem"]["problem_id"] == sample.problem_id and matrix["digest"] == sample.matrix_digest
    assert (
        [one["m"] for one in matrix["solutions"] if one["chosen"]]
        == [scores["solution"]]
        == [matrix["solutions"][0]["m"]]
    )
    assert [one["n"] for one in matrix["testings"] if one["chosen"]] == [scores["testing"]]
    assert all(len(one["verdicts"]) == len(matrix["testings"]) for one in matrix["solutions"])
    chosen = next(at for at, one in enumerate(matrix["testings"]) if one["chosen"])
    assert matrix["solutions"][0]["verdicts"][chosen] == "P"
    assert seen["settings"]["evosyn"] is None


def test_a_dropped_problem_says_where_and_why(data_dir):
    reject = next(one for one in read_rejects(data_dir) if one.item == "problem" and "evosyn" in one.settings)
    seen = asked(data_dir, f"problem/{reject.index}")["settings"]["evosyn"]
    assert (seen["stage"], seen["reason"]) == (reject.stage, reject.reason)


def test_an_unfinished_dataset_has_an_overview_and_problems(data_dir, tmp_path):
    for name in ("manifest.json", "journal.jsonl"):
        (tmp_path / name).write_bytes((data_dir / name).read_bytes())
    seen = asked(tmp_path, "overview")
    assert not seen["finished"] and seen["report"] is None and seen["ended"] == 24
    assert asked(tmp_path, "samples/evosyn")["rows"] == asked(tmp_path, "rejects")["rows"] == []
    assert asked(tmp_path, "problem/3")["index"] == 3


@pytest.mark.parametrize("question", ["", "nothing", "candidate/", "candidate/c_none", "problem/1", "candidates/x"])
def test_a_question_without_an_answer_is_refused(run_dir, question):
    with pytest.raises(UsageError):
        open_view(run_dir).answer(question, {})


@pytest.mark.parametrize("question", ["samples/other", "problem/99", "problem/-1", "problem/../../etc", "candidates"])
def test_a_question_without_an_answer_in_a_dataset_is_refused(data_dir, question):
    with pytest.raises(UsageError):
        open_view(data_dir).answer(question, {})


def test_a_missing_directory_and_one_of_another_kind_are_refused(tmp_path, run_dir):
    with pytest.raises(UsageError, match="there is no such directory"):
        open_view(tmp_path / "none")
    with pytest.raises(UsageError, match="holds nothing"):
        open_view(tmp_path)
    with pytest.raises(UsageError, match=f"give one: {run_dir}"):
        open_view(run_dir.parent)


def test_the_name_of_a_problem_may_hold_slashes(tmp_path):
    write_matrices(tmp_path / "matrices.jsonl", [PassMatrix("Human/Eval/40", np.array([["P", "F"], ["F", "F"]]))])
    (tmp_path / "config.yaml").write_text("command: crossexec\n")
    assert asked(tmp_path, "matrix/Human/Eval/40")["problem"] == "Human/Eval/40"
    with pytest.raises(UsageError, match="no such problem"):
        open_view(tmp_path).answer("matrix/Human", {})


def test_a_run_that_is_waited_for_is_opened_when_it_begins_and_no_other_place_is(run_dir, tmp_path):
    view = open_view(tmp_path / "later", wait=True)
    assert view.waits and view.answer("overview", {})["finished"] is False
    shutil.copytree(run_dir, tmp_path / "later")
    assert view.answer("overview", {})["kind"] == "evolve" and not view.waits
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="holds several directories"):
        open_view(tmp_path, wait=True)


def test_the_overview_of_a_run_says_whether_it_worked_what_won_and_why(run_dir):
    seen = asked(run_dir, "overview")
    report, card = (json.loads((run_dir / f"{name}.json").read_text()) for name in ("report", "card"))
    found = seen["conclusion"]
    assert found["link"] == report["best"]["id"] and found["worked"] in ("yes", "no", "unclear")
    assert f"{report['best']['heldout_score']:.3f} against {report['initial']['heldout_score']:.3f}" in found["did"]
    low, high = report["difference"]["ci"]
    assert low <= report["difference"]["heldout"] <= high
    assert f"wins {card['seeds']['won']} and loses {card['seeds']['lost']}" in " ".join(found["why"])
    assert seen["card"]["duels"] == card["duels"]
    points = [point for points in seen["fitness"].values() for point in points]
    assert max(score for _, score, _ in points) == seen["best"]["score"]
    assert set(seen["fitness"]) <= set(seen["proposers"])


def test_numbers_that_are_not_json_become_null():
    assert json.loads(encoded({"a": [float("nan"), float("inf"), 1.5, True, None]})) == {
        "a": [None, None, 1.5, True, None]
    }


def test_long_texts_say_that_they_are_cut():
    assert answers.cut("x" * 30_000).endswith("... (10000 more characters)")
    assert answers.cut("x" * 20_000) == "x" * 20_000
