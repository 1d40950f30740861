"""The seam of where a trainer's rows come from while it trains: the only live link from what makes tasks to training.

A dataset that stays as it is needs none. Pool rotation is a feed (`evosyn.environments.rotation`), a curriculum that
grows is another. DESIGN.md section 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from evosyn.chat import Message
from evosyn.records import Json
from evosyn.tasks import Task


class FeedRow(NamedTuple):
    """One prompt that a trainer draws a group of completions for, and what decides about them.

    Attributes:
        weight: of its group's advantages.
        judged: the task's testing decides; else the feed pays itself, and of the task the name alone counts.
    """

    prompt: tuple[Message, ...]
    task: Task
    weight: float = 1.0
    judged: bool = True


class GroupOutcome(NamedTuple):
    """What the completions for one row came to.

    Attributes:
        row: `Task.row_id`.
        passed: those that satisfy the row's testing, whatever else a reward is made of.
        known: those that were judged; one that our infrastructure could not judge is no failure.
        texts: all of them, in the order drawn; untrusted, and left out where outcomes are kept.
    """

    row: str
    passed: int
    known: int
    texts: tuple[str, ...] = ()


@runtime_checkable
class Feed(Protocol):
    """Where rows come from, step by step. Its state is a fold of journalled events: a function of what it was made from
    and of what was reported.

    The trainer calls `rows(step)`, `report(step)`, `rows(step + 1)`, ...; a checkpoint of step s is written when s
    steps have been reported, and keeps `state()`. Training that goes on from it begins with `rewind(s)`, also from the
    start (`rewind(0)`). One process owns a feed.
    """

    def rows(self, step: int, groups: int) -> Sequence[FeedRow]:
        """So many rows for a step; a row may come twice. Depends on the state, `step` and `groups` alone, and changes
        nothing.
        """
        ...

    def report(self, step: int, outcomes: Sequence[GroupOutcome]) -> None:
        """What the groups of a step came to; those rows of it that were drawn, in their order. It is in the journal,
        whole or not at all, before the state is another one.

        Raises:
            EvosynError: what it works with is gone; training saves and stops.
        """
        ...

    def rewind(self, step: int) -> None:
        """Forget what was reported of `step` and later ones: these are done again."""
        ...

    def state(self) -> Json:
        """All that decides the rows of the steps to come."""
        ...

    def figures(self) -> Mapping[str, float]:
        """What the metrics get of the last report; the same names each time."""
        ...

    def summary(self) -> Json:
        """What the report of a run says of it."""
        ...


@runtime_checkable
class PayingFeed(Feed, Protocol):
    """A feed that pays for some of its rows itself, all that are not judged among them."""

    def paid(self) -> Mapping[str, Sequence[float | None]]:
        """By row what each completion of the last report is worth, in the order drawn; None where nobody knows, which
        teaches nothing."""
        ...
