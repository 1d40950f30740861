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


@dataclass
class RunProgress(Generic[T]):
    """Live counts of one run; the runner and the ledger tell it what happens.

    Attributes:
        asked: items asked for in total.
        resumed: items that were finished before this process began; `finished`: all that have ended.
        in_stage: items now in each stage or before its door, in the order of the stages.
        dropped: by stage and reason.
        replies: received in this process; `cached`: of those, answered without the model.
        usage: of the other replies.
    """

    asked: int = 0
    resumed: int = 0
    finished: int = 0
    in_stage: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    replies: int = 0
    cached: int = 0
    usage: Usage = field(default_factory=Usage)
    clock: Callable[[], float] = time.monotonic
    started: float = 0.0

    def __post_init__(self) -> None:
        self.started = self.clock()

    def reply(self, reply: Reply) -> None:
        """Count one reply."""
        self.replies += 1
        self.cached += reply.cached
        if not reply.cached:
            self.usage = self.usage.plus(usage_of([reply]))

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
    def seconds(self) -> float:
        return self.clock() - self.started

    @property
    def eta_s(self) -> float | None:
        """Seconds to go at the rate so far; None while nothing has ended in this process."""
        here = self.finished - self.resumed
        return None if here <= 0 else self.seconds / here * (self.asked - self.finished)
