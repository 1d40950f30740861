"""Directories of the other commands as answers: their kind, their figures, how far they are."""

import json
import re

import numpy as np
import pytest
import yaml
from click.testing import CliRunner
from pydantic import BaseModel
from search_reports import board, row, search_report, side

from evosyn.cli._evolve_view import print_leaderboard
from evosyn.cli._tables import Figure, begin_table, publish
from evosyn.cli.inspect import command
from evosyn.errors import EvosynError, UsageError
from evosyn.journal import Journal
from evosyn.matrices import write_matrices
from evosyn.reading.conclusions import of_search
from evosyn.reading.opening import kind_of, open_directory
from evosyn.records import PassMatrix
from evosyn.view.answers import encoded, open_view

MEAN = {"mean": 0.25, "low": 0.1, "high": 0.4}
EVAL = {"bench": "b", "problems": 3, "samples": 1, "ks": [1], "models": [
    {"model": "m", "problems": 3, "unknown": 0, "pass@1": MEAN, "levels": {"easy": {"problems": 3, "pass@1": MEAN}}},
]}  # fmt: skip
TRAINED = {"command": "train", "steps": 2, "label": None, "warnings": ["flat"], "model": "m",
           "lineage": {"simulated": True, "rows": 3, "data": "d", "setting": "evosyn"},
           "metrics": {"reward": {"start": 0.1, "end": 0.3, "window": 1}}}  # fmt: skip


def written(folder, **files):
    for name, value in files.items():
        (folder / f"{name}.json").write_text(json.dumps(value))
    return folder


