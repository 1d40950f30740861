"""Rows that a feed pays for itself: their worth goes to the trainer, and into no figure of right and wrong."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence

import pytest

from evosyn.chat import Message
from evosyn.domains import domain
from evosyn.ports import FeedRow, GroupOutcome, PayingFeed, Sandbox
from evosyn.records import Json, Problem, Testing
from evosyn.train.config import RewardConfig
from evosyn.train.rewards import Recorded, RewardFunction
from evosyn.train.scoring import Scorer, Task, reward_judge


class TwoKinds:
    """Implements `ports.PayingFeed`: a question, and a text that it pays by its length."""

    def __init__(self) -> None:
        problem = Problem("p", "math-answer", "How many?")
        prompt = (Message("user", "?"),)
        question = Task("question", problem, Testing("answer", {"answer": "2"}))
        self._rows = [FeedRow(prompt, question), FeedRow(prompt, Task("text", problem, question.testing), 0.3, False)]
        self._paid: dict[str, list[float | None]] = {}
        self.told: list[GroupOutcome] = []

    def rows(self, step: int, groups: int) -> Sequence[FeedRow]:  # noqa: ARG002
        return self._rows[:groups]

    def report(self, step: int, outcomes: Sequence[GroupOutcome]) -> None:  # noqa: ARG002
        self.told = list(outcomes)
        told = [one for one in outcomes if one.row == "text"]
        self._paid = {one.row: [float(len(text)) if text else None for text in one.texts] for one in told}

    def paid(self) -> Mapping[str, Sequence[float | None]]:
        return self._paid

    def rewind(self, step: int) -> None: ...

    def state(self) -> Json:
        return None

    def figures(self) -> Mapping[str, float]:
        return {"rows": 2.0}

    def summary(self) -> Json:
        return None


def paying(sandbox: Sandbox, tasks: dict[str, Task], record: object) -> RewardFunction:
    scorer = Scorer(reward_judge(sandbox, {"math-answer": domain("math-answer")}))
    return RewardFunction(tasks, scorer, RewardConfig(), max_completion=9, record=record)  # type: ignore[arg-type]


def test_what_is_paid_elsewhere_stands_over_the_scores_and_counts_in_no_pass_rate(sandbox: Sandbox) -> None:
    reward = paying(sandbox, {}, lambda *_: Recorded({"rows": 1.0}, {0: 0.5, 1: -1.0, 3: None}))
    logged: dict[str, float] = {}
    found = reward(["a", "b", "c", "d"], ["text", "text", "nobody", "text"], log_metric=logged.__setitem__)
    assert found == [0.5, -1.0, None, None] and not reward.passes
    assert logged["rows"] == 1 and logged["zero_variance"] == 0 and "pass_rate" not in logged


@pytest.mark.train
@pytest.mark.skipif(importlib.util.find_spec("trl") is None, reason="needs the train extra")
def test_a_feed_gets_all_texts_pays_by_place_and_weighs_its_rows(sandbox: Sandbox) -> None:
    from evosyn.train.feeding import LiveRows

    feed, tasks = TwoKinds(), dict[str, Task]()
    live = LiveRows(feed, tasks, 2)
    assert isinstance(feed, PayingFeed)
    rows = [row["row_id"] for row in live.draw(0, 2)]
    assert rows == ["question", "question", "text", "text"] and list(tasks) == ["question"]
    assert live.weights(rows) == [1, 1, 0.3, 0.3]
    reward = paying(sandbox, tasks, live.record)
    assert reward([r"\boxed{2}", r"\boxed{3}", "abc", ""], rows) == [1, 0, 3, None]
    assert [(one.row, one.passed, one.known) for one in feed.told] == [("question", 1, 2), ("text", 0, 0)]
    assert dict(reward.passes) == {"question": [1, 2]}
