"""A directory of `evosyn env evolve`: a search as every other one, whose candidates are environments.

The journal of the search says who came from whom and what became of each; the ledger of its epoch what was found out
about one. What else is asked is asked of any search.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from evosyn.environments.contract import LEVELS
from evosyn.environments.genome import EnvironmentGenome
from evosyn.errors import UsageError
from evosyn.evaluators.learnability import AXES
from evosyn.evolve.islands import Archipelago, IslandsConfig
from evosyn.journal import Journal
from evosyn.randomness import SeedTree
from evosyn.reading.base import Fresh
from evosyn.reading.conclusions import of_environments
from evosyn.reading.made_environments import environment_tables
from evosyn.reading.search import SearchReading
from evosyn.reading.search_answers import CommitDecision, SearchOverview
from evosyn.reading.search_journal import config_of
from evosyn.reading.summaries import TableShown
from evosyn.records import Json
from evosyn.running.ledger import Ledger
from evosyn.synthesis.environments.config import EnvironmentSearchConfig
from evosyn.synthesis.environments.draft import Draft
from evosyn.synthesis.environments.evaluating import index_of

SPECIFIC = ("islands", "candidate", "lineage", "why", "prompt", "difference")


@dataclass(frozen=True)
class EnvironmentSearchOverview(SearchOverview):
    """The same with what is kept."""

    tables: tuple[TableShown, ...] = ()


@dataclass(frozen=True)
class EnvironmentDecision:
    """The decisions about a candidate, and all that is known of it in the epoch of the run; None where it was not
    evaluated in that."""

    decision: CommitDecision
    draft: Draft | None


class EnvironmentSearchReading(SearchReading):
    """Candidates are named by their id (c_...), or by that of their environment (e_...) where they are kept."""

    made_by = "`evosyn env evolve`"
    asks = {"overview": (), "candidates": (), **{name: SearchReading.asks[name] for name in SPECIFIC}}  # noqa: RUF012

    def __init__(self, path: Path, kind: str) -> None:
        super().__init__(path, kind)
        file = self.dir.file(f"evaluations/{self.manifest.get('epoch')}.jsonl")
        self._ledger = Fresh(file, lambda: Ledger(Journal(file), Draft))

    def overview(self) -> EnvironmentSearchOverview:
        report = self.report
        progress = f"not finished: {self._progress()}; the same command goes on"
        conclusion = of_environments(report, progress, self._best_lost())
        found = vars(super().overview())
        return EnvironmentSearchOverview(**{**found, "conclusion": conclusion}, tables=environment_tables(report or {}))

    def why(self, name: str) -> EnvironmentDecision:  # type: ignore[override]
        """The decision of the archive, and each check with what it found."""
        decision = super().why(name)
        draft = self.draft(decision.id)
        dropped = (self.report or {}).get("environments") is not None and draft is not None and draft.ended is None
        if dropped and draft is not None:
            draft = self._gated(draft)
        return EnvironmentDecision(decision, draft)

    def draft(self, name: str) -> Draft | None:
        """All that is known of a candidate."""
        ledger, index = self._ledger.get(), index_of(name)
        return ledger.item(index) if index in ledger.done else None

    def highlights(self, most: int) -> Iterator[str]:
        yield from ("overview", "candidates")
        best_first = sorted(
            self._index.get().rows, key=lambda row: (row.score is None, -(row.score or 0.0), row.number)
        )
        yield from (f"candidate/{row.id}" for row in islice(best_first, most))

    def _best_lost(self) -> str:
        """That the candidate which scored best is not kept, and why; empty where it is, or the run is not finished."""
        from evosyn.dataset import read_rejects

        best = self.state.best
        if self.report is None or best is None:
            return ""
        name = best.candidate.id
        ends = (one for one in read_rejects(self.path) if one.item == "environment" and one.problem_id == name)
        found = next(ends, None)
        if found is None:
            return ""
        told = f"{found.stage}: {found.reason}" + (f": {found.detail}" if found.detail else "")
        return f"{name}, which scored best ({self.state.best_score or 0:.3f}), is not kept: {told}"

    def _gated(self, draft: Draft) -> Draft:
        """With the reason for which a candidate that has a score is not kept, as the run wrote it."""
        from evosyn.dataset import read_rejects

        ends = (one for one in read_rejects(self.path) if one.item == "environment" and one.problem_id == draft.name)
        found = next(ends, None)
        return draft if found is None else replace(draft, rejects=(*draft.rejects, found))

    def _empty(self) -> Archipelago:
        begun = config_of(self.journal) or EnvironmentSearchConfig().identity()
        return Archipelago(AXES, EnvironmentGenome().merit, IslandsConfig(**begun["islands"]), SeedTree(begun["seed"]))

    def _progress(self) -> str:
        if self.report is not None:
            return "finished"
        return self._searching() if self.begun else "evaluating what the search starts from"

    def _named(self, name: str) -> str:
        if not name.startswith("e_"):
            return super()._named(name)
        kept = (row for row in self.kept() if str(row["id"]).startswith(name))
        found = next((str(row["candidate"]) for row in kept), None)
        if found is None:
            raise UsageError(f"{self.path}: keeps no environment {name!r}; name a candidate by its id (c_...)")
        return found

    def kept(self) -> Iterator[Mapping[str, Json]]:
        """The rows of what is kept."""
        from evosyn.jsonlines import read_lines
        from evosyn.synthesis.environments.outputs import KEPT

        file = self.dir.file(KEPT)
        yield from (line.value for line in read_lines(file)) if file.is_file() else ()

    def _seed_names(self) -> tuple[str, ...]:
        return tuple(f"level {level}" for level in range(1, LEVELS + 1))
