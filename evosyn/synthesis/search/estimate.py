"""What a search will take, before it is paid for: drawing its pools from a sample, its proposals from their limits.

The first prompts of a search hold what happened on matrices that are not made yet, so they cannot be sampled: prompts
count with the longest that the proposer writes, replies with the length of the sampled solutions (where nothing is
drawn: with the longest that is allowed).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from evosyn.evolve.arms import named_arm
from evosyn.evolve.loop import CALLS_OF_ONE
from evosyn.lengths import AUTO, given_length, start_of
from evosyn.ports import Domain
from evosyn.records import Json, Problem
from evosyn.synthesis.estimate import PROBES, Phase, Sampled, SamplingTeacher, figures
from evosyn.synthesis.examples import example_for
from evosyn.synthesis.generate import Want
from evosyn.synthesis.search.config import DrawingSettings, EvolveConfig, SearchSettings
from evosyn.synthesis.search.inputs import Source
from evosyn.synthesis.search.parts import models_of


class _Lengths(NamedTuple):
    """Tokens of a proposal."""

    prompt: int = 8000
    reply: int = 4096


async def sample_seeds(
    problems: Sequence[Problem], domains: Mapping[str, Domain], teacher: SamplingTeacher, config: DrawingSettings
) -> None:
    """Ask for two solutions and two testings of two seeds, the first that the run asks for; closes the teacher."""
    want = Want(*config.drawn, teacher.simulated)
    try:
        every = []
        for problem in problems[:PROBES]:
            example = example_for(problem, domains[problem.domain], problems, config.sampling)
            own = domains[problem.domain]
            every.append(teacher.pool(problem, own, replace(want, example=example), config.sampling))
        await asyncio.gather(*every)
    finally:
        await teacher.aclose()


def estimate_search(config: EvolveConfig, source: Source, sampled: Sampled | None, concurrency: int) -> dict[str, Json]:
    """What the run takes, in the keys of `evosyn synthesize --dry-run`.

    Args:
        sampled: None where nothing is drawn.
    """
    count = len(source.pools) or len(source.matrices)
    solutions, testings = config.drawn
    phases: dict[str, Phase] = {}
    if (config.workbench.teacher.spec or "").startswith("litellm:"):
        models = models_of(config, draws=sampled is not None)
        phases["check"] = Phase(len(models), len(models))
    if sampled is not None:
        for purpose, slots in (("solution", solutions), ("testing", testings)):
            phases[purpose] = sampled.phase(purpose, count * slots, count * slots * config.sampling.attempts)
    known = sampled or Sampled({})
    if (paid := paid_proposals(config)) > 0:
        phases["proposal"] = proposal_phase(config, paid, known)
    recorded = sum(len(pool.solutions) * (len(pool.testings) + 1) for pool in source.pools)
    executions = 0 if source.is_matrices else recorded if source.recorded else count * solutions * (testings + 1)
    few = {"proposal": min(config.loop.concurrency, config.loop.lag)}
    found = figures(phases, known, problems=count, executions=executions, concurrency=concurrency, few=few)
    stop = config.stop
    return {
        **found,
        "sizes": [count, solutions, testings],
        "proposals": stop.proposals,
        "evaluations": stop.evaluations,
        "proposers": dict(config.proposers.arms),
    }


def paid_proposals(config: SearchSettings) -> int:
    """Proposals that ask a model, as far as shares and limits say."""
    own, stop = config.proposers, config.stop
    arms = {text: named_arm(text).free for text in own.arms}
    total = sum(own.arms.values())
    paid = sum(share for text, share in own.arms.items() if not arms[text]) / total
    after = any(arms.values()) and config.islands.search == "evolve"  # each is followed by a free one
    programs = paid * (1 + after * own.around) + (1 - paid) * own.burst
    limits = [
        None if stop.proposals is None else stop.proposals / (1 + after * paid),
        None if stop.evaluations is None else stop.evaluations / programs,
    ]
    calls = paid * min((limit for limit in limits if limit is not None), default=0)
    return round(calls if stop.model_calls is None else min(calls, stop.model_calls))


def proposal_phase(config: SearchSettings, calls: int, sampled: Sampled, like: str = "solution") -> Phase:
    """So many proposals of models; their replies are like the sampled ones of a purpose."""
    lengths = _longest(config)
    replies = sampled.replies.get(like, ())
    written = sum(reply.output_tokens for reply in replies) / len(replies) if replies else lengths.reply
    at_most = CALLS_OF_ONE * calls if config.stop.model_calls is None else config.stop.model_calls + 1
    tokens = (calls * lengths.prompt, calls * written)
    cost = sampled.dollars(*tokens)
    return Phase(calls, at_most, *tokens, _listed(config, *tokens) if cost is None else cost)


def _listed(config: SearchSettings, prompts: float, replies: float) -> float | None:
    """At the prices that the configuration names; None where it does not name both."""
    options = config.workbench.teacher.options
    price_in, price_out = options.get("price_in"), options.get("price_out")
    return None if price_in is None or price_out is None else float((prompts * price_in + replies * price_out) / 1e6)


def _longest(config: SearchSettings) -> _Lengths:
    """The longest prompt and reply of a paid arm."""
    own, found = config.proposers, _Lengths(0, 0)
    for text in own.arms:
        name, plugin, _ = named_arm(text)
        if named_arm(text).free:
            continue
        shared = plugin.shared({"params": config.proposing})
        made = plugin.configured({**shared, **own.options.get(name, {}), **own.options.get(text, {})})
        prompt = int(getattr(made, "prompt_tokens", _Lengths().prompt))
        given = given_length({"max_tokens": getattr(made, "max_tokens", None), **getattr(made, "params", {})})
        found = _Lengths(max(found.prompt, prompt), max(found.reply, start_of("strategy", given or AUTO)))
    return found if found.prompt else _Lengths()
