"""What a synthesis or a search will take, from a sample of two problems: calls, tokens, money, executions, time.

The sample asks what the run itself would ask first, so its replies are the run's own, from the cache, later. Nothing
else is asked and nothing is executed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evosyn.chat import Reply, Request
from evosyn.configs.sampling import SamplingConfig
from evosyn.ports import Domain, Teacher
from evosyn.randomness import SeedTree
from evosyn.records import Json, Problem
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


@dataclass(frozen=True)
class Sampled:
    """The replies of the sample.

    Attributes:
        replies: by purpose.
        large: whether large inputs are asked for of each kept problem, which no sample does.
        simulated: they come from a stand-in for a model.
    """

    replies: Mapping[str, Sequence[Reply]]
    large: bool = False
    simulated: bool = False

    def phase(self, purpose: str, calls: int, at_most: int) -> Phase:
        """So many calls like those that were sampled; large inputs are taken to be like a testing."""
        replies = self.replies["testing" if purpose == "inputs" else purpose]
        count = max(1, len(replies))
        costs = [reply.cost for reply in replies if reply.cost is not None]
        return Phase(
            calls,
            at_most,
            calls * sum(reply.input_tokens for reply in replies) / count,
            calls * sum(reply.output_tokens for reply in replies) / count,
            calls * sum(costs) / count if len(costs) == len(replies) else None,
            calls * sum(reply.seconds for reply in replies) / count,
        )

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
        calls: if every reply can be used; at_most: if none can.
        cost: dollars for `calls`, as are tokens and seconds; None where a price is unknown.
        seconds: of waiting, one call after the other.
    """

    calls: int
    at_most: int
    input_tokens: float = 0.0
    output_tokens: float = 0.0
    cost: float | None = 0.0
    seconds: float = 0.0

    def plus(self, other: Phase) -> Phase:
        return Phase(
            self.calls + other.calls,
            self.at_most + other.at_most,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            None if self.cost is None or other.cost is None else self.cost + other.cost,
            self.seconds + other.seconds,
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
    phases: Mapping[str, Phase], sampled: Sampled, *, problems: int, executions: int, concurrency: int
) -> dict[str, Json]:
    """The estimate of a command, by phase and in all; the same keys for every command."""
    total = Phase(0, 0)
    for phase in phases.values():
        total = total.plus(phase)
    return {
        "problems": problems,
        **total.to_json(),
        "executions": executions,
        "model_wall_s": round(total.seconds / concurrency, 1),
        "phases": {name: phase.to_json() for name, phase in phases.items()},
        "sampled_calls": sum(len(replies) for replies in sampled.replies.values()),
        "sampled_unusable": sum(reply.failure is not None for many in sampled.replies.values() for reply in many),
        "simulated": sampled.simulated,
    }


class Sampling:
    """Asks a teacher and keeps its replies by purpose."""

    def __init__(self, teacher: Teacher) -> None:
        self._teacher = teacher
        self.replies: dict[str, list[Reply]] = {"problem": [], "solution": [], "testing": []}

    async def problem(self, index: int, attempt: int, request: Request) -> Reply:  # noqa: ARG002
        return await self._kept("problem", request)

    async def pool(self, problem: Problem, domains: Mapping[str, Domain], want: Want, config: SamplingConfig) -> None:
        """The first solutions and testings of a problem, of all that the run wants."""

        async def ask(kind: Kind, slot: int, attempt: int, request: Request) -> Reply:  # noqa: ARG001
            return await self._kept(kind, request)

        few = replace(want, solutions=min(SLOTS, want.solutions), testings=min(SLOTS, want.testings))
        await draw_pool(problem, domains[problem.domain], ask, few, config)

    async def _kept(self, purpose: str, request: Request) -> Reply:
        self.replies[purpose].append(await self._teacher.complete(request))
        return self.replies[purpose][-1]


async def sample(
    seeds: Sequence[Problem], domains: Mapping[str, Domain], teacher: Teacher, config: SynthesizeConfig
) -> Sampled:
    """Ask for two problems, and two solutions and two testings of each; the teacher is closed afterwards."""
    briefs = Briefs(
        seeds, config.problem, SeedTree(config.seed).child("synthesize", "problems"), domains, config.sampling
    )
    asking = Sampling(teacher)

    async def one(index: int) -> None:
        brief = briefs.brief(index)
        domain = domains[brief.seeds[0].domain]
        made = await make_problem(brief, briefs, domain, asking.problem, config.problem, simulated=teacher.simulated)
        if made.problem is not None:
            shown = example_for(made.problem, domains[made.problem.domain], brief.seeds, config.sampling)
            want = Want(
                config.solutions, config.testings, teacher.simulated, example=shown, limits=config.execute.limits
            )
            await asking.pool(made.problem, domains, want, config.sampling)

    try:
        await asyncio.gather(*(one(index) for index in range(min(PROBES, config.problems))))
    finally:
        await teacher.aclose()
    asked = {seed.domain for seed in seeds}
    large = config.filter.reward.large and any("inputs" in domains[name].asks for name in asked)
    return Sampled(asking.replies, large, teacher.simulated)


def estimate(config: SynthesizeConfig, sampled: Sampled, concurrency: int) -> dict[str, Json]:
    """Extrapolate a sample to the run.

    Returns:
        `calls` if every reply can be used, `calls_at_most` if none can; tokens, `cost` and `model_wall_s` for `calls`;
        cost is None where the price of the model is unknown.
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
    return {**found, "adaptive": config.sampling.adaptive is not None}
