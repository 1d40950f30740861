"""A directory of `evosyn evolve`: the search, its candidates, and why each became what it became.

The state is a replay of the journal, made again when the journal has grown. The index of candidates holds no program,
so that a long run stays small in memory; a single candidate is read from its place in the journal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from evosyn.configs.loading import validated
from evosyn.errors import CorruptRun, UsageError, is_held
from evosyn.evaluators.behaviour import axes_named
from evosyn.evolve.islands import Archipelago
from evosyn.journal import OTHER
from evosyn.matrices import matrix_files
from evosyn.randomness import SeedTree
from evosyn.reading.base import Fresh, Listed, Reading, reply_file
from evosyn.reading.conclusions import of_search
from evosyn.reading.matrices import MatrixShown, matrix_of, shown_matrix, stored_matrices
from evosyn.reading.search_answers import (
    CANDIDATE_COLUMNS,
    CandidateRow,
    CandidateStory,
    CommitDecision,
    Difference,
    Grids,
    PromptAndReplies,
    ReplyText,
    SearchOverview,
    fitness_of,
    why,
)
from evosyn.reading.search_duels import Rival, ScoredSeeds, decided, rival, scored_seeds
from evosyn.reading.search_journal import (
    Entry,
    JournalPlace,
    config_of,
    entries,
    entry_at,
    folded,
    folded_before,
)
from evosyn.records import Json, PassMatrix
from evosyn.strategies.genome import merit_of

if TYPE_CHECKING:
    from evosyn.evaluators.heldout import Split
    from evosyn.ports import StrategyRunner
    from evosyn.synthesis.search.config import EvolveConfig

CARD = "card.json"
MATRICES = "matrices/matrices.jsonl.gz"
NO_CANDIDATE = "ids look like c_0123456789abcdef"


class CandidateIndex(NamedTuple):
    """Every candidate as a row of the list, and where in the journal each id stands first."""

    rows: list[CandidateRow]
    places: dict[str, JournalPlace]


class SearchReading(Reading):
    """One search, begun or not, finished or not."""

    made_by = "`evosyn evolve`"
    asks = {  # noqa: RUF012
        "overview": (),
        "candidates": (),
        "islands": (),
        "candidate": ("ID",),
        "lineage": ("ID",),
        "why": ("ID",),
        "prompt": ("ID",),
        "difference": ("A", "B"),
        "matrix": ("PROBLEM",),
    }

    def __init__(self, path: Path, kind: str) -> None:
        super().__init__(path, kind)
        self.manifest = self.dir.read_json("manifest.json")
        self.journal = self.dir.journal
        self._state = Fresh(self.journal.path, lambda: folded(self.journal, self._empty()))
        self._index = Fresh(self.journal.path, self._read)
        self._seeds = Fresh(self.dir.file(MATRICES), lambda: scored_seeds(self._searched(), self.config.scoring))

    @property
    def report(self) -> dict[str, Json] | None:
        """report.json; None while the run is not finished, also where it was continued and its journal is longer."""
        found = super().report
        made = max((row.proposal for row in self._index.get().rows), default=-1) + 1
        return None if found is not None and made > found["proposals"] else found

    def overview(self) -> SearchOverview:
        """What was searched, how far, and what was found."""
        state, report, rows = self.state, self.report, self._index.get().rows
        best = None if state.best is None else {"id": state.best.candidate.id, "score": state.best_score}
        card = self.dir.read_json(CARD) if report is not None and is_held(self.dir.file(CARD)) else None
        return SearchOverview(
            kind=self.kind,
            path=str(self.path),
            finished=report is not None,
            simulated=bool(self.manifest.get("simulated") or (report and report["simulated"])),
            progress=self._progress(),
            conclusion=of_search(report, card, self._progress(), best, earlier=is_held(self.dir.file("strategy.py"))),
            card=card,
            fitness=fitness_of(rows),
            manifest=self.manifest,
            counts={
                "candidates": len(rows),
                "evaluations": state.evaluations,
                "proposals": state.steps,
                "cells": len(state.record),
                "capacity": state.record.capacity,
                "migrations": state.migrations,
                "restarts": state.restarts,
            },
            best=best,
            curve=tuple(state.curve),
            proposers={name: tally.to_json() for name, tally in sorted(state.tallies.items())},
            grids=Grids.of(state),
            report=report,
        )

    def candidates(self) -> Listed[CandidateRow]:
        """All candidates in the order of the journal."""
        return Listed(tuple(self._index.get().rows), CANDIDATE_COLUMNS)

    def islands(self) -> Grids:
        """The grid of every island."""
        return Grids.of(self.state)

    def candidate(self, name: str) -> CandidateStory:
        """Everything about one candidate."""
        entry, state = self.find(name), self.state
        evaluation, key = entry.trial.evaluation, entry.trial.key
        twin = None if evaluation is None or not evaluation.signature else state.behaves_like(evaluation.signature)
        parent = None if entry.parent is None else self._first(entry.parent)
        return CandidateStory(
            **vars(self._row(entry)),
            why=why(entry, None if key is None else state.seen(key), twin),
            rivals=self.rivals(entry),
            seeds={} if evaluation is None else self._scored_seeds().scores(evaluation.per_seed),
            idea=str(entry.trial.candidate.detail.get("idea") or ""),
            text=entry.trial.candidate.text,
            detail=entry.trial.candidate.detail,
            evaluation=evaluation,
            axes=tuple(axis.name for axis in state.axes),
            difference=None if parent is None else Difference.of(parent, entry),
            lineage=self.lineage(entry.id),
            replies=self._replies(entry),
        )

    def rivals(self, entry: Entry) -> tuple[Rival, ...]:
        """The parent of a candidate and the initial program, where they are others and all have scores."""
        seeds = self._scored_seeds()
        first = self._first(self._named("initial"))
        parent = None if entry.parent is None else self._first(entry.parent)
        before = [("parent", parent), ("initial", None if first is not None and first.id == entry.parent else first)]
        found = (rival(role, entry, one, seeds) for role, one in before if one is not None and one.id != entry.id)
        return tuple(one for one in found if one is not None)

    def decided(self, decision: CommitDecision, runner: StrategyRunner) -> CommitDecision:
        """The same with the solutions and testings that were chosen on the seeds won and lost; runs the programs.

        Raises:
            SandboxUnavailable: passed through.
        """
        names = [decision.id, *(one.id for one in decision.rivals)]
        text, *texts = (self.find(name).trial.candidate.text for name in names)
        found = decided(decision.rivals, text, texts, runner, self.split().train, self.config.scoring)
        return replace(decision, rivals=found)

    def lineage(self, name: str) -> tuple[CandidateRow, ...]:
        """The candidate, its first parent, that one's first parent, and so on to an initial program."""
        entry: Entry | None = self.find(name)
        chain: dict[str, CandidateRow] = {}
        while entry is not None and entry.id not in chain:
            chain[entry.id] = self._row(entry)
            entry = None if entry.parent is None else self._first(entry.parent)
        return tuple(chain.values())

    def why(self, name: str) -> CommitDecision:
        """Replays the journal up to just before a candidate and looks at what stood there."""
        entry = self.find(name)
        state, evaluation = folded_before(self.journal, self._empty(), entry), entry.trial.evaluation
        cell = held = None
        if evaluation is not None and evaluation.score is not None:
            cell = state.record.cell_of(evaluation.descriptor)
            held = state.islands[max(entry.step.island, 0)].at(cell)
        same_program = None if entry.trial.key is None else state.seen(entry.trial.key)
        same_behaviour = None if evaluation is None else state.behaves_like(evaluation.signature)
        axes = (axis.name for axis in state.axes)
        return CommitDecision(
            **vars(self._row(entry)),
            why=why(entry, same_program, same_behaviour),
            rivals=self.rivals(entry),
            behaviour={} if cell is None or evaluation is None else dict(zip(axes, evaluation.descriptor, strict=True)),
            cell=cell,
            holder=None if held is None else held.candidate.id,
            holder_score=None if held is None else held.evaluation.score,
            best_before=state.best_score,
        )

    def prompt(self, name: str) -> PromptAndReplies:
        """The exact prompt and replies behind a candidate.

        Raises:
            UsageError: no model made it.
        """
        entry = self.find(name)
        asked = entry.trial.candidate.detail.get("prompt")
        if asked is None:
            raise UsageError(
                f"{entry.id} was made by {entry.step.proposer!r}, which asks no model; see --lineage and --diff"
            )
        return PromptAndReplies(entry.id, str(asked), self._replies(entry))

    def difference(self, before: str, after: str) -> Difference:
        """The difference between the texts of two candidates."""
        return Difference.of(self.find(before), self.find(after))

    def matrix(self, problem: str) -> MatrixShown:
        """The matrix of a problem as the search saw it."""
        return shown_matrix(self.pass_matrix(problem))

    def highlights(self, most: int) -> Iterator[str]:
        yield from ("overview", "candidates")
        state, rows = self.state, self._index.get().rows
        names = [point.id for point in state.curve]
        names += [elite.candidate.id for elite in state.record.cells().values()]
        best_first = sorted(rows, key=lambda row: (row.score is None, -(row.score or 0.0), row.number))
        names += [row.id for row in best_first]
        yield from (f"candidate/{name}" for name in islice(dict.fromkeys(names), most))
        card = self.overview().card or {}
        decisive = (duel["problem"] for duel in (*card.get("duels", ()), *card.get("parent_duels", ())))
        yield from (f"matrix/{name}" for name in dict.fromkeys(decisive))

    @property
    def state(self) -> Archipelago:
        """The state of the search at the end of the journal."""
        return self._state.get()

    def entries(self) -> Iterator[Entry]:
        """Every candidate in the order of the journal."""
        return (entry for _, entry in entries(self.journal))

    def find(self, name: str) -> Entry:
        """The candidate of this id; the beginning of one is enough if it fits one only, `best` and `initial` are names.

        Raises:
            UsageError: none or several fit.
        """
        places = self._index.get().places
        wanted = self._named(name)
        found = [wanted] if wanted in places else list(islice((one for one in places if one.startswith(wanted)), 5))
        if not found and name == "best" and self.report is not None:
            rule = self.report["selection"]["known"]
            raise UsageError(
                f"{self.path}: the winner is the known rule {rule}, which was no candidate of this search; "
                "its text is in strategy.py, and what it does in card.md"
            )
        if not found:
            raise UsageError(f"{self.path}: has no candidate {name!r}; {NO_CANDIDATE}")
        if len(found) > 1:
            raise UsageError(f"{self.path}: {name!r} fits {', '.join(sorted(found)[:4])}; give more of the id")
        return entry_at(self.journal, places[found[0]])

    def pass_matrix(self, problem: str) -> PassMatrix:
        """The matrix of a problem with the columns that strategies were scored on."""
        from evosyn.evaluators.columns import in_unit

        return in_unit(matrix_of(self._matrices(), problem), self.config.scoring.unit)

    def program(self, name: str) -> tuple[str, str]:
        """The same, and candidates of this run."""
        if name.startswith("c_") or name in {"best", "initial"}:
            entry = self.find(name)
            return entry.id, entry.trial.candidate.text
        return super().program(name)

    def split(self) -> Split:
        """The problems that the winner was chosen on, and those held out.

        Raises:
            UsageError: the matrices are not made yet.
        """
        from evosyn.synthesis.search.seeds import select

        return select(self._matrices(), self.config, simulated=bool(self.manifest.get("simulated"))).split

    @property
    def begun(self) -> bool:
        """Whether the search has a first candidate to score."""
        return config_of(self.journal) is not None

    @property
    def config(self) -> EvolveConfig:
        """What the search was started with; the defaults before it begins."""
        from evosyn.synthesis.search.config import EvolveConfig

        begun = config_of(self.journal)
        try:
            return EvolveConfig() if begun is None else validated(EvolveConfig, begun, f"{self.journal.path}:1")
        except UsageError as error:
            raise CorruptRun(f"{error}. {OTHER}") from error

    def _empty(self) -> Archipelago:
        config = self.config
        axes = [axis.axis for axis in axes_named(config.axes)]
        return Archipelago(axes, merit_of, config.islands, SeedTree(config.seed))

    def _progress(self) -> str:
        if self.report is not None:
            return "finished"
        if self.begun:
            return self._searching()
        return "scoring the first program" if matrix_files(self.path) else "drawing and executing"

    def _searching(self) -> str:
        before = super().report
        return "searching" if before is None else f"searching on, past the {before['evaluations']} evaluations reported"

    def _named(self, name: str) -> str:
        if name == "initial":
            return next(iter(self._index.get().places), name)
        if name == "best":
            report, best = self.report, self.state.best
            if report is not None:
                return str(report["best"]["id"])
            return self._named("initial") if best is None else best.candidate.id
        return name

    def _matrices(self) -> Sequence[PassMatrix]:
        """All matrices, with the texts of the pool that was drawn, or of the source where it still stands."""
        from evosyn.domains import load_pools
        from evosyn.pools import POOLS
        from evosyn.synthesis.search.inputs import with_texts

        drawn, source = self.dir.file(POOLS), str(self.manifest.get("source", ""))
        matrices: Sequence[PassMatrix] = stored_matrices(self.path)
        with suppress(UsageError, KeyError):  # a source that is gone or has changed: without texts
            matrices = with_texts(matrices, load_pools(drawn if drawn.is_file() else source))
        return matrices

    def _searched(self) -> list[PassMatrix]:
        """The problems that scores of single seeds are of."""
        from evosyn.synthesis.search.seeds import searched_of

        return searched_of(self.split().train, self.config)

    def _scored_seeds(self) -> ScoredSeeds:
        try:
            return self._seeds.get() if self.begun else ScoredSeeds((), ())
        except UsageError:  # no matrices: nothing is named
            return ScoredSeeds((), ())

    def _row(self, entry: Entry) -> CandidateRow:
        return self._index.get().rows[self._index.get().places[entry.id].number]

    def _first(self, name: str) -> Entry | None:
        """The candidate where the journal has it first: a later one of the same text is its copy, not a parent."""
        place = self._index.get().places.get(name)
        return None if place is None else entry_at(self.journal, place)

    def _replies(self, entry: Entry) -> tuple[ReplyText, ...]:
        file = reply_file(self.path)
        if not entry.step.replies or not file.is_file():
            return tuple(ReplyText(name, None) for name in entry.step.replies)
        from evosyn.teachers.cache import RecordedReplies

        cache = RecordedReplies(file)
        try:
            found = {name: cache.get(name) for name in entry.step.replies}
        finally:
            cache.close()
        return tuple(ReplyText(name, None if reply is None else reply.text) for name, reply in found.items())

    def _read(self) -> CandidateIndex:
        index = CandidateIndex([], {})
        for place, entry in entries(self.journal):
            index.places.setdefault(entry.id, place)
            index.rows.append(CandidateRow.of(entry, place.number))
        return index
