"""The stage of the cross-check: draws solvers, executes them, and chooses among verifiers where there are several.

Solvers are drawn again while none bears out the verifier, so that a hard environment is not lost to unlucky draws.
Several verifiers of one generator are ranked by a filtering strategy, the choice that EvoSyn makes among testings
(Du 2025, section 3.1); those that the ladder stops take no part. All of it is ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np

from evosyn.chat import Parsed
from evosyn.environments import asking
from evosyn.environments.contract import Environment, read_environment
from evosyn.environments.replies import read_solver, read_verifier
from evosyn.environments.rows import EnvironmentRow
from evosyn.environments.runner import EnvironmentRunner
from evosyn.ports import StrategyRunner
from evosyn.randomness import SeedTree
from evosyn.records import Invalid, Testing
from evosyn.running.batches import in_thread
from evosyn.running.progress import Usage
from evosyn.strategies.evidence import evidence_of
from evosyn.synthesis.environments.author import EnvironmentAsker, RequestSlot
from evosyn.synthesis.environments.climbing import AT_ONCE, ClimbLadder
from evosyn.synthesis.environments.config import CrosscheckConfig
from evosyn.synthesis.environments.draft import CheckedSolvers, Draft, RankedVerifier
from evosyn.synthesis.environments.judging import REVIEWED, merged, shown
from evosyn.synthesis.environments.solving import (
    Executed,
    SolverExecution,
    questions_of,
    references_of,
    settled,
    testings_of,
)
from evosyn.synthesis.generate import all_or_first_error

T = TypeVar("T")
REASONS = {"disputed": "reference-disputed", "unsolved": "nobody-solves"}


class _Verifiers(NamedTuple):
    """The programs that take part, the draft's own first, and of each the testing of every question."""

    programs: tuple[str, ...]
    testings: tuple[tuple[Testing, ...], ...]


