"""What a synthesis or a search will take, from a sample of two problems: calls, tokens, money, executions, time.

The sample asks what the run itself would ask first, so its replies are the run's own, from the cache, later; a slot is
asked once, a problem until there is one. Nothing else is asked and nothing is executed. Time comes from the seconds
that a token took, alone and beside other calls.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from evosyn.chat import WAS_CUT, Reply, Request
from evosyn.configs.sampling import SamplingConfig
from evosyn.ports import Domain, Teacher
from evosyn.randomness import SeedTree
from evosyn.records import Json, Problem
from evosyn.rundir import ESTIMATE, RunDir
from evosyn.running.progress import ReplyCounts, Usage
from evosyn.synthesis.config import SynthesizeConfig
from evosyn.synthesis.examples import example_for
from evosyn.synthesis.generate import Want, draw_pool
from evosyn.synthesis.problems import Briefs, make_problem
from evosyn.synthesis.usable import Kind

PROBES = 2
SLOTS = 2
"""Solutions and testings drawn for each sampled problem."""
FURTHER = 2
"""Columns that a kept problem executes beside its testings: what pays, and the statement's own examples."""
AFTER_A_CUT = 2
"""A reply that was cut is taken to be so many times longer when it is asked for again."""
SLOWER = 1.15
"""Calls beside others that are slower by less than this are taken to be as fast as alone."""
TOGETHER = ("solution", "testing")
"""Phases that go on at the same time."""


class Span(NamedTuple):
    """When a call was answered, by the seconds of one clock, and the tokens of its reply."""

    begin: float
    end: float
    tokens: int


class Pace(NamedTuple):
    """Seconds that a token of a reply takes: of a call that is alone, and more for each call beside it."""

    alone: float
    beside: float

    def a_token(self, calls: float) -> float:
        return self.alone + self.beside * (calls - 1)


def pace_of(spans: Iterable[Span]) -> Pace | None:
    """The pace of calls, from how many were under way beside each; None where nothing was timed."""
    timed = [one for one in spans if one.tokens > 0 and one.end > one.begin]
    if not timed:
        return None
    tokens = np.array([one.tokens for one in timed], dtype=float)
    begins, ends = (np.array(side, dtype=float) for side in zip(*((one.begin, one.end) for one in timed), strict=True))
    a_token = (ends - begins) / tokens
    shared = np.minimum(ends[:, None], ends[None]) - np.maximum(begins[:, None], begins[None])
    beside = np.clip(shared, 0.0, None).sum(1) / (ends - begins) - 1.0
    mean, company = np.average(a_token, weights=tokens), np.average(beside, weights=tokens)
    spread = np.average((beside - company) ** 2, weights=tokens)
    slope = 0.0 if spread < 1e-9 else np.average((beside - company) * (a_token - mean), weights=tokens) / spread
    alone = mean - slope * company
    if alone <= 0:  # it works at one call after the other
        alone = slope = mean / (1 + company)
    elif alone + slope * beside.max() < SLOWER * alone:
        alone, slope = mean, 0.0
    return Pace(float(alone), float(slope))


@dataclass(frozen=True)
class Sampled:
    """The replies of the sample.

    Attributes:
        replies: by purpose.
        lost: of these the ones that could not be used.
        large: whether large inputs are asked for of each kept problem, which no sample does.
        simulated: they come from a stand-in for a model.
        pace: of the calls; None where it is not known.
        slots: calls that the endpoint works at at once; None where it does not say it.
    """

    replies: Mapping[str, Sequence[Reply]]
    large: bool = False
    simulated: bool = False
    lost: Mapping[str, Sequence[Reply]] = field(default_factory=dict)
    pace: Pace | None = None
    slots: int | None = None

    def phase(self, purpose: str, calls: int, at_most: int) -> Phase:
        """So many slots with replies like those that were sampled, asked again as often as these would be; large
        inputs are taken to be like a testing."""
        like = "testing" if purpose == "inputs" else purpose
        replies, lost = self.replies.get(like, ()), self.lost.get(like, ())
        share = len(lost) / max(1, len(replies))
        again = round(sum(calls * share**number for number in range(1, round(at_most / calls) if calls else 0)))
        longer = AFTER_A_CUT if sum(one.failure in WAS_CUT for one in lost) > len(lost) / 2 else 1
        read, written = (
            calls * sum(getattr(one, name) for one in replies) / max(1, len(replies))
            + again * sum(getattr(one, name) for one in lost) / max(1, len(lost)) * more
            for name, more in (("input_tokens", 1), ("output_tokens", longer))
        )
        return Phase(calls + again, at_most, read, written, self.dollars(read, written))

    def dollars(self, input_tokens: float, output_tokens: float) -> float | None:
        """What so many tokens cost at the prices of the sampled replies; None where these are unknown."""
        replies = [reply for many in self.replies.values() for reply in many]
        if not replies or any(reply.cost is None for reply in replies):
            return None
        tokens = np.array([[reply.input_tokens, reply.output_tokens] for reply in replies], dtype=float)
        prices, *_ = np.linalg.lstsq(tokens, np.array([reply.cost for reply in replies], dtype=float), rcond=None)
        return float(np.clip(prices, 0.0, None) @ [input_tokens, output_tokens])


