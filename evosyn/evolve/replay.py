"""From a journal to the state of the search: state = replay(journal).

It reads and folds; it writes nothing. The decisions stored in the journal are compared with those that the fold comes
to, so a journal that was edited, or that another version decided differently, is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from evosyn.errors import CorruptRun
from evosyn.evolve.events import Committed, Continued, Event, Reassessed, Stopped
from evosyn.evolve.islands import Archipelago
from evosyn.evolve.stopping import Grant
from evosyn.journal import OTHER, Events, Journal

PROPOSAL_MARKS = b'"event":"proposal"', b'"t":"proposal"'
"""Of a line of today, and of version 1."""


class Replayed(NamedTuple):
    """A state and what stands around it.

    Attributes:
        stopped: reason of a stop event that nothing follows, or None.
        continued: what `--continue` granted at each time, with the evaluations and proposals that were made by then.
    """

    state: Archipelago
    stopped: str | None
    continued: tuple[Grant, ...] = ()


def replay(
    events: Events[Event], state: Archipelago, on_commit: Callable[[Archipelago], None] | None = None, last: int = 0
) -> Replayed:
    """Fold the events of a journal.

    Args:
        state: empty; it is what changes.
        on_commit: called after each of the last `last` proposals (and the initial candidates before them).

    Raises:
        CorruptRun: damaged lines, a gap in the numbers, or decisions that differ from the fold's.
    """
    stopped: str | None = None
    continued: list[Grant] = []
    total = 0 if on_commit is None else _proposals(events)
    for position, event in events.positions():
        if isinstance(event, Stopped):
            stopped = event.reason
            state.forget_streaks()
        elif isinstance(event, Continued):
            made = (state.evaluations, state.steps)
            continued.append(Grant(event.more, *made, ended=stopped is not None, planned=event.planned))
            stopped = None
        elif isinstance(event, Reassessed):
            stopped = None
            _refuse_strangers(state, event, events.journal.path)
            state.reassess(event)
        else:
            stopped = None
            _fold(state, event, events.journal, position)
            if on_commit is not None and state.steps >= total - 1 - last:
                on_commit(state)
    return Replayed(state, stopped, tuple(continued))


def _fold(state: Archipelago, event: Committed, journal: Journal, position: int) -> None:
    step = event.step
    if step.index != (state.steps if state.initial else -1):
        raise CorruptRun(f"{journal.place(position)}: proposal {step.index} follows after {state.steps} proposals")
    try:
        decided = state.commit(step)
    except (LookupError, TypeError, ValueError) as error:
        told = f"proposal {step.index} fits no search of these settings: {error}"
        raise CorruptRun(f"{journal.place(position)}: {told}. {OTHER}") from error
    if decided != event.fates:
        raise CorruptRun(
            f"{journal.place(position)}: proposal {step.index} was decided {[fate.value for fate in event.fates]}, "
            f"the replay says {[fate.value for fate in decided]}; the journal was edited or written by another version"
        )


def _refuse_strangers(state: Archipelago, event: Reassessed, path: Path) -> None:
    """
    Raises:
        CorruptRun: it is not the members of the state that were evaluated anew.
    """
    if event.evaluations.keys() != state.members().keys():
        raise CorruptRun(f"{path}: epoch {event.epoch!r} begins after {state.steps} proposals with other members")


def _proposals(events: Events[Event]) -> int:
    path = events.journal.path
    if not path.exists():
        return 0
    with path.open("rb") as file:
        return sum(any(mark in line for mark in PROPOSAL_MARKS) for line in file)