def inspected(folder) -> str:
    result = CliRunner().invoke(command, [str(folder)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def training(folder):
    config = {"command": "train", "data": "d", "setting": "evosyn", "model": "builtin:tiny", "steps": 2, "seed": 0}
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    rows = [{"step": step, "seconds": 1.0, "reward": step / 10, "loss": 0.5} for step in (1, 2)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"step": 3, "rew')
    return folder


@pytest.mark.parametrize(
    "files",
    [
        {"report": {"kind": "foo", "warnings": 5}},
        {"report": {**TRAINED, "warnings": None}},
        {"report": {**TRAINED, "metrics": [1]}},
        {"manifest": {"kind": "train"}, "report": TRAINED},
        {"manifest": {"kind": "synthesize"}, "report": {"kind": "synthesize", "settings": 7}},
        {"manifest": {"kind": "evolve"}, "report": {"kind": "evolve", "best": []}},
        {"manifest": {"kind": "eval"}, "report": {**EVAL, "models": [5]}},
    ],
)
def test_a_directory_with_files_of_another_form_is_damaged_and_nothing_else(tmp_path, files):
    ended = CliRunner().invoke(command, [str(written(tmp_path, **files))])
    assert isinstance(ended.exception, EvosynError) or ended.exit_code == 0, (ended.output, ended.exception)


def test_a_report_of_a_hundred_thousand_brackets_is_no_report(tmp_path):
    (tmp_path / "report.json").write_text("[" * 100_000)
    assert isinstance(CliRunner().invoke(command, [str(tmp_path)]).exception, EvosynError)


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({"manifest": {"kind": "evolve-of-mine"}, "report": {"kind": "other"}}, "evolve-of-mine"),
        ({"report": {"kind": "evoenv"}}, "evoenv"),
        ({"report": TRAINED}, "train"),
        ({"report": {"anything": 1}}, "report"),
    ],
)
def test_the_kind_stands_in_the_manifest_or_in_the_report(tmp_path, files, kind):
    assert kind_of(written(tmp_path, **files)) == kind == open_directory(tmp_path).kind


@pytest.mark.parametrize(
    ("command", "kind"),
    [("eval", "eval"), ("crossexec", "crossexec"), ("distill", "distill")],
)
def test_the_kind_of_what_has_just_begun_stands_in_its_configuration(tmp_path, command, kind):
    (tmp_path / "config.yaml").write_text(yaml.safe_dump({"command": command, "steps": 3}))
    seen = open_directory(tmp_path).overview()
    assert seen.kind == kind and not seen.finished and seen.conclusion.worked == "open"
    assert "the same command goes on" in seen.conclusion.did and "not finished" in inspected(tmp_path)


def test_a_training_that_runs_has_its_curve_and_says_how_far_it_is(tmp_path):
    seen = open_directory(training(tmp_path)).overview()
    assert seen.kind == "train" and not seen.finished and "step 2 of 2" in seen.progress
    assert seen.curves["reward"] == ((1, 0.1), (2, 0.2)) and set(seen.curves) == {"loss", "reward"}
    assert seen.facts["model"] == "builtin:tiny"
    assert json.loads(encoded(open_view(tmp_path).answer("overview", {})))["curves"]["reward"] == [[1, 0.1], [2, 0.2]]
    assert "reward" in inspected(tmp_path) and "step 2 of 2" in inspected(tmp_path)


def test_a_training_that_has_ended_has_its_metrics_and_its_warnings(tmp_path):
    seen = open_directory(written(training(tmp_path), report=TRAINED)).overview()
    assert seen.finished and seen.simulated and seen.notes == ("flat",)
    assert seen.conclusion.did.startswith("The reward rose from 0.100 to 0.300") and "flat" in seen.conclusion.why
    (table,) = seen.tables
    assert table.columns == ("", "start", "end", "window") and table.rows == (("reward", 0.1, 0.3, 1),)
    assert inspected(tmp_path).count("flat") == 1


@pytest.mark.parametrize(
    ("figures", "told"),
    [
        (
            {"completions/clipped_ratio": 1.0, "cut": 0.0, "parsed": 0.0},
            r"100% of completions were cut.*max_completion",
        ),
        ({"completions/clipped_ratio": 0.0, "cut": 0.9, "parsed": 0.1}, r"90% .* still thought.*max_completion"),
        ({"completions/clipped_ratio": 0.1, "parsed": 0.2, "zero_variance": 1.0}, r"only 20% .* form.*evosyn distill"),
        ({"parsed": 0.9, "zero_variance": 0.9, "pass_rate": 0.0}, r"90% of groups .*reward\.credit=share"),
        ({"parsed": 0.9, "zero_variance": 0.2, "pass_rate": 0.02}, r"only 2% of completions are right.*--band"),
        ({"parsed": 0.9, "zero_variance": 0.2, "pass_rate": 0.4}, None),
    ],
)
def test_a_training_that_moved_nothing_names_the_first_cause_that_its_figures_show(tmp_path, figures, told):
    rows = [{"step": step, "reward": 0.0, **figures} for step in (1, 2)]
    flat = {"metrics": {"reward": {"start": 0.0, "end": 0.0, "window": 1}}}
    folder = written(training(tmp_path), report={**TRAINED, **flat})
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    why = open_directory(folder).overview().conclusion.why
    assert re.search(told, why[0]) if told else not any("first cause" in line for line in why)


def test_means_stand_with_their_intervals(tmp_path):
    tables = open_directory(written(tmp_path, report=EVAL, manifest={"kind": "eval"})).overview().tables
    shown = [dict(zip(table.columns, table.rows[0], strict=True)) for table in tables]
    assert shown == [
        {"model": "m", "problems": 3, "pass@1": "0.250 [0.100, 0.400]", "unknown": 0},
        {"model": "m", "level": "easy", "problems": 3, "pass@1": "0.250 [0.100, 0.400]"},
    ]
    assert "0.250 [0.100," in inspected(tmp_path)


def test_an_execution_that_runs_says_how_many_problems_are_done(tmp_path):
    (tmp_path / "config.yaml").write_text("command: crossexec\n")
    journal = Journal(tmp_path / "journal.jsonl")
    journal.append({"event": "begin", "v": 2, "kind": "crossexec"})
    journal.append({"event": "matrix", "key": "x", "matrix": {}})
    journal.close()
    assert "1 problems are executed" in open_directory(tmp_path).overview().progress


def test_an_execution_that_has_ended_lists_its_problems_and_leads_to_their_matrices(tmp_path):
    (tmp_path / "config.yaml").write_text("command: crossexec\n")
    verdicts, human = np.array([["P", "F"], ["P", "P"]]), np.array(["P", "F"])
    made = [PassMatrix(f"set/{at}", verdicts, human_M=human if at else None) for at in range(30)]
    write_matrices(tmp_path / "matrices.jsonl", made)
    reading = open_directory(tmp_path)
    (table,) = reading.overview().tables
    assert table.rows[:2] == (("set/0", 2, 2, 0.75, None), ("set/1", 2, 2, 0.75, 0.5))
    assert list(reading.highlights(2)) == ["overview", "matrix/set/0", "matrix/set/1"]
    assert reading.answer("matrix", "set/1").solutions[1].human == "F"
    assert "... and 10 more" in inspected(tmp_path)


def test_an_evaluation_that_runs_says_how_many_problems_each_model_has_answered(tmp_path):
    (tmp_path / "config.yaml").write_text("command: eval\n")
    (tmp_path / "completions").mkdir()
    (tmp_path / "completions" / "m.jsonl").write_text('{"problem_id": "a"}\n{"problem_id": "b"}\n{"pro')
    assert "m: 2 problems are answered" in open_directory(tmp_path).overview().conclusion.did


class Nothing(BaseModel):
    """The configuration of an ablation of this test."""

    seeds: int = 2


def test_ablations_in_one_directory_are_read_with_what_they_say_and_while_they_run(tmp_path, capsys):
    begin_table(tmp_path, "ablate-k", Nothing())
    before = open_directory(tmp_path).overview()
    assert before.kind == "ablate" and not before.finished and "ablate-k" in before.conclusion.did
    rows = [("gap", 1, 0.5), ("gap", 2, float("nan"))]
    publish(tmp_path, "ablate-k", Figure("by k", ("strategy", "k", "score"), rows, lambda _: None), ["k = 1 is enough"])
    begin_table(tmp_path, "ablate-size", Nothing())
    publish(tmp_path, "ablate-size", Figure("by size", ("M = N",), [(4,)], lambda _: None))
    assert "k = 1 is enough" in capsys.readouterr().out
    seen = open_directory(tmp_path).overview()
    assert [table.title for table in seen.tables] == ["by k", "by size"]
    assert seen.tables[0].rows == (("gap", 1, 0.5), ("gap", 2, None))
    assert seen.conclusion.did == "k = 1 is enough." and seen.conclusion.worked == "done"
    assert "by size" in inspected(tmp_path)
    with pytest.raises(UsageError, match="holds a run of another kind"):
        begin_table(written(tmp_path, manifest={"kind": "evolve"}), "ablate-k", Nothing())


def test_what_is_no_directory_of_ours_is_refused(tmp_path):
    with pytest.raises(UsageError, match="there is no such directory"):
        open_directory(tmp_path / "none")
    with pytest.raises(UsageError, match=r"holds nothing that an evosyn command writes.*manifest.json"):
        open_directory(tmp_path)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--islands"], "--islands: .* holds none; it takes no such option"),
        (["--islands", "--why", "x"], "--islands and --why: give one of them"),
        (["--strategy", "codet"], "name a problem with --matrix"),
        (["--setting", "random"], "say how many with --sample"),
    ],
)
def test_an_option_that_says_nothing_here_is_refused(tmp_path, options, said):
    result = CliRunner().invoke(command, [str(written(tmp_path, report=EVAL)), *options])
    assert isinstance(result.exception, UsageError)
    with pytest.raises(UsageError, match=said):
        raise result.exception


