"""How a model is best asked: a few replies of each kind in each form and style, read, judged and set side by side.

Replies are drawn, read and executed by the parts that a run uses. A difference that chance may make decides nothing.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, NamedTuple

from evosyn.chat import WAS_CUT, Form
from evosyn.configs.sampling import SamplingConfig, TestingSampling
from evosyn.crossexec.judge import Cell
from evosyn.ports import Teacher
from evosyn.records import Json, Problem, Solution, Verdict
from evosyn.running.ledger import NEVER_CAME
from evosyn.synthesis.estimate import Phase, SamplingTeacher, figures
from evosyn.synthesis.generate import Drawn, Want, drawn_pools
from evosyn.workbench import Workbench

REPLIES = 4
"""Of each kind, form and style, for each problem."""
STYLES: tuple[Literal["full", "brief"], ...] = ("full", "brief")
FORMS: tuple[Form, ...] = ("asserts", "json")
CERTAIN = 2.0
"""Standard errors that tell two ways apart."""


class Way(NamedTuple):
    """A kind of request and how it is made; solutions have no form."""

    kind: Literal["solution", "testing"]
    style: Literal["full", "brief"]
    form: Form | None = None

    @property
    def sampling(self) -> SamplingConfig:
        testing = TestingSampling() if self.form is None else TestingSampling(form=self.form)
        return SamplingConfig(testing=testing, style=self.style, attempts=1)


WAYS = (*(Way("solution", style) for style in STYLES),
        *(Way("testing", style, form) for form, style in product(FORMS, STYLES)))  # fmt: skip


@dataclass(frozen=True)
class WayFigures:
    """What came of one way.

    Attributes:
        asked: replies; read: those that came; cut: that lacked room; usable: that hold a solution or a testing.
        right: mean share of a reply that is right (of a testing: of its cases; none of one that is not usable); None
            where nothing is known to judge by.
        tokens: of a reply; tokens_per_s: of one call; None where no call was made.
        reasons: why replies could not be used.
    """

    kind: str
    form: str | None
    style: str
    asked: int
    read: int
    cut: int
    usable: int
    right: float | None
    tokens: float
    tokens_per_s: float | None
    reasons: Mapping[str, int]

    @property
    def score(self) -> float:
        """What ways are compared by: what is right, else what can be used."""
        return self.usable / self.asked if self.right is None else self.right

    @property
    def error(self) -> float:
        """The standard error of the score, as if it counted replies; never 0, however alike the few are."""
        share = (self.score * self.asked + 1) / (self.asked + 2)
        return math.sqrt(share * (1 - share) / (self.asked + 2))


@dataclass(frozen=True)
class Choice:
    """The form and the style to ask in; `alike`: those that so few replies do not tell from it."""

    form: str
    style: str
    alike: tuple[tuple[str, str], ...]

    @property
    def settings(self) -> str:
        return f"--set sampling.testing.form={self.form} --set sampling.style={self.style}"


def replies_of(problems: Sequence[Problem]) -> int:
    """How many replies a trial asks for."""
    return len(WAYS) * len(problems) * REPLIES


def try_ways(problems: Sequence[Problem], teacher: SamplingTeacher, workbench: Workbench) -> list[WayFigures]:
    """Ask in each way and judge what comes; the teacher is closed.

    Raises:
        BudgetSpent, TeacherUnavailable, SandboxUnavailable: from its parts.
    """
    drawn = asyncio.run(_drawn(problems, teacher, workbench))
    return [_figures(way, [drawn[way][index] for index in range(len(problems))], workbench) for way in WAYS]


def choose(found: Sequence[WayFigures]) -> Choice:
    """The form and style with most that is right, or the fewest tokens where that is equal."""
    known = {(one.kind, one.form, one.style): one for one in found}
    pairs = {
        (form, style): (known["solution", None, style], known["testing", form, style])
        for form, style in product(FORMS, STYLES)
    }
    scores = {way: sum(one.score for one in pair) / 2 for way, pair in pairs.items()}
    errors = {way: math.hypot(*(one.error for one in pair)) / 2 for way, pair in pairs.items()}
    best = max(scores, key=lambda way: (scores[way], -sum(one.tokens for one in pairs[way])))
    alike = [way for way in pairs if scores[best] - scores[way] <= CERTAIN * math.hypot(errors[best], errors[way])]
    return Choice(*best, tuple(way for way in alike if way != best))


def takes(
    found: Sequence[WayFigures],
    choice: Choice,
    teacher: SamplingTeacher,
    sizes: tuple[int, int, int],
    workbench: Workbench,
) -> dict[str, Json]:
    """The figures of drawing so many problems with so many solutions and testings each, asked for in that way."""
    problems, *each = sizes
    sampled = teacher.sampled(slots=workbench.slots)
    phases: dict[str, Phase] = {}
    for one in found:
        if one.style == choice.style and one.form in (None, choice.form):
            calls = problems * each[one.kind == "testing"]
            prompt = sum(reply.input_tokens for reply in sampled.replies[one.kind]) / len(sampled.replies[one.kind])
            phases[one.kind] = Phase(calls, 2 * calls, calls * prompt, calls * one.tokens, None)
    calls_at_once = workbench.config.teacher.calls
    return figures(phases, sampled, problems=problems, executions=0, concurrency=calls_at_once)


async def _drawn(problems: Sequence[Problem], teacher: Teacher, workbench: Workbench) -> dict[Way, dict[int, Drawn]]:
    found: dict[Way, dict[int, Drawn]] = {way: {} for way in WAYS}
    numbers = {"solution": (REPLIES, 0), "testing": (0, REPLIES)}
    try:
        for way in WAYS:
            want = Want(*numbers[way.kind], teacher.simulated, counts=workbench.replies)
            await drawn_pools(problems, teacher, workbench.domains, want, way.sampling, found[way].__setitem__)
    finally:
        await teacher.aclose()
    return found


def _figures(way: Way, drawn: Sequence[Drawn], workbench: Workbench) -> WayFigures:
    attempts = [one for pool in drawn for one in pool.attempts]
    timed = [one.reply for one in attempts if one.reply.seconds and not one.reply.cached]
    seconds = sum(reply.seconds for reply in timed)
    return WayFigures(
        way.kind,
        way.form,
        way.style,
        len(attempts),
        sum(one.reply.failure not in NEVER_CAME for one in attempts),
        sum(one.reply.failure in WAS_CUT for one in attempts),
        sum(not one.reason for one in attempts),
        _right(way.kind, drawn, len(attempts), workbench),
        sum(one.reply.output_tokens for one in attempts) / max(1, len(attempts)),
        sum(reply.output_tokens for reply in timed) / seconds if seconds else None,
        dict(Counter(one.reason for one in attempts if one.reason)),
    )


def _right(kind: str, drawn: Sequence[Drawn], asked: int, workbench: Workbench) -> float | None:
    """The mean share of a reply that is right; None where a problem has nothing to judge by, or a verdict is open."""
    cells = [cell for pool in drawn for cell in _cells(pool)]
    known = [cell for cell in cells if cell is not None]
    results = workbench.judge.verify(known)
    if len(known) < len(cells) or any(Verdict.UNKNOWN in (one.verdict, *one.cases) for one in results):
        return None
    parts = [one.cases if kind == "testing" and one.cases else (one.verdict,) for one in results]
    return sum(part.count(Verdict.PASS) / len(part) for part in parts) / asked


def _cells(drawn: Drawn) -> list[Cell | None]:
    """What judges each usable reply: the human testing a solution, the reference a testing."""
    pool, problem = drawn.pool, drawn.pool.problem
    human, reference = problem.human_testing, problem.reference_solution
    solved = [None if human is None else Cell(problem, one, human) for one in pool.solutions]
    tested = [None if reference is None else Cell(problem, Solution(reference), one) for one in pool.testings]
    return [*solved, *tested]
