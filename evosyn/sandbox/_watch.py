"""The watch: what all processes of each worker use together, looked at now and then from outside.

It bounds workers where there are no control groups, and everywhere sees a machine that runs out of memory before the
kernel ends whatever is biggest. It only looks and says; who runs the workers ends what it names. Linux `proc(5)`.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from evosyn.sandbox import _owners
from evosyn.sandbox._machine import Machine

LOOK_S = 0.25
"""How often to look."""
WORTH_MB = 256
"""Ending a worker that uses less brings nothing to a machine that is short of memory."""
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Over(NamedTuple):
    """What should be ended.

    Attributes:
        worker: number of the worker's process.
        pid: the process to be ended: the biggest of a worker that is over its share, which is what it is running; the
            worker itself where the machine is short, which is not its fault.
        started: start time of that process.
        used_mb: what the worker used.
    """

    worker: int
    pid: int
    started: str
    used_mb: int

    @property
    def own_fault(self) -> bool:
        return self.pid != self.worker


@dataclass(frozen=True)
class Watch:
    """Looks at workers.

    Attributes:
        machine: what there is.
        reserve_mb: the machine is short when less than this could still be used.
    """

    machine: Machine = field(default_factory=Machine)
    reserve_mb: int | None = None

    def over(self, shares_mb: Mapping[int, int]) -> list[Over]:
        """What should be ended now.

        Args:
            shares_mb: of each worker's process, how much it and its descendants may use in all.
        """
        proc = str(self.machine.proc)
        used = {worker: {pid: _resident(proc, pid) for pid in tree(proc, worker)} for worker in shares_mb}
        found = []
        for worker, sizes in used.items():
            if sum(sizes.values()) > shares_mb[worker] << 20:
                exact = {pid: _share(proc, pid, size) for pid, size in sizes.items()}
                biggest = max(exact, key=lambda pid: (pid != worker, exact[pid]))
                if sum(exact.values()) > shares_mb[worker] << 20 and biggest != worker:
                    found.append(self._ended(worker, biggest, sum(exact.values())))
        reserve = reserve_of(self.machine.total_mb) if self.reserve_mb is None else self.reserve_mb
        if not found and used and self.machine.available_mb() < reserve:
            worker = max(used, key=lambda one: sum(used[one].values()))
            total = sum(used[worker].values())
            if total >= WORTH_MB << 20:
                found.append(self._ended(worker, worker, total))
        return found

    def _ended(self, worker: int, pid: int, used: int) -> Over:
        return Over(worker, pid, _owners.started(pid, self.machine.proc), used >> 20)


def reserve_of(total_mb: int) -> int:
    """What is kept free of a machine's memory."""
    return min(512, total_mb // 16)


def end(over: Over) -> bool:
    """End a process, if it is still the one that was looked at."""
    try:
        handle = os.pidfd_open(over.pid)
    except (AttributeError, OSError):
        return False
    try:
        if _owners.started(over.pid) != over.started:
            return False
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def tree(proc: str, root: int) -> list[int]:
    """A process and its descendants, as far as they are there."""
    found, todo = [], [root]
    while todo:
        pid = todo.pop()
        found.append(pid)
        todo += map(int, _read(f"{proc}/{pid}/task/{pid}/children").split())
    return found


def _resident(proc: str, pid: int) -> int:
    """Resident bytes; what several processes share counts for each."""
    words = _read(f"{proc}/{pid}/statm").split()
    return int(words[1]) * _PAGE if words else 0


def _share(proc: str, pid: int, otherwise: int) -> int:
    """Resident bytes, of what several processes share only a part; dearer to ask, and not always told."""
    for line in _read(f"{proc}/{pid}/smaps_rollup").splitlines():
        if line.startswith(b"Pss:"):
            return int(line.split()[1]) << 10
    return otherwise


def _read(path: str) -> bytes:
    """A short file of the kernel's; empty where it is gone. Without pathlib, since there are many of them."""
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            return os.read(handle, 65536)
        finally:
            os.close(handle)
    return b""
