"""What the processes of a backend compute, and for how long all of them only wait: seconds that are no machine's load.

Read from outside, in `/proc`; nothing that a program says of its time is taken. While a process wants the processor and
does not get it, it neither computes nor waits.
"""

from __future__ import annotations

import contextlib
import os
import resource
import threading
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple

from evosyn.sandbox._inside.alarm import IDLE_SHARE

PAUSE_S = 0.1
_TICKS = os.sysconf("SC_CLK_TCK")


class Look(NamedTuple):
    """Some processes at one moment.

    Attributes:
        cpu_s: what they have computed; of all together, what their children that have ended have as well.
        busy: one of them runs, or would.
    """

    cpu_s: float
    busy: bool


class Meter:
    """Looks at processes from the beginning of a `with` to its end, in a thread of its own.

    Args:
        pids: those that count, now.
        between: names of what passes messages on between them and us; while one of these is busy, nobody just waits.

    Attributes:
        computed_s: by them in between.
        waited_s: while none of them, nor any other thread of ours, did anything.
    """

    def __init__(self, pids: Callable[[], Collection[int]], between: tuple[str, ...] = ()) -> None:
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
        took_s = min(now - self._at, 2 * PAUSE_S)  # what was between two late looks is not known
        if not found.busy and found.cpu_s - self._last.cpu_s < IDLE_SHARE / 2 * took_s:
            self.waited_s += took_s
        self.computed_s = max(self.computed_s, found.cpu_s - self._first.cpu_s)
        self._last, self._at = found, now

    def _look(self) -> Look:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        processes = [Path(f"/proc/{pid}") for pid in self._pids()]
        ended_s = sum(map(_ended_s, processes))  # first: what ends meanwhile is missed for once, and not counted twice
        looks = [_look(process) for process in processes]
        ours = any(
            _runs(thread) for thread in _threads(Path("/proc/self")) if int(thread.name) != threading.get_native_id()
        )
        cpu_s = used.ru_utime + used.ru_stime + ended_s + sum(look.cpu_s for look in looks)
        return Look(cpu_s, ours or any(look.busy for look in looks) or self._is_passed_on())

    def _is_passed_on(self) -> bool:
        processes = Path("/proc").glob("[0-9]*") if self._between else ()
        return any(any(map(_runs, _threads(one))) for one in processes if _name(one).startswith(self._between))


def _look(process: Path) -> Look:
    """One process, without its children. One that has gone is at rest; its parent has its seconds."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        own_s = _seconds(process, 11)
        threads = _threads(process)
        fine_s = sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9
        return Look(max(own_s, fine_s), any(map(_runs, threads)))
    return Look(0.0, busy=False)


def _ended_s(process: Path) -> float:
    """What its children have computed that have ended."""
    with contextlib.suppress(OSError, ValueError):
        return _seconds(process, 13)
    return 0.0


def _seconds(process: Path, at: int) -> float:
    return sum(map(int, _fields(process)[at : at + 2])) / _TICKS


def _threads(process: Path) -> list[Path]:
    with contextlib.suppress(OSError):
        return list((process / "task").iterdir())
    return []


def _name(process: Path) -> str:
    with contextlib.suppress(OSError):
        return (process / "comm").read_text()
    return ""


def _runs(thread: Path) -> bool:
    """Whether it has the processor, or wants it, or waits for a disk."""
    with contextlib.suppress(OSError, IndexError):
        return _fields(thread)[0] in "RD"
    return False


def _fields(process: Path) -> list[str]:
    """Of its `stat`, from the state on."""
    return (process / "stat").read_text().rpartition(")")[2].split()
