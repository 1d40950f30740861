"""How a child ended, and what the supervisor says of items whose process wrote no record.

Exit statuses and records are a program's own words, so that neither can say more than what a program may say of itself.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from typing import NamedTuple

from evosyn.sandbox._inside import child, wire
from evosyn.sandbox._inside.alarm import JobLimits
from evosyn.sandbox._inside.forker import Order
from evosyn.sandbox._inside.remote import Exit, Remote, close, new_file
from evosyn.sandbox._inside.results import NEARLY, Results, believed, charged, hidden

ENDS = frozenset({wire.TIMEOUT, wire.KILLED})
"""Records behind which a child writes no other; the items that follow are for a new one."""


class Ended(NamedTuple):
    """How a child ended, as seen from outside.

    Attributes:
        seconds: what its last item is charged.
        paused: it ended by itself where it should: no more fits into its result file, or it says that all is spent.
    """

    exit: Exit
    seconds: float
    paused: bool = False

    @property
    def killed(self) -> bool:
        """By us."""
        return not self.exit.alone

    @property
    def status(self) -> int:
        return os.waitstatus_to_exitcode(self.exit.status)


def to_its_end(remote: Remote, order: Order, given: Sequence[int], most: int) -> tuple[Ended, list[wire.Record]]:
    """One child of a program, from start to end; how it ended, and its records.

    Args:
        given: its descriptors; its result file comes second.
        most: records; the first is of no item.
    """
    handle = new_file()
    try:
        results = Results(handle, most)
        slot = remote.fork(order, (given[0], handle, *given[1:]))
        waited = remote.wait((slot,), results, order.limits, order.left_s)
        exit_ = remote.end(slot)
        said = results.read()
        is_full = os.fstat(handle).st_size >= order.most
    finally:
        close(handle)
    made = believed(said, exit_.cpu_s, exit_.wall_s, order.limits.cpu_s)
    paused = exit_.alone and (is_full or sum([record.seconds for record in said[1:]]) > order.left_s)
    if paused or len(made) == most or (made and made[-1].code in ENDS):
        return Ended(exit_, waited.seconds, paused), charged(made, exit_.cpu_s)
    return Ended(exit_, max(waited.seconds, hidden(made, exit_.cpu_s))), made


def whole(made: list[wire.Record], count: int, ended: Ended, limits: JobLimits) -> list[wire.Record]:
    """A record for each of `count` items: the one at which the child ended has failed, those behind it were not run."""
    if len(made) < count and not (made and made[-1].code in ENDS):
        made = [*made, failure(ended, limits)]
    return made + [wire.Record(wire.NOT_RUN, 0.0, b"")] * (count - len(made))


def for_all(record: wire.Record, count: int) -> list[wire.Record]:
    """One end, such as that of the loading, for so many items; it is charged once."""
    return [record, *[record._replace(seconds=0.0)] * (count - 1)] if count else []


def failure(ended: Ended, limits: JobLimits, where: bytes = b"") -> wire.Record:
    """The record of an item whose process ended without writing one."""
    if ended.exit.unfit:
        return wire.Record(wire.INFRA, 0.0, b"its process could not be started: " + ended.exit.unfit)
    status = ended.status
    if ended.killed or (status == child.EXIT_TIME and _lived(ended.exit) >= NEARLY * limits.cpu_s):
        return wire.Record(wire.TIMEOUT, ended.seconds, where or b"killed" if ended.killed else where)
    if status == -signal.SIGKILL and ended.exit.cpu_s >= limits.cpu_s:
        return wire.Record(wire.TIMEOUT, ended.seconds, where or b"killed")  # by the kernel's own limit
    if status == child.EXIT_FULL:
        return wire.Record(wire.KILLED, ended.seconds, b"memory or result limit of %d MB" % limits.memory_mb)
    if status == -signal.SIGKILL:  # nobody in here sends it
        return wire.Record(
            wire.KILLED, ended.seconds, b"memory limit: ended from outside" + (b" " + where if where else b"")
        )
    reason = b"ended its process with status %d" % status if status >= 0 else b"signal %d" % -status
    return wire.Record(wire.KILLED, ended.seconds, reason + (b" " + where if where else b""))


def _lived(exit_: Exit) -> float:
    """Seconds that it computed, with all its threads, or waited: what a time limit can have ended."""
    return max(exit_.cpu_s, exit_.wall_s)
