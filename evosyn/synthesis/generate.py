"""Drawing solutions and testings of problems from a teacher: ask, parse, check, and count what cannot be used.

A reply that cannot be used is asked for again under another sample index, a bounded number of times, and every attempt
is accounted for with its reason. Slots are independent of each other, so results never depend on concurrency. It makes
no new problems (`synthesis.problems`) and executes nothing. Du 2025, section 3.2 and appendix A.1.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from evosyn.chat import Parsed, Reply, Request
from evosyn.errors import UsageError
from evosyn.ports import Domain, Teacher
from evosyn.records import Json, Pool, Problem, Provenance, Solution, Testing, canonical_json
from evosyn.synthesis.adaptive import AdaptiveConfig

T = TypeVar("T")

SAMPLE_STRIDE = 1000
"""Attempt `a` of slot `s` is sample `s + a * SAMPLE_STRIDE`: a redraw never takes another slot's cached reply."""

Kind: TypeAlias = Literal["solution", "testing"]
Ask: TypeAlias = Callable[[Kind, int, int, Request], Awaitable[Reply]]
"""Answers (kind, slot, attempt, request): straight from a teacher, or from a journal first."""


class DrawConfig(BaseModel):
    """How solutions and testings are drawn.

    Attributes:
        solution, testing: sampling parameters given to the teacher with each request.
        temperatures: of the solutions, slot by slot in turn, in place of that in `solution`; empty for one for all.
        attempts: how often one slot is asked before it stays empty.
        in_flight: problems drawn at once by `draw_pools`.
        adaptive: draw in rounds and stop early; None draws all at once. Only `evosyn synthesize` knows rounds.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    solution: dict[str, Json] = Field(default_factory=lambda: {"temperature": 1.0, "max_tokens": 4096})
    testing: dict[str, Json] = Field(default_factory=lambda: {"temperature": 1.0, "max_tokens": 4096})
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


@dataclass(frozen=True)
class Slot:
    """The end of one slot: a solution or a testing, or none after all attempts."""

    value: Solution | Testing | None
    attempts: tuple[Attempt, ...]


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
    config = config or DrawConfig()
    for problem in problems:
        if problem.domain not in domains:
            raise UsageError(f"problem {problem.problem_id!r}: unknown domain {problem.domain!r}")
    want, gate = Want(solutions, testings, teacher.simulated), asyncio.Semaphore(config.in_flight)

    async def ask(kind: Kind, slot: int, attempt: int, request: Request) -> Reply:  # noqa: ARG001
        return await teacher.complete(request)

    async def one(index: int, problem: Problem) -> Pool:
        async with gate:
            drawn = await draw_pool(problem, domains[problem.domain], ask, want, config)
        if on_done is not None:
            on_done(index, drawn)
        return drawn.pool

    async def every() -> list[Pool]:
        return await all_or_first_error([one(index, problem) for index, problem in enumerate(problems)])

    return asyncio.run(every())


@dataclass(frozen=True)
class Want:
    """How many of each, and whether the teacher is a simulation (it goes into the provenance)."""

    solutions: int
    testings: int
    simulated: bool = False
    first_solution: int = 0
    first_testing: int = 0


async def draw_pool(problem: Problem, domain: Domain, ask: Ask, want: Want, config: DrawConfig) -> Drawn:
    """Draw the slots of one problem concurrently; slots start at `want.first_*`, so that a pool can grow."""
    kinds: list[tuple[Kind, int]] = [
        *(("solution", want.first_solution + slot) for slot in range(want.solutions)),
        *(("testing", want.first_testing + slot) for slot in range(want.testings)),
    ]
    slots = await all_or_first_error(
        [_draw_slot(problem, domain, ask, kind, slot, want.simulated, config) for kind, slot in kinds]
    )
    values = [slot.value for slot in slots]
    pool = Pool(
        problem=problem,
        solutions=tuple(value for value in values if isinstance(value, Solution)),
        testings=tuple(value for value in values if isinstance(value, Testing)),
    )
    return Drawn(pool, tuple(attempt for slot in slots for attempt in slot.attempts))


async def _draw_slot(
    problem: Problem, domain: Domain, ask: Ask, kind: Kind, slot: int, simulated: bool, config: DrawConfig
) -> Slot:
    attempts: list[Attempt] = []
    for number in range(config.attempts):
        sample = slot + number * SAMPLE_STRIDE
        params = _params(config, slot) if kind == "solution" else config.testing
        request = domain.ask(kind, problem, sample, params)
        reply = await ask(kind, slot, number, request)
        read = _read(problem, domain, kind, reply)
        attempts.append(Attempt(kind, slot, number, reply, read.reason, read.detail))
        if read.value is not None:
            provenance = Provenance(
                source=reply.model,
                simulated=simulated,
                call=reply.id,
                parents=(problem.id,),
                detail={"slot": slot, "attempt": number},
            )
            return Slot(replace(read.value, provenance=provenance), tuple(attempts))
    return Slot(None, tuple(attempts))


def _params(config: DrawConfig, slot: int) -> dict[str, Json]:
    if not config.temperatures:
        return config.solution
    return {**config.solution, "temperature": config.temperatures[slot % len(config.temperatures)]}


class _Read(NamedTuple):
    value: Solution | Testing | None
    reason: str = ""
    detail: str = ""


class Reason(NamedTuple):
    """Why a reply cannot be used: a short name that is counted, and a detail for people."""

    name: str
    detail: str


def _read(problem: Problem, domain: Domain, kind: Kind, reply: Reply) -> _Read:
    if reply.failure is not None:
        return _Read(None, f"reply-{reply.failure}")
    parsed: Parsed[Solution | Testing] = domain.read(kind, reply.text, problem)
    if parsed.value is None:
        return _Read(None, *named_reason(parsed.reason, "unparsable"))
    if isinstance(parsed.value, Testing):
        misfit = domain.check_testing(problem, parsed.value)
        if misfit is not None:
            return _Read(None, *named_reason(misfit, "misfit"))
        flaw = unstorable(parsed.value.to_json())
    else:
        flaw = unstorable(parsed.value.text)
    return _Read(None, *named_reason(flaw, "unstorable")) if flaw else _Read(parsed.value)


def unstorable(value: Json) -> str:
    """Why a value that was read from a reply cannot be written to a file; empty where it can."""
    try:
        canonical_json(value).encode("utf-8")
    except UnicodeEncodeError:
        return "not-text: holds a lone surrogate"
    except (ValueError, TypeError, RecursionError) as error:
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
