"""Memory of a sandbox's workers: how many of them fit the machine, and what keeps each within its share.

A single process is limited by its address space (`_inside.child`). What all processes of a worker use together is
bounded by a control group where one can be had (`_places`, `_groups`), and by a watch from outside everywhere
(`_watch`).
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from evosyn.errors import UsageError
from evosyn.jobs import Limits
from evosyn.sandbox import _groups, _places, _watch
from evosyn.sandbox._machine import Machine

PROCESSES = 2
"""A worker runs a program and what tests it at the same time, each with `memory_mb`."""
SLACK_MB = 512
"""For what a worker needs besides: its own processes, jobs and results on their way, contexts that it has decoded."""
COST = 100
"""Looking at the workers may take one part in so many of a core's time."""

_log = logging.getLogger(__name__)


def fitting_workers(cores: int, memory_mb: int = Limits().memory_mb, machine: Machine | None = None) -> int:
    """How many workers run at the same time without the memory of all their programs going beyond the machine's.

    Args:
        cores: no more than this.
        memory_mb: of one process.

    Returns:
        At least 1.
    """
    return max(1, min(cores, _usable_mb(machine or Machine()) // (PROCESSES * memory_mb)))


def over_commit(workers: int, memory_mb: int = Limits().memory_mb, machine: Machine | None = None) -> str | None:
    """Why so many workers may use more memory than there is, and what to do; None where they fit."""
    usable = _usable_mb(machine or Machine())
    wanted = workers * PROCESSES * memory_mb
    if wanted <= usable:
        return None
    fitting = usable // (PROCESSES * memory_mb)
    fits = f"use workers={fitting}" if fitting else f"use 1 worker and memory_mb={max(64, usable // PROCESSES)}"
    return (
        f"workers={workers} may use {wanted} MB (workers x {PROCESSES} processes x memory_mb={memory_mb}), and this "
        f"machine can give {usable} MB: {fits} or less, or a smaller memory_mb. Where programs use it all, workers are "
        "ended and their jobs tried again"
    )


def chosen_workers(asked: int | None) -> int:
    """How many workers a sandbox has: what was asked for, with a warning where that is too much, or what fits.

    Raises:
        UsageError: less than one.
    """
    if asked is None:
        return fitting_workers(len(os.sched_getaffinity(0)))
    if asked < 1:
        raise UsageError(f"workers={asked}: a sandbox needs at least 1 worker")
    if why := over_commit(asked):
        _log.warning("%s", why)
    return asked


def _usable_mb(machine: Machine) -> int:
    return machine.total_mb - _watch.reserve_of(machine.total_mb)


def share_of(memory_mb: int = Limits().memory_mb) -> int:
    """What all processes of a worker may use together, in MB, for jobs with this limit."""
    return (PROCESSES + 1) * memory_mb + SLACK_MB


class Bounds(Protocol):
    """What can bound all processes of a worker together: control groups, or an engine of containers."""

    def enter(self, slot: int, /) -> list[str]: ...
    def allow(self, slot: int, share_mb: int, /) -> bool: ...
    def leave(self, slot: int, /) -> None: ...
    def close(self) -> None: ...


@dataclass
class Memory:
    """What keeps the workers of one sandbox within their memory. Used from the thread that owns the workers.

    Attributes:
        workers: how many there are at most.
        watch: looks at them.
        bounds: on each of them, where the machine lets us have some.
        share: by the limit of one process, what all of a worker's may use together, in MB.
    """

    workers: int
    watch: _watch.Watch = field(default_factory=_watch.Watch)
    bounds: Bounds | None = None
    share: Callable[[int], int] = share_of
    _shares_mb: dict[int, int] = field(default_factory=dict)
    _next_look: float = 0.0
    _warned: set[str] = field(default_factory=set)

    def enter(self, slot: int) -> list[str]:
        """The beginning of the command line that starts a worker; it bounds the worker before it reads anything."""
        self._shares_mb[slot] = self.share(Limits().memory_mb)
        if self.bounds is None:
            return []
        command = self.bounds.enter(slot)
        self._bound(slot, self.bounds)
        return command

    def allow(self, slot: int, memory_mb: int) -> None:
        """Let a worker have what a job with this limit may use."""
        share_mb = self.share(memory_mb)
        if share_mb <= self._shares_mb.setdefault(slot, self.share(Limits().memory_mb)):
            return
        self._shares_mb[slot] = share_mb
        if self.bounds is not None:
            self._bound(slot, self.bounds)
        if why := over_commit(self.workers, memory_mb, self.watch.machine):
            self._warn(why)

    def _bound(self, slot: int, bounds: Bounds) -> None:
        if not bounds.allow(slot, self._shares_mb[slot]):
            self._warn(
                f"a worker could not be bounded to {self._shares_mb[slot]} MB; what bounded it before still does"
            )

    def _warn(self, why: str) -> None:
        if why not in self._warned:
            self._warned.add(why)
            _log.warning("%s", why)

    def leave(self, slot: int) -> None:
        """A worker has ended."""
        self._shares_mb.pop(slot, None)
        if self.bounds is not None:
            self.bounds.leave(slot)

    def look(self, pids: Mapping[int, int]) -> list[int]:
        """End what goes beyond its share; the slots of workers that must be ended because the machine is short.

        Args:
            pids: by slot, the process of each worker that has work.
        """
        began = time.thread_time()  # on a busy machine a look takes long, but costs no more
        slots = {pid: slot for slot, pid in pids.items()}
        shares_mb = {pid: self._shares_mb.get(slot, self.share(Limits().memory_mb)) for pid, slot in slots.items()}
        ends = []
        for over in self.watch.over(shares_mb):
            if not over.own_fault:
                ends.append(slots[over.worker])
            elif _watch.end(over):
                _log.info("worker %d used %d MB: ended its biggest process", slots[over.worker], over.used_mb)
        self._next_look = time.monotonic() + max(_watch.LOOK_S, COST * (time.thread_time() - began))
        return ends

    @property
    def pause_s(self) -> float:
        """When to look again, from now."""
        return max(0.0, self._next_look - time.monotonic())

    def close(self) -> None:
        if self.bounds is not None:
            self.bounds.close()
            self.bounds = None


def open_memory(workers: int) -> Memory:
    """The best that this machine offers."""
    machine = Machine()
    return Memory(workers, _watch.Watch(machine), _open_groups(machine))


def _open_groups(machine: Machine) -> _groups.Groups | None:
    for place in _places.places(machine.trees):
        groups = _places.make(place)
        if groups is not None:
            return groups
    return None


class Report(NamedTuple):
    """What `evosyn sandbox probe` and `evosyn doctor` say.

    Attributes:
        fit: whether the workers fit, and `workers` in words.
        bounded: what bounds a worker as a whole was seen to hold, and `bound` in words.
    """

    fit: bool
    workers: str
    bounded: bool
    bound: str


def report(workers: int | None = None) -> Report:
    """How many workers fit, and what was seen to bound one; the kernel's log will tell of the processes that tried."""
    machine = Machine()
    count = workers or fitting_workers(len(os.sched_getaffinity(0)), machine=machine)
    why = over_commit(count, machine=machine)
    fits = f"{count} workers x {PROCESSES} processes x {Limits().memory_mb} MB fit the {machine.total_mb} MB here"
    groups = _open_groups(machine)
    if groups is None:
        return Report(why is None, why or fits, False, "watched from outside (no control groups can be had here)")
    try:
        held = _groups.hold(groups)
    finally:
        groups.close()
    kind = f"control groups (version {groups.version})"
    bound = f"bounded by {kind}" if held else f"watched from outside ({kind} do not hold)"
    return Report(why is None, why or fits, held, bound)
