"""The journal of a search as a reader wants it: candidates by place, the state at its end or before one of them.

This is the one place of the reading room that knows the events of a search.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from evosyn.evolve.events import Committed, Event, Fate, Reassessed, Step, Trial, events_of
from evosyn.evolve.islands import Archipelago
from evosyn.evolve.replay import replay
from evosyn.journal import Journal
from evosyn.records import Json


class Entry(NamedTuple):
    """One candidate as the journal has it."""

    step: Step
    trial: Trial
    fate: Fate

    @property
    def id(self) -> str:
        return self.trial.candidate.id

    @property
    def score(self) -> float | None:
        return None if self.trial.evaluation is None else self.trial.evaluation.score

    @property
    def parent(self) -> str | None:
        parents = self.trial.candidate.parents
        return parents[0] if parents else None


class JournalPlace(NamedTuple):
    """Where a candidate stands: its number among all, the byte where its line starts, its place within the line."""

    number: int
    byte: int
    at: int


def header_of(journal: Journal) -> dict[str, Json] | None:
    """What the journal begins with; None before it does."""
    return events_of(journal).header()


def config_of(journal: Journal) -> dict[str, Json] | None:
    """The configuration that the search was started with; None before it begins."""
    header = header_of(journal)
    return None if header is None else header["config"]


def entries(journal: Journal) -> Iterator[tuple[JournalPlace, Entry]]:
    """Every candidate with its place, in the order of the journal."""
    number = 0
    for byte, event in events_of(journal).positions():
        for at, entry in enumerate(_entries(event)):
            yield JournalPlace(number, byte, at), entry
            number += 1


def entry_at(journal: Journal, place: JournalPlace) -> Entry:
    return _entries(events_of(journal).at(place.byte))[place.at]


def folded(journal: Journal, empty: Archipelago) -> Archipelago:
    """The state of the search at the end of the journal."""
    return replay(events_of(journal), empty).state


def folded_before(journal: Journal, empty: Archipelago, entry: Entry) -> Archipelago:
    """The state just before `entry` was committed."""
    for event in events_of(journal):
        if isinstance(event, Reassessed):
            empty.reassess(event)
        if not isinstance(event, Committed):
            continue
        step = event.step
        if step.index == entry.step.index:
            earlier = [trial.candidate.id for trial in step.trials].index(entry.id)
            empty.commit(replace(step, trials=step.trials[:earlier]))
            break
        empty.commit(step)
    return empty


def _entries(event: Event) -> list[Entry]:
    """The candidates of a committed step; none of any other event."""
    if not isinstance(event, Committed):
        return []
    return [Entry(event.step, trial, fate) for trial, fate in zip(event.step.trials, event.fates, strict=True)]
