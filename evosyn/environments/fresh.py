"""Fresh questions of environments while a model trains: made when they are needed, and journalled whole.

How much a student can learn at a level is 4a(1-a), a being its solve rate on one question there, averaged over
questions, and a floor that lets what is worn come back (ours): a level of which it always solves one half of the
questions and never the other has a rate of one half and teaches nothing. `environments.rotation` and `evosyn coevolve
--recipe evoenv` draw by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from evosyn.chat import Message
from evosyn.dataset import sample_id
from evosyn.domains import domain
from evosyn.domains.environment import KIND, NAME
from evosyn.environments.contract import Environment
from evosyn.environments.rows import SETTING, EnvironmentRow, problem_of, rows_at
from evosyn.environments.runner import EnvironmentRunner, MadeInstance, Verified, Worth
from evosyn.ports import FeedRow
from evosyn.randomness import SeedTree
from evosyn.records import Json, Problem, Testing, canonical_json
from evosyn.tasks import Task

Fits: TypeAlias = Callable[[tuple[Message, ...]], bool]
Cell: TypeAlias = tuple[str, int]
"""An environment and a level."""
PRIOR = 2.0
"""Completions that the solve rate counts for where it stands in for pairs."""


class LevelRate(NamedTuple):
    """What a student came to at a level, in completions; older ones weigh less.

    Attributes:
        passed: of `known`, those that could be judged.
        differing: of `paired`, those that were judged beside others of the same question, by the share of pairs that
            ended differently; half of it is what a(1-a) is expected to be, with no bias.
    """

    passed: float = 0.0
    known: float = 0.0
    differing: float = 0.0
    paired: float = 0.0


@dataclass(frozen=True)
class FreshRow:
    """A question that nobody has seen, with all that decides about answers to it."""

    row: str
    environment: str
    level: int
    name: str
    question: str
    instance: Json
    reference: Json = None

    @property
    def cell(self) -> Cell:
        return self.environment, self.level


class FreshRows:
    """Makes questions whose right answer the verifier accepts and that fit the student.

    Args:
        fits: whether a prompt is short enough for the student.
    """

    def __init__(self, runner: EnvironmentRunner, fits: Fits = lambda _: True) -> None:
        self._runner, self._fits = runner, fits

    def made(
        self, environment: Environment, wanted: Sequence[tuple[int, int, str]], tree: SeedTree
    ) -> list[FreshRow | None]:
        """One for each (level, number, name), or None where it cannot be had.

        Raises:
            SandboxUnavailable: the sandbox failed twice.
        """
        cells = [(level, number) for level, number, _ in wanted]
        rows = [
            one if isinstance(one, EnvironmentRow) else None for one in rows_at(environment, self._runner, cells, tree)
        ]
        there = [one for one in rows if one is not None]
        said = iter(self._runner.verify(environment, [(_instance(one), one.solution.text) for one in there]))
        sound = [one is not None and _accepted(next(said)) and self._fits(_prompt_of(one.problem)) for one in rows]
        return [
            _fresh(environment, level, name, row) if row is not None and good else None
            for (level, _, name), row, good in zip(wanted, rows, sound, strict=True)
        ]


def feed_row(environment: Environment, one: FreshRow) -> FeedRow:
    """A question as what a student is asked, and what decides about its answers."""
    problem = problem_of(environment, one.name, one.level, one.question)
    body = {"program": environment.source, "instance": one.instance, "reference": one.reference}
    return FeedRow(_prompt_of(problem), Task(one.row, problem, Testing(KIND, body, environment.provenance)))


def share_of(rate: LevelRate | None) -> float:
    """A solve rate; a half where nothing is known."""
    found = rate or LevelRate()
    return (found.passed + 1) / (found.known + 2)


def signal(rate: LevelRate | None) -> float:
    """An estimate of the mean of 4a(1-a) over the questions of a level; that of its solve rate where no pairs are
    known. What is estimated lies in [0, 1], the estimate of few small groups may lie above."""
    found, share = rate or LevelRate(), share_of(rate)
    return (2 * found.differing + PRIOR * 4 * share * (1 - share)) / (found.paired + PRIOR)


def rates_after(
    rates: Mapping[Cell, LevelRate], outcomes: Iterable[tuple[Cell, int, int]], memory: float
) -> dict[Cell, LevelRate]:
    """The rates with outcomes as (cell, passed, known); what was known before weighs `memory` of what it did."""
    found = dict(rates)
    for cell, passed, known in outcomes:
        if known:
            differing = 2 * passed * (known - passed) / (known - 1) if known > 1 else 0.0
            new = LevelRate(passed, known, differing, known if known > 1 else 0)
            before = found.get(cell, LevelRate())
            found[cell] = LevelRate(*(memory * old + now for old, now in zip(before, new, strict=True)))
    return found


def _fresh(environment: Environment, level: int, name: str, row: EnvironmentRow) -> FreshRow:
    body = row.testing.body
    made = sample_id(SETTING, name, row.testing.text, row.solution.text)
    return FreshRow(made, environment.id, level, name, row.problem.statement, body["instance"], body["reference"])


def _accepted(said: Verified) -> bool:
    return isinstance(said, Worth) and said.value == 1


def _instance(row: EnvironmentRow) -> MadeInstance:
    body = row.testing.body
    return MadeInstance(body["instance"], body["reference"], canonical_json(body["instance"]))


def _prompt_of(problem: Problem) -> tuple[Message, ...]:
    return domain(NAME).ask("solution", problem, 0, {}).messages
