"""What is written of a winner."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from evosyn.evaluators.draws import ConsistencyConfig
from evosyn.evaluators.leaderboard import BoardRow, Leaderboard
from evosyn.ports import SearchState
from evosyn.records import Candidate, Evaluation
from evosyn.strategies.lacking import Lacking
from evosyn.synthesis.search.contest import Contest
from evosyn.synthesis.search.winner import Boards, WinnerChoice, strategy_file

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
