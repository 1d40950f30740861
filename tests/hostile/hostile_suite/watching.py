"""A sandbox as evosyn sees it, with everything that passes through it noted: statuses, details, seconds, secrets.

It changes nothing on the way. Used to find what a verdict letter does not tell: the status of each call, our secret in
an outcome, a run that took longer than its limits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evosyn.jobs import CompanyJob, ItemOutcome, Job, Protection, Status
from evosyn.ports import Sandbox
from evosyn.records import Json
from hostile_suite.host import mentions

ITEM_SLACK_S, JOB_SLACK_S, RUN_SLACK_S = 0.5, 0.1, 20.0
BUSY_MACHINE = 1.5
"""By how much a machine with other work may be slower than limits suppose."""


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

    @property
    def most_s(self) -> float:
        """The longest that it may have taken: its limit for each item that ran into it, what others say of theirs."""
        limits = self.job.limits
        item_s = limits.wall_s
        seconds = [
            item_s + ITEM_SLACK_S if outcome.status is Status.TIMEOUT else min(max(outcome.seconds, 0.0), item_s)
            for outcome in self.outcomes
        ]
        return min(sum(seconds), limits.budget_s + 2 * item_s) + JOB_SLACK_S


class Watched:
    """Implements `ports.Sandbox` around another one."""

    def __init__(self, inner: Sandbox, secret: str) -> None:
        self._inner, self._secret = inner, secret
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

    @property
    def most_s(self) -> float:
        """The longest that all of it may have taken, with what our own process does on a busy machine."""
        return BUSY_MACHINE * sum(seen.most_s for seen in self.seen) + RUN_SLACK_S

    def share(self, value: Json) -> str:
        return self._inner.share(value)

    def close(self) -> None:
        self._inner.close()

    def __enter__(self) -> Watched:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