@dataclass(frozen=True)
class Phase:
    """What one phase of a command takes.

    Attributes:
        calls: with those that are made again; at_most: if no reply can be used.
        cost: dollars for `calls`, as are tokens; None where a price is unknown.
    """

    calls: int
    at_most: int
    input_tokens: float = 0.0
    output_tokens: float = 0.0
    cost: float | None = 0.0

    def plus(self, other: Phase) -> Phase:
        return Phase(
            self.calls + other.calls,
            self.at_most + other.at_most,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            None if self.cost is None or other.cost is None else self.cost + other.cost,
        )

    def to_json(self) -> dict[str, Json]:
        return {
            "calls": self.calls,
            "calls_at_most": self.at_most,
            "input_tokens": round(self.input_tokens),
            "output_tokens": round(self.output_tokens),
            "cost": None if self.cost is None else round(self.cost, 4),
        }


def figures(
    phases: Mapping[str, Phase],
    sampled: Sampled,
    *,
    problems: int,
    executions: int,
    concurrency: int,
    few: Mapping[str, int] | None = None,
) -> dict[str, Json]:
    """The estimate of a command, by phase and in all; the same keys for every command.

    Args:
        concurrency: calls in flight at most; `few`: of single phases.
    """
    total = Phase(0, 0)
    for phase in phases.values():
        total = total.plus(phase)
    most = min(concurrency, sampled.slots or concurrency)
    waits: dict[str, float | None] = {
        name: _wall_s(name, phases, sampled, min(most, (few or {}).get(name, most))) for name in phases
    }
    return {
        "problems": problems,
        **total.to_json(),
        "executions": executions,
        "model_wall_s": None if None in waits.values() else round(sum(one or 0.0 for one in waits.values()), 1),
        "phases": {name: {**phase.to_json(), "wall_s": waits[name]} for name, phase in phases.items()},
        "sampled_calls": sum(len(replies) for replies in sampled.replies.values()),
        "sampled_unusable": sum(map(len, sampled.lost.values())),
        "simulated": sampled.simulated,
    }


def _wall_s(name: str, phases: Mapping[str, Phase], sampled: Sampled, most: int) -> float | None:
    """Seconds that a phase waits for its replies, of which so many are under way at once at most, those of phases that
    go on together counted; the last of them is waited for alone."""
    phase, pace = phases[name], sampled.pace
    if not phase.output_tokens:
        return 0.0
    if pace is None:
        return None
    group = [other for other in TOGETHER if other in phases] if name in TOGETHER else [name]
    calls = min(most, sum(phases[other].calls for other in group))
    lengths = [reply.output_tokens for other in group for reply in sampled.replies.get(other, ())]
    last = max(lengths) - sum(lengths) / len(lengths) if lengths and name == group[-1] else 0.0
    return round(pace.a_token(calls) * (phase.output_tokens / calls + last), 1)


class SamplingTeacher:
    """Implements `ports.Teacher` over another one, whose replies it keeps by purpose.

    Args:
        tell: told in words of each as it comes.
    """

    def __init__(self, teacher: Teacher, tell: Callable[[str], None] = lambda _: None) -> None:
        self._teacher, self.name, self.simulated = teacher, teacher.name, teacher.simulated
        self._tell = tell
        self.replies: dict[str, list[Reply]] = {}
        self.lost: defaultdict[str, list[Reply]] = defaultdict(list)
        self.spans: list[Span] = []

    async def complete(self, request: Request) -> Reply:
        reply = await self._teacher.complete(request)
        self.replies.setdefault(request.purpose, []).append(reply)
        now = time.monotonic()
        if not reply.cached:
            self.spans.append(Span(now - reply.seconds, now, reply.output_tokens))
        took = "there already" if reply.cached else f"{reply.seconds:.1f} s"
        failed = f", {reply.failure}" if reply.failure else ""
        self._tell(f"a {request.purpose}: {reply.output_tokens:,} tokens, {took}{failed}")
        return reply

    async def aclose(self) -> None:
        await self._teacher.aclose()

    async def pool(self, problem: Problem, domain: Domain, want: Want, config: SamplingConfig) -> None:
        """Ask once for the first solutions and testings of a problem, of all that the run wants."""

        async def ask(kind: Kind, slot: int, attempt: int, request: Request) -> Reply:  # noqa: ARG001
            return await self.complete(request)

        few = replace(want, solutions=min(SLOTS, want.solutions), testings=min(SLOTS, want.testings))
        drawn = await draw_pool(problem, domain, ask, few, config.model_copy(update={"attempts": 1}))
        for one in drawn.rejected:
            self.lost[one.kind].append(one.reply)

    def sampled(self, *, large: bool = False, slots: int | None = None) -> Sampled:
        """What came."""
        return Sampled(self.replies, large, self.simulated, self.lost, pace_of(self.spans), slots)


