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
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from evosyn.agents.episodes import EpisodeActor
from evosyn.chat import REPEATS, SAMPLE_STRIDE, WAS_CUT, Parsed, Reply, Request, roomier
from evosyn.configs.section import SAMPLED, Sampling
from evosyn.dataset import Reject
from evosyn.domains.replies import before_cut
from evosyn.errors import UsageError
from evosyn.jobs import Limits
from evosyn.ports import Domain, Teacher
from evosyn.records import Json, Pool, Problem, Provenance, Solution, Testing, outside_json
from evosyn.synthesis.adaptive import AdaptiveConfig
from evosyn.synthesis.likelihood import solution_details, testing_detail

T = TypeVar("T")
R = TypeVar("R", Solution, Testing)

Kind: TypeAlias = Literal["solution", "testing", "inputs"]
Ask: TypeAlias = Callable[[Kind, int, int, Request], Awaitable[Reply]]
"""Answers (kind, slot, attempt, request): straight from a teacher, or from a journal first."""


class DrawConfig(BaseModel):
    """How solutions and testings are drawn.

    Attributes:
        solution, testing: sampling parameters given to the teacher with each request; after a reply that was cut
            the next attempt has more room.
        inputs: the same for large inputs.
        examples: other problems whose human testings are shown with each request for a testing (Du 2025, figure 6).
        views: ask each testing of a problem to look at something else (`Domain.views`).
        temperatures: of the solutions, slot by slot in turn, in place of that in `solution`; empty for one for all.
        attempts: how often one slot is asked before it stays empty.
        in_flight: problems drawn at once by `draw_pools`.
        adaptive: draw in rounds and stop early; None draws all at once. Only `evosyn synthesize` knows rounds.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    solution: Sampling = Field(default_factory=lambda: dict(SAMPLED))
    testing: Sampling = Field(default_factory=lambda: dict(SAMPLED))
    inputs: Sampling = Field(default_factory=lambda: dict(SAMPLED))
    examples: int = Field(default=2, ge=0, le=10)
    views: bool = True
    temperatures: tuple[float, ...] = ()
    attempts: int = Field(default=2, ge=1, le=10)
    in_flight: int = Field(default=16, ge=1)
    adaptive: AdaptiveConfig | None = None


@dataclass(frozen=True)
class Attempt:
    """One request of one slot and what became of it: `reason` is empty where the reply could be used."""

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
        """A row for each reply that could not be used; the problem is number `index` of its run."""
        return rejects_of(self.attempts, index, self.pool.problem)


@dataclass(frozen=True)
class Slot:
    """The end of one slot: a solution or a testing, or none after all attempts."""

    value: Solution | Testing | None
    attempts: tuple[Attempt, ...]


def rejects_of(attempts: Iterable[Attempt], index: int, problem: Problem) -> tuple[Reject, ...]:
    """A row for each reply that could not be used; the problem is number `index` of its run."""
    name = problem.problem_id
    return tuple(
        Reject(one.kind, one.reason, "reply", index, name, (), one.reply.id, one.detail)
        for one in attempts
        if one.reason
    )


def draw_pools(
    problems: Sequence[Problem],
    teacher: Teacher,
    domains: Mapping[str, Domain],
    *,
    solutions: int,
    testings: int,
    config: DrawConfig | None = None,
    on_done: Callable[[int, Drawn], None] | None = None,
) -> list[Pool]:
    """Draw a pool for each problem; blocks, running its own event loop.

    Args:
        problems: whatever their human testings; those never reach the teacher.
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
    return asyncio.run(drawn_pools(problems, teacher, domains, want, config or DrawConfig(), on_done))


