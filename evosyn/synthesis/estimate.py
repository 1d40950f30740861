"""What a synthesis will take, from a sample of two problems: calls, tokens, money, executions, time.

The sample asks what the run itself would ask first, so its replies are the run's own, from the cache, later. Nothing
else is asked and nothing is executed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evosyn.chat import Reply, Request
from evosyn.ports import Domain, Teacher
from evosyn.randomness import SeedTree
from evosyn.records import Json, Problem
from evosyn.synthesis.config import SynthesizeConfig
from evosyn.synthesis.generate import Kind, Want, draw_pool, examples_for
from evosyn.synthesis.problems import Briefs, make_problem

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
    """

    replies: Mapping[str, Sequence[Reply]]
    large: bool = False

    def mean(self, purpose: str) -> Mapping[str, float | None]:
        """Mean tokens, seconds and dollars of one call; dollars None where a price is unknown. Large inputs are taken
        to be like a testing."""
        replies = self.replies["testing" if purpose == "inputs" else purpose]
        count = max(1, len(replies))
        costs = [reply.cost for reply in replies if reply.cost is not None]
        return {
            "input_tokens": sum(reply.input_tokens for reply in replies) / count,
            "output_tokens": sum(reply.output_tokens for reply in replies) / count,
            "seconds": sum(reply.seconds for reply in replies) / count,
            "cost": sum(costs) / count if len(costs) == len(replies) else None,
        }


async def sample(
    seeds: Sequence[Problem], domains: Mapping[str, Domain], teacher: Teacher, config: SynthesizeConfig
) -> Sampled:
    """Ask for two problems, and two solutions and two testings of each; the teacher is closed afterwards."""
    replies: dict[str, list[Reply]] = {"problem": [], "solution": [], "testing": []}
    briefs = Briefs(seeds, config.problem, SeedTree(config.seed).child("synthesize", "problems"), domains)

    async def ask_problem(index: int, attempt: int, request: Request) -> Reply:  # noqa: ARG001
        replies["problem"].append(await teacher.complete(request))
        return replies["problem"][-1]

    async def ask(kind: Kind, slot: int, attempt: int, request: Request) -> Reply:  # noqa: ARG001
        reply = await teacher.complete(request)
        replies[kind].append(reply)
        return reply

    async def one(index: int) -> None:
        brief = briefs.brief(index)
        domain = domains[brief.seeds[0].domain]
        made = await make_problem(brief, briefs, domain, ask_problem, config.problem, simulated=teacher.simulated)
        if made.problem is not None:
            want = Want(
                min(SLOTS, config.solutions),
                min(SLOTS, config.testings),
                teacher.simulated,
                examples=examples_for(made.problem, brief.seeds, config.draw.examples),
                limits=config.execute.limits,
            )
            await draw_pool(made.problem, domain, ask, want, config.draw)

    try:
        await asyncio.gather(*(one(index) for index in range(min(PROBES, config.problems))))
    finally:
        await teacher.aclose()
    asked = {seed.domain for seed in seeds}
    return Sampled(replies, config.filter.reward.large and any("inputs" in domains[name].asks for name in asked))


def estimate(config: SynthesizeConfig, sampled: Sampled, concurrency: int) -> dict[str, Json]:
    """Extrapolate a sample to the run.

    Returns:
        `calls` if every reply can be used, `calls_at_most` if none can; tokens, `cost` and `wall_s` for `calls`; cost
        is None where the price of the model is unknown.
    """
    large = int(sampled.large)
    per_problem = {"problem": 1, "solution": config.solutions, "testing": config.testings, "inputs": large}
    calls = {purpose: config.problems * count for purpose, count in per_problem.items()}
    drawn = (config.solutions + config.testings) * config.draw.attempts
    most = config.problems * (config.problem.attempts + drawn + large)
    sums: dict[str, float | None] = {"input_tokens": 0.0, "output_tokens": 0.0, "seconds": 0.0, "cost": 0.0}
    for purpose, count in calls.items():
        for name, value in sampled.mean(purpose).items():
            before = sums[name]
            sums[name] = None if before is None or value is None else before + count * value
    seconds = sums["seconds"] or 0.0
    return {
        "problems": config.problems,
        "calls": sum(calls.values()),
        "calls_at_most": most,
        "input_tokens": round(sums["input_tokens"] or 0.0),
        "output_tokens": round(sums["output_tokens"] or 0.0),
        "cost": None if sums["cost"] is None else round(sums["cost"], 4),
        "executions": config.problems * config.solutions * (config.testings + FURTHER * large),
        "model_wall_s": round(seconds / concurrency, 1),
        "sampled_calls": sum(len(replies) for replies in sampled.replies.values()),
        "sampled_unusable": sum(reply.failure is not None for many in sampled.replies.values() for reply in many),
        "adaptive": config.draw.adaptive is not None,
    }
