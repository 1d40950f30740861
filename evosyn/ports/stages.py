"""The seam of stages: what takes one item one step further, and what their runner needs to know of an item."""

from __future__ import annotations

from typing import Protocol, TypeVar, runtime_checkable

from evosyn.dataset import Reject


class Item(Protocol):
    """One thing on its way through the stages of a run; a frozen record."""

    @property
    def index(self) -> int:
        """Its number in the run."""
        ...

    @property
    def ended(self) -> Reject | None:
        """The reject that dropped it for good, so that it passes no further stage; None while it goes on."""
        ...


T = TypeVar("T", bound=Item)


class Stage(Protocol[T]):
    """One step of a recipe, of many items at the same time; its collaborators are given to it when it is made.

    What it gives for an item must be a function of the item and of its collaborators alone, never of which other items
    are on their way: then a run that was killed and resumed ends as one that was not.
    """

    @property
    def name(self) -> str:
        """One word; it goes into the journal and into the progress, and stands once in a recipe."""
        ...

    @property
    def concurrency(self) -> int | None:
        """Items in it at the same time at most; None for as many as the runner has on their way."""
        ...

    async def run(self, item: T) -> T:
        """The item one step further, or with the reject that dropped it.

        A bad reply or a bad program is data: a reject. What is raised ends the run; the same command goes on.
        """
        ...


@runtime_checkable
class OrderedStage(Stage[T], Protocol[T]):
    """A stage that compares an item with those before it: items come one at a time in the order of the run.

    It may remember items, and must remember nothing else: a run goes on with a new one, which is told what the first
    one let pass.
    """

    def recall(self, item: T) -> None:
        """Remember an item that an earlier run finished and this stage had let pass; comes in the item's turn."""
        ...
