"""The pools of seed problems, drawn from a teacher: what came, what it took, and why a reply could not be used.

A reply that is missing because the endpoint failed says nothing about its problem. It is asked for again after all
others, and where the endpoint then answers nothing at all, nothing is stored: the same command goes on later.
Du 2025, section 3.1.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from evosyn.agents.episodes import EpisodeActor
from evosyn.chat import SAMPLE_STRIDE
from evosyn.configs.sampling import SamplingConfig
from evosyn.dataset import Reject
from evosyn.errors import TeacherUnavailable
from evosyn.ports import Domain, Teacher
from evosyn.records import Pool, Problem
from evosyn.running.ledger import LOST, TRANSIENT
from evosyn.running.progress import ReplyCounts, Usage, usage_of
from evosyn.synthesis.examples import shown_with
from evosyn.synthesis.generate import Drawn, Want, drawn_pools


class Wanted(NamedTuple):
    """How many solutions and testings are asked for, how, who solves problems in several steps, by domain, and what
    counts the replies."""

    solutions: int
    testings: int
    config: SamplingConfig
    actors: Mapping[str, EpisodeActor] = MappingProxyType({})
    counts: ReplyCounts | None = None


class DrawnSeeds(NamedTuple):
    """Everything that was drawn.

    Attributes:
        pools: one for each problem, in order; as empty as its replies were unusable.
        rejects: a row for each reply that could not be used.
        usage: of all calls, also of those that an earlier process made.
    """

    pools: tuple[Pool, ...]
    rejects: tuple[Reject, ...]
    usage: Usage

    @property
    def unusable(self) -> dict[str, int]:
        """Replies that could not be used, by kind and reason."""
        return self._counted("reply")

    @property
    def read_in_part(self) -> dict[str, int]:
        """Replies of which cases are lost, by kind and reason."""
        return self._counted("case")

    @property
    def examples(self) -> dict[str, int]:
        """Testings by what was shown with the request for them."""
        return dict(sorted(shown_with(testing for pool in self.pools for testing in pool.testings).items()))

    def _counted(self, item: str) -> dict[str, int]:
        replies = [one for one in self.rejects if one.item == item]
        return dict(sorted(Counter(f"{one.stage}: {one.reason}" for one in replies).items()))


def draw_seeds(
    problems: Sequence[Problem],
    teacher: Teacher,
    domains: Mapping[str, Domain],
    wanted: Wanted,
    on_done: Callable[[Pool], None],
) -> DrawnSeeds:
    """Draw a pool for each problem and close the teacher; blocks, running its own event loop.

    Args:
        on_done: called once for each problem, with its pool.

    Raises:
        BudgetSpent: from the teacher.
        TeacherUnavailable: from the teacher, or replies are missing and it answers nothing when it is asked again.
    """
    return asyncio.run(_Drawing(problems, teacher, domains, wanted).run(on_done))


def reasons(rejects: Iterable[Reject]) -> str:
    """Counts by reason, the commonest first: `16 x reply-truncated, 2 x no-code`."""
    return ", ".join(f"{count} x {reason}" for reason, count in Counter(one.reason for one in rejects).most_common())


class _Drawing:
    """One drawing of all pools."""

    def __init__(
        self, problems: Sequence[Problem], teacher: Teacher, domains: Mapping[str, Domain], wanted: Wanted
    ) -> None:
        self._problems, self._teacher, self._domains, self._wanted = problems, teacher, domains, wanted
        self._drawn: dict[int, Drawn] = {}
        self._lacking = {index: lacking for index, one in enumerate(problems) if (lacking := self._lacks(one))}

    def _lacks(self, problem: Problem) -> tuple[str, ...]:
        actor = self._wanted.actors.get(problem.domain)
        return () if actor is None else actor.lacks(problem)

    async def run(self, on_done: Callable[[Pool], None]) -> DrawnSeeds:
        for index in self._lacking:
            self._drawn[index] = Drawn(Pool(self._problems[index], (), ()), ())
            on_done(self._drawn[index].pool)
        everything = [index for index in range(len(self._problems)) if index not in self._lacking]
        try:
            await self._draw(everything, on_done)
            lost = [index for index in everything if _lost(self._drawn[index])]
            if lost:
                await self._draw(lost)  # what was answered comes from the teacher's cache
                await self._see_that_it_answers([index for index in lost if _lost(self._drawn[index])])
        finally:
            await self._teacher.aclose()
        drawn = [self._drawn[index] for index in range(len(self._problems))]
        rejects = [reject for index, one in enumerate(drawn) for reject in one.rejects(index)]
        return DrawnSeeds(
            tuple(one.pool for one in drawn),
            (*map(self._left_out, self._lacking), *rejects),
            usage_of([attempt.reply for one in drawn for attempt in one.attempts]),
        )

    def _left_out(self, index: int) -> Reject:
        """A problem that this machine cannot pose."""
        name = f"lacks-{'-'.join(self._lacking[index])}"
        problem = self._problems[index].problem_id
        return Reject("problem", name, "problem", index, problem, detail="see `evosyn doctor` for what it gives")

    async def _draw(self, indices: Sequence[int], on_done: Callable[[Pool], None] = lambda _: None) -> None:
        def keep(place: int, drawn: Drawn) -> None:
            self._drawn[indices[place]] = drawn
            on_done(drawn.pool)

        solutions, testings, config, actors, counts = self._wanted
        problems = [self._problems[index] for index in indices]
        want = Want(solutions, testings, self._teacher.simulated, actors=actors, counts=counts or ReplyCounts())
        await drawn_pools(problems, self._teacher, self._domains, want, config, keep, self._problems)

    async def _see_that_it_answers(self, lost: Sequence[int]) -> None:
        """Tell problems whose replies never come from an endpoint that is down, by one more question about another.

        Raises:
            TeacherUnavailable: it does not answer that either.
        """
        if not lost:
            return
        problem = next((one for index, one in enumerate(self._problems) if index not in lost), self._problems[0])
        config = self._wanted.config
        fresh = config.attempts * SAMPLE_STRIDE  # a sample that no slot asks for
        asked = self._domains[problem.domain].ask("solution", problem, fresh, config.solution)
        if (await self._teacher.complete(asked)).failure not in TRANSIENT:
            return
        missing = [one for index in lost for one in self._drawn[index].rejects(index) if one.reason in LOST]
        raise TeacherUnavailable(
            f"{self._teacher.name}: replies for {len(lost)} of {len(self._problems)} problems did not come "
            f"({reasons(missing)}), and it answers nothing now. What it has answered is kept, no pool is stored: "
            "repeat the command when the endpoint is up (`evosyn doctor --model` asks it)"
        )


def _lost(drawn: Drawn) -> bool:
    """Whether a slot is empty for want of an answer."""
    filled = {(one.kind, one.slot) for one in drawn.attempts if not one.reason}
    return any(one.reason in LOST and (one.kind, one.slot) not in filled for one in drawn.attempts)
