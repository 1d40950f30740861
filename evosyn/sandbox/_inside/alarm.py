"""The soft time limit of one item of work inside a child: CPU time first, waiting second.

A program is stopped when it has *computed* for `cpu_s`, whatever the machine's load; when it has neither computed nor
ended for as long as that (it sleeps, at once or in short naps, or waits for what never comes) while the machine ran on;
and in any case after `wall_s`. A timer that rings late tells that nobody got the processor meanwhile, which is no
waiting of the program's. The program may swallow or reset all of this, which is why the supervisor measures the same
from outside and kills a little later.
"""

from __future__ import annotations

from resource import RUSAGE_SELF, getrusage
from signal import ITIMER_PROF, ITIMER_REAL, SIGALRM, SIGPROF, setitimer, signal
from time import monotonic, process_time
from types import FrameType
from typing import NamedTuple

REPEAT_S = 0.05
"""The alarm rings again at this interval, for a program that swallows it."""
IDLE_SHARE = 0.002
"""A process that computes for less than this share of the time only waits."""
NAPPING_SHARE, NAP_S = 0.05, 0.001
"""So does one that computes for less than this share, and gives the processor away by itself before it has computed for
so long at a time: one that stands in line for it behind others does not."""
LOOKS, LATE_S = 4, 0.1
"""How often it is looked at in the time after which it has waited for too long, and how late a look may be."""
WAITING = 5.0
"""Waiting is charged at one second in so many, so that what an item costs hardly depends on the load."""


class JobLimits(NamedTuple):
    """`evosyn.jobs.Limits` as it travels."""

    cpu_s: float
    wall_s: float
    budget_s: float
    memory_mb: int
    output_kb: int


class TimeLimit(BaseException):
    """Raised in the program when its time is up."""


class Alarm:
    """The soft time limit of the items of one child. There is one, set up before the fork and inherited.

    Timers are set once and again only when they ring, for what is left of the running item: a system call per item
    would cost more than most calls of a program do.

    Attributes:
        limits: of the item.
        armed: an item is running.
        started: CPU seconds of this process when the item began.
    """

    def __init__(self) -> None:
        self.armed = self._rang = False
        self.started = self._began = self._since = 0.0
        self.limits = JobLimits(1.0, 1.0, 1.0, 0, 0)
        self._seen, self._naps = 0.0, 0
        self._cpu_set_to = self._look_set_to = 0.0
        signal(SIGPROF, self._ring_cpu)
        signal(SIGALRM, self._ring_look)

    def start(self, limits: JobLimits, *, waits: bool = False) -> None:
        """Begin an item.

        Args:
            waits: for another process, which is measured by itself: waiting has no limit here.
        """
        self.limits = limits
        self._began = self._since = monotonic()
        self.started = self._seen = process_time()
        self._naps = getrusage(RUSAGE_SELF).ru_nvcsw
        self._rang = False
        self.armed = True
        if self._cpu_set_to < self.started:
            self._cpu_set_to = self.started + self.limits.cpu_s
            setitimer(ITIMER_PROF, self.limits.cpu_s, REPEAT_S)
        if not waits and self._look_set_to < self._began:
            self._set_look(self._began)

    def disarm(self) -> None:
        """The item has ended.

        Raises:
            TimeLimit: only when its time was up; the program had caught that.
        """
        self.armed = False
        if self._rang:
            raise TimeLimit

    def stop(self, elsewhere_s: float = 0.0) -> float:
        """What the item is charged: its CPU seconds, or a share of the seconds that it took where that is more.

        Args:
            elsewhere_s: CPU seconds that another process spent on it.
        """
        self.armed = False
        return max(process_time() - self.started + elsewhere_s, (monotonic() - self._began) / WAITING)

    def _ring_cpu(self, _number: int, _frame: FrameType | None) -> None:
        if not self.armed:
            self._cpu_set_to = 0.0
            return
        left = self.started + self.limits.cpu_s - process_time()
        if left > 0.0:  # the clock of the timer is a coarse one, and an earlier item may have set it
            setitimer(ITIMER_PROF, left, REPEAT_S)
        else:
            self._cpu_set_to = 0.0
            self._rang = True
            raise TimeLimit

    def _ring_look(self, _number: int, _frame: FrameType | None) -> None:
        if not self.armed:
            self._look_set_to = 0.0
            return
        now, cpu, naps = monotonic(), process_time(), getrusage(RUSAGE_SELF).ru_nvcsw
        late = now - self._look_set_to > max(LATE_S, self.limits.cpu_s / (2 * LOOKS))
        whole = now - self._since >= self.limits.cpu_s
        waited = whole and not late and self._waited(cpu - self._seen, naps - self._naps)
        if waited or now - self._began >= self.limits.wall_s:
            self._look_set_to = now
            self._rang = True
            raise TimeLimit
        if late or whole:
            self._since, self._seen, self._naps = now, cpu, naps
        self._set_look(now)

    def _waited(self, computed_s: float, naps: int) -> bool:
        """Since it was last seen to compute."""
        share = computed_s / self.limits.cpu_s
        return share < IDLE_SHARE or (share < NAPPING_SHARE and computed_s < NAP_S * naps)

    def _set_look(self, now: float) -> None:
        """Look a few times until the item may have waited too long, and when its time is up."""
        cpu_s, wall_s = self.limits.cpu_s, self.limits.wall_s
        pause = min(cpu_s / LOOKS, self._since + cpu_s - now, self._began + wall_s - now)
        self._look_set_to = now + max(0.001, pause)
        setitimer(ITIMER_REAL, self._look_set_to - now, REPEAT_S)
