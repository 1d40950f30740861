"""The supervisor's side of a fork server: start children, know how they ended, watch what they compute.

What a child says of its own time is for information; what ends it, and what a job is charged at least, is measured
here.
"""

from __future__ import annotations

import _socket
import array
import fcntl
import os
import select
import time
from collections.abc import Sequence
from typing import NamedTuple

from evosyn.sandbox._inside.alarm import WAITING, JobLimits
from evosyn.sandbox._inside.forker import ANSWER, COMMAND, END, FORK, READY, RING, WHICH, Order
from evosyn.sandbox._inside.results import RESULT_BYTES, Results

GRACE_S = 0.2
"""A program that swallows its alarm is killed this long after its time limit."""
RINGING_SHARE = 0.01
"""Children that compute for less than this share of the time only wait: an alarm that one of them swallows, or that
finds a handler of the program's own, rings on and takes some 0.1 ms each 50."""
LOOK_S = 0.1
"""The shortest time between two looks at a child that goes on working."""
REPLY_BYTES = RESULT_BYTES
"""Once the records of a request come to this, they are sent; the rest is asked again."""


SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
WORD = 0
"""In place of a slot: those are numbered from 1."""


class Exit(NamedTuple):
    """How a child ended.

    Attributes:
        status: as `wait` gives it.
        cpu_s: its CPU seconds.
        wall_s: seconds that it lived.
        alone: it had ended by itself.
        unfit: why it could not be started, or not be hardened: nothing of its work was read. Else empty.
    """

    status: int
    cpu_s: float
    wall_s: float
    alone: bool
    unfit: bytes


class Waited(NamedTuple):
    """What `Remote.wait` saw.

    Attributes:
        slot: of the first child that ended, WORD where the word was said, None where the time was up.
        seconds: charged since the last progress.
    """

    slot: int | None
    seconds: float


class _Child:
    """One that lives, or has ended and was not asked for.

    Attributes:
        end: of a stream whose other end closes when it ends.
        began: when it was started.
        ended: that was seen.
        clock: of its CPU time, once that was asked for.
    """

    def __init__(self, end: int) -> None:
        self.end, self.began, self.ended = end, time.monotonic(), False
        self.clock: int | None = None


class Remote:
    """A fork server, by its socket.

    Args:
        watched: the stream of our parent, whose end is ours.
    """

    def __init__(self, socket: _socket.socket, watched: int) -> None:
        self._socket, self._watched = socket, watched
        self._slot = 0
        self._children: dict[int, _Child] = {}

    def fork(self, order: Order, handles: Sequence[int]) -> int:
        """Start a child with these descriptors, which stay open here; its slot."""
        self._slot += 1
        end, theirs = _socket.socketpair()  # a pipe could be opened again by its reader's end
        self._children[self._slot] = _Child(end.detach())
        rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", (*handles, theirs.fileno())))
        self._socket.sendmsg([COMMAND.pack(FORK, self._slot), order.pack()], [rights])
        theirs.close()
        return self._slot

    def ring(self, slot: int) -> None:
        """Wake a testing process out of its check; it has been rung when this returns, so that a late ring can never
        end its next one."""
        self._ask(RING, slot)

    def end(self, slot: int) -> Exit:
        """How the child ended; it has ended now."""
        found = self._children.pop(slot)
        if not found.ended:
            poller = select.poll()
            poller.register(found.end, 0)
            found.ended = bool(poller.poll(0))
        status, cpu_s = self._ask(END, slot)
        said = os.read(found.end, 200)
        unfit = b"" if said.startswith(READY) else said or b"it ended without a word"
        os.close(found.end)
        return Exit(status, cpu_s, time.monotonic() - found.began, found.ended, unfit)

    def close(self) -> None:
        self._socket.close()

    def wait(
        self,
        slots: Sequence[int],
        results: Results,
        limits: JobLimits,
        left_s: float,
        *,
        beside: Sequence[int] = (),
        word: int | None = None,
        before_s: float = 0.0,
    ) -> Waited:
        """Sleep until a child has ended, or until these children have computed or waited for too long; they are left
        to be ended.

        Args:
            slots: the children that may end it.
            results: where whole records are progress.
            beside: children that work for them; what they compute counts as well.
            left_s: what all that they do may be charged.
            word: a descriptor; when it is readable, that ends the waiting too.
            before_s: what they had computed before.
        """
        poller = select.poll()
        if word is not None:
            poller.register(word, select.POLLIN)
        poller.register(self._watched, 0)
        for slot in slots:
            poller.register(self._children[slot].end, 0)
        clock = _Clock(limits, left_s)
        while True:
            events = dict(poller.poll(clock.pause_ms))
            if word is not None and events.get(word, 0) & select.POLLIN:
                return Waited(WORD, clock.charged())
            for slot in slots:
                if self._children[slot].end in events:
                    self._children[slot].ended = True
                    return Waited(slot, clock.charged())
            if self._watched in events:
                os._exit(0)  # our parent is gone; the fork server sees that we are, and ends the rest
            if word in events:
                poller.unregister(word)  # nobody is left to say it: the end of that child is seen next
                continue
            computed = self.cpu_seconds((*slots, *beside))
            if clock.is_over(None if computed is None else computed - before_s, results.progressed()):
                return Waited(None, clock.charged())

    def cpu_seconds(self, slots: Sequence[int]) -> float | None:
        """What these children have computed until now; None where the kernel (gVisor's) does not tell."""
        total = 0.0
        for slot in slots:
            child = self._children[slot]
            if child.clock is None:
                child.clock = (~self._ask(WHICH, slot)[0] << 3) | 2
            try:
                total += time.clock_gettime(child.clock)
            except OSError:
                return None
        return total

    def _ask(self, command: int, slot: int) -> tuple[int, float]:
        self._socket.send(COMMAND.pack(command, slot))
        data = self._socket.recv(ANSWER.size)
        if not data:
            os._exit(0)
        number, seconds = ANSWER.unpack(data)
        return number, seconds


