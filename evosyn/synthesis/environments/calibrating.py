"""The stage in which a student answers: how often it is right at each level.

One answer to each of `per_level` instances of a level (EvoEnv asks for one response each, ReSyn leaves it open); where
the first few of every level all end alike, the rest is not asked (ours). An answer without an answer block is wrong, as
it is in training; what never came, such as a question that the endpoint refused as too long, and what nobody could
judge are not counted. Verdicts come from the one Judge.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from evosyn.chat import Parsed, Reply, Request
from evosyn.crossexec.judge import Cell, Judge
from evosyn.environments.calibration import Rate
from evosyn.environments.contract import LEVELS
from evosyn.environments.rows import EnvironmentRow, rows_of
from evosyn.environments.runner import EnvironmentRunner
from evosyn.ports import Domain, Teacher
from evosyn.randomness import SeedTree
from evosyn.records import Json, Solution, Verdict
from evosyn.running.batches import Batches, in_thread
from evosyn.running.ledger import NEVER_CAME, Ledger
from evosyn.running.progress import usage_of
from evosyn.synthesis.environments.climbing import AT_ONCE
from evosyn.synthesis.environments.config import StudentConfig
from evosyn.synthesis.environments.draft import Draft
from evosyn.synthesis.generate import all_or_first_error

ANSWER = "answer"
SHOWN, WRONG = 160, 2
"""Characters of a wrong answer that are kept, and how many."""


class GivenAnswers(NamedTuple):
    """What a student's answers came to.

    Attributes:
        passed: of each whether it is right; None where nobody can say.
        wrong: those that are not, with their level; untrusted text.
        judged: how many of them could be read.
    """

    passed: list[bool | None]
    wrong: list[str]
    judged: int


class AnswerSheet:
    """Asks rows of environments as a training does, and judges what a student answers."""

    def __init__(self, judge: Judge, domain: Domain, sampling: Mapping[str, Json]) -> None:
        self._judge, self._domain, self._sampling = judge, domain, sampling

    def request(self, row: EnvironmentRow) -> Request:
        problem = replace(row.problem, reference_solution=row.solution.text)  # no model sees it
        return replace(self._domain.ask("solution", problem, 0, self._sampling), purpose=ANSWER)

    def judged(self, rows: Sequence[EnvironmentRow], replies: Sequence[Reply]) -> GivenAnswers:
        """
        Raises:
            SandboxUnavailable: the sandbox is gone for good.
        """
        read = [self._read(row, reply) for row, reply in zip(rows, replies, strict=True)]
        cells = [
            Cell(row.problem, one.value, row.testing)
            for row, one in zip(rows, read, strict=True)
            if one.value is not None
        ]
        found = iter(self._judge.verify(cells))
        judged = [None if one.value is None else next(found).verdict for one in read]
        passed = [_passed(reply, one) for reply, one in zip(replies, judged, strict=True)]
        wrong = [
            f"level {row.problem.meta['level']}: {json.dumps(one.value.text[:SHOWN])}"
            for row, one, right in zip(rows, read, passed, strict=True)
            if one.value is not None and right is False
        ]
        return GivenAnswers(passed, wrong, len(cells))

    def _read(self, row: EnvironmentRow, reply: Reply) -> Parsed[Solution]:
        if reply.failure is not None:
            return Parsed(None, f"reply-{reply.failure}")
        found: Parsed[Solution] = self._domain.read("solution", reply.text, row.problem)
        return found


class CalibrateDraft:
    """Measures rates; drops only what cannot be measured."""

    name = "calibrate"
    concurrency = None

    def __init__(
        self,
        config: StudentConfig,
        student: Teacher,
        ledger: Ledger[Draft],
        judging: tuple[Judge, Domain],
        instances: tuple[EnvironmentRunner, SeedTree],
    ) -> None:
        self._config, self._student, self._ledger = config, student, ledger
        self._sheet, (self._runner, self._tree) = AnswerSheet(*judging, config.sampling), instances
        self._rows: Batches[Draft, Sequence[EnvironmentRow]] = Batches(
            lambda drafts: list(map(self._made, drafts)), 1, AT_ONCE
        )

    async def run(self, draft: Draft) -> Draft:
        rows = await self._rows(draft)
        if len(rows) < self._config.per_level * LEVELS:
            return draft.drop(self.name, "breaks: an instance of another seed cannot be made")
        first = self._config.first * LEVELS
        draft, passed = await self._answered(draft, rows[:first])
        if len({one for one in passed if one is not None}) > 1:
            draft, rest = await self._answered(draft, rows[first:], first)
            passed += rest
        counts = [[one for one in passed[level::LEVELS] if one is not None] for level in range(LEVELS)]
        if not all(counts):
            return draft.drop(self.name, "unmeasured: no answer of a level could be judged")
        rates = (Rate(level, len(one), sum(one)) for level, one in enumerate(counts, 1))
        return replace(draft, rates=tuple(rates))

    def _made(self, draft: Draft) -> Sequence[EnvironmentRow]:
        count = self._config.per_level * LEVELS
        made = rows_of(draft.environment, self._runner, count, self._tree)
        return [row for row in made if isinstance(row, EnvironmentRow)]

    async def _answered(
        self, draft: Draft, rows: Sequence[EnvironmentRow], start: int = 0
    ) -> tuple[Draft, list[bool | None]]:
        """Whether each answer is right; None where nobody can say."""
        asked = [self._asked(draft, row, number) for number, row in enumerate(rows, start)]
        replies = await all_or_first_error(asked)
        found = await in_thread(partial(self._sheet.judged, rows, replies))
        usage = draft.usage.plus(usage_of(replies))
        usage = replace(usage, cells=usage.cells + found.judged)
        return replace(draft, usage=usage, wrong=(*draft.wrong, *found.wrong)[:WRONG]), found.passed

    async def _asked(self, draft: Draft, row: EnvironmentRow, number: int) -> Reply:
        key = (draft.index, ANSWER, number, 0)
        return await self._ledger.ask(key, self._sheet.request(row), self._student)


def _passed(reply: Reply, verdict: Verdict | None) -> bool | None:
    """An answer that cannot be read is wrong, one that never came or could not be judged is none."""
    if verdict is Verdict.UNKNOWN or reply.failure in NEVER_CAME:
        return None
    return verdict is Verdict.PASS
