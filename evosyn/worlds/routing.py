"""One `Sandbox.run` for all jobs: those about states of a shell world go to that kind of world, all others to a
sandbox. Neither is opened before a job needs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from evosyn.jobs import ItemOutcome, Job, Protection, ShellJob
from evosyn.ports import Sandbox
from evosyn.records import Json

OnDone = Callable[[int, tuple[ItemOutcome, ...]], None]


class RunsShellJobs(Protocol):
    """What looks at states: `worlds.shell.ShellWorlds`."""

    def run(self, jobs: Sequence[ShellJob], *, on_done: OnDone | None = None) -> list[tuple[ItemOutcome, ...]]: ...


class RoutingSandbox:
    """Implements `ports.Sandbox`; closing it closes the sandbox, the worlds stay with their owner.

    Args:
        shells: opens the shell worlds, or gives those that are open.
    """

    def __init__(self, sandbox: Sandbox, shells: Callable[[], RunsShellJobs]) -> None:
        self._sandbox, self._shells = sandbox, shells

    @property
    def protection(self) -> Protection:
        """Of the sandbox; what rooms hold is `worlds.shell.Level`."""
        return self._sandbox.protection

    def run(self, jobs: Sequence[Job], *, on_done: OnDone | None = None) -> list[tuple[ItemOutcome, ...]]:
        """See `ports.Sandbox.run`."""
        looks = {at: job for at, job in enumerate(jobs) if isinstance(job, ShellJob)}
        others = [at for at in range(len(jobs)) if at not in looks]
        found: dict[int, tuple[ItemOutcome, ...]] = {}
        if others or not jobs:
            ran = self._sandbox.run([jobs[at] for at in others], on_done=_placed(on_done, others))
            found.update(zip(others, ran, strict=True))
        if looks:
            ran = self._shells().run(list(looks.values()), on_done=_placed(on_done, list(looks)))
            found.update(zip(looks, ran, strict=True))
        return [found[at] for at in range(len(jobs))]

    def share(self, value: Json) -> str:
        return self._sandbox.share(value)

    def close(self) -> None:
        self._sandbox.close()

    def __enter__(self) -> RoutingSandbox:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _placed(on_done: OnDone | None, places: Sequence[int]) -> OnDone | None:
    if on_done is None:
        return None
    return lambda at, outcomes: on_done(places[at], outcomes)
