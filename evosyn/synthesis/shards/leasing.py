"""Gives shards to workers until all are sealed: one to each, back again when it dies or fails, and what it may spend.

What is true stands in storage: a shard is done when it has a seal, whoever made it. The journal here says who had what
and why it came back; it is for people (`evosyn inspect`). docs/scale.md.
"""

from __future__ import annotations

import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from evosyn.budget import BudgetConfig, Used
from evosyn.errors import BudgetSpent, CorruptRun, EvosynError, UnavailableError, UsageError
from evosyn.journal import Events, Journal
from evosyn.synthesis.shards.crews import Crew, EndedOrder
from evosyn.synthesis.shards.orders import Phase, ShardOrder, ShardOutcome, Status, shard_name
from evosyn.synthesis.stages.deduplicate import RepeatedProblem

TRIES = 5
"""Workers that died of one shard, after which the run ends."""
FAILURES = 3
"""Failures of one worker in a row after which it gets no more."""
REST_S = 2.0
"""Seconds for which a worker that failed once gets nothing; twice as many each further time."""


ENDING: Mapping[str, type[EvosynError]] = {"refused": UsageError, "corrupt": CorruptRun}
"""What no other worker can help."""


@dataclass(frozen=True)
class Leased:
    """Event: a worker has a shard."""

    phase: Phase
    shard: int
    worker: str
    epoch: str


@dataclass(frozen=True)
class Returned:
    """Event: it has it no longer."""

    phase: Phase
    shard: int
    worker: str
    epoch: str
    status: Status
    reason: str
    seconds: float


def lease_events(journal: Journal) -> Events[Leased | Returned]:
    return Events[Leased | Returned](journal, {"leased": Leased, "returned": Returned})


class Purse:
    """What the run may still spend, shared out so that it is never passed: who dies has spent all of its part."""

    def __init__(self, limits: BudgetConfig) -> None:
        self._limits = {name: value for name, value in limits.model_dump().items() if value is not None}
        self._left = dict(self._limits)
        self._out: dict[str, dict[str, float]] = {}

    def take(self, epoch: str, among: int) -> BudgetConfig | None:
        """One of `among` equal parts of all that is not spent; None where others have so much of it that less than
        half of a part is here, and it is better to wait for what they leave over."""
        part: dict[str, float] = {}
        for name, left in self._left.items():
            unspent = left + sum(out[name] for out in self._out.values())
            share = unspent / among if name == "max_cost" else unspent // among
            if self._out and 2 * left < share:
                return None
            part[name] = min(left, share)
        for name, value in part.items():
            self._left[name] -= value
        self._out[epoch] = part
        return BudgetConfig.model_validate(part)

    def give_back(self, epoch: str, used: Used | None) -> None:
        """What an order did not use."""
        part = self._out.pop(epoch)
        if used is not None:
            for name, value in part.items():
                self._left[name] += max(0, value - getattr(used, name))

    def spent(self) -> str:
        """What is said where all that is left does not suffice; "" where nothing is limited."""
        if not self._limits:
            return ""
        used = (f"{name} = {limit:g} (used {limit - self._left[name]:.4g})" for name, limit in self._limits.items())
        again = "raise it and repeat the command to go on, replies received are kept"
        return f"budget {', '.join(used)} does not suffice for one more call: {again}"


class _Out(NamedTuple):
    """An order that a worker has: since when, and whether it was lent all that was left."""

    since: float
    whole: bool


