"""Runs the four functions of an environment in a sandbox, each in a process of its own.

`generate` hands its instances over as JSON; `observe` and `solve` get nothing else, so that no reference can leak
through them, and `verify` never shares a process with them. Values are judged here, outside. DESIGN.md section 5,
"Sandbox"; docs/environments.md.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from evosyn.environments.contract import Environment
from evosyn.errors import SandboxUnavailable
from evosyn.jobs import Call, CallsJob, ItemOutcome, Limits, Status
from evosyn.pools import UNTOLD
from evosyn.ports import Sandbox
from evosyn.randomness import SeedTree
from evosyn.records import Json, outside_json

LIMITS = Limits(cpu_s=2.0, budget_s=20.0, memory_mb=256, output_kb=256)
PROMPT = range(20, 8001)
"""Characters of a question."""
MAX_ANSWER, MAX_INSTANCE = 2000, 64_000
"""Characters of an answer; of instance and reference as JSON."""
A_CALL = 0.02
"""Seconds that a call may take on average, beside two that take their whole time."""
JOB_CHARACTERS = 4_000_000
"""Of the arguments that one job carries."""
_MAKE = """

import random as _random


def _make(seed, knobs):
    return generate(_random.Random(seed), knobs)
"""

_LATER = """
import datetime as _datetime, time as _time


def _periods(at):
    year, month, day, hour, minute, _, weekday, *_ = _time.localtime(at)
    dates = year % 2, year % 3, year % 5, month % 2, month > 6, day % 2, day > 15, weekday % 2, weekday > 4
    return *dates, hour % 2, hour > 11, minute % 2, minute > 29


def _shifted(name, later):
    now = getattr(_time, name)
    setattr(_time, name, lambda: now() + later)


_here, _now = _periods(None), int(_time.time())
_later = next(at for at in range(99_999_991, 10**10, 12_660) if not any(map(int.__eq__, _here, _periods(_now + at))))
_shifted("time", _later)
_shifted("time_ns", _later * 10**9)
for _name in ("gmtime", "localtime", "ctime"):
    setattr(_time, _name, lambda at=None, _asked=getattr(_time, _name): _asked(_time.time() if at is None else at))
_time.strftime = lambda form, at=None, _asked=_time.strftime: _asked(form, _time.localtime() if at is None else at)
_time.asctime = lambda at=None, _asked=_time.asctime: _asked(_time.localtime() if at is None else at)


class _Kind(type):
    def __instancecheck__(cls, one):
        return isinstance(one, cls.__mro__[1])


class datetime(_datetime.datetime, metaclass=_Kind):
    now = classmethod(lambda cls, tz=None: cls.fromtimestamp(_time.time(), tz))
    utcnow = classmethod(lambda cls: cls.utcfromtimestamp(_time.time()))
    __repr__ = lambda self: "datetime." + super().__repr__()


datetime.__module__, _datetime.datetime = "datetime", datetime
del datetime
exec(compile({source!r}, "<environment>", "exec"), globals())
"""
"""Runs a program years later, where no common period is the same: another year modulo 2 to 5, the other half of year
and month, a weekend for a day of work, a morning for an afternoon. What reads the clock gives something else."""


@dataclass(frozen=True)
class MadeInstance:
    """One instance; `text` is its canonical JSON."""

    instance: Json
    reference: Json
    text: str


@dataclass(frozen=True)
class BrokenCall:
    """Why a call gave nothing that counts, as `name: detail`."""

    reason: str


class Worth(NamedTuple):
    """What a verifier says of an answer: from 0 to 1, where 1 is solved; `raised` is its exception, which counts as 0
    (ReSyn, footnote 1)."""

    value: float
    raised: str = ""


Answered: TypeAlias = str | BrokenCall
Verified: TypeAlias = Worth | BrokenCall


def instance_seed(tree: SeedTree, environment: Environment, level: int, index: int) -> int:
    """The seed of one instance: neighbours share nothing."""
    return tree.child("environment", environment.id, level, index).integer()


class EnvironmentRunner:
    """Calls environments; keeps nothing but its collaborators.

    Every method gives one value for each item, in order, and raises SandboxUnavailable where the sandbox fails twice.
    With `later` programs run under another date, so that what hangs on the clock is found out.
    """

    def __init__(self, sandbox: Sandbox, *, later: bool = False) -> None:
        self._sandbox, self._later = sandbox, later

    def generate(self, environment: Environment, cells: Sequence[tuple[int, int]]) -> list[MadeInstance | BrokenCall]:
        """Instances of (level, seed)."""
        calls = [Call((seed, environment.knobs_at(level))) for level, seed in cells]
        return [_made(one) for one in self._run(environment.source, "_make", calls, _MAKE)]

    def observe(self, environment: Environment, instances: Sequence[Json]) -> list[Answered]:
        """The questions."""
        return [
            one
            if isinstance(one, BrokenCall) or len(one) in PROMPT
            else BrokenCall(f"prompt-size: {len(one)} characters")
            for one in self._texts(environment, "observe", instances)
        ]

    def solve(self, environment: Environment, instances: Sequence[Json]) -> list[Answered]:
        """Right answers, as the environment's own solver finds them."""
        return [
            one
            if isinstance(one, BrokenCall) or len(one) <= MAX_ANSWER
            else BrokenCall(f"answer-not-text: {len(one)} characters; at most {MAX_ANSWER}")
            for one in self._texts(environment, "solve", instances)
        ]

    def verify(self, environment: Environment, items: Sequence[tuple[MadeInstance, str]]) -> list[Verified]:
        """What answers are worth."""
        calls = [Call((made.instance, made.reference, answer)) for made, answer in items]
        return [verified(one) for one in self._run(environment.source, "verify", calls)]

    def _texts(self, environment: Environment, name: str, instances: Sequence[Json]) -> list[Answered]:
        outcomes = self._run(environment.source, name, [Call((instance,)) for instance in instances])
        return [_text(name, one) for one in outcomes]

    def _run(self, source: str, entry: str, calls: Sequence[Call], more: str = "") -> list[ItemOutcome]:
        program = (_LATER.replace("{source!r}", repr(source)) if self._later else source) + more
        jobs = [CallsJob(program, entry, tuple(some), _limited(len(some))) for some in _parts(calls)]
        return list(itertools.chain.from_iterable(run_twice(self._sandbox, jobs, "an environment")))


