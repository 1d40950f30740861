"""The fork server: the first process of the jail and the parent of all others. It never reads a byte of a job.

What decides a verdict must never have been in the address space of what is judged, nor of any ancestor of it. So the
ancestor knows numbers only: which kind of child, its limits, its descriptors. The child reads its own work, after it
has hardened itself; the supervisor, a child like the others, holds texts and records. A *host* is a fork server of its
own: one that has loaded a harness, and below it one for each context, which it has decoded, for the programs that run
beside that context.
"""

from __future__ import annotations

import _socket
import fcntl
import os
import signal
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

from evosyn.sandbox._inside import child, seccomp
from evosyn.sandbox._inside.alarm import Alarm, JobLimits, TimeLimit

FORK, END, RING, WHICH = range(4)
"""Commands: a new child, end one and say how it ended, wake one out of what it does, say its process number."""
COMMAND = struct.Struct("<BI")
ORDER = struct.Struct("<BdddIIIIdQ")
ANSWER = struct.Struct("<id")
RIGHTS = _socket.CMSG_SPACE(8 * 4)
HIGHEST = 256
"""No descriptor is as high as this."""
READY = b"!"
"""What a child says when it is hardened, else why not; it has not read a byte of its work then, and cannot take the
word back."""


class Order(NamedTuple):
    """What a child is told by number.

    Attributes:
        kind: of work, a key of `work.KINDS`.
        limits: of its items.
        first, stop: which items.
        left_s: what all of them together may be charged.
        most: size of any file that it writes, bytes.
    """

    kind: int
    limits: JobLimits
    first: int = 0
    stop: int = 0
    left_s: float = 0.0
    most: int = 0

    def pack(self) -> bytes:
        return ORDER.pack(self.kind, *self.limits, *self[2:])

    @classmethod
    def unpack(cls, data: bytes) -> Order:
        kind, *rest = ORDER.unpack(data)
        return cls(kind, JobLimits(*rest[:5]), *rest[5:])


class Boot(NamedTuple):
    """What every child inherits.

    Attributes:
        filter: to be installed, or None.
        die: ask the kernel to be killed with the parent; in a jail, the jail's end is theirs.
        alarm: of the items.
        kinds: by kind of work, what a child does with its descriptors.
        harness: what a host has loaded: a function of a program, a context and an argument.
        hosted: what a host below it has made of its context: a function of a program and an argument.
    """

    filter: seccomp.Filter | None
    die: bool
    alarm: Alarm
    kinds: Sequence[Callable[[Boot, Order, list[int]], None]]
    harness: Callable[[Any, Any, Any], Any] | None = None
    hosted: Callable[[Any, Any], Any] | None = None


class Server:
    """Obeys one socket, one message at a time; ends everything when that closes.

    It touches as little as it can between two forks: every page that it writes to is copied each time.
    """

    def __init__(self, socket: _socket.socket, boot: Boot) -> None:
        self._socket, self._boot = socket, boot
        self._pid = os.getpid()
        self._pids: dict[bytes, int] = {}

    def serve(self) -> NoReturn:
        """Until the supervisor is gone."""
        while True:
            data, extra, _, _ = self._socket.recvmsg(256, RIGHTS)
            if not data:
                for pid in self._pids.values():
                    os.kill(pid, signal.SIGKILL)
                os._exit(0)
            slot = data[1:5]
            if data[0] == FORK:
                handles = [handle for _, _, part in extra for handle in memoryview(part).cast("i")]
                try:
                    pid = os.fork()
                except OSError as error:
                    pid = -1  # its stream is closed, and nobody has said to be ready
                    os.write(handles[-1], b"no process more can be started (error %d)" % (error.errno or 0))
                if pid == 0:
                    self._become(data[5:], handles)
                for handle in handles:
                    os.close(handle)
                if pid > 0:
                    self._pids[slot] = pid
            else:
                self._obey(data[0], slot)

    def _obey(self, command: int, slot: bytes) -> None:
        pid = self._pids.get(slot)
        if pid is None:
            self._socket.send(ANSWER.pack(0, 0.0))  # it was never started
        elif command == END:
            del self._pids[slot]
            os.kill(pid, signal.SIGKILL)  # which changes nothing where it ends already
            _, status, used = os.wait4(pid, 0)
            self._socket.send(ANSWER.pack(status, used.ru_utime + used.ru_stime))
        elif command == WHICH:
            self._socket.send(ANSWER.pack(pid, 0.0))
        else:
            os.kill(pid, signal.SIGUSR1)
            self._socket.send(ANSWER.pack(pid, 0.0))

    def _become(self, data: bytes, handles: list[int]) -> NoReturn:
        """In the child; what it reads, it reads when it can do no harm any more."""
        try:
            low = 3
            for handle in sorted(handles):
                os.closerange(low, handle)
                low = handle + 1
            os.closerange(low, HIGHEST)
            fcntl.fcntl(2, fcntl.F_SETFL, os.O_RDWR)  # shared by all that ever run here: no earlier one's flags
            if self._boot.die:
                child.die_with_parent()
                if os.getppid() != self._pid:  # it has ended already
                    os._exit(0)
            order = Order.unpack(data)
            longest_s = order.left_s + order.limits.cpu_s + 1.0
            why = order.most and child.harden(order.limits, longest_s, order.most, self._boot.filter)
            os.write(handles.pop(), why or READY)
            if why:
                os._exit(0)
            self._boot.kinds[order.kind](self._boot, order, handles)
        except MemoryError:
            os._exit(child.EXIT_FULL)
        except TimeLimit:
            os._exit(child.EXIT_TIME)
        finally:
            os._exit(0)
