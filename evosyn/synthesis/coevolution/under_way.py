"""Mutations under way while the student trains (`evosyn.running.under_way`): who makes them, and what of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from evosyn.chat import Reply, Request
from evosyn.codec import dump
from evosyn.dataset import Reject
from evosyn.ports import Teacher
from evosyn.records import Candidate, content_id
from evosyn.running.ledger import Ledger
from evosyn.running.under_way import UnderWay
from evosyn.synthesis.mutations.mutator import Ask, Mutation, MutationConfig, WantedMutation, mutated


class MutationOrder(NamedTuple):
    """What is wanted, and the problem that it is made of."""

    wanted: WantedMutation
    parent: Candidate


Check: TypeAlias = Callable[[MutationOrder, Mutation, Ask], Awaitable[Mutation]]
"""Looks at what was made: as it is, or lost."""


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


class MutationsUnderWay(UnderWay[MutationOrder, MadeMutation]):
    """Begins mutations and gives them back when they are due. Belongs to one thread; close it.

    Args:
        mutator: closed with it.
    """

    def __init__(self, mutator: Mutator) -> None:
        super().__init__(mutator.teacher, mutator.ledger)
        self._mutator = mutator

    def index(self, order: MutationOrder) -> int:
        return index_of_wanted(order.wanted)

    async def make(self, order: MutationOrder) -> MadeMutation:
        mutator, index, asked = self._mutator, self.index(order), 0

        async def ask(request: Request) -> Reply:
            nonlocal asked
            asked += 1
            return await mutator.ledger.ask((index, request.purpose, asked - 1, 0), request, mutator.teacher)

        made = await mutated(order.wanted, ask, mutator.config)
        if mutator.check is not None and not made.lost:
            made = await mutator.check(order, made, ask)
        return MadeMutation(index, made)


def index_of_wanted(wanted: WantedMutation) -> int:
    """Its number in a ledger."""
    return int(content_id("k_", dump(wanted)).removeprefix("k_"), 16)
