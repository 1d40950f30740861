"""Whether a mutant still asks what its testing decides: solutions written from its text do as well as from the old one.

A story that has lost a rule makes good solvers fail; one that says more than before is not found out by this. For
problems whose testing stays as it is (ours; docs/coevolve.md). Verdicts come from the one judge.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from evosyn.chat import Reply, Request
from evosyn.crossexec.judge import Cell, Judge
from evosyn.domains import domain
from evosyn.domains.math_answer import NAME
from evosyn.ports import Teacher
from evosyn.records import Candidate, Verdict, content_id
from evosyn.running.batches import in_thread
from evosyn.running.ledger import Ledger
from evosyn.synthesis.coevolution.config import DriftConfig
from evosyn.synthesis.coevolution.seeds import SeedProblems
from evosyn.synthesis.coevolution.under_way import MadeMutation, MutationOrder
from evosyn.synthesis.mutations.mutator import Ask, Mutation


class DriftTools(NamedTuple):
    """Who solves, where replies are kept, and who decides."""

    seeds: SeedProblems
    teacher: Teacher
    ledger: Ledger[MadeMutation]
    judge: Judge


class DriftCheck:
    """A `Check` of mutations. What is known of a parent is found out once."""

    def __init__(self, tools: DriftTools, config: DriftConfig) -> None:
        self._tools, self._config = tools, config
        self._parents: dict[str, asyncio.Task[tuple[int, int]]] = {}

    async def __call__(self, order: MutationOrder, made: Mutation, ask: Ask) -> Mutation:
        """The mutation as it is; lost where its problem is another one, or nobody could say."""
        seeds = self._tools.seeds
        if seeds.root(order.parent).domain == NAME:
            return made
        before, after = await asyncio.gather(
            asyncio.shield(self._of_parent(order.parent)), self._solved(seeds.mutant(order.parent, made), ask)
        )
        if not before[1] or not after[1]:
            return _lost(made, "drift:unjudged")
        fallen = before[0] / before[1] - after[0] / after[1] > self._config.most
        return _lost(made, "drift:meaning-changed") if fallen else made

    def _of_parent(self, parent: Candidate) -> asyncio.Task[tuple[int, int]]:
        tools, index = self._tools, int(content_id("k_", ["drift", parent.id]).removeprefix("k_"), 16)

        async def ask(request: Request) -> Reply:
            return await tools.ledger.ask((index, request.purpose, request.sample, 0), request, tools.teacher)

        if parent.id not in self._parents:
            self._parents[parent.id] = asyncio.create_task(self._solved(parent, ask))
        return self._parents[parent.id]

    async def _solved(self, candidate: Candidate, ask: Callable[[Request], Awaitable[Reply]]) -> tuple[int, int]:
        """Of some solutions those that pass, and those that were judged."""
        problem = self._tools.seeds.problem(candidate)
        testing, own = self._tools.seeds.row(candidate).task.testing, domain(problem.domain)
        requests = [
            own.ask("solution", problem, sample, self._config.sampling) for sample in range(self._config.solutions)
        ]
        replies = [one for one in await asyncio.gather(*map(ask, requests)) if one.failure is None]
        read = [own.read("solution", one.text, problem) for one in replies]
        cells = [Cell(problem, one.value, testing) for one in read if one.value is not None]
        results = await in_thread(partial(self._tools.judge.verify, cells))
        known = [one for one in results if one.verdict is not Verdict.UNKNOWN]
        passed = sum(one.verdict is Verdict.PASS for one in known)
        return passed, len(known) + len(read) - len(cells)


def _lost(made: Mutation, reason: str) -> Mutation:
    return replace(made, statement="", answer="", wasted=(*made.wasted, reason))
