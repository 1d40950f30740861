"""What the processes of a backend compute, and for how long all of them only wait: seconds that are no machine's load.

Read from outside, in `/proc`; nothing that a program says of its time is taken. While a process wants the processor and
does not get it, it neither computes nor waits: the scheduler keeps count of that too.
"""

from __future__ import annotations

import contextlib
import os
import resource
import threading
import time
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

PAUSE_S, LATEST_S = 0.1, 1.0
"""Between two looks, and the most that is counted between two, as who came and went meanwhile is not known."""
_TICKS = os.sysconf("SC_CLK_TCK")


class Look(NamedTuple):
    """Some processes at one moment.

    Attributes:
        cpu_s: what they have computed, and their children that have ended.
        wanted_s: by thread, for how long it had the processor or stood in line for it.
        disk: one of them waits for a disk.
    """

    cpu_s: float
    wanted_s: Mapping[str, float]
    disk: bool


class Meter:
    """Looks at processes from the beginning of a `with` to its end, in a thread of its own.

    Args:
        pids: those that count, now.
        between: what passes messages on between them and us, now; what these want, nobody waits for.

    Attributes:
        computed_s: by them in between.
        waited_s: while none of them, nor any other thread of ours, did anything or wanted to.
    """

    def __init__(self, pids: Callable[[], Collection[int]], between: Callable[[], Collection[int]] = tuple) -> None:
        self._pids, self._between = pids, between
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.computed_s = self.waited_s = 0.0

    def __enter__(self) -> Meter:
        self._first, self._at = self._look(), time.monotonic()
        self._last = self._first
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        self._thread.join()
        self._count()

    def _run(self) -> None:
        while not self._stop.wait(PAUSE_S):
            self._count()

    def _count(self) -> None:
        found, now = self._look(), time.monotonic()
        wanted_s = sum(max(0.0, one_s - self._last.wanted_s.get(name, 0.0)) for name, one_s in found.wanted_s.items())
        if not found.disk:
            self.waited_s += max(0.0, min(now - self._at, LATEST_S) - wanted_s)
        self.computed_s = max(self.computed_s, found.cpu_s - self._first.cpu_s)
        self._last, self._at = found, now

    def _look(self) -> Look:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        theirs = self._pids()
        ended_s = sum([_seconds(pid, 13) for pid in theirs])  # first: what ends meanwhile is missed, not counted twice
        cpu_s = used.ru_utime + used.ru_stime + ended_s
        me, disk = str(threading.get_native_id()), False
        wanted_s: dict[str, float] = {}
        for pid in (*theirs, *self._between(), os.getpid()):
            had_s = 0.0
            for thread in _threads(pid):
                had, stood = _scheduled_s(thread)
                had_s += had
                if not thread.endswith(f"/{me}"):
                    wanted_s[thread] = had + stood
                    disk = disk or _fields(thread)[:1] == ["D"]
            if pid in theirs:  # of one that has gone its parent has the seconds
                cpu_s += max(_seconds(pid, 11), had_s)
        return Look(cpu_s, wanted_s, disk)


def _seconds(pid: int, at: int) -> float:
    """Two fields of its `stat` together: what it has computed, or its children that have ended."""
    return sum(map(int, _fields(f"/proc/{pid}")[at : at + 2])) / _TICKS


def _scheduled_s(thread: str) -> tuple[float, float]:
    """How long a thread has had the processor, and how long it has stood in line for it."""
    fields = _read(f"{thread}/schedstat").split()[:2]
    return (int(fields[0]) / 1e9, int(fields[1]) / 1e9) if len(fields) == 2 else (0.0, 0.0)


def _threads(pid: int) -> list[str]:
    with contextlib.suppress(OSError):
        return [f"/proc/{pid}/task/{name}" for name in os.listdir(f"/proc/{pid}/task")]  # noqa: PTH208 - ten times a second
    return []


def _fields(process: str) -> list[str]:
    """Of the `stat` of a process or thread, from the state on; none of one that has gone."""
    return _read(f"{process}/stat").rpartition(")")[2].split()


def _read(name: str) -> str:
    with contextlib.suppress(OSError), open(name) as file:  # noqa: PTH123
        return file.read()
    return ""
