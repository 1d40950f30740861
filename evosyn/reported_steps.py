"""The journal of a feed: one line for each step that was reported, and the rewinds between them.

A training that goes on from a checkpoint does later steps again: their reports are void, and the journal stays
append-only. The state of a feed is the fold of those that stand. `ports.Feed`; DESIGN.md section 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from evosyn.journal import Events, Journal
from evosyn.ports import GroupOutcome
from evosyn.records import Json


class ReportedStep(Protocol):
    """An event of a feed: a dataclass with the step that it reports."""

    @property
    def step(self) -> int: ...


@dataclass(frozen=True)
class StepRewind:
    """Event: what was reported of this step and later ones is void."""

    to: int


S = TypeVar("S", bound=ReportedStep)


def by_row(outcomes: Iterable[GroupOutcome]) -> tuple[tuple[str, int, int], ...]:
    """What the groups of each row came to in all, as (row, passed, known), in the order in which rows first came."""
    found: dict[str, tuple[int, int]] = {}
    for one in outcomes:
        passed, known = found.get(one.row, (0, 0))
        found[one.row] = passed + one.passed, known + one.known
    return tuple([(row, passed, known) for row, (passed, known) in found.items()])


class ReportedSteps(Generic[S]):
    """The reports of a run, each of the class `kind`."""

    def __init__(self, journal: Journal, kind: type[S]) -> None:
        self._events = Events[S | StepRewind](journal, {"step": kind, "rewind": StepRewind})

    def begin(self, header: Mapping[str, Json]) -> None:
        """As `Events.begin`."""
        self._events.begin(header)

    def header(self) -> dict[str, Json] | None:
        """As `Events.header`."""
        return self._events.header()

    def append(self, event: S) -> None:
        """Add one; a checkpoint must never know more than the journal, so it is on the disk afterwards."""
        self._events.append(event, sync=True)

    def rewind(self, step: int) -> bool:
        """Make what was reported of `step` and later ones void; whether there was any."""
        void = any(one.step >= step for one in self.standing())
        if void:
            self._events.append(StepRewind(step), sync=True)
        return void

    def standing(self) -> list[S]:
        """The reports that were not taken back, in order."""
        found: list[S] = []
        for event in self._events:
            if isinstance(event, StepRewind):
                found = [one for one in found if one.step < event.to]
            else:
                found.append(event)
        return found
