"""What a co-evolution will take of its teacher, from a sample: each link is asked of two seeds.

What the student draws is counted beside it (`executions`): so many completions are judged.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from evosyn.chat import Reply, Request
from evosyn.domains import domain
from evosyn.domains.math_answer import NAME
from evosyn.ports import Teacher
from evosyn.records import Json
from evosyn.synthesis.coevolution.state import SHARE, CoevolutionPlan
from evosyn.synthesis.estimate import PROBES, Phase, Sampled, SamplingTeacher, figures
from evosyn.synthesis.mutations.asking import DISTRACTOR, SETTING, SETTINGS, SYMBOLIC, link_request

MUTATION, SOLUTION = "mutation", "solution"


def estimated(plan: CoevolutionPlan, teacher: Teacher, group: int, concurrency: int) -> dict[str, Json]:
    """The figures of a run: `calls` if every reply is of use, `calls_at_most` if none is.

    Args:
        teacher: closed here.
        group: completions of a prompt.

    Raises:
        BudgetSpent, TeacherUnavailable, UsageError: from the sample.
    """
    asked = SamplingTeacher(teacher)
    replies = asyncio.run(_sample(plan, asked))
    sampled = replace(asked.sampled(), replies=replies)
    mutants, completions = _mutants(plan), plan.steps * plan.prompts * group
    calls = mutants * (1 + sum(_shares(plan).values()))
    counted: dict[str, Phase] = {
        MUTATION: sampled.phase(MUTATION, round(calls), round(mutants * plan.config.mutation.tries))
    }
    if SOLUTION in sampled.replies:
        solved = round(mutants * plan.config.drift.solutions)
        counted[SOLUTION] = sampled.phase(SOLUTION, solved, 2 * solved)
    found = figures(counted, sampled, problems=round(mutants), executions=completions, concurrency=concurrency)
    return {"teacher": teacher.name, **found}


def without_teacher(plan: CoevolutionPlan, group: int) -> dict[str, Json]:
    """The same of an arm that asks nobody."""
    completions = plan.steps * plan.prompts * group
    return {"teacher": None, **figures({}, Sampled({}), problems=0, executions=completions, concurrency=1)}


def _mutants(plan: CoevolutionPlan) -> float:
    """Mutations that a run asks for, on average."""
    config = plan.config.mutations
    scoring = math.ceil(min(plan.config.seeds, len(plan.seeds.names)) / plan.prompts)
    steps = max(0, plan.steps - plan.config.lag - scoring)
    return steps * min(config.batch, max(1, plan.prompts // SHARE)) * (1 - config.resample)


def _shares(plan: CoevolutionPlan) -> dict[str, float]:
    """Of the mutations those with a link beside the setting."""
    config = plan.config.mutations
    whole = config.distractor + config.symbolic + config.both + config.plain
    if not whole:
        return {}
    return {
        DISTRACTOR: (config.distractor + config.both) / whole,
        SYMBOLIC: (config.symbolic + config.both) / whole,
    }


async def _sample(plan: CoevolutionPlan, teacher: Teacher) -> Mapping[str, Sequence[Reply]]:
    seeds, requests = plan.seeds, list[tuple[str, Request]]()
    asked = [SETTING, *(link for link, share in _shares(plan).items() if share)]
    target, config = next(iter(SETTINGS)), plan.config
    for number, name in enumerate(seeds.names[:PROBES]):
        one = seeds.candidate(name)
        for link in (link for link in asked if link in seeds.links(one)):
            sampling = config.mutation.sampling
            requests.append((MUTATION, link_request(link, seeds.stated(one), target, number, sampling)))
        if seeds.root(one).domain != NAME:
            problem = seeds.problem(one)
            asking = domain(problem.domain).ask("solution", problem, number, config.drift.sampling)
            requests.append((SOLUTION, asking))
    try:
        replies = await asyncio.gather(*(teacher.complete(request) for _, request in requests))
    finally:
        await teacher.aclose()
    found: dict[str, list[Reply]] = {}
    for (phase, _), reply in zip(requests, replies, strict=True):
        found.setdefault(phase, []).append(reply)
    return found
