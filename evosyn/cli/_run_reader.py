"""A run of `evosyn evolve` read from its directory: candidates by id, the replayed state, reasons. Reads only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from evosyn.errors import UsageError

if TYPE_CHECKING:
    from evosyn.evolve.events import Committed, Fate, Step, Trial
    from evosyn.evolve.islands import Archipelago
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


class CommitDecision(NamedTuple):
    """Why a candidate became what it became: the state at the moment before its commit.

    Attributes:
        same_program, same_behaviour: the earlier candidate that it repeats.
        holder: the entry that held its cell on its island, with the cell.
    """

    cell: tuple[int, ...] | None
    holder: Entry | None
    same_program: str | None
    same_behaviour: str | None
    best_before: float | None


class Run:
    """One run directory.

    Raises:
        UsageError: it is not one of `evosyn evolve`, or nothing was journalled yet.
    """

    def __init__(self, path: Path) -> None:
        from evosyn.evolve.events import events_of
        from evosyn.rundir import RunDir

        self.path, self.dir = path, RunDir(path)
        self.manifest: dict[str, Json] = self.dir.read_json("manifest.json")
        self.events = events_of(self.dir.journal)
        header = self.events.header()
        if header is None:
            raise UsageError(f"{path}: the search has not begun; repeat its `evosyn evolve` command")
        self.config: dict[str, Json] = header["config"]

    @property
    def report(self) -> dict[str, Json] | None:
        """report.json, or None while the run is not finished."""
        found: dict[str, Json] | None = (
            self.dir.read_json("report.json") if self.dir.file("report.json").exists() else None
        )
        return found

    def entries(self) -> Iterator[Entry]:
        """Every candidate in the order of the journal."""
        for event in self.commits():
            for trial, fate in zip(event.step.trials, event.fates, strict=True):
                yield Entry(event.step, trial, fate)

    def commits(self) -> Iterator[Committed]:
        """Every committed step in the order of the journal."""
        from evosyn.evolve.events import Committed

        return (event for event in self.events if isinstance(event, Committed))

    def find(self, names: list[str]) -> list[Entry]:
        """The entries of these ids (a prefix that fits one is enough; `best` and `initial` are names too).

        Raises:
            UsageError: none or several fit.
        """
        found: dict[str, dict[str, Entry]] = {name: {} for name in names}
        wanted = {name: self._resolved(name) for name in names}
        for entry in self.entries():
            for name, prefix in wanted.items():
                if entry.id.startswith(prefix):
                    found[name].setdefault(entry.id, entry)
        for name, entries in found.items():
            if not entries:
                raise UsageError(f"{self.path}: has no candidate {name!r}; ids look like c_0123456789abcdef")
            if len(entries) > 1:
                raise UsageError(f"{self.path}: {name!r} fits {', '.join(sorted(entries)[:4])}; give more of the id")
        return [next(iter(found[name].values())) for name in names]

    def state(self) -> Archipelago:
        """The state of the search at the end of the journal."""
        from evosyn.evolve.replay import replay

        return replay(self.events, self._empty()).state

    def lineage(self, entry: Entry) -> list[Entry]:
        """The candidate, its first parent, that one's first parent, and so on to an initial program."""
        parents = {one.id: one for one in self.entries()}
        chain = [entry]
        while chain[-1].trial.candidate.parents:
            parent = parents.get(chain[-1].trial.candidate.parents[0])
            if parent is None or parent in chain:
                break
            chain.append(parent)
        return chain

    def decision(self, entry: Entry) -> CommitDecision:
        """Replays the journal up to just before `entry` and looks at what stood there."""
        state = self._empty()
        for step in (event.step for event in self.commits()):
            if step.index == entry.step.index:
                earlier = [trial.candidate.id for trial in step.trials].index(entry.id)
                state.commit(replace(step, trials=step.trials[:earlier]))
                break
            state.commit(step)
        trial, evaluation = entry.trial, entry.trial.evaluation
        cell = holder = None
        if evaluation is not None and evaluation.score is not None:
            cell = state.record.cell_of(evaluation.descriptor)
            held = state.islands[max(step.island, 0)].at(cell)
            holder = None if held is None else self.find([held.candidate.id])[0]
        return CommitDecision(
            cell=cell,
            holder=holder,
            same_program=None if trial.key is None else state.seen(trial.key),
            same_behaviour=None if evaluation is None else state.behaves_like(evaluation.signature),
            best_before=state.best_score,
        )

    def _empty(self) -> Archipelago:
        from evosyn.evaluators.behaviour import axes_named
        from evosyn.evolve.islands import Archipelago, IslandsConfig
        from evosyn.randomness import SeedTree
        from evosyn.strategies.genome import merit_of

        axes = [axis.axis for axis in axes_named(self.config["axes"])]
        return Archipelago(axes, merit_of, IslandsConfig(**self.config["islands"]), SeedTree(self.config["seed"]))

    def _resolved(self, name: str) -> str:
        if name == "initial":
            return next(self.entries()).id
        if name == "best":
            report = self.report
            if report is not None:
                return str(report["best"]["id"])
            best = self.state().best
            return next(self.entries()).id if best is None else best.candidate.id
        return name
