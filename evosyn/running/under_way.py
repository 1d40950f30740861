"""What is made while a student trains: asked for in an event loop of its own thread, and waited for when it is due.

Replies are kept in a ledger before they are used, and an item that has ended is not made again: after a kill, or when
a training is taken back to a checkpoint, nothing is paid twice. `evosyn.running.ledger`.
"""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Generic, Protocol, TypeVar, runtime_checkable

from evosyn.errors import BudgetSpent
from evosyn.ports import Teacher
from evosyn.ports.stages import Item
from evosyn.running.ledger import Ledger
from evosyn.running.progress import Usage, usage_of

Order = TypeVar("Order")
T = TypeVar("T", bound=Item)


@runtime_checkable
class Attended(Teacher, Protocol):
    """A teacher that answers only when it is attended to, in the thread that waits: the model in training."""

    def attend(self) -> None:
        """Answer what waits, or wait a little."""
        ...


class UnderWay(ABC, Generic[Order, T]):
    """Begins what is ordered and gives it back when it is due. Belongs to one thread; close it.

    Args:
        teacher: closed with it.
    """

    def __init__(self, teacher: Teacher, ledger: Ledger[T]) -> None:
        self._teacher, self._ledger = teacher, ledger
        self._loop = asyncio.new_event_loop()
        self._begun: dict[int, Future[T]] = {}
        self._thread = threading.Thread(target=self._loop.run_forever, name="under-way", daemon=True)
        self._thread.start()

    @abstractmethod
    def index(self, order: Order) -> int:
        """The number of an order in the ledger: another one for each thing that is ordered."""

    @abstractmethod
    async def make(self, order: Order) -> T:
        """Make what is ordered, through the ledger."""

    def begin(self, orders: Sequence[Order]) -> None:
        """Begin what is not under way; what is attended to begins when it is due, with the weights of then."""
        if not isinstance(self._teacher, Attended):
            self._begin(orders)

    def collect(self, orders: Sequence[Order]) -> list[T]:
        """What was ordered; waits for it.

        Raises:
            BudgetSpent, TeacherUnavailable, UsageError: from the teacher; what was paid is kept.
        """
        self._begin(orders)
        indices, teacher = [self.index(one) for one in orders], self._teacher
        while isinstance(teacher, Attended) and not all(self._begun[index].done() for index in indices):
            teacher.attend()
        found = [self._begun[index].result() for index in indices]
        for index in indices:
            self._begun.pop(index, None)
        return found

    def spent(self) -> Usage:
        """What all replies came to, those of earlier processes included."""
        return usage_of([one.reply for one in self._ledger.paid()])

    def close(self) -> None:
        """End what is under way: calls in flight are waited for where the budget is spent, since they are paid."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _begin(self, orders: Sequence[Order]) -> None:
        for one in orders:
            index = self.index(one)
            if index not in self._begun:
                self._begun[index] = asyncio.run_coroutine_threadsafe(self._made(index, one), self._loop)

    async def _made(self, index: int, order: Order) -> T:
        if index in self._ledger.done:
            return self._ledger.item(index)
        made = await self.make(order)
        self._ledger.finish(made, None)
        return made

    async def _end(self) -> None:
        ended = [one for one in self._begun.values() if one.done() and not one.cancelled()]
        if any(isinstance(one.exception(), BudgetSpent) for one in ended):
            await self._ledger.settle()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        self._ledger.give_up()
        await asyncio.gather(*others, return_exceptions=True)
        await self._teacher.aclose()
