"""Mutations under way while the student trains: asked for in an event loop of its own thread, and waited for when due.

Replies are kept in a ledger before they are used, and a mutation that has ended is not made again: after a kill, or
when a training is taken back to a checkpoint, nothing is paid twice. `evosyn.running.ledger`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

from evosyn.chat import Reply, Request
from evosyn.codec import dump
from evosyn.dataset import Reject
from evosyn.errors import BudgetSpent
from evosyn.ports import Teacher
from evosyn.records import Candidate, content_id
from evosyn.running.ledger import Ledger
from evosyn.running.progress import Usage, usage_of
from evosyn.synthesis.mutations.mutator import Ask, Mutation, MutationConfig, WantedMutation, mutated


class MutationOrder(NamedTuple):
    """What is wanted, and the problem that it is made of."""

    wanted: WantedMutation
    parent: Candidate


Check: TypeAlias = Callable[[MutationOrder, Mutation, Ask], Awaitable[Mutation]]
"""Looks at what was made: as it is, or lost."""


@runtime_checkable
class Attended(Teacher, Protocol):
    """A teacher that answers only when it is attended to, in the thread that waits: the model in training."""

    def attend(self) -> None:
        """Answer what waits, or wait a little."""
        ...


@dataclass(frozen=True)
class MadeMutation:
    """A mutation that has ended, as an item of a ledger.

    Attributes:
        index: names what was wanted, so that another parent or target is another item.
    """

    index: int
    mutation: Mutation

    @property
    def ended(self) -> Reject | None:
        lost = self.mutation.lost
        return Reject("mutation", lost, "problem", self.mutation.number) if lost else None


class Mutator(NamedTuple):
    """Who is asked, how, and what looks at the answers."""

    teacher: Teacher
    ledger: Ledger[MadeMutation]
    config: MutationConfig
    check: Check | None = None


class MutationsUnderWay:
    """Begins mutations and gives them back when they are due. Belongs to one thread; close it.

    Args:
        mutator: closed with it.
    """

    def __init__(self, mutator: Mutator) -> None:
        self._mutator = mutator
        self._loop = asyncio.new_event_loop()
        self._begun: dict[int, Future[Mutation]] = {}
        self._thread = threading.Thread(target=self._loop.run_forever, name="mutations", daemon=True)
        self._thread.start()

    def begin(self, orders: Sequence[MutationOrder]) -> None:
        """Begin what is not under way; what is attended to begins when it is due, with the weights of then."""
        if not isinstance(self._mutator.teacher, Attended):
            self._begin(orders)

    def _begin(self, orders: Sequence[MutationOrder]) -> None:
        for one in orders:
            index = index_of_wanted(one.wanted)
            if index not in self._begun:
                self._begun[index] = asyncio.run_coroutine_threadsafe(self._made(index, one), self._loop)

    def collect(self, orders: Sequence[MutationOrder]) -> list[Mutation]:
        """What was ordered; waits for it.

        Raises:
            BudgetSpent, TeacherUnavailable, UsageError: from the teacher; what was paid is kept.
        """
        self._begin(orders)
        indices, teacher = [index_of_wanted(one.wanted) for one in orders], self._mutator.teacher
        while isinstance(teacher, Attended) and not all(self._begun[index].done() for index in indices):
            teacher.attend()
        found = [self._begun[index].result() for index in indices]
        for index in indices:
            del self._begun[index]
        return found

    def spent(self) -> Usage:
        """What all replies came to, those of earlier processes included."""
        return usage_of([one.reply for one in self._mutator.ledger.paid()])

    def close(self) -> None:
        """End what is under way: calls in flight are waited for where the budget is spent, since they are paid."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _made(self, index: int, order: MutationOrder) -> Mutation:
        mutator = self._mutator
        if index in mutator.ledger.done:
            return mutator.ledger.item(index).mutation
        asked = 0

        async def ask(request: Request) -> Reply:
            nonlocal asked
            asked += 1
            return await mutator.ledger.ask((index, request.purpose, asked - 1, 0), request, mutator.teacher)

        made = await mutated(order.wanted, ask, mutator.config)
        if mutator.check is not None and not made.lost:
            made = await mutator.check(order, made, ask)
        mutator.ledger.finish(MadeMutation(index, made), None)
        return made

    async def _end(self) -> None:
        ended = [one for one in self._begun.values() if one.done() and not one.cancelled()]
        if any(isinstance(one.exception(), BudgetSpent) for one in ended):
            await self._mutator.ledger.settle()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        self._mutator.ledger.give_up()
        await asyncio.gather(*others, return_exceptions=True)
        await self._mutator.teacher.aclose()


def index_of_wanted(wanted: WantedMutation) -> int:
    """Its number in a ledger."""
    return int(content_id("k_", dump(wanted)).removeprefix("k_"), 16)