class CrossCheck:
    """Drops a draft that independent solvers do not bear out.

    Args:
        strategy: text of the program that ranks verifiers.
        runner: runs it; `instances` runs environments.
    """

    name = "crosscheck"
    concurrency = None

    def __init__(
        self,
        config: CrosscheckConfig,
        asker: EnvironmentAsker,
        ladder: ClimbLadder,
        execution: SolverExecution,
        ranks: tuple[StrategyRunner, str],
        instances: tuple[EnvironmentRunner, SeedTree],
    ) -> None:
        self._config, self._asker, self._ladder, self._execution = config, asker, ladder, execution
        (self._runner, self._strategy), (self._environments, self._tree) = ranks, instances
        self._gate = asyncio.Semaphore(AT_ONCE)

    async def run(self, draft: Draft) -> Draft:
        config, base = self._config, draft.environment
        rows = await self._in_thread(partial(questions_of, base, self._environments, config.instances, self._tree))
        if len(rows) < config.instances:
            return draft.drop(self.name, "breaks: an instance of another seed cannot be made")
        draft, others = await self._drawn_verifiers(draft, rows)
        taking = await self._in_thread(partial(self._testings, base, others, rows))
        draft = replace(draft, verifiers=_reported(draft, others, taking))
        programs: tuple[str, ...] = ()
        for round_ in range(config.rounds):
            draft, more = await self._drawn_solvers(draft, rows, round_)
            programs += more
            execute = partial(self._execution.execute, draft.name, programs, taking.testings)
            executed = await self._in_thread(partial(execute, [row.problem for row in rows], config.group))
            if executed is None:
                continue
            draft = await self._in_thread(partial(self._judged, draft, taking, executed))
            if draft.crosscheck is not None and draft.crosscheck.verdict == "accepted":
                return draft if draft.source == base.source else await self._ladder.run(draft)
        if draft.crosscheck is None:
            return draft.drop(self.name, "no-solver: no program answers every question")
        found = draft.crosscheck
        told = f"{found.accepted} of {len(found.programs)} programs are accepted, {found.agree} others agree"
        return draft.drop(self.name, f"{REASONS[found.verdict]}: {told}")

    async def _in_thread(self, work: Callable[[], T]) -> T:
        """What runs in the sandbox; who waits for a model's reply holds no place here."""
        async with self._gate:
            return await in_thread(work)

    async def _drawn_solvers(
        self, draft: Draft, rows: Sequence[EnvironmentRow], round_: int
    ) -> tuple[Draft, tuple[str, ...]]:
        by_level = {row.problem.meta["level"]: shown(row) for row in reversed(rows)}
        request = asking.solver_request([by_level[level] for level in REVIEWED], self._config.sampling)
        slots = range(round_ * self._config.solvers, (round_ + 1) * self._config.solvers)
        bare = replace(draft, rejects=(), usage=Usage())
        heard = await all_or_first_error(
            [
                self._asker.ask(bare, RequestSlot(asking.SOLVER, number), request, read_solver, self._config.attempts)
                for number in slots
            ]
        )
        programs = tuple(one.value for one in heard if one.value is not None)
        return merged(draft, [one.draft for one in heard]), programs

    async def _drawn_verifiers(
        self, draft: Draft, rows: Sequence[EnvironmentRow]
    ) -> tuple[Draft, list[tuple[str, str]]]:
        """Programs with other verifiers, and why the ladder stops them."""
        source, config = draft.source or "", self._config
        questions = [shown(row) for row in rows[:2]]
        request = asking.verifier_request(source, questions, config.sampling)
        bare = replace(draft, rejects=(), usage=Usage())

        def read(text: str) -> Parsed[str]:
            return read_verifier(text, source)

        heard = await all_or_first_error(
            [
                self._asker.ask(bare, RequestSlot(asking.VERIFIER, number), request, read, config.attempts)
                for number in range(config.verifiers - 1)
            ]
        )
        programs = [one.value for one in heard if one.value is not None]
        climbs = await all_or_first_error([self._ladder.climb(text) for text in programs])
        found = [(text, climb.reason) for text, climb in zip(programs, climbs, strict=True)]
        return merged(draft, [one.draft for one in heard]), found

    def _testings(
        self, base: Environment, others: Sequence[tuple[str, str]], rows: Sequence[EnvironmentRow]
    ) -> _Verifiers:
        """What takes part; one that makes other instances does not."""
        programs, testings = [base.source], [tuple(row.testing for row in rows)]
        for text, reason in others:
            read = read_environment(text)
            if reason or read.value is None:
                continue
            references = references_of(read.value, base, self._environments, rows, self._tree)
            if references is not None:
                programs.append(text)
                testings.append(tuple(testings_of(text, rows, references)))
        return _Verifiers(tuple(programs), tuple(testings))

    def _judged(self, draft: Draft, taking: _Verifiers, executed: Executed) -> Draft:
        """With the verifier that is ranked first, and what the solvers say of it."""
        chosen, scores = 0, list[float | None]([None] * len(taking.programs))
        if len(taking.programs) > 1:
            chosen, scores = self._ranked(executed, len(taking.programs))
        found = settled(executed, chosen)
        rows = tuple("".join(map(str, row)) for row in executed.matrix.verdicts_MN.tolist())
        ranked = {
            text: (score, at == chosen) for at, (text, score) in enumerate(zip(taking.programs, scores, strict=True))
        }
        return replace(
            draft,
            source=taking.programs[chosen],
            verifiers=tuple(
                replace(one, score=ranked[one.program][0], chosen=ranked[one.program][1])
                if one.program in ranked
                else one
                for one in draft.verifiers
            ),
            crosscheck=CheckedSolvers(executed.programs, rows, executed.groups, *found),
            usage=draft.usage.plus(Usage(cells=int(executed.matrix.verdicts_MN.size))),
        )

    def _ranked(self, executed: Executed, count: int) -> tuple[int, list[float | None]]:
        """The verifier with the best mean score of its testings, the draft's own before its equals; where the strategy
        is invalid, that one."""
        (found,) = self._runner.rank([self._strategy], [evidence_of(executed.matrix)])
        if isinstance(found, Invalid):
            return 0, [None] * count
        scores_N = np.asarray(found[0].testing_scores_N, dtype=float)[: count * executed.groups]
        means = scores_N.reshape(count, executed.groups).mean(axis=1)
        return int(np.argmax(means)), [round(float(one), 6) for one in means]


def _reported(draft: Draft, others: Sequence[tuple[str, str]], taking: _Verifiers) -> tuple[RankedVerifier, ...]:
    """All verifiers with what is known before they are ranked; nothing where there is one alone."""
    if not others:
        return ()
    rest = [
        RankedVerifier(text, reason or ("" if text in taking.programs else "other-instances"))
        for text, reason in others
    ]
    return (RankedVerifier(draft.source or ""), *rest)
