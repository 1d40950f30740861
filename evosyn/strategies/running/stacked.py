"""A strategy runner that has programs of our own grammar scored on whole stacks of problems, in the sandbox.

A program is read as a tree; if it is what we write for that tree, its own lines are known to look along the last axes
only, so that one call ranks a stack of problems instead of one call each. Scores are the same either way, bit for bit
(a test compares them). Every other program, and whatever goes wrong here, goes to the runner behind. DESIGN.md
section 5.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from evosyn.jobs import HarnessJob, ItemOutcome, Limits, Status
from evosyn.ports import Sandbox, StrategyRunner
from evosyn.rankings import RankingBlock, Rankings
from evosyn.records import Evidence, Invalid, Json
from evosyn.sharing import Company
from evosyn.strategies.grammar.grammar import Program
from evosyn.strategies.grammar.reader import Reader
from evosyn.strategies.running.packing import source
from evosyn.strategies.running.stacks import Stack, stacked
from evosyn.strategies.running.steps import Steps, table

MOST_TOGETHER = 64
"""Programs in one process: they share a fork, and what they compute alike."""

JOBS_A_CORE = 2
SECONDS = 5.0
SECONDS_PER_RANKING = 0.002
"""About a hundred times what one ranking takes."""

BYTES = 8
FUTURE = "from __future__ import annotations\n"


@runtime_checkable
class InSandbox(Protocol):
    """A runner that says which sandbox it uses, and whether programs may share a process there."""

    company: Company

    @property
    def sandbox(self) -> Sandbox: ...


class _Shared(NamedTuple):
    """Evidences as stacks, known to the sandbox under `key`."""

    evidences: Sequence[Evidence]
    stacks: list[Stack]
    key: str
    scores: int


class TreeRunner:
    """Implements `ports.StrategyRunner`.

    Args:
        behind: runs what is not of the grammar; where it says which sandbox it uses, the rest is stacked there.
        reader: may be shared with the proposer, which spares reading what was just written.
    """

    def __init__(self, behind: StrategyRunner, reader: Reader) -> None:
        self._behind, self._reader = behind, reader
        self._inside = behind if isinstance(behind, InSandbox) else None
        self._prepared: list[_Shared] = []

    def rank(
        self, programs: Sequence[str], evidences: Sequence[Evidence], tasks: Sequence[str] | None = None
    ) -> list[Rankings | Invalid]:
        """For each program its rankings, one per evidence, or why it has none; one of the grammar keeps nothing.

        Args:
            tasks: as in `ports.StrategyRunner`.
        """
        found: dict[int, Rankings | Invalid] = {}
        if self._inside is not None and self._inside.company.shares and evidences:
            found.update(self._stacked(self._inside.sandbox, programs, evidences))
        others = [place for place in range(len(programs)) if place not in found]
        ran = self._behind.rank([programs[place] for place in others], evidences, tasks) if others else []
        found.update(zip(others, ran, strict=True))
        return [found[place] for place in range(len(programs))]

    def _stacked(self, sandbox: Sandbox, programs: Sequence[str], evidences: Sequence[Evidence]) -> dict[int, Rankings]:
        """Rankings of the programs of the grammar by their place; one whose job failed is left out."""
        read = ((place, self._reader.read(text)) for place, text in enumerate(programs))
        trees = [(place, tree) for place, tree in read if tree is not None]
        if not trees:
            return {}
        shared = self._share(sandbox, evidences)
        size = min(MOST_TOGETHER, -(-len(trees) // (JOBS_A_CORE * len(os.sched_getaffinity(0)))))
        groups = [trees[start : start + size] for start in range(0, len(trees), size)]
        jobs = [self._job([tree for _, tree in group], shared) for group in groups]
        found: dict[int, Rankings] = {}
        for group, (outcome,) in zip(groups, sandbox.run(jobs), strict=True):
            for (place, _), raw in zip(group, _results(outcome, len(group)), strict=False):
                rankings = _rankings(raw, shared)
                if rankings is not None:
                    found[place] = rankings
        return found

    def _share(self, sandbox: Sandbox, evidences: Sequence[Evidence]) -> _Shared:
        """The evidences in stacks; the last two are remembered by identity."""
        for known in self._prepared:
            if known.evidences is evidences:
                return known
        stacks = stacked(evidences)
        key = sandbox.share({"stacks": [stack.terminals for stack in stacks]})
        shared = _Shared(evidences, stacks, key, sum(stack.scores for stack in stacks))
        self._prepared = [*self._prepared[-1:], shared]
        return shared

    def _job(self, trees: Sequence[Program], shared: _Shared) -> HarnessJob:
        seconds = SECONDS + SECONDS_PER_RANKING * len(trees) * len(shared.evidences)
        limits = Limits(
            cpu_s=seconds,
            budget_s=seconds,
            memory_mb=1024,
            output_kb=64 + len(trees) * shared.scores * BYTES // 512,
        )
        shared_steps = Steps(trees)
        argument: Json = {"steps": shared_steps.steps, "programs": [tuple(one) for one in shared_steps.programs]}
        return HarnessJob(harness(), "", shared.key, argument, limits)


@cache
def harness() -> str:
    """The source that runs the steps of programs: our own loop, and the functions that programs may call."""
    faster = source("_stacked_functions.py").replace(FUTURE, "")
    return "\n\n\n".join([source("_stacked_harness.py"), table(), faster])


def _results(outcome: ItemOutcome, count: int) -> Sequence[Json]:
    """What a job brought back for each of its programs; nothing where it failed."""
    value = outcome.value if outcome.status is Status.OK else None
    return value if isinstance(value, list) and len(value) == count else ()


def _rankings(raw: Json, shared: _Shared) -> Rankings | None:
    """The scores of one program; they were computed in the sandbox, so their form is not trusted."""
    if not isinstance(raw, bytes) or len(raw) != shared.scores * BYTES:
        return None
    scores = np.frombuffer(raw)
    if not np.isfinite(scores).all():
        return None
    blocks, at = [], 0
    for stack in shared.stacks:
        rows, (m, n) = len(stack.at_B), stack.sizes
        middle, end = at + rows * m, at + stack.scores
        blocks.append(RankingBlock(stack.at_B, scores[at:middle].reshape(rows, m), scores[middle:end].reshape(rows, n)))
        at = end
    return Rankings.merged(blocks)
