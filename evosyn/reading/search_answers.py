"""What a search answers: frozen records made from the entries of its journal and from its folded state."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

from evosyn.evolve.archive import Archive, Cell
from evosyn.evolve.events import Fate
from evosyn.evolve.islands import Archipelago, Best
from evosyn.ports import Axis
from evosyn.program_identity import why_not
from evosyn.reading.conclusions import Conclusion
from evosyn.reading.search_duels import Rival
from evosyn.reading.search_journal import Entry
from evosyn.records import Evaluation, Json

POINTS = 2000
"""Candidates in the picture of all scores."""
DIFFERENT = 2000
"""Lines of a difference that an answer holds."""


@dataclass(frozen=True)
class GridElite:
    """A filled cell."""

    cell: Cell
    id: str
    score: float | None


@dataclass(frozen=True)
class IslandGrid:
    """The archive of one island, or of everything ever kept."""

    name: str
    filled: int
    capacity: int
    cells: tuple[GridElite, ...]

    @classmethod
    def of(cls, name: str, archive: Archive) -> Self:
        found = sorted(archive.cells().items())
        cells = tuple(GridElite(cell, elite.candidate.id, elite.evaluation.score) for cell, elite in found)
        return cls(name, len(archive), archive.capacity, cells)


@dataclass(frozen=True)
class Grids:
    """Every island's grid over the same axes, the record of everything ever kept last."""

    axes: tuple[Axis, ...]
    grids: tuple[IslandGrid, ...]

    @classmethod
    def of(cls, state: Archipelago) -> Self:
        islands = (IslandGrid.of(f"island {number}", island) for number, island in enumerate(state.islands))
        return cls(state.axes, (*islands, IslandGrid.of("everything ever kept", state.record)))


class FitnessPoint(NamedTuple):
    """A candidate that was evaluated: the number of the evaluation, its score, its id."""

    evaluations: int
    score: float
    id: str


@dataclass(frozen=True)
class SearchOverview:
    """A search as a whole.

    Attributes:
        progress: what it is at, in words.
        conclusion: did it work, what won, why.
        card: what is known of the winner (`card.json`); None while it runs.
        fitness: scores of all candidates by proposer.
        counts: how far it has come.
        best: id and score in the search; None before it begins.
        curve: the best-so-far curve.
        proposers: what each wasted, repeated and won.
        report: report.json; None while it runs.
    """

    kind: str
    path: str
    finished: bool
    simulated: bool
    progress: str
    conclusion: Conclusion
    card: Mapping[str, Json] | None
    fitness: Mapping[str, tuple[FitnessPoint, ...]]
    manifest: Mapping[str, Json]
    counts: Mapping[str, int]
    best: Mapping[str, Json] | None
    curve: tuple[Best, ...]
    proposers: Mapping[str, Json]
    grids: Grids
    report: Mapping[str, Json] | None


@dataclass(frozen=True)
class CandidateRow:
    """A candidate in a list; `number` counts them in the order of the journal."""

    number: int
    id: str
    score: float | None
    fate: str
    proposal: int
    island: int
    proposer: str
    operator: str
    parents: tuple[str, ...]
    size: int
    reason: str | None

    @classmethod
    def of(cls, entry: Entry, number: int) -> Self:
        candidate, evaluation = entry.trial.candidate, entry.trial.evaluation
        return cls(
            number=number,
            id=entry.id,
            score=entry.score,
            fate=entry.fate.value,
            proposal=entry.step.index,
            island=entry.step.island,
            proposer=entry.step.proposer,
            operator=str(candidate.detail.get("operator", candidate.detail.get("name", "")))[:80],
            parents=candidate.parents,
            size=len(candidate.text),
            reason=None if evaluation is None or evaluation.invalid is None else evaluation.invalid[:200],
        )


CANDIDATE_COLUMNS = ("id", "fate", "proposer", "operator", "parents", "reason")


@dataclass(frozen=True)
class ReplyText:
    """A model's reply; the text is None where the directory does not hold it."""

    id: str
    text: str | None


@dataclass(frozen=True)
class Difference:
    """A unified difference between the texts of two candidates."""

    before: str
    after: str
    lines: tuple[str, ...]

    @classmethod
    def of(cls, before: Entry, after: Entry) -> Self:
        old, new = (entry.trial.candidate.text.splitlines() for entry in (before, after))
        lines = difflib.unified_diff(old, new, before.id, after.id, lineterm="")
        return cls(before.id, after.id, tuple(lines)[:DIFFERENT])


@dataclass(frozen=True)
class CandidateStory(CandidateRow):
    """One candidate with everything about it.

    Attributes:
        why: what became of it, in a sentence.
        axes: what the descriptor of its evaluation is in.
        difference: to its first parent; None for an initial program.
        lineage: the candidate, its first parent, and so on to an initial program.
        rivals: its parent and the initial program, with the seeds won and lost.
        seeds: its score on each seed problem.
        idea: what the model said about it.
    """

    why: str
    rivals: tuple[Rival, ...]
    seeds: Mapping[str, float]
    idea: str
    text: str
    detail: Mapping[str, Json]
    evaluation: Evaluation | None
    axes: tuple[str, ...]
    difference: Difference | None
    lineage: tuple[CandidateRow, ...]
    replies: tuple[ReplyText, ...]


@dataclass(frozen=True)
class CommitDecision(CandidateRow):
    """Why a candidate became what it became: the state at the moment before its commit.

    Attributes:
        behaviour: its place on each axis, where it was measured.
        cell: of its island, with the candidate that held it and that one's score.
        best_before: the best score of the search until then.
        rivals: its parent and the initial program, with the seeds won and lost, and by what where it was run again.
    """

    why: str
    rivals: tuple[Rival, ...]
    behaviour: Mapping[str, float]
    cell: Cell | None
    holder: str | None
    holder_score: float | None
    best_before: float | None


@dataclass(frozen=True)
class PromptAndReplies:
    """What a model was asked for a candidate, and what it said."""

    id: str
    prompt: str
    replies: tuple[ReplyText, ...]


def fitness_of(rows: Sequence[CandidateRow]) -> dict[str, tuple[FitnessPoint, ...]]:
    """The scores by proposer; of too many every so manieth, and always those above all before them."""
    scored = [row for row in rows if row.score is not None]
    step, best = len(scored) // POINTS + 1, float("-inf")
    found: dict[str, list[FitnessPoint]] = {}
    for number, row in enumerate(scored):
        score = row.score or 0.0
        if number % step == 0 or score > best:
            found.setdefault(row.proposer, []).append(FitnessPoint(number + 1, score, row.id))
        best = max(best, score)
    return {name: tuple(points) for name, points in found.items()}


def why(entry: Entry, same_program: str | None, same_behaviour: str | None) -> str:
    """What became of a candidate, in a sentence."""
    evaluation = entry.trial.evaluation
    told = {
        Fate.NEW: "kept: the first in its cell",
        Fate.IMPROVED: "kept: better than what held its cell",
        Fate.NOT_BETTER: "not kept: its cell holds a better one (by score, then by the further order of merit)",
        Fate.DUPLICATE: f"not evaluated: the same program as {same_program or 'another of the same proposal'}",
        Fate.SAME_BEHAVIOUR: f"not kept: ranks everything like {same_behaviour or 'another of the same proposal'}",
        Fate.INVALID: f"invalid: {'' if evaluation is None else evaluation.invalid}",
    }
    return told.get(entry.fate) or f"not evaluated: {why_not(entry.trial.candidate.text)}"