def foretold(problems: int, solutions: int, testings: int, attempts: int, *, makes: bool = False) -> str:
    """What a run will ask for, its problems too where it `makes` them, and its sample now, in words."""
    each = f"{solutions} solutions and {testings} testings" + (" and itself" if makes else "")
    slots, few = problems * (solutions + testings + makes), min(PROBES, problems)
    now = few * (min(SLOTS, solutions) + min(SLOTS, testings) + makes)
    most = f", {attempts} times at most" if attempts > 1 else ""
    return (
        f"{problems:,} problems, each asks for {each}: {slots:,} replies, each asked for again where it cannot be "
        f"used{most}. Now {now} of these are asked for, of {few} problems"
    )


async def sample(
    seeds: Sequence[Problem], domains: Mapping[str, Domain], teacher: SamplingTeacher, config: SynthesizeConfig
) -> None:
    """Ask for two problems, and two solutions and two testings of each (of a seed where no problem came); the teacher
    is closed afterwards."""
    briefs = Briefs(
        seeds, config.problem, SeedTree(config.seed).child("synthesize", "problems"), domains, config.sampling
    )

    async def ask(index: int, attempt: int, request: Request) -> Reply:  # noqa: ARG001
        return await teacher.complete(request)

    async def one(index: int) -> None:
        brief = briefs.brief(index)
        domain = domains[brief.seeds[0].domain]
        made = await make_problem(brief, briefs, domain, ask, config.problem, simulated=teacher.simulated)
        teacher.lost["problem"] += [attempt.reply for attempt in made.attempts if attempt.reason]
        problem = made.problem or brief.seeds[0]
        shown = example_for(problem, domains[problem.domain], brief.seeds, config.sampling)
        want = Want(config.solutions, config.testings, teacher.simulated, example=shown, limits=config.execute.limits)
        await teacher.pool(problem, domains[problem.domain], want, config.sampling)

    try:
        await asyncio.gather(*(one(index) for index in range(min(PROBES, config.problems))))
    finally:
        await teacher.aclose()


def asks_for_inputs(config: SynthesizeConfig, seeds: Iterable[Problem], domains: Mapping[str, Domain]) -> bool:
    """Whether large inputs are asked for of problems like these."""
    return config.filter.reward.large and any("inputs" in domains[one.domain].asks for one in seeds)


def estimate(config: SynthesizeConfig, sampled: Sampled, concurrency: int) -> dict[str, Json]:
    """Extrapolate a sample to the run.

    Returns:
        `calls` with those that are made again, `calls_at_most` if no reply can be used; tokens, `cost` and
        `model_wall_s` for `calls`; cost is None where the price of the model is unknown, seconds where its pace is.
    """
    slots = {
        "problem": (1, config.problem.attempts),
        "solution": (config.solutions, config.sampling.attempts),
        "testing": (config.testings, config.sampling.attempts),
        **({"inputs": (1, config.sampling.attempts)} if sampled.large else {}),
    }
    phases = {
        purpose: sampled.phase(purpose, config.problems * count, config.problems * count * attempts)
        for purpose, (count, attempts) in slots.items()
    }
    if (config.workbench.teacher.spec or "").startswith("litellm:"):
        phases = {"check": Phase(1 + len(config.also), 1 + len(config.also)), **phases}
    executions = config.problems * config.solutions * (config.testings + FURTHER * sampled.large)
    found = figures(phases, sampled, problems=config.problems, executions=executions, concurrency=concurrency)
    sizes = [config.problems, config.solutions, config.testings]
    return {**found, "adaptive": config.sampling.adaptive is not None, "sizes": sizes}


def keep_taken(
    run: RunDir, sizes: Sequence[int], phases: Collection[str], usage: Usage, counts: ReplyCounts
) -> dict[str, Json]:
    """Keep beside the estimate of a dry run what its phases took, once; empty where there is none for these sizes.

    Args:
        sizes: problems, solutions and testings.
        counts: of the replies of the run, at its end; seconds are unknown where another process made some of them.
    """
    found = run.read_json(ESTIMATE) if run.file(ESTIMATE).is_file() else {}
    if found.get("sizes") != list(sizes):
        return {}
    if "taken" not in found:
        kept = ("calls", "input_tokens", "output_tokens", "wall_s")
        parts = [phase for name, phase in found["phases"].items() if name in phases]
        whole = counts.cached <= found["sampled_calls"] and counts.replies >= usage.calls
        taken = (usage.calls, usage.input_tokens, usage.output_tokens, round(counts.seconds, 1) if whole else None)
        found["foreseen"] = {name: round(sum(part[name] for part in parts), 1) for name in kept}
        found["taken"] = dict(zip(kept, taken, strict=True))
        run.write_json(ESTIMATE, found)
    return {"estimate": found["foreseen"], "taken": found["taken"]}