class Leasing:
    """
    Args:
        events: with its first event written.
        tell: told each shard that is sealed and each one that came back, in words.
        sealed: whether storage, as it is seen from here, has the seal of a shard; may raise OSError.
    """

    def __init__(
        self,
        crew: Crew,
        events: Events[Leased | Returned],
        limits: BudgetConfig,
        tell: Callable[[str], None],
        sealed: Callable[[Phase, int], bool],
    ) -> None:
        self._crew, self._events, self._purse, self._tell, self._sealed = crew, events, Purse(limits), tell, sealed
        self._out: dict[str, _Out] = {}
        self._tries: Counter[int] = Counter()
        self._failures: Counter[str] = Counter()
        self._rests: dict[str, float] = {}
        self._tight, self._last = False, "there is none"

    def finish(
        self,
        phase: Phase,
        count: int,
        sealed: set[int],
        repeats: Mapping[int, tuple[RepeatedProblem, ...]] | None = None,
    ) -> None:
        """Have all shards of a phase sealed.

        Args:
            sealed: those that are.
            repeats: by shard, for the phase `rows`.

        Raises:
            BudgetSpent: it is.
            UsageError, CorruptRun: no worker can do it.
            UnavailableError: no worker is left, or one shard is the end of all of them.
        """
        left, done = deque(shard for shard in range(count) if shard not in sealed), len(sealed)
        self._tries.clear()
        while left or self._out:
            self._give(phase, left, repeats or {})
            for ended in self._crew.ended(1.0):
                if self._back(ended):
                    done += 1
                    self._tell(f"{phase}: {done} of {count} shards sealed ({ended.order.name} by {ended.worker})")
                else:
                    left.append(ended.order.shard)

    def _give(self, phase: Phase, left: deque[int], repeats: Mapping[int, tuple[RepeatedProblem, ...]]) -> None:
        workers = list(self._crew.free())
        usable = [one for one in workers if self._failures[one] < FAILURES]
        if left and workers and not usable and not self._out:
            raise UnavailableError(
                f"no worker is left that can make a shard; the last one: {self._last}. What is sealed is kept: the "
                "same command goes on"
            )
        working = len(usable) + len(self._out)
        for worker in usable:
            if not left or (self._tight and self._out) or self._rests.get(worker, 0) > time.monotonic():
                continue
            among = 1 if self._tight else max(1, min(working, len(left) + len(self._out)))
            epoch = f"{time.time_ns():x}-{uuid.uuid4().hex[:6]}"
            budget = self._purse.take(epoch, among)
            if budget is None:
                return
            shard = left.popleft()
            self._events.append(Leased(phase, shard, worker, epoch))
            self._out[epoch] = _Out(time.monotonic(), among == 1)
            self._crew.begin(worker, ShardOrder(phase, shard, epoch, repeats.get(shard, ()), budget))

    def _back(self, ended: EndedOrder) -> bool:
        """Take an order back; whether its shard is sealed."""
        worker, order, outcome = ended
        lent = self._out.pop(order.epoch)
        seconds = round(time.monotonic() - lent.since, 3)
        self._purse.give_back(order.epoch, outcome.used)
        status, reason = self._seen(order, outcome)
        self._events.append(Returned(order.phase, order.shard, worker, order.epoch, status, reason, seconds), sync=True)
        if status == "sealed":
            self._failures[worker], self._tight = 0, False
            return True
        self._tell(f"{shard_name(order.phase, order.shard)} came back from {worker}, {status}: {reason}")
        if status in ENDING:
            raise ENDING[status](f"{worker}: {reason}")
        if status == "held":
            self._rests[worker] = time.monotonic() + REST_S
            return False
        if status == "spent":
            if lent.whole:
                raise BudgetSpent(self._purse.spent() or reason)
            self._tight = True  # what the others leave over is for one at a time, until a shard is sealed
            return False
        self._last = f"{worker}: {reason}"
        self._tries[order.shard] += status == "died"
        self._failures[worker] += 1
        self._rests[worker] = time.monotonic() + REST_S * 2 ** (self._failures[worker] - 1)
        if self._tries[order.shard] >= TRIES:
            raise UnavailableError(f"{order.name}: {TRIES} workers died of it, the last of this: {reason}")
        return False

    def _seen(self, order: ShardOrder, outcome: ShardOutcome) -> tuple[Status, str]:
        """What became of an order; a shard whose seal does not stand in storage is not sealed, whoever says so."""
        if outcome.status != "sealed":
            return outcome.status, outcome.reason
        try:
            if self._sealed(order.phase, order.shard):
                return "sealed", outcome.reason
        except OSError as error:
            return "failed", f"its seal cannot be read here: {error}"
        return (
            "failed",
            "`shards.store` as it is seen from here has no seal of it: do both machines reach the same place?",
        )