def run_twice(sandbox: Sandbox, jobs: Sequence[CallsJob], what: str) -> list[tuple[ItemOutcome, ...]]:
    """The outcomes of jobs, each of which is run once more where our own side failed it.

    Args:
        what: is run, for the message.

    Raises:
        SandboxUnavailable: it failed again: nothing is known of what was to be run.
    """
    found = sandbox.run(jobs)
    for place in [at for at, outcomes in enumerate(found) if _failed(outcomes)]:
        (found[place],) = sandbox.run([jobs[place]])
        if _failed(found[place]):
            detail = next(one.detail for one in found[place] if one.status is Status.INFRASTRUCTURE)
            raise SandboxUnavailable(f"{what} could not be run: {detail[:200]}")
    return found


def _limited(calls: int) -> Limits:
    """What hangs is found out after two calls; a sound program needs little for many."""
    return replace(LIMITS, budget_s=min(LIMITS.budget_s, 2 * LIMITS.cpu_s + calls * A_CALL))


def verified(outcome: ItemOutcome) -> Verified:
    """What a verifier's outcome is worth."""
    if outcome.status is Status.EXCEPTION:
        return Worth(0.0, outcome.detail[:200])
    if outcome.status is not Status.OK:
        return _broken("verify", outcome)
    value = outcome.value
    if type(value) not in (bool, int, float) or not 0 <= value <= 1:
        return BrokenCall(f"verify-value: gives {_shown(value)}; a bool, or a number from 0 to 1")
    return Worth(float(value))


def _shown(value: Json) -> str:
    """The beginning of what a program gave; Python writes no integers of more than 4300 digits."""
    try:
        return repr(str(value)[:40])
    except ValueError:
        return f"{type(value).__name__} with too large an integer"


def right_answers(
    environment: Environment, runner: EnvironmentRunner, instances: Sequence[MadeInstance]
) -> list[Answered]:
    """For each instance an answer that should be right: the solver's, else what the reference holds."""
    if environment.solves:
        return runner.solve(environment, [made.instance for made in instances])
    return [_held(made.reference) for made in instances]


def _held(reference: Json) -> Answered:
    found = reference[0] if isinstance(reference, list) and reference else reference
    if isinstance(found, str) and len(found) <= MAX_ANSWER:
        return found
    return BrokenCall(
        "answer-not-text: without solve(instance) the reference is an answer, or a list that begins with it"
    )


def _made(outcome: ItemOutcome) -> MadeInstance | BrokenCall:
    if outcome.status is not Status.OK:
        return _broken("generate", outcome)
    if not isinstance(outcome.value, tuple | list) or len(outcome.value) != 2:
        return BrokenCall("shape: generate returns (instance, reference)")
    try:
        text = outside_json([_plain(one) for one in outcome.value])
        text.encode()
    except (ValueError, TypeError, RecursionError) as error:
        return BrokenCall(f"instance-not-json: {str(error)[:100]}")
    if len(text) > MAX_INSTANCE:
        return BrokenCall(
            f"instance-not-json: {len(text)} characters of instance and reference; at most {MAX_INSTANCE}"
        )
    instance, reference = json.loads(text)
    return MadeInstance(instance, reference, text)


def _plain(value: Json) -> Json:
    """The value as it comes back from JSON.

    Raises:
        TypeError: it would come back as another one.
    """
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise TypeError("the keys of objects are texts")
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


def _text(name: str, outcome: ItemOutcome) -> Answered:
    if outcome.status is not Status.OK:
        return _broken(name, outcome)
    what = {"observe": "prompt-size: observe", "solve": "answer-not-text: solve"}[name]
    if not isinstance(outcome.value, str):
        return BrokenCall(f"{what} gives no text but {type(outcome.value).__name__}")
    try:
        outcome.value.encode()
    except UnicodeEncodeError:
        return BrokenCall(f"{what} gives a text that cannot be encoded")
    if strange := UNTOLD.search(outcome.value):
        return BrokenCall(f"{what} gives the character {strange.group()!r}, which no file, prompt or page can hold")
    return outcome.value


def _broken(name: str, outcome: ItemOutcome) -> BrokenCall:
    detail = outcome.detail[:200]
    if outcome.status is Status.EXCEPTION:
        return BrokenCall(f"{name}:raises:{detail}")
    status = Status.TIMEOUT if outcome.status is Status.NOT_RUN else outcome.status
    return BrokenCall(f"{name}:{status.value}: {detail}")


def _parts(calls: Sequence[Call]) -> Iterator[list[Call]]:
    """The calls in jobs that are not too large."""
    part: list[Call] = []
    size = 0
    for call in calls:
        part.append(call)
        size += sum(len(str(one)) for one in call.args)
        if size > JOB_CHARACTERS:
            yield part
            part, size = [], 0
    if part:
        yield part


def _failed(outcomes: Sequence[ItemOutcome]) -> bool:
    return any(one.status is Status.INFRASTRUCTURE for one in outcomes)
