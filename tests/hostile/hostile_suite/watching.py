"""A sandbox as evosyn sees it, with everything that passes through it noted: statuses, details, seconds, secrets.

It changes nothing on the way. Used to find what a verdict letter does not tell: the status of each call, our secret in
an outcome, a run that took longer than its limits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from evosyn.jobs import CallsJob, CompanyJob, HarnessJob, ItemOutcome, Job, Protection, Status
from evosyn.ports import Sandbox
from evosyn.records import Json
from hostile_suite.host import mentions
from hostile_suite.meter import Meter

RUN_S, ITEM_S = 1.0, 0.02
"""CPU seconds, or seconds of waiting, that a run costs once (a worker starts), and each item of ours."""
STOP_S = 0.5
"""How long after its limit an item that swallows its stop may go on, where the supervisor has to wait for its turn."""


def program_of(job: Job) -> str:
    """The text that is judged, of several in one process all."""
    return "\n\n".join(map(program_of, job.members)) if isinstance(job, CompanyJob) else job.program


@dataclass(frozen=True)
class Seen:
    """One job as it passed."""

    job: Job
    outcomes: tuple[ItemOutcome, ...]

    @property
    def program(self) -> str:
        return program_of(self.job)

    def most_s(self, quick: Collection[str]) -> float:
        """The most that it may have computed, or waited: its limit for loading and for each item that ran, of which
        those that did not run into it are within it; in all no more than its budget and its last item.

        Args:
            quick: texts of ours that take no time.
        """
        limits, seconds = self.job.limits, []
        for text, outcome in zip(texts_of(self.job, len(self.outcomes)), self.outcomes, strict=True):
            if outcome.status in (Status.TIMEOUT, Status.KILLED):
                seconds.append(limits.cpu_s + STOP_S)
            elif outcome.status is not Status.NOT_RUN:
                seconds.append(ITEM_S if text in quick else limits.cpu_s)
        if isinstance(self.job, CallsJob):  # computed before, and apart
            seconds += [limits.cpu_s + STOP_S for call in self.job.calls if call.python is not None]
        loading_s = 0.0 if seconds and max(seconds) <= ITEM_S else limits.cpu_s
        return loading_s + min(sum(seconds), limits.budget_s + max(seconds, default=0.0))


def texts_of(job: Job, items: int) -> list[str]:
    """The program that each item is of."""
    if isinstance(job, CompanyJob):
        return [member.program for member in job.members for _ in member.calls]
    return list(job.programs or (job.program,)) if isinstance(job, HarnessJob) else [job.program] * items


class Watched:
    """Implements `ports.Sandbox` around another one.

    Args:
        quick: texts of ours among those that are judged, which take no time.
    """

    def __init__(self, inner: Sandbox, secret: str, quick: Collection[str] = ()) -> None:
        self._inner, self._secret, self._quick = inner, secret, frozenset(quick)
        self.seen: list[Seen] = []
        self.leaks: list[str] = []

    @property
    def protection(self) -> Protection:
        return self._inner.protection

    def run(
        self, jobs: Sequence[Job], *, on_done: Callable[[int, tuple[ItemOutcome, ...]], None] | None = None
    ) -> list[tuple[ItemOutcome, ...]]:
        def done(index: int, outcomes: tuple[ItemOutcome, ...]) -> None:
            self.seen.append(Seen(jobs[index], outcomes))
            for outcome in outcomes:
                if self._secret in outcome.detail or mentions(outcome.value, self._secret):
                    self.leaks.append(program_of(jobs[index])[-200:])
            if on_done is not None:
                on_done(index, outcomes)

        return self._inner.run(jobs, on_done=done)

    def late(self, meter: Meter) -> str:
        """How more was computed or waited than the limits allow; empty where it was not."""
        most_s = RUN_S + sum(seen.most_s(self._quick) for seen in self.seen)
        said = ((meter.computed_s, "computed"), (meter.waited_s, "waited"))
        return ", ".join(f"{one_s:.1f} s {what}, limits allow {most_s:.1f} s" for one_s, what in said if one_s > most_s)

    def share(self, value: Json) -> str:
        return self._inner.share(value)

    def close(self) -> None:
        self._inner.close()

    def __enter__(self) -> Watched:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
