"""What the journal of a search holds: one event a committed proposal, and where the search stopped and went on.

An event holds the facts (texts, evaluations, costs) and what was decided from them; the state is the fold of the facts,
and the decisions are stored so that a reader needs no replay and a replay can check itself. DESIGN.md section 4.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from evosyn.journal import Events, Journal
from evosyn.records import Candidate, Evaluation, content_id


class Fate(StrEnum):
    """What became of one candidate."""

    NEW = "new"  # first in its cell of the island
    IMPROVED = "improved"  # took its cell from a lesser one
    NOT_BETTER = "not-better"  # evaluated; its cell holds a better one
    SAME_BEHAVIOUR = "same-behaviour"  # evaluated; behaves like one seen before, on every seed
    DUPLICATE = "duplicate"  # the same text as one seen before; not evaluated
    INVALID = "invalid"  # evaluated; has no score, with the reason
    NO_PROGRAM = "no-program"  # no such text (`Evolved.key`); not evaluated


KEPT = frozenset({Fate.NEW, Fate.IMPROVED})


@dataclass(frozen=True)
class Trial:
    """One candidate of a step with its key and its evaluation.

    Attributes:
        key: as `Evolved.key` says.
        evaluation: None for duplicates and where there is no key.
        digests: `digests_of` when it was committed; empty before.
    """

    candidate: Candidate
    key: str | None = None
    evaluation: Evaluation | None = None
    digests: tuple[str, ...] = ()


@dataclass(frozen=True)
class Step:
    """One numbered proposal with its trials: what `Archipelago.commit` folds into the state.

    Attributes:
        index: number of the proposal; initial candidates come as step -1.
        island: island that it was drawn from and goes to; -1 = every island (initial candidates).
        parent: id of the parent.
        asked: the arm that it counts for, where that is not the proposer: whose question was really asked.
    """

    index: int
    island: int
    proposer: str
    parent: str | None
    trials: tuple[Trial, ...]
    waste: str | None = None
    replies: tuple[str, ...] = ()
    cost: float = 0.0
    tokens: tuple[int, int] = (0, 0)
    asked: str | None = None


def rounded(evaluation: Evaluation) -> Evaluation:
    """The evaluation as the journal keeps it: figures rounded, so that a replayed state equals the one that was."""
    return replace(
        evaluation,
        score=None if evaluation.score is None else round(evaluation.score, 9),
        descriptor=tuple(round(value, 6) for value in evaluation.descriptor),
        metrics={name: round(value, 6) for name, value in evaluation.metrics.items()},
        per_seed=tuple(round(value, 4) for value in evaluation.per_seed),
        seconds=0.0,
        cost=round(evaluation.cost, 9),
    )


@dataclass(frozen=True)
class Committed:
    """The event of one committed step.

    Attributes:
        fates: what was decided about each trial.
    """

    step: Step
    fates: tuple[Fate, ...]


@dataclass(frozen=True)
class Continued:
    """So many proposals or evaluations (whichever are limited) were granted on top.

    Attributes:
        planned: evaluations and proposals that the command planned without it; None = no such limit, or not said.
    """

    more: int
    planned: tuple[int | None, int | None] | None = None


@dataclass(frozen=True)
class Stopped:
    """The search ended; a later event takes it back."""

    reason: str


@dataclass(frozen=True)
class Reassessed:
    """Every member of the search was evaluated anew: what evaluates them has another standard.

    Attributes:
        epoch: of the evaluations, by the ids of the members.
    """

    epoch: str
    evaluations: Mapping[str, Evaluation]


Event: TypeAlias = Committed | Continued | Stopped | Reassessed


DIGESTED = ("candidate.text", "key", "evaluation")
"""What of a trial `digests_of` is about."""


def digests_of(trial: Trial) -> tuple[str, ...]:
    """A digest for each of `DIGESTED`, of an evaluation all that decides what becomes of a candidate.

    Keys are not made again from the texts: that takes a hundred times longer, and versions of evosyn and of Python make
    them otherwise.
    """
    found = trial.evaluation
    figures = found and [
        None if found.score is None else float(found.score),
        found.invalid,
        list(map(float, found.descriptor)),
        {name: float(value) for name, value in found.metrics.items()},
        list(map(float, found.per_seed)),
        found.signature,
    ]
    return tuple(content_id("", part)[:12] for part in (trial.candidate.text, trial.key, figures))


def events_of(journal: Journal) -> Events[Event]:
    """The events of a search."""
    kinds = {"proposal": Committed, "continue": Continued, "stop": Stopped, "reassess": Reassessed}
    return Events[Event](journal, kinds)


def committed(step: Step, fates: tuple[Fate, ...], apart: Collection[str] = ()) -> Committed:
    """The event of a step, with digests; feedback and notes are kept for candidates that can become parents.

    Args:
        apart: ids of those that can without a place in an archive (`Archipelago.parents_apart`).
    """

    def remembered(trial: Trial, fate: Fate) -> Trial:
        digests = digests_of(trial)
        if trial.evaluation is None or fate in KEPT or trial.candidate.id in apart:
            return replace(trial, digests=digests)
        return replace(trial, evaluation=untold(trial.evaluation), digests=digests)

    return Committed(replace(step, trials=tuple(map(remembered, step.trials, fates))), fates)


def untold(evaluation: Evaluation) -> Evaluation:
    """The evaluation without what is kept for proposers and readers."""
    return replace(evaluation, feedback=(), notes=())
