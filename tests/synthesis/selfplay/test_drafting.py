"""A student's answers to a draft: what never came and what could not be asked say nothing of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest

from evosyn.chat import Message, Reply, Request
from evosyn.crossexec.judge import Judge
from evosyn.domains import domains_named
from evosyn.domains.environment import NAME
from evosyn.environments.calibration import Rate
from evosyn.environments.runner import EnvironmentRunner
from evosyn.ports import Sandbox
from evosyn.randomness import SeedTree
from evosyn.synthesis.environments.calibrating import AnswerSheet
from evosyn.synthesis.environments.draft import Draft
from evosyn.synthesis.selfplay.config import BandConfig
from evosyn.synthesis.selfplay.drafting import StudentTrial
from tests.synthesis.selfplay.leading import SEEDS, ScriptedStudent, box

DRAFT = Draft(0, {}, SEEDS[0].source)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with box(0) as opened:
        yield opened


class Refusing(ScriptedStudent):
    """Always right, but for the first so many requests, which end in a failure."""

    def __init__(self, failure: str, count: int) -> None:
        super().__init__(1.0)
        self._failure, self._count = failure, count

    def replies(self, requests: Sequence[Request]) -> list[Reply]:
        told = super().replies(requests)
        return [Reply(one.id, "", "scripted", self._failure) for one in told[: self._count]] + told[self._count :]


def rate(
    sandbox: Sandbox, student: ScriptedStudent, fits: Callable[[tuple[Message, ...]], bool] = lambda _: True
) -> Rate:
    domains, config = domains_named({NAME}), BandConfig(answers=4)
    sheet = AnswerSheet(Judge(sandbox, domains), domains[NAME], config.sampling)
    trial = StudentTrial(config, student, sheet, EnvironmentRunner(sandbox), SeedTree(1), fits)
    (found,) = trial.rates([DRAFT], 0)
    return found


@pytest.mark.parametrize(("failure", "known"), [("bad-request", 1), ("timeout", 1), ("refused", 4), ("truncated", 4)])
def test_what_never_came_is_unknown_and_what_the_student_made_of_it_is_wrong(
    sandbox: Sandbox, failure: str, known: int
) -> None:
    assert rate(sandbox, Refusing(failure, 3)) == Rate(BandConfig().level, known, 1)


def test_a_question_that_is_too_long_for_the_student_is_not_asked(sandbox: Sandbox) -> None:
    whole, some, none = ScriptedStudent(1.0), ScriptedStudent(1.0), ScriptedStudent(1.0)
    assert rate(sandbox, whole).n == 4
    said: list[int] = []

    def fits(messages: tuple[Message, ...]) -> bool:
        said.append(len(messages[-1].content))
        return len(said) > 3

    assert rate(sandbox, some, fits) == Rate(BandConfig().level, 1, 1)
    assert rate(sandbox, none, lambda _: False).n == 0
    assert (whole.batches, some.batches, none.batches) == ([4], [1], [0])