class _Clock:
    """Whether children that work together have used up their time since the last progress.

    It counts what they computed; where they hardly computed at all for as long as they may compute, they only wait. A
    look that comes late tells that nobody got the processor meanwhile: that is no waiting of theirs.
    """

    def __init__(self, limits: JobLimits, left_s: float) -> None:
        self._limits, self._left_s = limits, left_s
        self._began = self._progress = self._moved = self._looked = time.monotonic()
        self._cpu = self._cpu_at_progress = self._cpu_at_move = 0.0
        self.pause_ms = 1000 * max(limits.cpu_s / 8, LOOK_S)

    def charged(self) -> float:
        """Seconds since the last progress, as `Alarm.stop` counts them; CPU seconds as of the last look."""
        return max(0.0, self._cpu - self._cpu_at_progress, (time.monotonic() - self._progress) / WAITING)

    def is_over(self, cpu_s: float | None, progressed: bool) -> bool:
        """Look again.

        Args:
            cpu_s: what they have computed in all, or None where nobody knows: then only the wall clock counts.
            progressed: there was progress.
        """
        limits, now = self._limits, time.monotonic()
        known = cpu_s is not None
        self._cpu = cpu_s if cpu_s is not None else (now - self._began) / WAITING
        if progressed:
            self._progress, self._cpu_at_progress = now, self._cpu
        late = now - self._looked > 2 * self.pause_ms / 1000
        if progressed or late or self._cpu - self._cpu_at_move > RINGING_SHARE * (now - self._moved):
            self._moved, self._cpu_at_move = now, self._cpu
        self._looked = now
        return (
            self._cpu - self._cpu_at_progress >= limits.cpu_s + GRACE_S
            or now - self._progress >= limits.wall_s + GRACE_S
            or (known and now - self._moved >= limits.cpu_s + GRACE_S)
            or max(self._cpu, (now - self._began) / WAITING) >= self._left_s + limits.cpu_s + 2 * GRACE_S
        )


def new_file(data: bytes = b"") -> int:
    """A file in memory, at its beginning, to be closed by the caller; one with contents cannot be changed any more."""
    handle = os.memfd_create("f", os.MFD_ALLOW_SEALING)
    view, at = memoryview(data), 0
    while at < len(view):
        at += os.pwrite(handle, view[at:], at)
    if data:
        fcntl.fcntl(handle, fcntl.F_ADD_SEALS, SEALS)
    return handle


def is_sealed(handle: int) -> bool:
    return bool(fcntl.fcntl(handle, fcntl.F_GET_SEALS) & fcntl.F_SEAL_WRITE)


def close(*handles: int) -> None:
    for handle in handles:
        os.close(handle)
