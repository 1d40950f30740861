"""Replies that were written by hand to the prompts of `evosyn env evolve`, through the whole command: twelve proposals with
their second tries, and a student's answers. tests/recorded/README.md tells what is odd about each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from evosyn.cli.env import command
from evosyn.evolve.events import Committed, Step, events_of
from evosyn.journal import Journal
from tests.recorded.playing import HERE, teacher

WRITTEN = HERE / "environment-search"


@pytest.fixture(scope="module")
def evolved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("written") / "evolved"
    line = ["evolve", "--out", str(out), "--teacher", teacher(WRITTEN), "--from", str(WRITTEN / "start.txt")]
    sizes = ["--per-level", "3", "--reviews", "0", "--quiet"]
    sets = ["islands.search=hillclimb", "proposers.arms={rewrite: 1}", "stop.evaluations=null", "stop.proposals=12"]
    ended = CliRunner().invoke(command, [*line, *sizes, *(part for one in sets for part in ("--set", one))])
    assert ended.exit_code == 0, (ended.output, ended.exception)
    return out


def steps(out: Path) -> list[Step]:
    return [one.step for one in events_of(Journal(out / "journal.jsonl")) if isinstance(one, Committed)][1:]


@pytest.mark.slow
def test_what_is_sound_is_taken_whatever_form_it_came_in(evolved: Path) -> None:
    wasted = {step.index: step.waste for step in steps(evolved) if step.waste}
    assert wasted == {1: "prose", 9: "unchanged"}
    invalid = {step.index: step.trials[-1].evaluation.invalid for step in steps(evolved) if step.trials}
    assert len(invalid) == 10 and set(invalid.values()) == {None}


@pytest.mark.slow
def test_functions_that_stand_in_blocks_of_their_own_all_change(evolved: Path) -> None:
    (five,) = [step for step in steps(evolved) if step.index == 5]
    program = five.trials[-1].candidate.text
    assert "runs of two or more neighbouring positions" in program and "sum(values[start:end])" in program


@pytest.mark.slow
def test_a_program_that_the_ladder_stops_is_mended_once_by_its_author(evolved: Path) -> None:
    reasons = {step.index: step.trials[0].evaluation.invalid for step in steps(evolved) if len(step.trials) > 1}
    assert set(reasons) == {8, 11}
    assert reasons[8].startswith("l2: generate:raises") or reasons[8].startswith("l2: solve:raises")
    assert reasons[11].startswith("l1: import:os: line 3")


@pytest.mark.slow
def test_every_written_proposal_was_played_and_counted(evolved: Path) -> None:
    assert sum(len(step.replies) for step in steps(evolved)) == len(list(WRITTEN.glob("*.variation.*.md"))) == 17
    report = json.loads((evolved / "report.json").read_text())
    assert report["spent"]["search"]["calls"] == 17 and report["simulated"] is False
    assert report["begun"]["kept"] == 1  # the answers were written for this one: it alone is solved, and less by level


@pytest.mark.slow
def test_a_students_answers_are_right_wrong_or_unreadable(evolved: Path) -> None:
    (begun,) = [one.step for one in events_of(Journal(evolved / "journal.jsonl")) if isinstance(one, Committed)][:1]
    evaluation = begun.trials[0].evaluation
    assert evaluation is not None and evaluation.calls == 15
    # of levels 1 to 5: no block in 10, seven words and no number in 7, cut off in 8 and 9, refused in 4, other forms in 13, 14
    assert evaluation.feedback[0] == "right answers by level: 2 of 3, 3 of 3, 2 of 3, 0 of 3, 0 of 3"
    assert 'level 3: "fifteen"' in " ".join(evaluation.feedback)
