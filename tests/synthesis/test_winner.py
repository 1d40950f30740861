"""What is written of a winner."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from evosyn.evaluators.draws import ConsistencyConfig, DrawCount
from evosyn.evaluators.leaderboard import BoardRow, Leaderboard
from evosyn.ports import SearchState
from evosyn.records import Candidate, Evaluation
from evosyn.strategies.lacking import Lacking
from evosyn.synthesis.search.card import chosen_among
from evosyn.synthesis.search.contest import Contest, Gain, Scored
from evosyn.synthesis.search.winner import Boards, WinnerChoice, contest_report, strategy_file

TEXT = "def rank(evidence):\n    return evidence.texts\n"


def board(evaluation: Evaluation) -> Leaderboard:
    row = BoardRow("evolved", evaluation, None, Lacking({}, 2))
    return Leaderboard(ConsistencyConfig(), ("a", "b"), ("a", "b"), 1.0, {}, (row,))


def test_one_that_is_invalid_on_held_out_problems_is_written_with_the_reason_in_one_line():
    contest = cast("Contest", SimpleNamespace(passed=True, reference="codet"))
    choice = WinnerChoice(Candidate(TEXT), 0.7, contest, 3, ("c", 0.7))
    state = cast("SearchState", SimpleNamespace(report=lambda: {"evaluations": 9}))
    train = Evaluation(0.7, metrics={"testing_balanced_accuracy": 0.8})
    found = Boards(board(train), board(Evaluation(None, "ValueError: no\nimport os\r texts")))
    lines = strategy_file(choice, state, found, simulated=False).splitlines()
    comment = [line for line in lines if line.startswith("# ")]
    assert lines == [*comment, "", *TEXT.splitlines()]
    assert "held-out problems: invalid (ValueError: no import os texts); on the 2 train problems: 0.700." in comment[1]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (0.0071, "320 fresh draws, standard error from drawing 0.0071, above the 0.005 asked for"),
        (0.0049, "320 fresh draws, standard error from drawing 0.0049"),
        (None, "320 fresh draws"),
    ],
)
def test_a_contest_that_ended_with_more_error_from_drawing_than_asked_for_says_so(error, said):
    gain = None if error is None else Gain(0.02, 0.01, error, {"": 0.02})
    contest = Contest(TEXT, Scored(np.ones((16, 2)), 0.7), "codet", gain, DrawCount(320, 0, 30))
    told = chosen_among(WinnerChoice(Candidate(TEXT), 0.7, contest, 60, ("c", 0.7)))
    assert told == f"60 finalists and the known rules on {said}"
    found = contest_report(contest)
    assert (found["drawing_error"], found["drawing_error_asked"]) == (error, 0.005)
