"""Counting what happens while a synthesis runs, for people who watch it; no decision is ever made from these counts."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from evosyn.chat import Reply
from evosyn.dataset import SETTINGS
from evosyn.synthesis.instance import Instance, Usage


@dataclass
class RunTally:
    """Live counts of one run.

    Attributes:
        asked: problems asked for in total.
        resumed: instances that were finished before this process began.
        in_stage: instances now in each stage.
        finished: instances that have ended, resumed ones included.
        kept: by setting; dropped: by reason, from the evosyn setting.
        replies: received in this process; cached: of those, answered without the model.
        usage: of the replies of this process and the cells executed in it.
    """

    asked: int = 0
    resumed: int = 0
    finished: int = 0
    in_stage: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    replies: int = 0
    cached: int = 0
    unusable: int = 0
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
            self.usage = self.usage.plus(Usage(1, reply.input_tokens, reply.output_tokens, reply.cost))

    def move(self, before: str | None, after: str | None) -> None:
        """Count one instance out of a stage and into another."""
        if before is not None:
            self.in_stage[before] -= 1
        if after is not None:
            self.in_stage[after] += 1

    def end(self, instance: Instance) -> None:
        """Count an instance that has ended."""
        self.finished += 1
        for setting in SETTINGS:
            if instance.dropped(setting) is None:
                self.kept[setting] += 1
        reject = instance.dropped("evosyn")
        if reject is not None:
            self.dropped[f"{reject.stage}: {reject.reason}"] += 1

    @property
    def seconds(self) -> float:
        return self.clock() - self.started

    @property
    def eta_s(self) -> float | None:
        """Seconds to go at the rate so far; None while nothing has ended in this process."""
        here = self.finished - self.resumed
        return None if here <= 0 else self.seconds / here * (self.asked - self.finished)
