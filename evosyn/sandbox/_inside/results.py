"""The result file of a child, as the supervisor reads it, and how much of what stands there about time is believed.

The child may write into its file whatever it likes, at any time; only whole records that it may write mean anything.
How values are written is `trees`, how records are laid out `wire`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from evosyn.sandbox._inside import wire
from evosyn.sandbox._inside.alarm import WAITING

RESULT_BYTES = 32 << 20
"""What one child may write into its result file."""
LIE_S = 0.5
"""A child that says it was charged less than half of what it computed, by more than this, is charged all of it."""

NEARLY = 0.9
"""Whose time was up has used at least this share of it."""


class Results:
    """The records in a file that one child writes, or a warm one for one program.

    Args:
        handle: of the file, which stays the caller's.
        most: records that it can have.
        allowed: codes that its writer may use.
    """

    def __init__(self, handle: int, most: int, allowed: frozenset[int] = wire.OF_PROGRAMS) -> None:
        self._handle, self._most, self._allowed = handle, most, allowed
        self._seen, self._at = 0, 0

    def read(self) -> list[wire.Record]:
        """All of them."""
        size = min(os.fstat(self._handle).st_size, RESULT_BYTES)
        return wire.read_records(os.pread(self._handle, size, 0), self._most, self._allowed)

    def progressed(self) -> bool:
        """Whether there are more of them than when this was last asked; the last that there can be is an end, and no
        progress."""
        before, size = self._seen, os.fstat(self._handle).st_size
        while self._seen < self._most - 1 and self._at + wire.RECORD.size <= size:
            head = os.pread(self._handle, wire.RECORD.size, self._at)
            if len(head) < wire.RECORD.size:  # it was cut in this moment
                break
            code, _, length = wire.RECORD.unpack(head)
            after = self._at + wire.RECORD.size + length
            if code not in self._allowed or after > size:
                break
            self._seen, self._at = self._seen + 1, after
        return self._seen > before


def believed(made: Sequence[wire.Record], cpu_s: float, wall_s: float, limit_s: float) -> list[wire.Record]:
    """The records, whose seconds come to no more than was seen: what was computed, and a share of the time that passed.
    One that says that its time was up before it can have been is the end of its writer, for whom that is no excuse.

    Args:
        cpu_s: what all processes that worked for these records have computed.
        wall_s: how long they lived.
        limit_s: what an item may compute, or wait.
    """
    left = cpu_s + wall_s / WAITING
    found: list[wire.Record] = []
    for record in made:
        record = record._replace(seconds=min(record.seconds, left))
        if record.code == wire.TIMEOUT and record.seconds < NEARLY * limit_s / WAITING:
            record = wire.Record(wire.KILLED, record.seconds, b"said that its time was up")
        found.append(record)
        left -= record.seconds
    return found


def charged(made: Sequence[wire.Record], cpu_s: float) -> list[wire.Record]:
    """The records, the last one charged with what they do not own up to."""
    return [*made[:-1], *[last._replace(seconds=last.seconds + hidden(made, cpu_s)) for last in made[-1:]]]


def hidden(made: Sequence[wire.Record], cpu_s: float) -> float:
    """Of so many computed seconds, those that the records do not own up to."""
    claimed = sum([record.seconds for record in made])
    return cpu_s - claimed if cpu_s > 2 * claimed + LIE_S else 0.0
