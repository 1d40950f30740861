"""How a model is best asked: a few replies of each kind in each form and style, read, judged and set side by side.

Replies are drawn, read and executed by the parts that a run uses. What chance may have made is said to be that.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, NamedTuple, TypeAlias

from evosyn.chat import WAS_CUT, Form
from evosyn.configs.sampling import SamplingConfig, TestingSampling
from evosyn.crossexec.judge import Cell
from evosyn.records import Json, Problem, Solution, Verdict
from evosyn.running.ledger import NEVER_CAME
from evosyn.synthesis.estimate import Phase, SamplingTeacher, figures
from evosyn.synthesis.generate import Drawn, Want, all_or_first_error, drawn_pools
from evosyn.workbench import Workbench

REPLIES = 4
"""In each way, for each problem."""
Style: TypeAlias = Literal["full", "brief"]
STYLES: tuple[Style, ...] = ("full", "brief")
FORMS: tuple[Form, ...] = ("asserts", "json")
WAYS: tuple[tuple[Form | None, Style], ...] = tuple(product((None, *FORMS), STYLES))
"""Forms of testings, with styles; solutions have no form."""
CERTAIN = 2.0
"""Standard errors that tell two ways apart."""


@dataclass(frozen=True)
class WayFigures:
    """What came of one way.

    Attributes:
        asked: replies; read: those that came; cut: that lacked room; usable: that hold a solution or a testing.
        right: mean share of a reply that is right (of a testing: of its cases); None where it is not known.
        tokens: of a reply; tokens_per_s: of one call, None where none took any time.
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
    def variance(self) -> float:
        """Of the score, as if it counted replies; never 0, however alike the few are."""
        share = (self.score * self.asked + 1) / (self.asked + 2)
        return share * (1 - share) / (self.asked + 2)


class Choice(NamedTuple):
    """The form and the style to ask in; `alike`: those that so few replies do not tell from it."""

    form: str
    style: str
    alike: tuple[tuple[str, str], ...]


def try_ways(problems: Sequence[Problem], teacher: SamplingTeacher, workbench: Workbench) -> list[WayFigures]:
    """Ask in each way and judge what comes; the teacher is closed.

    Raises:
        BudgetSpent, TeacherUnavailable, SandboxUnavailable: from its parts.
    """
    drawn = asyncio.run(_drawn(problems, teacher, workbench))
    return [_figures(*way, pools, workbench) for way, pools in zip(WAYS, drawn, strict=True)]


def choose(found: Sequence[WayFigures]) -> Choice:
    """The form and style with most that is right, or the fewest tokens where that is equal."""
    known = {(one.form, one.style): one for one in found}
    pairs = {way: (known[None, way[1]], known[way]) for way in product(FORMS, STYLES)}
    scores = {way: sum(one.score for one in pair) for way, pair in pairs.items()}
    spread = {way: sum(one.variance for one in pair) for way, pair in pairs.items()}
    best = max(scores, key=lambda way: (scores[way], -sum(one.tokens for one in pairs[way])))
    alike = [way for way in pairs if scores[best] - scores[way] <= CERTAIN * math.sqrt(spread[best] + spread[way])]
    return Choice(*best, tuple(way for way in alike if way != best))


def takes(
    ways: Sequence[WayFigures], teacher: SamplingTeacher, sizes: tuple[int, int, int], workbench: Workbench
) -> dict[str, Json]:
    """The figures of drawing so many problems with so many solutions and testings each, asked for in these ways."""
    sampled, phases = teacher.sampled(slots=workbench.slots), dict[str, Phase]()
    for one, each in zip(ways, sizes[1:], strict=True):
        calls, replies = sizes[0] * each, sampled.replies[one.kind]
        prompt = sum(reply.input_tokens for reply in replies) / len(replies)
        written = calls * one.tokens
        phases[one.kind] = Phase(calls, calls, calls * prompt, written, sampled.dollars(calls * prompt, written))
    most = workbench.config.teacher.calls
    return figures(phases, sampled, problems=sizes[0], executions=0, concurrency=most)


async def _drawn(problems: Sequence[Problem], teacher: SamplingTeacher, workbench: Workbench) -> list[list[Drawn]]:
    """For each way what was drawn for each problem; the ways are asked side by side."""

    async def one(form: Form | None, style: Style) -> list[Drawn]:
        config = SamplingConfig(testing=TestingSampling(form=form or FORMS[0]), style=style, attempts=1)
        numbers = (0, REPLIES) if form else (REPLIES, 0)
        want, drawn = Want(*numbers, teacher.simulated, counts=workbench.replies), dict[int, Drawn]()
        await drawn_pools(problems, teacher, workbench.domains, want, config, drawn.__setitem__)
        return [drawn[index] for index in range(len(problems))]

    try:
        return await all_or_first_error([one(*way) for way in WAYS])
    finally:
        await teacher.aclose()


def _figures(form: str | None, style: str, drawn: Sequence[Drawn], workbench: Workbench) -> WayFigures:
    attempts = [one for pool in drawn for one in pool.attempts]
    replies = [one.reply for one in attempts]
    timed = [reply for reply in replies if reply.seconds and not reply.cached]
    seconds = sum(reply.seconds for reply in timed)
    return WayFigures(
        kind="testing" if form else "solution",
        form=form,
        style=style,
        asked=len(replies),
        read=sum(reply.failure not in NEVER_CAME for reply in replies),
        cut=sum(reply.failure in WAS_CUT for reply in replies),
        usable=sum(not one.reason for one in attempts),
        right=_right(drawn, len(replies), workbench),
        tokens=sum(reply.output_tokens for reply in replies) / len(replies),
        tokens_per_s=sum(reply.output_tokens for reply in timed) / seconds if seconds else None,
        reasons=dict(Counter(one.reason for one in attempts if one.reason)),
    )


def _right(drawn: Sequence[Drawn], asked: int, workbench: Workbench) -> float | None:
    """The mean share of a reply that is right: a solution by the human testing, cases of a testing by the reference;
    None where a problem has none of these, or a verdict is open."""
    cells: list[Cell] = []
    for pool in (one.pool for one in drawn):
        human, reference = pool.problem.human_testing, pool.problem.reference_solution
        if (pool.solutions and human is None) or (pool.testings and reference is None):
            return None
        cells += [Cell(pool.problem, one, human) for one in pool.solutions if human is not None]
        cells += [Cell(pool.problem, Solution(reference or ""), one) for one in pool.testings]
    parts = [
        (one.verdict,) if cell.testing is cell.problem.human_testing else one.cases or (one.verdict,)
        for cell, one in zip(cells, workbench.judge.verify(cells), strict=True)
    ]
    return (
        None if Verdict.UNKNOWN in sum(parts, ()) else sum(one.count(Verdict.PASS) / len(one) for one in parts) / asked
    )
