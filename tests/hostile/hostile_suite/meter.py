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
from pathlib import Path
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
        theirs = [Path(f"/proc/{pid}") for pid in self._pids()]
        ended_s = sum(map(_ended_s, theirs))  # first: what ends meanwhile is missed for once, and not counted twice
        cpu_s = used.ru_utime + used.ru_stime + ended_s + sum(map(_own_s, theirs))
        me = str(threading.get_native_id())
        ours = [thread for thread in _threads(Path("/proc/self")) if thread.name != me]
        passing = [Path(f"/proc/{pid}") for pid in self._between()]
        threads = [*ours, *(thread for one in (*theirs, *passing) for thread in _threads(one))]
        return Look(cpu_s, {str(thread): sum(_scheduled_s(thread)) for thread in threads}, any(map(_at_disk, threads)))


def _own_s(process: Path) -> float:
    """What it has computed, without its children; of one that has gone its parent has the seconds."""
    scheduled_s = sum(_scheduled_s(thread)[0] for thread in _threads(process))
    return max(_seconds(process, 11), scheduled_s)


def _ended_s(process: Path) -> float:
    """What its children have computed that have ended."""
    return _seconds(process, 13)


def _seconds(process: Path, at: int) -> float:
    with contextlib.suppress(OSError, ValueError):
        return sum(map(int, _fields(process)[at : at + 2])) / _TICKS
    return 0.0


def _scheduled_s(thread: Path) -> tuple[float, float]:
    """How long a thread has had the processor, and how long it has stood in line for it."""
    with contextlib.suppress(OSError, ValueError):
        had, stood, _ = map(int, (thread / "schedstat").read_text().split())
        return had / 1e9, stood / 1e9
    return 0.0, 0.0


def _threads(process: Path) -> list[Path]:
    with contextlib.suppress(OSError):
        return list((process / "task").iterdir())
    return []


def _at_disk(thread: Path) -> bool:
    with contextlib.suppress(OSError, IndexError):
        return _fields(thread)[0] == "D"
    return False


def _fields(process: Path) -> list[str]:
    """Of its `stat`, from the state on."""
    return (process / "stat").read_text().rpartition(")")[2].split()
