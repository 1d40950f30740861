"""Answers about a run of `evosyn evolve`: its search so far, its candidates, one candidate. Reads only.

The state is the replay that `evosyn inspect` uses; the index of candidates holds no text, so that a long run stays
small in memory, and a single candidate is read from its place in the journal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from evosyn.cli._inspect_run import _diff, _entry_json, _fate_line, _replies
from evosyn.cli._run_reader import Entry, Run
from evosyn.errors import UsageError
from evosyn.evolve.events import Committed
from evosyn.view.answers import DETAILED, Fresh, cut, listing

if TYPE_CHECKING:
    from evosyn.evolve.archive import Archive
    from evosyn.evolve.islands import Archipelago
    from evosyn.records import Json

SEARCHED = ("id", "fate", "proposer", "operator", "parent", "reason")
REPORTED = ("best", "initial", "beats_initial", "stopped", "seed", "cost", "model_calls", "wall_s", "skipped")
ORDERS = ("score", "newest", "oldest")


class Index(NamedTuple):
    """Every candidate as a row of the list, and where in the journal each id stands first."""

    rows: list[dict[str, Json]]
    places: dict[str, tuple[int, int]]


class RunView:
    """One run directory.

    Raises:
        UsageError: nothing was journalled yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._run = Run(path)
        journal = path / "journal.jsonl"
        self._state: Fresh[Archipelago] = Fresh(journal, self._run.state)
        self._index: Fresh[Index] = Fresh(journal, self._read)

    def answer(self, question: str, query: Mapping[str, str]) -> Json:
        """`overview`, `candidates` (query: q, sort) or `candidate/ID`."""
        what, _, name = question.partition("/")
        if question == "overview":
            return self._overview()
        if question == "candidates":
            return self._candidates(query)
        if what == "candidate" and name:
            return self._candidate(name)
        raise UsageError(f"{question!r}: no such question; one of overview, candidates, candidate/ID")

    def contents(self) -> Iterator[str]:
        """The lists, then the candidates that a reader will want: of the curve, of the grids, the best."""
        yield from ("overview", "candidates")
        state = self._state.get()
        names = [point.id for point in state.curve]
        names += [elite.candidate.id for elite in state.record.cells().values()]
        names += [row["id"] for row in self._candidates({})["rows"]]
        yield from (f"candidate/{name}" for name in list(dict.fromkeys(names))[:DETAILED])

    def _overview(self) -> dict[str, Json]:
        run, state = self._run, self._state.get()
        report = run.report
        best = None if state.best is None else {"id": state.best.candidate.id, "score": state.best_score}
        return {
            "kind": "evolve",
            "path": str(self.path),
            "finished": report is not None,
            "simulated": bool(run.manifest.get("simulated") or (report or {}).get("simulated")),
            "manifest": run.manifest,
            "counts": {
                "evaluations": state.evaluations,
                "proposals": state.steps,
                "cells": len(state.record),
                "capacity": state.record.capacity,
                "migrations": state.migrations,
                "restarts": state.restarts,
                "candidates": len(self._index.get().rows),
            },
            "best": best,
            "curve": [list(point) for point in state.curve],
            "proposers": {name: tally.to_json() for name, tally in sorted(state.tallies.items())},
            "axes": [axis._asdict() if hasattr(axis, "_asdict") else vars(axis) for axis in state.axes],
            "grids": [
                *(_grid(f"island {number}", island) for number, island in enumerate(state.islands)),
                _grid("everything ever kept", state.record),
            ],
            "leaderboard": None if report is None else report.get("leaderboard"),
            "report": None if report is None else {key: report[key] for key in REPORTED if key in report},
        }

    def _candidates(self, query: Mapping[str, str]) -> dict[str, Json]:
        rows, order = self._index.get().rows, query.get("sort", "score")
        if order not in ORDERS:
            raise UsageError(f"sort={order!r}: one of {', '.join(ORDERS)}")
        if order == "newest":
            rows = rows[::-1]
        elif order == "score":
            rows = sorted(rows, key=lambda row: (row["score"] is None, -(row["score"] or 0.0), row["number"]))
        return listing(rows, query, SEARCHED)

    def _candidate(self, name: str) -> dict[str, Json]:
        entry, state = self._entry(name), self._state.get()
        evaluation, key = entry.trial.evaluation, entry.trial.key
        twin = None if evaluation is None or not evaluation.signature else state.behaves_like(evaluation.signature)
        parents = entry.trial.candidate.parents
        places = self._index.get().places
        parent = self._entry(parents[0]) if parents and parents[0] in places else None
        value = _entry_json(entry)
        value["text"] = cut(value["text"])
        value["detail"] = {key: cut(one) if isinstance(one, str) else one for key, one in value["detail"].items()}
        return {
            **value,
            "axes": [axis.name for axis in state.axes],
            "why": _fate_line(entry, None if key is None else state.seen(key), twin),
            "diff": [] if parent is None else _diff(parent, entry)[:2000],
            "lineage": [_entry_json(one, text=False) for one in self._lineage(entry)],
            "replies": [
                {"id": one, "text": None if text is None else cut(text)} for one, text in self._replies(entry).items()
            ],
        }

    def _replies(self, entry: Entry) -> Mapping[str, str | None]:
        return _replies(self._run, entry) if entry.step.replies else {}

    def _lineage(self, entry: Entry) -> Iterator[Entry]:
        places, seen = self._index.get().places, {entry.id}
        yield entry
        while entry.trial.candidate.parents:
            parent = entry.trial.candidate.parents[0]
            if parent in seen or parent not in places:
                return
            seen.add(parent)
            entry = self._entry(parent)
            yield entry

    def _entry(self, name: str) -> Entry:
        place = self._index.get().places.get(name)
        if place is None:
            raise UsageError(f"{self.path}: has no candidate {name!r}; ids look like c_0123456789abcdef")
        event = self._run.events.at(place[0])
        assert isinstance(event, Committed)
        return Entry(event.step, event.step.trials[place[1]], event.fates[place[1]])

    def _read(self) -> Index:
        index = Index([], {})
        for position, event in self._run.events.positions():
            if not isinstance(event, Committed):
                continue
            for at, (trial, fate) in enumerate(zip(event.step.trials, event.fates, strict=True)):
                entry = Entry(event.step, trial, fate)
                index.places.setdefault(entry.id, (position, at))
                index.rows.append(_row(entry, len(index.rows)))
        return index


def _row(entry: Entry, number: int) -> dict[str, Json]:
    candidate, evaluation = entry.trial.candidate, entry.trial.evaluation
    return {
        "number": number,
        "id": entry.id,
        "score": entry.score,
        "fate": entry.fate.value,
        "proposal": entry.step.index,
        "island": entry.step.island,
        "proposer": entry.step.proposer,
        "operator": str(candidate.detail.get("operator", candidate.detail.get("name", "")))[:80],
        "parent": candidate.parents[0] if candidate.parents else None,
        "size": len(candidate.text),
        "reason": None if evaluation is None or evaluation.invalid is None else evaluation.invalid[:200],
    }


def _grid(name: str, archive: Archive) -> dict[str, Json]:
    cells = [
        {"cell": list(cell), "id": elite.candidate.id, "score": elite.evaluation.score}
        for cell, elite in sorted(archive.cells().items())
    ]
    return {"name": name, "filled": len(archive), "capacity": archive.capacity, "cells": cells}
