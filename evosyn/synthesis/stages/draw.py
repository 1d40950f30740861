"""The stage that draws solutions and testings: all at once, or in rounds that end where more would change nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from evosyn.agents.episodes import EpisodeActor
from evosyn.chat import Reply, Request
from evosyn.ports import Domain, Teacher
from evosyn.records import Problem
from evosyn.running.ledger import Ledger
from evosyn.running.progress import usage_of
from evosyn.synthesis.adaptive import Outlook, Size, outlook, rounds
from evosyn.synthesis.config import SynthesizeConfig
from evosyn.synthesis.examples import example_for
from evosyn.synthesis.generate import Want, draw_pool
from evosyn.synthesis.instance import Instance
from evosyn.synthesis.usable import Kind, named_reason


class DrawPool:
    """Asks for M solutions and N testings of each problem.

    Args:
        teachers: take turns, slot by slot.
        judged: executes, ranks and prunes an instance, to see between two rounds whether more is needed.
        calls: model calls at once; problems that are drawn at the same time are as many as keep these busy.
        seeds: those that stand in the brief of a problem are the examples of good testings.
        actors: who solves problems in several steps, by domain.
    """

    name = "draw"

    def __init__(
        self,
        config: SynthesizeConfig,
        domains: Mapping[str, Domain],
        teachers: Sequence[Teacher],
        ledger: Ledger[Instance],
        judged: Callable[[Instance], Awaitable[Instance]],
        calls: int,
        seeds: Sequence[Problem] = (),
        actors: Mapping[str, EpisodeActor] | None = None,
    ) -> None:
        self._config, self._domains, self._teachers = config.sampling, domains, teachers
        self._ledger, self._judged, self._actors = ledger, judged, actors or {}
        self._limits, self._seeds = config.execute.limits, {seed.problem_id: seed for seed in seeds}
        self._rounds = rounds(config.sampling.adaptive, config.solutions, config.testings)
        self.concurrency = 2 + -(-2 * calls // sum(self._rounds[0]))

    async def run(self, instance: Instance) -> Instance:
        """The instance with its pool, and judged where it needs no more rounds."""
        actor = self._actors.get(instance.asked.domain)
        refused = "" if actor is None else await actor.refused(instance.asked)
        if refused:
            return instance.drop("make", *named_reason(refused, "refused"))
        before = Size(0, 0)
        for size in self._rounds:
            instance = await self._grown(instance, before, size)
            if size != self._rounds[-1] and not _lacking(instance):
                judged = await self._judged(instance)
                if self._is_settled(judged):
                    return judged
            before = size
        lacking = _lacking(instance)
        if lacking:
            return instance.drop(lacking, f"no-{lacking}", f"no reply could be read as a {lacking}")
        return instance

    def _is_settled(self, judged: Instance) -> bool:
        adaptive, matrix, decision = self._config.adaptive, judged.ranked, judged.decision
        if adaptive is None or matrix is None or decision is None:
            return True
        return outlook(matrix, decision, adaptive) is not Outlook.OPEN

    async def _grown(self, instance: Instance, before: Size, size: Size) -> Instance:
        """The instance with the slots from `before` to `size` added to its pool."""
        problem, simulated = instance.asked, any(teacher.simulated for teacher in self._teachers)
        named = [self._seeds[name] for name in instance.brief.get("seeds", ()) if name in self._seeds]
        want = Want(
            size.solutions - before.solutions,
            size.testings - before.testings,
            simulated,
            *before,
            example=example_for(problem, self._domains[problem.domain], named, self._config),
            limits=self._limits,
            actors=self._actors,
            counts=self._ledger.counts,
        )
        ask = partial(self._ask, instance.index)
        drawn = await draw_pool(problem, self._domains[problem.domain], ask, want, self._config)
        return replace(
            instance,
            solutions=(*(instance.solutions or ()), *drawn.pool.solutions),
            testings=(*(instance.testings or ()), *drawn.pool.testings),
            rejects=(*instance.rejects, *drawn.rejects(instance.index)),
            usage=instance.usage.plus(usage_of([attempt.reply for attempt in drawn.attempts])),
        )

    async def _ask(self, index: int, kind: Kind, slot: int, attempt: int, request: Request) -> Reply:
        teacher = self._teachers[slot % len(self._teachers)]
        return await self._ledger.ask((index, kind, slot, attempt), request, teacher)


def _lacking(instance: Instance) -> str:
    """`solution` or `testing`, whichever it has none of; empty where it can be executed."""
    if not instance.solutions:
        return "solution"
    return "" if instance.testings else "testing"