def test_unusable_replies_of_drawing_are_among_the_reasons_of_a_search():
    report = search_report(unusable_replies={"testing: no-cases": 2}, spent={"drawing": {"calls": 40}})
    assert (
        "2 of 40 replies of drawing could not be used: 2 x testing: no-cases" in of_search(report, None, "", None).why
    )


def test_a_known_rule_that_wins_is_named_as_one_and_not_compared_with_itself(capsys):
    first = {"of": "search", "over": "codet", "best": "c_1", "passed": False, "held_back": {}, "drawing_error": 0.1}
    first |= {"gain": 0.0, "gain_lower": -0.01}
    chosen = {
        "known": "codet",
        "winner_is": "known",
        "gain": 0.0,
        "draws": {"fresh": 40, "single": 0, "problems": 20},
        "behind": {"two": {"rule": "mbr", "by": 0.0251}},
        "drawing_error_asked": 0.005,
        "undecided": "",
        "rounds": [first],
    }
    best, names = side("c_1", proposer="initial"), ("evolved", "codet", "initial")
    report = search_report(board(*map(row, names)), best=best, initial=side(score=0.1), beats_initial=True)
    report["selection"] = chosen
    found = of_search(report, None, "", None)
    assert found.won == "the known rule codet: no evolved program was shown to be better, after 3 evaluations"
    assert found.why[0].startswith("The known strategy initial does as well") and len(found.why) == 3
    assert found.why[1].startswith(
        "On the seeds the best of what it made, c_1, against the best known rule, codet: not better by more than chance"
    )
    assert found.why[2] == "On the seeds in two the known rule mbr is better than the winner by 0.025"
    opening = {"winner_is": "opening", "gain": 0.06, "behind": {}}
    found = of_search({**report, "selection": {**chosen, **opening}}, None, "", None)
    assert found.won == "c_1, one of the programs that the search started from, after 3 evaluations"
    first |= {"of": "start", "best": "opening gap", "passed": True, "gain": 0.06, "drawing_error": 0.004}
    second = {**first, "of": "search", "over": "opening gap", "best": "c_2", "passed": False, "gain_lower": -0.002}
    for more, said in (
        ({}, "not better by more than chance (gain +0.0600, lower bound -0.0020, 40 fresh draws, standard error from"),
        ({"drawing_error": 0.007}, "40 fresh draws, standard error from drawing 0.0070, above the 0.005 asked for)"),
        ({"passed": True}, ": better by more than chance (gain"),
        ({"held_back": {"two": {"rule": "mbr", "by": 0.02}}}, "over all, and behind mbr by 0.0200 in two (gain"),
    ):
        rounds = {**chosen, **opening, "rounds": [first, {**second, **more}]}
        one, other = of_search({**report, "selection": rounds}, None, "", None).why[-2:]
        assert one.startswith(
            "On the seeds the best of what it started from, opening gap, against the best known rule, codet"
        )
        assert other.startswith("On the seeds the best of what it made, c_2, against opening gap: ") and said in other
    few = {**rounds, "undecided": "there are few"}
    assert (
        "shown to be better, since there are few (gain"
        in of_search({**report, "selection": few}, None, "", None).why[-2]
    )
    print_leaderboard(report)
    shown = capsys.readouterr().out
    assert "codet (the winner)" in shown and "evolved" not in shown


def test_a_winner_that_is_invalid_on_held_out_problems_is_said_with_its_reason():
    found = of_search(search_report(best=side(score=None, invalid="ValueError: no texts")), None, "", None)
    assert "invalid against 0.500 on 20 held-out problems" in found.did
    assert found.why[0] == "It is invalid on the held-out problems: ValueError: no texts"


def test_paid_proposals_that_gave_no_program_are_among_the_reasons_with_what_helps():
    paid = {"proposals": 8, "replies": 16, "wasted": {"truncated": 6, "prose": 1}}
    free = {"proposals": 90, "replies": 0, "wasted": {"no-parent": 2}}
    found = of_search(search_report(proposers={"explain": paid, "genetic": free}), None, "", None)
    (said,) = [line for line in found.why if "gave no program" in line]
    assert said.startswith("7 of 8 proposals of explain gave no program: 6 x truncated, 1 x prose")
    assert "--set sampling.strategy.max_tokens=16000" in said
