"""From a journal to the state of the search: state = replay(journal).

It reads and folds; it writes nothing. The decisions stored in the journal are compared with those that the fold comes
to, and texts, keys and figures with their digests, so a journal that was edited, or that another version decided
differently, is refused. Whoever makes the digests anew as well is not found out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple

from evosyn.errors import PUT_BACK, CorruptRun
from evosyn.evolve.events import DIGESTED, Committed, Continued, Event, Reassessed, Step, Stopped, Trial, digests_of
from evosyn.evolve.islands import Archipelago
from evosyn.evolve.stopping import Grant
from evosyn.journal import OTHER, Events, Journal

PROPOSAL_MARK = b'"event":"proposal"'


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
        CorruptRun: damaged lines, a gap in the numbers, what was committed is changed, or decisions that differ from
            the fold's.
    """
    stopped: str | None = None
    committed: set[str] = set()
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
            if changed := _changed(event.step, committed):
                raise CorruptRun(f"{events.journal.place(position)}: {changed}. The journal was edited. {PUT_BACK}")
            _fold(state, event, events.journal, position)
            committed.update(trial.candidate.id for trial in event.step.trials)
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


def _changed(step: Step, committed: Collection[str]) -> str | None:
    """What of a step is not as it was committed; None where nothing shows it.

    Args:
        committed: ids of the candidates before it.
    """
    for number, trial in enumerate(step.trials):
        if trial.digests and (field := _other_field(trial)):
            return f"step.trials[{number}].{field} is not what was committed"
    if step.parent is not None and step.parent not in committed:
        return f"step.parent is {step.parent}, and no candidate before it has that id, so the text of one was changed"
    return None


def _other_field(trial: Trial) -> str | None:
    """The first field of a trial that its digests do not fit."""
    try:
        found = digests_of(trial)
    except ValueError:  # a figure that is no number, which is never committed
        return DIGESTED[-1]
    differing = (name for name, now, then in zip(DIGESTED, found, trial.digests, strict=False) if now != then)
    return next(differing, None if found == trial.digests else "digests")


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
        return sum(PROPOSAL_MARK in line for line in file)
