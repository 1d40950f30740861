"""The streaming pipeline of a synthesis: make, deduplicate, draw, execute and rank, prune; each instance on its own.

Stages are joined by bounded queues: an instance flows on as soon as it is ready, no stage waits for another to end, and
memory does not grow with the number of problems. Executions run in threads beside the model calls. The one place with
an order is deduplication, which must not depend on which reply came first: new problems are compared in the order of
their index, from a window of those already being made. Everything is journalled; what is in the journal is not done
again. Du 2025, section 3.2.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, TypeVar

from evosyn.chat import Reply, Request
from evosyn.errors import BudgetSpent
from evosyn.ports import Crossexec, Domain, StrategyRunner, Teacher
from evosyn.randomness import SeedTree
from evosyn.records import Invalid, PassMatrix, Pool, Problem, Ranking
from evosyn.strategies.evidence import evidence_of
from evosyn.synthesis.adaptive import Outlook, Size, outlook, rounds
from evosyn.synthesis.config import SynthesizeConfig
from evosyn.synthesis.decontaminate import OverlapIndex
from evosyn.synthesis.dedup import DedupIndex
from evosyn.synthesis.generate import Drawn, Kind, Want, all_or_first_error, draw_pool
from evosyn.synthesis.instance import Instance, Usage, ranked, usage_of
from evosyn.synthesis.ledger import Ledger
from evosyn.synthesis.problems import Briefs, MadeProblem, make_problem
from evosyn.synthesis.prune import STRATEGY_INVALID, decide
from evosyn.synthesis.rejects import draw_rejects, problem_rejects
from evosyn.synthesis.tally import RunTally

T = TypeVar("T")
DRAIN_S = 300.0
"""Seconds that a run whose budget is spent waits for the calls in flight."""
EXECUTORS = 2
"""Batches executed at once: while one is judged and ranked, the sandbox works on the other."""


@dataclass(frozen=True)
class Parts:
    """The collaborators of a pipeline; the caller owns and closes them.

    Attributes:
        strategy: text of the strategy program.
        others: further teachers; solutions and testings take turns over all, problems come from `teacher`.
        overlap: the benchmarks to keep out, or None.
        concurrency: model calls at once; it changes the speed, never the result.
    """

    seeds: Sequence[Problem]
    teacher: Teacher
    domains: Mapping[str, Domain]
    crossexec: Crossexec
    runner: StrategyRunner
    strategy: str
    overlap: OverlapIndex | None = None
    others: Sequence[Teacher] = ()
    concurrency: int = 64


class _Drawn(NamedTuple):
    """An instance to execute; `judged` is set where its drawer waits for the outcome."""

    instance: Instance
    judged: asyncio.Future[Instance] | None


class Pipeline:
    """Runs one synthesis over its ledger."""

    def __init__(self, parts: Parts, config: SynthesizeConfig, ledger: Ledger, tally: RunTally) -> None:
        self._parts = parts
        self._config = config
        self._ledger = ledger
        self._tally = tally
        self._tree = SeedTree(config.seed).child("synthesize")
        self._briefs = Briefs(parts.seeds, config.problem, self._tree.child("problems"))
        self._index = DedupIndex(config.filter.dedup)
        for seed in parts.seeds:
            self._index.add(f"seed {seed.problem_id}", seed.statement)
        self._calls: set[asyncio.Task[Reply]] = set()
        first = rounds(config.draw.adaptive, config.solutions, config.testings)[0]
        drawers = 2 + -(-2 * parts.concurrency // sum(first))
        self._drawers = min(drawers, config.problems)
        self._made: asyncio.Queue[Instance | None] = asyncio.Queue(maxsize=self._drawers)
        self._drawn: asyncio.Queue[_Drawn | None] = asyncio.Queue(maxsize=self._drawers + config.execute.batch)

    async def run(self) -> None:
        """Bring every instance to its end.

        Raises:
            BudgetSpent: after the calls in flight have come back: they are paid for.
            TeacherUnavailable, SandboxUnavailable: everything received until then is in the journal.
        """
        try:
            await all_or_first_error([self._make_all(), self._draw_all(), self._execute_all()])
        except BudgetSpent:
            if self._calls:
                await asyncio.wait(self._calls, timeout=DRAIN_S)
            raise
        finally:
            for call in list(self._calls):
                call.cancel()

    async def _make_all(self) -> None:
        window: deque[asyncio.Task[MadeProblem | None]] = deque()
        ahead = max(16, self._parts.concurrency)
        try:
            for index in range(self._config.problems):
                if len(window) >= ahead:
                    await self._admit(index - len(window), await window.popleft())
                window.append(asyncio.create_task(self._make(index)))
            for index in range(self._config.problems - len(window), self._config.problems):
                await self._admit(index, await window.popleft())
        finally:
            for task in window:
                task.cancel()
        for _ in range(self._drawers):
            await self._made.put(None)

    async def _make(self, index: int) -> MadeProblem | None:
        """A new problem, or None where the instance is finished already."""
        if index in self._ledger.done:
            return None
        brief = self._briefs.brief(index)
        domain = self._parts.domains[brief.seeds[0].domain]

        async def ask(index: int, attempt: int, request: Request) -> Reply:
            return await self._complete(index, "problem", 0, attempt, request)

        self._tally.move(None, "making")
        return await make_problem(
            brief, self._briefs, domain, ask, self._config.problem, simulated=self._parts.teacher.simulated
        )

    async def _admit(self, index: int, made: MadeProblem | None) -> None:
        """Compare a new problem with all before it, in order, and pass it on if it is new."""
        if made is None:
            self._remember(self._ledger.instance(index))
            return
        instance = Instance(
            index=index,
            problem=made.problem,
            rejects=problem_rejects(index, made),
            brief={"seeds": [seed.problem_id for seed in made.brief.seeds], "wishes": dict(made.brief.wishes)},
            usage=usage_of([attempt.reply for attempt in made.attempts]),
        )
        if instance.problem is None:
            last = made.attempts[-1]
            self._end(instance.drop("problem", last.reason, last.detail), "making")
            return
        duplicate = self._index.find(instance.problem.statement)
        if duplicate is not None:
            detail = f"like {duplicate.of}, similarity {duplicate.similarity:.2f}"
            self._end(instance.drop("dedup", f"{duplicate.kind}-duplicate", detail), "making")
            return
        overlap = None if self._parts.overlap is None else self._parts.overlap.find(instance.problem.statement)
        if overlap is not None:
            detail = f"shares {overlap.overlap:.2f} of its words with {overlap.of}"
            self._end(instance.drop("decontaminate", "benchmark-overlap", detail), "making")
            return
        self._index.add(instance.problem.problem_id, instance.problem.statement)
        self._tally.move("making", "drawing")
        await self._made.put(instance)

    def _remember(self, instance: Instance) -> None:
        early = any(reject.stage in ("problem", "dedup", "decontaminate") for reject in instance.rejects[-1:])
        if instance.problem is not None and not early:
            self._index.add(instance.problem.problem_id, instance.problem.statement)

    async def _draw_all(self) -> None:
        await all_or_first_error([self._draw() for _ in range(self._drawers)])
        for _ in range(EXECUTORS):
            await self._drawn.put(None)

    async def _draw(self) -> None:
        while (instance := await self._made.get()) is not None:
            sizes = rounds(self._config.draw.adaptive, self._config.solutions, self._config.testings)
            for number, size in enumerate(sizes):
                last = number == len(sizes) - 1
                instance = await self._draw_up_to(instance, size, sizes[number - 1] if number else Size(0, 0))
                lacking = _lacking(instance)
                if lacking and last:
                    self._end(
                        instance.drop(lacking, f"no-{lacking}", f"no reply could be read as a {lacking}"), "drawing"
                    )
                if lacking:
                    continue
                self._tally.move("drawing", "executing")
                if last:
                    await self._drawn.put(_Drawn(instance, None))
                    break
                judged: asyncio.Future[Instance] = asyncio.get_running_loop().create_future()
                await self._drawn.put(_Drawn(instance, judged))
                if self._enough(await judged):
                    self._end(judged.result(), "executing")
                    break
                self._tally.move("executing", "drawing")

    def _enough(self, judged: Instance) -> bool:
        adaptive, matrix, decision = self._config.draw.adaptive, judged.matrix, judged.decision
        if adaptive is None or matrix is None or decision is None:
            return True
        return outlook(matrix, decision, adaptive) is not Outlook.OPEN

    async def _draw_up_to(self, instance: Instance, size: Size, before: Size) -> Instance:
        """The instance with the slots from `before` to `size` added to its pool."""
        problem = instance.problem
        if problem is None:
            raise ValueError(f"instance {instance.index} reached the drawing without a problem")
        want = Want(
            size.solutions - before.solutions,
            size.testings - before.testings,
            any(one.simulated for one in (self._parts.teacher, *self._parts.others)),
            *before,
        )
        drawn = await self._draw_one(instance.index, problem, want)
        held = instance.pool or Pool(problem, (), ())
        self._tally.unusable += len(drawn.rejected)
        return replace(
            instance,
            pool=Pool(problem, held.solutions + drawn.pool.solutions, held.testings + drawn.pool.testings),
            rejects=instance.rejects + draw_rejects(instance.index, problem.problem_id, drawn),
            usage=instance.usage.plus(usage_of([attempt.reply for attempt in drawn.attempts])),
        )

    async def _draw_one(self, index: int, problem: Problem, want: Want) -> Drawn:
        async def ask(kind: Kind, slot: int, attempt: int, request: Request) -> Reply:
            return await self._complete(index, kind, slot, attempt, request)

        return await draw_pool(problem, self._parts.domains[problem.domain], ask, want, self._config.draw)

    async def _complete(self, index: int, kind: str, slot: int, attempt: int, request: Request) -> Reply:
        # A task of its own: what asks may be cancelled by another stage's error, the paid reply is still journalled.
        key = (index, kind, slot, attempt)
        teacher = self._parts.teacher
        if kind != "problem" and self._parts.others:
            teacher = (teacher, *self._parts.others)[slot % (1 + len(self._parts.others))]
        call = asyncio.create_task(self._ledger.ask(key, request, teacher.complete))
        self._calls.add(call)
        call.add_done_callback(self._forget)
        reply = await asyncio.shield(call)
        self._tally.reply(reply)
        return reply

    def _forget(self, call: asyncio.Task[Reply]) -> None:
        self._calls.discard(call)
        if not call.cancelled():
            call.exception()  # seen: whoever asked may be gone

    async def _execute_all(self) -> None:
        await all_or_first_error([self._execute() for _ in range(EXECUTORS)])

    async def _execute(self) -> None:
        ended = False
        while not ended:
            first = await self._drawn.get()
            if first is None:
                return
            batch = [first]
            while len(batch) < self._config.execute.batch and not self._drawn.empty():
                more = self._drawn.get_nowait()
                if more is None:
                    ended = True
                    break
                batch.append(more)
            judged = await in_thread(partial(self._judge, [one.instance for one in batch]))
            for one, instance in zip(batch, judged, strict=True):
                if one.judged is None:
                    self._end(instance, "executing")
                elif not one.judged.done():  # else whoever asked was stopped by a spent budget
                    one.judged.set_result(instance)

    def _judge(self, batch: Sequence[Instance]) -> list[Instance]:
        """Execute, rank and prune; in a thread."""
        pools = [instance.pool for instance in batch if instance.pool is not None]
        matrices = self._parts.crossexec.matrices([(pool.problem, pool.solutions, pool.testings) for pool in pools])
        rankings = self._rank(matrices)
        return [self._prune(*parts) for parts in zip(batch, matrices, rankings, strict=True)]

    def _rank(self, matrices: Sequence[PassMatrix]) -> list[Ranking | Invalid]:
        """Rank all at once; a program that fails on one of them is asked for each alone."""
        evidences = [evidence_of(matrix) for matrix in matrices]
        together = self._parts.runner.rank([self._parts.strategy], evidences)[0]
        if not isinstance(together, Invalid):
            return list(together)
        alone = [self._parts.runner.rank([self._parts.strategy], [evidence])[0] for evidence in evidences]
        return [one if isinstance(one, Invalid) else one[0] for one in alone]

    def _prune(self, instance: Instance, matrix: PassMatrix, ranking: Ranking | Invalid) -> Instance:
        tree = self._tree.child("instance", instance.index)
        decision = decide(matrix, ranking, self._config.filter.prune, tree)
        cells = int(matrix.verdicts_MN.size)
        judged = replace(
            instance,
            matrix=ranked(matrix),
            ranking=ranking,
            decision=decision,
            usage=instance.usage.plus(Usage(cells=cells)),
        )
        if not decision.reason:
            return judged
        stage = "rank" if decision.reason == STRATEGY_INVALID else "prune"
        return judged.drop(stage, decision.reason, decision.detail, decision.dropped_from)

    def _end(self, instance: Instance, stage: str) -> None:
        self._ledger.finish(instance)
        self._tally.move(stage, None)
        self._tally.end(instance)


def _lacking(instance: Instance) -> str:
    """`solution` or `testing`, whichever its pool has none of; empty where it can be executed."""
    if instance.pool is None or not instance.pool.solutions:
        return "solution"
    return "" if instance.pool.testings else "testing"


async def in_thread(work: Callable[[], T]) -> T:
    """Run `work` in a daemon thread: an interrupt ends the process without waiting for it, as a pool would."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def tell(act: Callable[[], None]) -> None:
        # The loop may be gone by now: then nobody waits for the result any more.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(lambda: None if future.done() else act())

    def body() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001  the stage runner: raised again where it is awaited
            caught = error
            tell(lambda: future.set_exception(caught))
        else:
            tell(lambda: future.set_result(result))

    threading.Thread(target=body, daemon=True).start()
    return await future