async def drawn_pools(
    problems: Sequence[Problem],
    teacher: Teacher,
    domains: Mapping[str, Domain],
    want: Want,
    config: DrawConfig,
    on_done: Callable[[int, Drawn], None] | None = None,
) -> list[Pool]:
    """The same inside an event loop, in which the teacher can be closed."""
    for problem in problems:
        if problem.domain not in domains:
            raise UsageError(f"problem {problem.problem_id!r}: unknown domain {problem.domain!r}")
    gate = asyncio.Semaphore(config.in_flight)

    async def ask(kind: Kind, slot: int, attempt: int, request: Request) -> Reply:  # noqa: ARG001
        return await teacher.complete(request)

    async def one(index: int, problem: Problem) -> Pool:
        async with gate:
            drawn = await draw_pool(
                problem, domains[problem.domain], ask, wanted(index, problems, want, config), config
            )
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
        examples: other problems, with good testings.
        limits: that solutions and testings will run under.
        actors: who solves the problems of a domain, by its name; one reply is a solution where there is none.
    """

    solutions: int
    testings: int
    simulated: bool = False
    first_solution: int = 0
    first_testing: int = 0
    examples: tuple[Problem, ...] = ()
    limits: Limits = field(default_factory=Limits)
    actors: Mapping[str, EpisodeActor] = field(default_factory=dict)


def examples_for(problem: Problem, others: Iterable[Problem], count: int) -> tuple[Problem, ...]:
    """The first `count` of the others whose human testing may be shown with a request about this problem."""
    fitting = (
        other
        for other in others
        if other.domain == problem.domain and other.human_testing is not None and other.id != problem.id
    )
    return tuple(itertools.islice(fitting, count))


def wanted(index: int, problems: Sequence[Problem], want: Want, config: DrawConfig) -> Want:
    """What is drawn of one of several problems: the others that come next are its examples."""
    others = (*problems[index + 1 :], *problems[:index])
    return replace(want, examples=examples_for(problems[index], others, config.examples))


async def draw_pool(problem: Problem, domain: Domain, ask: Ask, want: Want, config: DrawConfig) -> Drawn:
    """Draw the slots of one problem concurrently."""
    kinds: list[tuple[Kind, int]] = [
        *(("solution", want.first_solution + slot) for slot in range(want.solutions)),
        *(("testing", want.first_testing + slot) for slot in range(want.testings)),
    ]
    slots = await all_or_first_error(
        [_draw_slot(problem, domain, ask, kind, slot, want, config) for kind, slot in kinds]
    )
    values = [slot.value for slot in slots]
    solved = [(slot.attempts[-1].reply, slot.value) for slot in slots if isinstance(slot.value, Solution)]
    acted = problem.domain in want.actors  # then a solution is more than its last reply
    told = solution_details([(reply, "" if acted else solution.text) for reply, solution in solved])
    pool = Pool(
        problem=problem,
        solutions=tuple(with_detail(solution, more) for (_, solution), more in zip(solved, told, strict=True)),
        testings=tuple(value for value in values if isinstance(value, Testing)),
    )
    return Drawn(pool, tuple(attempt for slot in slots for attempt in slot.attempts))


def with_detail(made: R, more: Mapping[str, Json]) -> R:
    """A solution or testing whose provenance says more."""
    provenance = made.provenance
    return replace(made, provenance=replace(provenance, detail={**provenance.detail, **more})) if more else made


async def _draw_slot(
    problem: Problem, domain: Domain, ask: Ask, kind: Kind, slot: int, want: Want, config: DrawConfig
) -> Slot:
    if kind == "solution" and problem.domain in want.actors:
        return await _draw_episode(problem, domain, ask, slot, want, config)
    requests = (
        _request(problem, domain, kind, slot, slot + number * SAMPLE_STRIDE, want, config)
        for number in range(config.attempts)
    )
    drawn = await attempted(problem, domain, ask, kind, slot, requests)
    if drawn.value is None:
        return drawn
    last = drawn.attempts[-1]
    provenance = Provenance(
        source=last.reply.model,
        simulated=want.simulated,
        call=last.reply.id,
        parents=(problem.id,),
        detail={"slot": slot, "attempt": last.attempt},
    )
    made = replace(drawn.value, provenance=provenance)
    if isinstance(made, Testing):
        made = with_detail(made, testing_detail(last.reply, domain.calls(problem, made)))
    return replace(drawn, value=made)


async def attempted(
    problem: Problem, domain: Domain, ask: Ask, kind: Kind, slot: int, requests: Iterable[Request]
) -> Slot:
    """Make one request after the other until a reply can be used; after one that was cut the next has more room."""
    attempts: list[Attempt] = []
    for number, request in enumerate(requests):
        wider = roomier(request, attempts[-1].reply) if attempts else request
        reply = await ask(kind, slot, number, wider)
        read = read_reply(problem, domain, kind, reply)
        attempts.append(Attempt(kind, slot, number, reply, read.reason, read.detail))
        if read.value is not None:
            return Slot(read.value, tuple(attempts))
    return Slot(None, tuple(attempts))


async def _draw_episode(problem: Problem, domain: Domain, ask: Ask, slot: int, want: Want, config: DrawConfig) -> Slot:
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
    problem: Problem, domain: Domain, kind: Kind, slot: int, sample: int, want: Want, config: DrawConfig
) -> Request:
    conditions = domain.conditions(kind, want.limits)
    limits = f"## Limits\n{conditions}" if conditions else ""
    if kind == "solution":
        return domain.ask(kind, problem, sample, _params(config, slot)).followed_by(limits)
    request = domain.ask(kind, problem, sample, config.testing, want.examples)
    views = domain.views() if config.views else ()
    view = f"## What these tests are for\n{views[slot % len(views)]}" if views else ""
    bare = domain.ask(kind, problem, sample, config.testing) if want.examples else request
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


def inputs_requests(problem: Problem, domain: Domain, config: DrawConfig, limits: Limits) -> Iterator[Request]:
    """The requests for large inputs of a problem, an attempt each."""
    conditions = domain.conditions("inputs", limits)
    said = f"## Limits\n{conditions}" if conditions else ""
    for number in range(config.attempts):
        yield domain.ask("inputs", problem, number * SAMPLE_STRIDE, config.inputs).followed_by(said)


def _params(config: DrawConfig, slot: int) -> dict[str, Json]:
    if not config.temperatures:
        return config.solution
    return {**config.solution, "temperature": config.temperatures[slot % len(config.temperatures)]}


class ReadReply(NamedTuple):
    """What a reply holds, or why it cannot be used: the name that is counted, and a detail for people."""

    value: Solution | Testing | None
    reason: str = ""
    detail: str = ""


class Reason(NamedTuple):
    """Why a reply cannot be used: a short name that is counted, and a detail for people."""

    name: str
    detail: str


def read_reply(problem: Problem, domain: Domain, kind: Kind, reply: Reply) -> ReadReply:
    """Read and check a reply; never raises for what it holds."""
    lost = None if reply.failure is None else ReadReply(None, f"reply-{reply.failure}", reply.detail)
    whole = before_cut(reply.text) if kind == "testing" and reply.failure in (*WAS_CUT, REPEATS) else ""
    if lost and not whole:
        return lost
    parsed: Parsed[Solution | Testing] = domain.read(kind, whole or reply.text, problem)
    if lost and parsed.value is None:
        return lost
    if parsed.value is None:
        return ReadReply(None, *named_reason(parsed.reason, "unparsable"))
    if isinstance(parsed.value, Testing):
        misfit = domain.check_testing(problem, parsed.value)
        if misfit is not None:
            return ReadReply(None, *named_reason(misfit, "misfit"))
        flaw = unstorable(parsed.value.to_json())
    else:
        flaw = unstorable(parsed.value.text)
    return ReadReply(None, *named_reason(flaw, "unstorable")) if flaw else ReadReply(parsed.value)


def unstorable(value: Json) -> str:
    """Why a value that was read from a reply cannot be written to a file; empty where it can."""
    try:
        outside_json(value).encode("utf-8")
    except UnicodeEncodeError:
        return "not-text: holds a lone surrogate"
    except (ValueError, TypeError) as error:
        return f"not-json: {error}"
    return ""


def named_reason(text: str, fallback: str) -> Reason:
    """Split a parser's reason into the name that is counted and the detail for people: `name: detail`.

    A reason without a short name before its first colon is counted under `fallback`.
    """
    name, colon, rest = text.partition(":")
    if name and len(name) <= 40 and name.replace("-", "").replace("_", "").isalnum():
        return Reason(name, rest.strip() if colon else "")
    return Reason(fallback, text)


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
