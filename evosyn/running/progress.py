"""Counting what happens while stages run, for people who watch it; no decision is ever made from these counts."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from evosyn.chat import Reply
from evosyn.dataset import Reject
from evosyn.ports.stages import Item
from evosyn.records import Json

T = TypeVar("T", bound=Item)
ENOUGH_S, ENOUGH = 10.0, 0.05
"""Seconds and share of the work after which the time left can be told."""


@dataclass(frozen=True)
class Usage:
    """What model calls came to: replies used, tokens, dollars (None once a price is unknown), executed cells."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0
    cells: int = 0

    def plus(self, other: Usage) -> Usage:
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            cost,
            self.cells + other.cells,
        )

    def told(self) -> dict[str, Json]:
        """As reports tell it; executions stand apart."""
        tokens: Json = {"input": self.input_tokens, "output": self.output_tokens}
        return {"calls": self.calls, "tokens": tokens, "cost": self.cost}


def usage_of(replies: Sequence[Reply]) -> Usage:
    """The sum over replies, in their order; a reply from a cache counts with what it cost when it was made."""
    total = Usage()
    for reply in replies:
        total = total.plus(Usage(1, reply.input_tokens, reply.output_tokens, reply.cost))
    return total


def left_s(done: float, whole: float, seconds: float) -> float | None:
    """Seconds to go at the rate so far; None while that says little."""
    if done <= 0 or seconds < ENOUGH_S or done < ENOUGH * whole:
        return None
    return seconds / done * max(0.0, whole - done)


@dataclass
class ReplyCounts:
    """Live counts of the replies of models; whoever asks tells of each as it comes.

    Attributes:
        expected: slots to fill, with a reply each if all can be used; 0 where that is not known.
        slots: those that have ended; `there`: of these, without a call of this process.
        again: replies of ended slots beyond the first of each; `unusable`: of ended slots.
        replies: received in this process; `cached`: of those, answered without the model.
        usage: of the other replies.
    """

    expected: int = 0
    slots: int = 0
    there: int = 0
    again: int = 0
    unusable: int = 0
    replies: int = 0
    cached: int = 0
    usage: Usage = field(default_factory=Usage)
    clock: Callable[[], float] = time.monotonic
    started: float = 0.0

    def __post_init__(self) -> None:
        self.started = self.clock()

    def expect(self, slots: int) -> None:
        """So many more will be asked for; time counts from the first."""
        if not self.expected:
            self.started = self.clock()
        self.expected += slots

    def reply(self, reply: Reply) -> None:
        """Count one reply."""
        self.replies += 1
        self.cached += reply.cached
        if not reply.cached:
            self.usage = self.usage.plus(usage_of([reply]))

    def end_slot(self, replies: Sequence[Reply], unusable: int) -> None:
        """A slot has ended, filled or empty, after these replies."""
        self.slots += 1
        self.there += all(reply.cached for reply in replies)
        self.again += max(0, len(replies) - 1)
        self.unusable += unusable

    @property
    def work(self) -> tuple[int, int, int]:
        """How much is done, how much of that was there already, and how much there is in all."""
        return self.slots, self.there, self.expected

    @property
    def seconds(self) -> float:
        return self.clock() - self.started

    @property
    def eta_s(self) -> float | None:
        """Seconds to go at the rate so far; None while that says little."""
        done, there, whole = self.work
        return left_s(done - there, whole - there, self.seconds)


@dataclass
class RunProgress(ReplyCounts, Generic[T]):
    """Live counts of one run; the runner and the ledger tell it what happens.

    Attributes:
        asked: items asked for in total.
        resumed: items that were finished before this process began; `finished`: all that have ended.
        in_stage: items now in each stage or before its door, in the order of the stages.
        dropped: by stage and reason.
    """

    asked: int = 0
    resumed: int = 0
    finished: int = 0
    in_stage: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)

    def end(self, item: T, *, resumed: bool = False) -> None:
        """Count an item that has ended, now or before this process began."""
        self.finished += 1
        self.resumed += resumed
        reject = self.fate(item)
        if reject is not None:
            self.dropped[f"{reject.stage}: {reject.reason}"] += 1

    def fate(self, item: T) -> Reject | None:
        """The reject that an item is counted under; None where it is kept."""
        return item.ended

    @property
    def work(self) -> tuple[int, int, int]:
        return super().work if self.expected else (self.finished, self.resumed, self.asked)
