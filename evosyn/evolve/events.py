"""What the journal of a search holds: one event a committed proposal, and its reading back into records.

An event holds the facts (texts, evaluations, costs) and what was decided from them; the state is the fold of the facts,
and the decisions are stored so that a reader needs no replay and a replay can check itself. DESIGN.md section 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from evosyn.records import Candidate, Evaluation, Json


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
    """

    candidate: Candidate
    key: str | None
    evaluation: Evaluation | None


@dataclass(frozen=True)
class Step:
    """One numbered proposal with its trials: what `Archipelago.commit` folds into the state.

    Attributes:
        index: number of the proposal; initial candidates come as step -1.
        island: island that it was drawn from and goes to; -1 = every island (initial candidates).
        parent: id of the parent.
    """

    index: int
    island: int
    proposer: str
    parent: str | None
    trials: tuple[Trial, ...]
    waste: str | None = None
    replies: tuple[str, ...] = ()
    cost: float = 0.0


def rounded(evaluation: Evaluation) -> Evaluation:
    """The evaluation as the journal keeps it: figures rounded, so that a replayed state equals the one that was."""
    return replace(
        evaluation,
        score=None if evaluation.score is None else round(evaluation.score, 9),
        descriptor=tuple(round(value, 6) for value in evaluation.descriptor),
        metrics={name: round(value, 6) for name, value in evaluation.metrics.items()},
        per_seed=tuple(round(value, 4) for value in evaluation.per_seed),
        seconds=0.0,
    )


def step_to_json(step: Step, fates: tuple[Fate, ...]) -> dict[str, Json]:
    """The journal event of a committed step; feedback is kept for candidates that can become parents."""
    event: dict[str, Json] = {
        "t": "proposal",
        "i": step.index,
        "island": step.island,
        "by": step.proposer,
        "parent": step.parent,
        "c": [_trial_to_json(trial, fate, step) for trial, fate in zip(step.trials, fates, strict=True)],
    }
    if step.waste is not None:
        event["waste"] = step.waste
    if step.replies:
        event["replies"] = list(step.replies)
    if step.cost:
        event["cost"] = step.cost
    return event


def step_from_json(event: Mapping[str, Json]) -> tuple[Step, tuple[Fate, ...]]:
    """The step and the fates that were decided when it was committed."""
    trials = tuple(_trial_from_json(trial, event) for trial in event["c"])
    step = Step(
        index=event["i"],
        island=event["island"],
        proposer=event["by"],
        parent=event["parent"],
        trials=trials,
        waste=event.get("waste"),
        replies=tuple(event.get("replies", ())),
        cost=event.get("cost", 0.0),
    )
    return step, tuple(Fate(trial["fate"]) for trial in event["c"])


def _trial_to_json(trial: Trial, fate: Fate, step: Step) -> dict[str, Json]:
    candidate = trial.candidate
    out: dict[str, Json] = {"id": candidate.id, "text": candidate.text, "fate": fate.value}
    if trial.key is not None:
        out["key"] = trial.key
    if candidate.parents != (() if step.parent is None else (step.parent,)):
        out["parents"] = list(candidate.parents)
    if candidate.proposer != step.proposer:
        out["by"] = candidate.proposer
    if candidate.detail:
        out["detail"] = dict(candidate.detail)
    if trial.evaluation is not None:
        out["e"] = _evaluation_to_json(trial.evaluation, feedback=fate in KEPT)
    return out


def _trial_from_json(out: Mapping[str, Json], event: Mapping[str, Json]) -> Trial:
    parent = event["parent"]
    candidate = Candidate(
        text=out["text"],
        parents=tuple(out["parents"]) if "parents" in out else (() if parent is None else (parent,)),
        proposer=out.get("by", event["by"]),
        detail=out.get("detail", {}),
    )
    return Trial(candidate, out.get("key"), _evaluation_from_json(out["e"]) if "e" in out else None)


def _evaluation_to_json(evaluation: Evaluation, *, feedback: bool) -> dict[str, Json]:
    out: dict[str, Json] = {"score": evaluation.score}
    if evaluation.invalid is not None:
        out["invalid"] = evaluation.invalid
    if evaluation.descriptor:
        out["descriptor"] = list(evaluation.descriptor)
    if evaluation.metrics:
        out["metrics"] = dict(evaluation.metrics)
    if evaluation.per_seed:
        out["per_seed"] = list(evaluation.per_seed)
    if evaluation.signature:
        out["signature"] = evaluation.signature
    if feedback and evaluation.feedback:
        out["feedback"] = list(evaluation.feedback)
    return out


def _evaluation_from_json(out: Mapping[str, Json]) -> Evaluation:
    return Evaluation(
        score=out["score"],
        invalid=out.get("invalid"),
        descriptor=tuple(out.get("descriptor", ())),
        metrics=out.get("metrics", {}),
        per_seed=tuple(out.get("per_seed", ())),
        signature=out.get("signature", ""),
        feedback=tuple(out.get("feedback", ())),
    )
