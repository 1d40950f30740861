"""From a journal to the state of the search: state = replay(journal).

It reads and folds; it writes nothing. The decisions stored in the journal are compared with those that the fold comes
to, so a journal that was edited, or that another version decided differently, is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from evosyn.errors import CorruptRun
from evosyn.evolve.events import step_from_json
from evosyn.evolve.islands import Archipelago
from evosyn.records import Json
from evosyn.rundir import Journal

PROPOSAL_MARK = b'"t":"proposal"'


class Replayed(NamedTuple):
    """A state and what stands around it.

    Attributes:
        start: the journal's first event, or None for an empty journal.
        stopped: reason of a stop event that nothing follows, or None.
        extra: what `--continue` has granted in all, and continued_at the evaluations when it last did.
    """

    state: Archipelago
    start: Json | None
    stopped: str | None
    extra: int = 0
    continued_at: int = 0


def replay(
    journal: Journal, state: Archipelago, on_commit: Callable[[Archipelago], None] | None = None, last: int = 0
) -> Replayed:
    """Fold a journal.

    Args:
        state: empty; it is what changes.
        on_commit: called after each of the last `last` proposals (and the initial candidates before them).

    Raises:
        CorruptRun: damaged lines, a gap in the numbers, or decisions that differ from the fold's.
    """
    start: Json | None = None
    stopped: str | None = None
    extra = continued_at = 0
    total = 0 if on_commit is None else _proposals(journal)
    for event in journal.events():
        kind = event["t"]
        if kind == "start":
            start = event
        elif kind == "stop":
            stopped = event["reason"]
            state.forget_streaks()
        elif kind == "continue":
            extra, continued_at, stopped = extra + event["more"], state.evaluations, None
        elif kind == "proposal":
            stopped = None
            _fold(state, event, journal)
            if on_commit is not None and state.steps >= total - 1 - last:
                on_commit(state)
    return Replayed(state, start, stopped, extra, continued_at)


def _fold(state: Archipelago, event: Json, journal: Journal) -> None:
    step, fates = step_from_json(event)
    if step.index != (state.steps if state.initial else -1):
        raise CorruptRun(f"{journal.path}: proposal {step.index} follows after {state.steps} proposals")
    decided = state.commit(step)
    if decided != fates:
        raise CorruptRun(
            f"{journal.path}: proposal {step.index} was decided {[fate.value for fate in fates]}, the replay says "
            f"{[fate.value for fate in decided]}; the journal was edited or written by another version"
        )


def _proposals(journal: Journal) -> int:
    if not journal.path.exists():
        return 0
    with journal.path.open("rb") as file:
        return sum(PROPOSAL_MARK in line for line in file)
