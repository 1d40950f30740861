"""The runner: takes items through an ordered list of stages, each on its own, and keeps what is finished.

An item flows on as soon as it is ready and no stage waits for another to end; only an ordered stage takes items in
turn. It knows nothing of what items and stages are about, and asks no model: stages do, through the ledger. DESIGN.md
section 7.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from itertools import takewhile
from typing import Generic, TypeVar

from evosyn.errors import BudgetSpent
from evosyn.ports import Teacher
from evosyn.ports.stages import Item, OrderedStage, Stage
from evosyn.running.ledger import Ledger
from evosyn.running.progress import RunProgress

T = TypeVar("T", bound=Item)


class Runner(Generic[T]):
    """Takes items through stages.

    Args:
        stages: in the order in which every item passes them; their names differ.
        ledger: finished items are written there as they end, and are not touched again.
        window: items on their way at most, so that memory does not grow with their number.
    """

    def __init__(
        self, stages: Sequence[Stage[T]], ledger: Ledger[T], *, window: int, progress: RunProgress[T] | None = None
    ) -> None:
        self._stages = stages
        self._ledger = ledger
        self._window = window
        self._progress = progress if progress is not None else RunProgress()
        self._progress.in_stage.update({stage.name: 0 for stage in stages})

    async def run(self, items: Iterable[T]) -> None:
        """Bring every item to its end.

        Args:
            items: at their beginning, in the order that ordered stages keep; taken as there is room for them.

        Raises:
            BudgetSpent: after the calls in flight have come back: they are paid for.
            Exception: the first that a stage raised; everything received until then is in the journal.
        """
        posts = [_Post(stage) for stage in self._stages]
        flying: set[asyncio.Task[None]] = set()
        try:
            for number, item in enumerate(items):
                flying.add(asyncio.create_task(self._carry(number, item, posts)))
                if len(flying) == self._window:
                    flying = await _some(flying)
            while flying:
                flying = await _some(flying)
        except BudgetSpent:
            await _cancel(flying)
            await self._ledger.settle()
            raise
        finally:
            await _cancel(flying)
            self._ledger.give_up()

    def run_and_close(self, items: Iterable[T], teachers: Iterable[Teacher]) -> None:
        """As `run`, from outside of any event loop; the teachers are closed in the end, which their loop must do."""

        async def passed() -> None:
            async with AsyncExitStack() as closing:
                for teacher in teachers:
                    closing.push_async_callback(teacher.aclose)
                await self.run(items)

        asyncio.run(passed())

    async def _carry(self, number: int, item: T, posts: Sequence[_Post[T]]) -> None:
        if item.index in self._ledger.done:
            await self._recall(number, item.index, posts)
            return
        dropped_in = None
        for post in posts:
            if item.ended is None:
                item = await self._pass(number, item, post)
                dropped_in = None if item.ended is None else post.stage.name
            post.turns.over(number)
        self._ledger.finish(item, dropped_in)
        self._progress.end(item)

    async def _pass(self, number: int, item: T, post: _Post[T]) -> T:
        self._progress.in_stage[post.stage.name] += 1
        try:
            if post.ordered is not None:
                await post.turns.come(number)
            async with post.gate:
                return await post.stage.run(item)
        finally:
            self._progress.in_stage[post.stage.name] -= 1

    async def _recall(self, number: int, index: int, posts: Sequence[_Post[T]]) -> None:
        """Let the ordered stages remember a finished item, those that had let it pass."""
        item = self._ledger.item(index)
        self._progress.end(item, resumed=True)
        dropped_in = self._ledger.done[index].stage
        passed = list(takewhile(lambda post: post.stage.name != dropped_in, posts))
        for post in posts:
            if post.ordered is not None and post in passed:
                await post.turns.come(number)
                post.ordered.recall(item)
            post.turns.over(number)


class _Post(Generic[T]):
    """A stage with what lets items in: one after the other in turn, or a number of them at once."""

    def __init__(self, stage: Stage[T]) -> None:
        self.stage = stage
        self.ordered: OrderedStage[T] | None = stage if isinstance(stage, OrderedStage) else None
        self.turns = Turns()
        self.gate: AbstractAsyncContextManager[object] = (
            nullcontext() if stage.concurrency is None else asyncio.Semaphore(stage.concurrency)
        )


class Turns:
    """One at a time, by number from 0: a number comes when all before it are over; each must come to be over."""

    def __init__(self) -> None:
        self._next = 0
        self._over: set[int] = set()
        self._waiting: dict[int, asyncio.Future[None]] = {}

    async def come(self, number: int) -> None:
        """Wait until it is this number's turn."""
        if number != self._next:
            self._waiting[number] = asyncio.get_running_loop().create_future()
            await self._waiting[number]

    def over(self, number: int) -> None:
        """This number has had its turn, or does without it."""
        self._over.add(number)
        while self._next in self._over:
            self._over.remove(self._next)
            self._next += 1
        waiting = self._waiting.pop(self._next, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(None)


async def _some(flying: set[asyncio.Task[None]]) -> set[asyncio.Task[None]]:
    """Wait until some have ended; those that have not.

    Raises:
        Exception: what one of them raised.
    """
    ended, left = await asyncio.wait(flying, return_when=asyncio.FIRST_COMPLETED)
    for task in ended:
        task.result()
    return left


async def _cancel(tasks: Iterable[asyncio.Task[None]]) -> None:
    tasks = list(tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
