"""A directory of `evosyn coevolve`: a training, and the problems that evolved with it, finished or not.

The state is the fold of the run's journal over its seeds; nothing else is kept of it. docs/coevolve.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from evosyn.configs.saving import read_config
from evosyn.errors import UsageError
from evosyn.evolve.curriculum import HeldProblem
from evosyn.pools import load_pools
from evosyn.reading.base import Fresh
from evosyn.reading.conclusions import Conclusion
from evosyn.reading.summaries import Cell, Summary, TableShown, TrainingReading
from evosyn.reading.worlds import ToldStory
from evosyn.records import Json, Pool, Problem
from evosyn.synthesis.coevolution.config import CoevolutionConfig
from evosyn.synthesis.coevolution.feed import told_of
from evosyn.synthesis.coevolution.state import (
    SEED,
    Arrival,
    Coevolution,
    CoevolutionPlan,
    coevolution_steps,
    kept,
)
from evosyn.synthesis.mutations.mutator import Mutation
from evosyn.synthesis.recipes.dejaq import SEEDS, StudentPlan, plan_of

HEAD = 90
"""Characters of a statement in a table."""
FATES = {
    "new": "took a free place",
    "improved": "took the place of a weaker one",
    "not-better": "not better than any of its setting",
    "duplicate": "the words of one that is held",
    "invalid": "nobody could judge it",
}


class CoevolutionReading(TrainingReading):
    """Problems are named by their id (c_...), the beginning of it, or the number of their proposal."""

    made_by = "`evosyn coevolve`"
    asks = {"overview": (), "why": ("ID",), "lineage": ("ID",)}  # noqa: RUF012

    def __init__(self, path: Path, kind: str) -> None:
        super().__init__(path, kind)
        self._folded = Fresh(self.dir.journal.path, self._fold)

    def overview(self) -> Summary:
        """As of a training, with what was evolved."""
        found = super().overview()
        said = (*found.notes, *((self.report or {}).get("feed") or {}).get("warnings", ()))
        if self.simulated:
            said = ("SIMULATED: a stand-in for a model made the mutants", *said)
        return replace(found, simulated=found.simulated or self.simulated, notes=said)

    @property
    def simulated(self) -> bool:
        """Whether a stand-in for a model mutated, once it made something."""
        if not self.begun or not (coevolution_steps(self.dir.journal).header() or {}).get("simulated"):
            return False
        mutants = told_of(self.state)["mutants"]
        return bool(mutants["tried"] or mutants["lost"])

    def conclude(self, report: Mapping[str, Json] | None) -> Conclusion:
        found = super().conclude(report)
        if not self.begun:
            return found
        told = told_of(self.state)
        mutants, archive = told["mutants"], told["archive"]
        line = (
            f"{told['proposals']} proposals: {mutants['tried']} mutants were tried, {mutants['kept']} kept, "
            f"{mutants['lost']} lost before; {archive['mutants']} of the {archive['held']} problems held are mutants"
        )
        return replace(found, why=(line, *found.why))

    def tables(self, values: Mapping[str, Json]) -> tuple[TableShown, ...]:  # noqa: ARG002
        """The problems by setting, each of them, and what became of the others; none before the first step."""
        return (self._settings(), self._problems(), *self._ends()) if self.begun else ()

    def why(self, name: str) -> ToldStory:
        """What became of a problem or a proposal, and where it came from.

        Raises:
            UsageError: there is none of that name.
        """
        found = [one for one in self.state.arrivals if _is_named(one, name)]
        if found:
            return ToldStory(found[-1].newcomer.candidate.id, tuple(self._told(found)))
        for made in self._mutations():
            if name == str(made.number):
                return ToldStory(f"mutation {made.number}", tuple(_lost(made)))
        raise UsageError(f"{name!r}: no problem of {self.path}; name one by its id (c_...) or its proposal's number")

    def lineage(self, name: str) -> ToldStory:
        """A problem, what it was made of, and so on to a seed."""
        found = [one for one in self.state.arrivals if _is_named(one, name)]
        if not found:
            return self.why(name)
        return ToldStory(found[-1].newcomer.candidate.id, tuple(self._ancestors(found[-1])))

    def held(self) -> list[Pool]:
        """The problems that are held, as a pool: the seeds' testings, or the answers of mutants."""
        return [Pool(self._problem(slot), (), ()) for slot in self._slots()]

    def highlights(self, most: int) -> Iterator[str]:
        yield "overview"
        yield from (f"why/{slot.candidate.id}" for slot in (self._slots() if self.begun else [])[:most])

    @property
    def begun(self) -> bool:
        """Whether there is a state."""
        return self.dir.file(SEEDS).is_file() and self.dir.journal.path.is_file()

    @property
    def state(self) -> Coevolution:
        """What the journal leads to."""
        return self._folded.get()[0]

    def _plan(self) -> CoevolutionPlan:
        config = read_config(self.path)
        problems = [pool.problem for pool in load_pools(self.dir.file(SEEDS))]
        student = StudentPlan(config["rollout"]["prompts"], config["steps"], config["seed"])
        return plan_of(CoevolutionConfig(**config["coevolution"]), problems, student)

    def _fold(self) -> tuple[Coevolution, CoevolutionPlan]:
        plan = self._plan()
        state = Coevolution(plan)
        for event in coevolution_steps(self.dir.journal).standing():
            state.fold(event)
        return state, plan

    def _mutations(self) -> Iterator[Mutation]:
        for event in coevolution_steps(self.dir.journal).standing():
            yield from event.mutations

    def _slots(self) -> list[HeldProblem]:
        curriculum = self.state.curriculum
        return sorted(
            curriculum.slots.values(), key=lambda slot: (slot.cell, -curriculum.score(slot), slot.candidate.id)
        )

    def _problem(self, slot: HeldProblem) -> Problem:
        found = self._folded.get()[1].seeds.problem(slot.candidate)
        return replace(found, meta={**found.meta, "depth": slot.depth, "simulated": self.simulated and slot.depth > 0})

    def _settings(self) -> TableShown:
        curriculum = self.state.curriculum
        rows: list[tuple[Cell, ...]] = []
        for cell in dict.fromkeys((*curriculum.cells, *(slot.cell for slot in self._slots()))):
            slots = [slot for slot in self._slots() if slot.cell == cell]
            scores = [curriculum.score(slot) for slot in slots]
            mutants = sum(bool(slot.depth) for slot in slots)
            mean = round(sum(scores) / len(scores), 3) if scores else None
            rows.append((cell, len(slots), mutants, mean, max(scores, default=None), sum(slot.uses for slot in slots)))
        columns = ("setting", "held", "mutants", "learnability", "best", "uses")
        return TableShown("settings", columns, tuple(rows))

    def _problems(self) -> TableShown:
        curriculum, seeds = self.state.curriculum, self._folded.get()[1].seeds
        rows = tuple(
            (
                slot.candidate.id, slot.cell, round(curriculum.score(slot), 3), slot.depth, curriculum.step - slot.born,
                slot.uses, seeds.problem(slot.candidate).statement[:HEAD],
            )
            for slot in self._slots()
        )  # fmt: skip
        return TableShown("problems", ("id", "setting", "learnability", "depth", "age", "uses", "statement"), rows)

    def _ends(self) -> Iterator[TableShown]:
        """What became of newcomers and mutations, and which replies were of no use."""
        fates = Counter(
            ("mutant" if one.newcomer.candidate.parents else "seed", FATES[one.fate.value])
            for one in self.state.arrivals
        )
        rows: list[tuple[Cell, ...]] = [(*one, count) for one, count in fates.most_common()]
        rows += [("mutation", f"lost: {reason}", count) for reason, count in self.state.lost.most_common()]
        if rows:
            yield TableShown("what became of them", ("what", "end", "count"), tuple(rows))
        if self.state.wasted:
            wasted = [(reason.partition(":"), count) for reason, count in self.state.wasted.most_common()]
            shown = tuple((link, reason, count) for (link, _, reason), count in wasted)
            yield TableShown("replies of no use", ("link", "reason", "count"), shown)

    def _told(self, found: list[Arrival]) -> Iterator[str]:
        for one in found:
            first = "a seed" if one.newcomer.number == SEED else f"proposal {one.newcomer.number}"
            out = f", for {one.out}" if one.out else ""
            out += "; half of its answers agree on another than the declared one" if one.contested else ""
            yield (
                f"step {one.step}: {first} for {one.newcomer.cell}, {one.passed} of {one.known} right: "
                f"{FATES[one.fate.value]}{out}"
            )
        slot = self.state.curriculum.slots.get(found[-1].newcomer.candidate.id)
        if slot is not None:
            yield f"held: learnability {self.state.curriculum.score(slot):.3f}, trained on {slot.uses} times"
        elif any(map(kept, found)):
            yield "it has left since"
        yield from self._ancestors(found[-1])

    def _ancestors(self, last: Arrival) -> Iterator[str]:
        seeds, known = self._folded.get()[1].seeds, {one.newcomer.candidate.id: one for one in self.state.arrivals}
        one: Arrival | None = last
        while one is not None:
            candidate = one.newcomer.candidate
            problem = seeds.problem(candidate)
            made = "by " + candidate.proposer.replace("+", " and ") if candidate.parents else "the seed"
            yield f"{candidate.id} {made}{' ' + seeds.root(candidate).problem_id if not candidate.parents else ''}"
            yield f"  {problem.statement}"
            if problem.human_testing is not None and "answer" in problem.human_testing.body:
                yield f"  answer: {problem.human_testing.body['answer']}"
            one = known.get(candidate.parents[0]) if candidate.parents else None


def _is_named(one: Arrival, name: str) -> bool:
    if name.isdecimal():
        return one.newcomer.number == int(name)
    return len(name) > 3 and one.newcomer.candidate.id.startswith(name)


def _lost(made: Mutation) -> Iterator[str]:
    yield f"{' and '.join(made.links)} of {made.parent} for {made.target}"
    for reason in made.wasted:
        yield f"a reply of no use: {reason}"
    yield f"lost: {made.lost}" if made.lost else "made, and waits for its first group"
