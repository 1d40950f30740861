"""Drawing solutions and testings of problems from a teacher: ask, parse, check, and count what cannot be used.

A reply that cannot be used is asked for again under another sample index, a bounded number of times, and every attempt
is accounted for with its reason. Slots are independent of each other, so results never depend on concurrency. It makes
no new problems (`synthesis.problems`) and executes nothing. Du 2025, section 3.2 and appendix A.1.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypeVar

from evosyn.agents.episodes import EpisodeActor
from evosyn.chat import SAMPLE_STRIDE, Reply, Request, roomier
from evosyn.configs.sampling import SamplingConfig
from evosyn.dataset import Reject
from evosyn.domains.python.reading import LOST
from evosyn.errors import UsageError
from evosyn.jobs import Limits
from evosyn.ports import Domain, Teacher
from evosyn.records import Json, Pool, Problem, Provenance, Solution, Testing
from evosyn.running.progress import ReplyCounts
from evosyn.synthesis.examples import NO_EXAMPLE, Example, example_for
from evosyn.synthesis.likelihood import solution_details, testing_detail
from evosyn.synthesis.usable import Kind, named_reason, read_reply, unstorable

T = TypeVar("T")
R = TypeVar("R", Solution, Testing)

Ask: TypeAlias = Callable[[Kind, int, int, Request], Awaitable[Reply]]
"""Answers (kind, slot, attempt, request): straight from a teacher, or from a journal first."""


@dataclass(frozen=True)
class Attempt:
    """One request of one slot and what became of it: `reason` is empty where the reply could be used, and `detail` then
    says what of it is lost."""

    kind: Kind
    slot: int
    attempt: int
    reply: Reply
    reason: str = ""
    detail: str = ""


@dataclass(frozen=True)
class Drawn:
    """What was drawn for one problem.

    Attributes:
        pool: the usable solutions and testings, in the order of their slots.
        attempts: every request made, in the order (kind, slot, attempt).
    """

    pool: Pool
    attempts: tuple[Attempt, ...]

    @property
    def rejected(self) -> tuple[Attempt, ...]:
        return tuple(attempt for attempt in self.attempts if attempt.reason)

    def rejects(self, index: int) -> tuple[Reject, ...]:
        """As `rejects_of`."""
        return rejects_of(self.attempts, index, self.pool.problem)


@dataclass(frozen=True)
class Slot:
    """The end of one slot: a solution or a testing, or none after all attempts."""

    value: Solution | Testing | None
    attempts: tuple[Attempt, ...]

    def count(self, counts: ReplyCounts) -> None:
        """Tell the counts of it."""
        counts.end_slot([one.reply for one in self.attempts], sum(bool(one.reason) for one in self.attempts))


def rejects_of(attempts: Iterable[Attempt], index: int, problem: Problem) -> tuple[Reject, ...]:
    """A row for each reply that could not be used, or of which cases are lost; the problem is number `index` of its
    run."""
    name = problem.problem_id
    return tuple(
        Reject(
            one.kind, one.reason or LOST, "reply" if one.reason else "case", index, name, (), one.reply.id, one.detail
        )
        for one in attempts
        if one.reason or one.detail
    )


def draw_pools(
    problems: Sequence[Problem],
    teacher: Teacher,
    domains: Mapping[str, Domain],
    *,
    solutions: int,
    testings: int,
    config: SamplingConfig | None = None,
    on_done: Callable[[int, Drawn], None] | None = None,
) -> list[Pool]:
    """Draw a pool for each problem; blocks, running its own event loop.

    Args:
        problems: whatever their human testings; of those at most the case that is shown reaches the teacher.
        teacher: owned and closed by the caller.
        domains: for each domain name in `problems` its domain.
        solutions, testings: how many to ask for; a pool holds fewer where replies stay unusable.
        on_done: called with the index and everything drawn, in any order, as soon as a problem is complete.

    Returns:
        One pool per problem, in order.

    Raises:
        UsageError: a problem of a domain that is not in `domains`.
        BudgetSpent, TeacherUnavailable: from the teacher.
    """
    want = Want(solutions, testings, teacher.simulated)
    return asyncio.run(drawn_pools(problems, teacher, domains, want, config or SamplingConfig(), on_done))


async def drawn_pools(
    problems: Sequence[Problem],
    teacher: Teacher,
    domains: Mapping[str, Domain],
    want: Want,
    config: SamplingConfig,
    on_done: Callable[[int, Drawn], None] | None = None,
    others: Sequence[Problem] = (),
) -> list[Pool]:
    """The same inside an event loop, in which the teacher can be closed.

    Args:
        others: that testings may be shown of beside these problems'.
    """
    for problem in problems:
        if problem.domain not in domains:
            raise UsageError(f"problem {problem.problem_id!r}: unknown domain {problem.domain!r}")
    gate = asyncio.Semaphore(config.concurrency)

    async def ask(kind: Kind, slot: int, attempt: int, request: Request) -> Reply:  # noqa: ARG001
        reply = await teacher.complete(request)
        want.counts.reply(reply)
        return reply

    want.counts.expect(len(problems) * (want.solutions + want.testings))

    async def one(index: int, problem: Problem) -> Pool:
        async with gate:
            domain = domains[problem.domain]
            example = example_for(problem, domain, others or problems, config)
            drawn = await draw_pool(problem, domain, ask, replace(want, example=example), config)
        if on_done is not None:
            on_done(index, drawn)
        return drawn.pool

    return await all_or_first_error([one(index, problem) for index, problem in enumerate(problems)])


@dataclass(frozen=True)
class Want:
    """What is drawn of one problem.

    Attributes:
        solutions, testings: how many of each.
        simulated: whether the teacher only stands in for a model (it goes into the provenance).
        first_solution, first_testing: the slots that are drawn first, so that a pool can grow.
        example: what requests for testings show.
        limits: that solutions and testings will run under.
        actors: who solves the problems of a domain, by its name; one reply is a solution where there is none.
        counts: told of slots as they end, and by `drawn_pools` of replies as they come.
    """

    solutions: int
    testings: int
    simulated: bool = False
    first_solution: int = 0
    first_testing: int = 0
    example: Example = NO_EXAMPLE
    limits: Limits = field(default_factory=Limits)
    actors: Mapping[str, EpisodeActor] = field(default_factory=dict)
    counts: ReplyCounts = field(default_factory=ReplyCounts)


async def draw_pool(problem: Problem, domain: Domain, ask: Ask, want: Want, config: SamplingConfig) -> Drawn:
    """Draw the slots of one problem concurrently."""
    kinds: list[tuple[Kind, int]] = [
        *(("solution", want.first_solution + slot) for slot in range(want.solutions)),
        *(("testing", want.first_testing + slot) for slot in range(want.testings)),
    ]

    async def counted(kind: Kind, slot: int) -> Slot:
        found = await _draw_slot(problem, domain, ask, kind, slot, want, config)
        found.count(want.counts)
        return found

    slots = await all_or_first_error([counted(kind, slot) for kind, slot in kinds])
    values = [slot.value for slot in slots]
    solved = [(slot.attempts[-1].reply, slot.value) for slot in slots if isinstance(slot.value, Solution)]
    acted = problem.domain in want.actors  # then a solution is more than its last reply
    told = solution_details([(reply, "" if acted else solution.text) for reply, solution in solved])
    pool = Pool(
        problem=want.example.unseen(problem),
        solutions=tuple(with_detail(solution, more) for (_, solution), more in zip(solved, told, strict=True)),
        testings=tuple(value for value in values if isinstance(value, Testing)),
    )
    return Drawn(pool, tuple(attempt for slot in slots for attempt in slot.attempts))


def with_detail(made: R, more: Mapping[str, Json]) -> R:
    """A solution or testing whose provenance says more."""
    provenance = made.provenance
    return replace(made, provenance=replace(provenance, detail={**provenance.detail, **more})) if more else made


async def _draw_slot(
    problem: Problem, domain: Domain, ask: Ask, kind: Kind, slot: int, want: Want, config: SamplingConfig
) -> Slot:
    if kind == "solution" and problem.domain in want.actors:
        return await _draw_episode(problem, domain, ask, slot, want, config)
    requests = (
        _request(problem, domain, kind, slot, slot + number * SAMPLE_STRIDE, want, config)
        for number in range(config.attempts)
    )
    drawn = await attempted(problem, domain, ask, kind, slot, requests, want.example)
    if drawn.value is None:
        return drawn
    last = drawn.attempts[-1]
    provenance = Provenance(
        source=last.reply.model,
        simulated=want.simulated,
        call=last.reply.id,
        parents=(problem.id,),
        detail={
            "slot": slot,
            "attempt": last.attempt,
            **({"example": want.example.name, "form": config.testing.form} if kind == "testing" else {}),
        },
    )
    made = replace(drawn.value, provenance=provenance)
    if isinstance(made, Testing):
        made = with_detail(made, testing_detail(last.reply, domain.calls(problem, made)))
    return replace(drawn, value=made)


async def attempted(
    problem: Problem,
    domain: Domain,
    ask: Ask,
    kind: Kind,
    slot: int,
    requests: Iterable[Request],
    example: Example = NO_EXAMPLE,
) -> Slot:
    """Make one request after the other until a reply can be used; after one that was cut the next has more room."""
    attempts: list[Attempt] = []
    for number, request in enumerate(requests):
        wider = roomier(request, attempts[-1].reply) if attempts else request
        reply = await ask(kind, slot, number, wider)
        read = read_reply(problem, domain, kind, reply, example)
        attempts.append(Attempt(kind, slot, number, reply, read.reason, read.detail))
        if read.value is not None:
            return Slot(read.value, tuple(attempts))
    return Slot(None, tuple(attempts))


async def _draw_episode(
    problem: Problem, domain: Domain, ask: Ask, slot: int, want: Want, config: SamplingConfig
) -> Slot:
    """A slot that an agent fills; its attempts are the replies of all of its turns."""
    attempts: list[Attempt] = []
    for number in range(config.attempts):
        request = _request(problem, domain, "solution", slot, slot + number * SAMPLE_STRIDE, want, config)
        turns = itertools.count(number * SAMPLE_STRIDE)

        async def turn(_: int, asked: Request, turns: Iterator[int] = turns) -> Reply:
            return await ask("solution", slot, next(turns), asked)

        run = await want.actors[problem.domain].solve(problem, request, turn)
        text = "" if run.trajectory is None else run.trajectory.text
        reason = f"reply-{run.lost}" if run.lost else unstorable(text)
        places = itertools.count(number * SAMPLE_STRIDE)
        attempts += [Attempt("solution", slot, next(places), reply, *named_reason(reason, "")) for reply in run.replies]
        if reason:
            continue
        made = Provenance(
            source=run.replies[-1].model,
            simulated=want.simulated,
            call=run.replies[-1].id,
            parents=(problem.id,),
            detail={"slot": slot, "attempt": number, **({"replay": "drift"} if run.drifted else {})},
        )
        return Slot(Solution(text, made), tuple(attempts))
    return Slot(None, tuple(attempts))


def _request(
    problem: Problem, domain: Domain, kind: Kind, slot: int, sample: int, want: Want, config: SamplingConfig
) -> Request:
    conditions = domain.conditions(kind, want.limits)
    limits = f"## Limits\n{conditions}" if conditions else ""
    if kind == "solution":
        return domain.ask(kind, problem, sample, _params(config, slot), (), config.manner).followed_by(limits)
    request = domain.ask(kind, problem, sample, config.testing.params, want.example.problems, config.manner)
    if config.manner.brief:  # short tests are none that limits or views would change
        return request
    views = domain.views() if config.prompt_hints else ()
    view = f"## What these tests are for\n{views[slot % len(views)]}" if views else ""
    bare = (
        domain.ask(kind, problem, sample, config.testing.params, (), config.manner)
        if want.example.problems
        else request
    )
    optional = (added(request.messages[-1].content, bare.messages[-1].content), view)
    return replace(request.followed_by(limits, view), optional=tuple(filter(None, optional)))


def added(longer: str, shorter: str) -> str:
    """The piece of a text that another one, alike before and behind it, does not have."""
    before = _alike(longer, shorter)
    behind = _alike(reversed(longer[before:]), reversed(shorter[before:]))
    return longer[before : len(longer) - behind]


def _alike(one: Iterable[str], other: Iterable[str]) -> int:
    """Letters that two texts have in common at their begin."""
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _params(config: SamplingConfig, slot: int) -> dict[str, Json]:
    if not config.temperatures:
        return config.solution
    return {**config.solution, "temperature": config.temperatures[slot % len(config.temperatures)]}


async def all_or_first_error(work: Sequence[Awaitable[T]]) -> list[T]:
    """Gather; when one fails, cancel the others and wait for them before raising."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
