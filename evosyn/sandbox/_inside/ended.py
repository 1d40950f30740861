"""How a child ended, and the record of an item whose process wrote none."""

from __future__ import annotations

import os
from typing import NamedTuple

from evosyn.sandbox._inside import child, wire

RESULT_BYTES = 32 << 20
"""What one child may write into its result memfd."""


class Ended(NamedTuple):
    """How a child ended: wait status, whether we killed it, and seconds since its last progress."""

    status: int
    killed: bool
    seconds: float


def failure(ended: Ended, limits: child.JobLimits, where: bytes = b"") -> wire.Record:
    """The record of an item whose process ended without writing one."""
    if ended.killed:
        return wire.Record(wire.TIMEOUT, ended.seconds, where or b"killed")
    status = os.waitstatus_to_exitcode(ended.status)
    if status == child.EXIT_TIME:
        return wire.Record(wire.TIMEOUT, ended.seconds, where)
    if status == child.EXIT_SETUP:
        return wire.Record(wire.INFRA, 0.0, b"the system-call filter could not be installed")
    if status == child.EXIT_FULL:
        return wire.Record(wire.KILLED, ended.seconds, b"memory or result limit of %d MB" % limits.memory_mb)
    reason = b"ended its process with status %d" % status if status >= 0 else b"signal %d" % -status
    return wire.Record(wire.KILLED, ended.seconds, reason + (b" " + where if where else b""))
