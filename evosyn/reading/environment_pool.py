"""A directory of `evosyn coevolve --recipe evoenv`: a training, and the pool of environments that grew with it.

The state is the fold of the run's journal over its seeds; of a draft all is known that stands in drafts.jsonl.
docs/coevolve.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from evosyn.configs.saving import read_config
from evosyn.environments.contract import LEVELS
from evosyn.environments.fresh import share_of
from evosyn.errors import UsageError
from evosyn.journal import Journal
from evosyn.reading.base import Fresh
from evosyn.reading.conclusions import Conclusion
from evosyn.reading.summaries import Cell, Summary, TableShown, TrainingReading
from evosyn.reading.worlds import ToldStory
from evosyn.records import Json
from evosyn.running.ledger import Ledger
from evosyn.synthesis.coevolution.config import CoevolutionConfig
from evosyn.synthesis.environments.draft import Draft
from evosyn.synthesis.recipes.dejaq import StudentPlan
from evosyn.synthesis.recipes.evoenv import DRAFTS, kept_seeds, pool_of
from evosyn.synthesis.selfplay.feed import UNASKED, told_of, warnings_of
from evosyn.synthesis.selfplay.state import BEFORE, DraftFate, EnvironmentPool, pool_steps


class EnvironmentPoolReading(TrainingReading):
    """Environments are named by their id (e_...) or the beginning of it, drafts also by the number of their request."""

    made_by = "`evosyn coevolve --recipe evoenv`"
    asks = {"overview": (), "why": ("ID",), "lineage": ("ID",)}  # noqa: RUF012

    def __init__(self, path: Path, kind: str) -> None:
        super().__init__(path, kind)
        self._folded = Fresh(self.dir.journal.path, self._fold)
        self._drafts = Fresh(self.dir.file(DRAFTS), lambda: Ledger(Journal(self.dir.file(DRAFTS)), Draft))

    def overview(self) -> Summary:
        """As of a training, with what became of the drafts."""
        found = super().overview()
        said = (*found.notes, *(warnings_of(self.state) if self.begun else ()))
        if self.simulated:
            said = ("SIMULATED: a stand-in for a model wrote and reviewed the drafts", *said)
        return replace(found, simulated=found.simulated or self.simulated, notes=said)

    @property
    def simulated(self) -> bool:
        """Whether a stand-in for a model wrote."""
        return bool((pool_steps(self.dir.journal).header() or {}).get("simulated"))

    def conclude(self, report: Mapping[str, Json] | None) -> Conclusion:
        """Of a pool into which nothing came it is not said that it worked: that was a training on the seeds."""
        found = super().conclude(report)
        if not self.begun:
            return found
        told = told_of(self.state)
        worst = ", ".join(f"{count} {reason}" for reason, count in list(told["dropped"].items())[:3])
        line = (
            f"{told['drafts']} drafts: {told['stood']} stood on the ladder, {told['kept']} came into the pool"
            f"{f' (others: {worst})' if worst else ''}; it holds {told['pool']['active']} environments"
        )
        if told["kept"] or report is None:
            return replace(found, why=(line, *found.why))
        did = f"Nothing came into the pool: the student trained on the seeds alone. {found.did}"
        return replace(found, worked="no" if told["drafts"] else found.worked, did=did, why=(line, *found.why))

    def tables(self, values: Mapping[str, Json]) -> tuple[TableShown, ...]:  # noqa: ARG002
        """The environments, what became of the drafts; none before the first step."""
        return (self._environments(), *self._ends()) if self.begun else ()

    def why(self, name: str) -> ToldStory:
        """What became of an environment, or of the drafts of a request.

        Raises:
            UsageError: there is none of that name.
        """
        fates = [one for one in self.state.fates if _is_named(one, name)]
        lines = [line for one in fates for line in self._told(one)]
        for number, member in self.state.members.items():
            if len(name) > 3 and number.startswith(name):
                came = "a seed" if member.born == BEFORE else f"came in after step {member.born}"
                left = f"; has left: {member.retired}" if member.retired else ""
                lines += [f"{number} {member.environment.title}", f"  {came}{left}", f"  {self._rates(number)}"]
        if not lines:
            raise UsageError(
                f"{name!r}: nothing of {self.path}; name an environment by its id (e_...), or drafts by the number of "
                "their request"
            )
        return ToldStory(name, tuple(lines))

    def lineage(self, name: str) -> ToldStory:
        """What a draft was shown, and so on to the seeds."""
        story, seen, wanted = list[str](), set[str](), [self._member(name)]
        while wanted:
            one = wanted.pop(0)
            if one in seen:
                continue
            seen.add(one)
            fate = next((fate for fate in self.state.fates if fate.environment == one and fate.source), None)
            shown = [] if fate is None else list(map(str, self._draft(fate).brief["shown"]))
            told = "a seed" if fate is None else f"draft {fate.number}, beside {', '.join(shown)}"
            story.append(f"{one} {self.state.members[one].environment.title}: {told}")
            wanted += shown
        return ToldStory(name, tuple(story))

    def highlights(self, most: int) -> Iterator[str]:
        yield "overview"
        yield from (f"why/{name}" for name in (self.state.arrived if self.begun else [])[:most])

    @property
    def begun(self) -> bool:
        """Whether there is a state."""
        return self.dir.journal.path.is_file()

    @property
    def state(self) -> EnvironmentPool:
        """What the journal leads to."""
        return self._folded.get()

    def _fold(self) -> EnvironmentPool:
        config = read_config(self.path)
        student = StudentPlan(config["rollout"]["prompts"], config["steps"], config["seed"])
        seeds = kept_seeds(self.dir)
        return pool_of(self.dir, CoevolutionConfig(**config["coevolution"]), seeds, student)

    def _member(self, name: str) -> str:
        found = [one for one in self.state.members if len(name) > 3 and one.startswith(name)]
        if not found:
            raise UsageError(f"{name!r}: no environment of {self.path}; name one by its id (e_...)")
        return found[0]

    def _draft(self, fate: DraftFate) -> Draft:
        return self._drafts.get().item(fate.index)

    def _rates(self, name: str) -> str:
        rates = {level: self.state.rates.get((name, level)) for level in range(1, LEVELS + 1)}
        known = [f"{level}: {share_of(rate):.2f}" for level, rate in rates.items() if rate is not None]
        return f"solved at level {', '.join(known)}" if known else "not asked yet"

    def _environments(self) -> TableShown:
        rows: list[tuple[Cell, ...]] = []
        for name, one in self.state.members.items():
            came = "seed" if one.born == BEFORE else str(one.born)
            rows.append((name, one.environment.title, one.environment.category, came, one.retired, self._rates(name)))
        return TableShown("environments", ("id", "what is asked", "category", "since", "left", "student"), tuple(rows))

    def _ends(self) -> Iterator[TableShown]:
        """What became of the drafts, and how far they came."""
        fates = self.state.fates
        ends = Counter("came in" if one.source else f"{one.stage}: {one.reason}" for one in fates)
        if ends:
            yield TableShown("what became of the drafts", ("end", "count"), tuple(ends.most_common()))
            levels = Counter(one.level for one in fates)
            yield TableShown("how far they came", ("last rung", "drafts"), tuple(sorted(levels.items())))

    def _told(self, one: DraftFate) -> Iterator[str]:
        end = "came into the pool" if one.source else f"kept out at {one.stage}: {one.reason}"
        yield f"draft {one.number}: stands on L{one.level}; {end}"
        if one.known and one.reward is not None:
            yield f"  the student was right in {one.solved} of {one.known}; worth {one.reward:.3f} to its author"
        if one.index == UNASKED:
            return
        draft = self._draft(one)
        for said in draft.judgements:
            issues = f": {'; '.join(said.issues)}" if said.issues else ""
            yield f"  {said.of}: {'accepts' if said.accepts else f'refuses ({said.reason})'}{issues}"
        for reject in draft.rejects:
            yield f"  {reject.item} dropped at {reject.stage}: {reject.reason} {reject.detail}".rstrip()


def _is_named(one: DraftFate, name: str) -> bool:
    if name.isdecimal():
        return one.number == int(name)
    return len(name) > 3 and one.environment.startswith(name)
