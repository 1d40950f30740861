"""A co-evolution without a trainer: a student whose outcomes are a function of row and step, and a scripted teacher.

`python -m tests.synthesis.coevolution.leading RUN STEPS` leads one to its end, and goes on with one that was killed.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from simulation.offline import OfflineConfig
from simulation.offline import create as offline

from evosyn.chat import Reply, Request
from evosyn.errors import BudgetSpent
from evosyn.jobs import Limits
from evosyn.ports import FeedRow, GroupOutcome, PluginConfig, Teacher, TeacherTools
from evosyn.randomness import SeedTree
from evosyn.records import content_id
from evosyn.rundir import RunDir
from evosyn.synthesis.coevolution.config import CoevolutionConfig
from evosyn.synthesis.coevolution.feed import EvolvingProblems
from evosyn.synthesis.recipes.dejaq import CoevolutionTools, StudentPlan, evolving_problems
from evosyn.train.data import load_problems
from tests.synthesis.feed_kills import go_on

GROUP, PROMPTS = 4, 8
SEEDS = load_problems("builtin:math-seeds")


class ScriptedMutator:
    """The offline teacher, slow, failing or talking nonsense as it is told; implements `ports.Teacher`.

    Attributes:
        asked: digest of each request, in the order of the replies.
    """

    name, simulated = "scripted", True

    def __init__(
        self, *, calls: int = 16, slow: float = 0.0, failing: float = 0.0, nonsense: bool = False, most: int = 10**9
    ) -> None:
        self._offline = offline(TeacherTools(seed=0), OfflineConfig())
        self._calls, self._slow, self._failing, self._nonsense, self._most = calls, slow, failing, nonsense, most
        self._room: asyncio.Semaphore | None = None
        self.asked: Counter[str] = Counter()

    async def complete(self, request: Request) -> Reply:
        self._room = self._room or asyncio.Semaphore(self._calls)
        async with self._room:
            digest = content_id("q_", [[one.content for one in request.messages], request.sample])
            if self.asked.total() >= self._most:
                raise BudgetSpent("no more calls")
            await asyncio.sleep(self._slow * SeedTree(self._calls).child(digest).random().random())
            self.asked[digest] += 1
            reply = await self._offline.complete(request)
            if SeedTree(5).child(digest).random().random() < self._failing:
                return replace(reply, text="", failure="refused")
            return replace(reply, text="Let me think about it.") if self._nonsense else reply

    async def aclose(self) -> None:
        await self._offline.aclose()


class ScriptedConfig(PluginConfig):
    """`most`: calls that it answers."""

    most: int = 10**9


def create(tools: TeacherTools, config: ScriptedConfig) -> ScriptedMutator:  # noqa: ARG001
    return ScriptedMutator(most=config.most)


@contextmanager
def opened(
    folder: Path, teacher: Teacher | None = None, *, steps: int = 40, prompts: int = PROMPTS, **config: object
) -> Iterator[EvolvingProblems]:
    """The feed of a directory."""
    with ExitStack() as resources:
        run = resources.enter_context(RunDir(folder))
        tools = CoevolutionTools(
            run=run, samples=SEEDS, resources=resources, teacher=lambda: teacher or ScriptedMutator(), sandbox=None,  # type: ignore[arg-type]
            limits=Limits(), fits=lambda prompt: len(prompt[-1].content) < 1500,
        )  # fmt: skip
        given = CoevolutionConfig(**{"seeds": 16, **config})  # type: ignore[arg-type]
        yield evolving_problems(given, StudentPlan(prompts, steps, 3), tools)


def outcomes(rows: Sequence[FeedRow], step: int) -> list[GroupOutcome]:
    """What a student whose skill rises makes of rows; each problem is as hard as its text says by chance."""
    found = []
    for row in rows:
        hard = SeedTree(1).child(row.task.problem.statement).random().random() * 2
        rng = SeedTree(2).child(step, row.task.row_id).random()
        chance = min(max(0.3 + 0.02 * step - hard / 2 + 0.4, 0.0), 1.0)
        found.append(GroupOutcome(row.task.row_id, sum(rng.random() < chance for _ in range(GROUP)), GROUP))
    return found


def lead(feed: EvolvingProblems, steps: int, start: int = 0) -> None:
    """Report step after step."""
    for step in range(start, steps):
        feed.report(step, outcomes(feed.rows(step, PROMPTS), step))


def main(folder: Path, steps: int, cut: int) -> None:
    """See `feed_kills.go_on`."""
    with opened(folder, ScriptedMutator(slow=0.02), steps=steps) as feed:
        names = ("journal.jsonl", "mutations.jsonl")
        go_on(folder, feed, lambda step: lead(feed, step + 1, step), steps, cut=cut, names=names, every=3)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
