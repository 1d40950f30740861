"""The state of a co-evolution: a curriculum, what waits for its first group, and the mutations under way.

State = fold of steps; all that is drawn depends on it alone, so nothing that is drawn is kept in the journal. What is
new is scored by its first group, in a place of the batch that the student trains on (`probe: batch`, ours). DejaQ
(2601.01931) section 4; docs/coevolve.md says what is ours.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from evosyn.evolve.curriculum import Curriculum, HeldProblem, Offered, Trained
from evosyn.evolve.events import KEPT, Fate
from evosyn.journal import Journal
from evosyn.ports import GroupOutcome
from evosyn.randomness import SeedTree
from evosyn.records import Candidate, Json
from evosyn.reported_steps import ReportedSteps
from evosyn.synthesis.coevolution.config import CoevolutionConfig
from evosyn.synthesis.coevolution.seeds import SeedProblems, setting_of, statement_of
from evosyn.synthesis.coevolution.under_way import MutationOrder
from evosyn.synthesis.mutations.asking import SETTINGS
from evosyn.synthesis.mutations.mutator import Mutation, WantedMutation, drawn_links

SHARE = 4
"""At most one in so many prompts of a step is new, and at least one prompt."""
TRIES = 3
"""Groups that a new problem gets of which nobody could judge two completions."""
SEED = -1
"""Number of what is no proposal."""


@dataclass(frozen=True)
class CoevolutionStep:
    """Event: what the groups of a step came to, as (row, passed, known), and the mutations that were due after it.

    Attributes:
        contested: newcomers of which half of the answers agree on another than the declared one.
    """

    step: int
    groups: tuple[tuple[str, int, int], ...]
    mutations: tuple[Mutation, ...] = ()
    contested: tuple[str, ...] = ()


@dataclass(frozen=True)
class Newcomer:
    """A problem that waits for its first group.

    Attributes:
        number: of the proposal; `SEED` for a seed that the curriculum starts from, or that renews it.
        tries: groups that it had of which too little is known.
    """

    number: int
    cell: str
    candidate: Candidate
    depth: int = 0
    tries: int = 0


@dataclass(frozen=True)
class Launched:
    """A proposal under way.

    Attributes:
        due: the step after which it comes in.
        parent: what is mutated; without links a seed, which comes in as it is.
    """

    number: int
    due: int
    parent: Candidate
    depth: int
    target: str
    links: tuple[str, ...]


class Arrival(NamedTuple):
    """What became of a newcomer; `out` is the id of what left for it."""

    step: int
    newcomer: Newcomer
    passed: int
    known: int
    fate: Fate
    out: str = ""
    contested: bool = False


class CoevolutionPlan(NamedTuple):
    """What decides the course beside the reports.

    Attributes:
        prompts: of a step.
        steps: of the whole run; nothing is begun that could not be trained on.
    """

    config: CoevolutionConfig
    seeds: SeedProblems
    tree: SeedTree
    prompts: int
    steps: int


class Coevolution:
    """The state. `fold` alone changes it.

    Attributes:
        curriculum: the problems by setting.
        steps: that were reported.
        unscored, waiting: seeds, and other problems, without a first group.
        launched: proposals under way.
        arrivals: what became of newcomers; `lost` and `wasted`: mutations without a mutant, and replies, by reason.
    """

    def __init__(self, plan: CoevolutionPlan) -> None:
        self._plan, self._arm, self._seeds = plan, plan.config.made_of, plan.seeds
        self._mutations, self._tree = plan.config.mutations, plan.tree
        self.curriculum = Curriculum(plan.config.curriculum, tuple(SETTINGS), plan.tree, statement_of)
        self.steps = self.proposed = 0
        self.unscored = [self._seed(name) for name in self._first()] if self._arm.keeps else []
        self.waiting: list[Newcomer] = []
        self.launched: list[Launched] = []
        self.arrivals: list[Arrival] = []
        self.lost, self.wasted = Counter[str](), Counter[str]()

    def fold(self, event: CoevolutionStep) -> None:
        """Take in what a step came to."""
        found, begun = {row: (passed, known) for row, passed, known in event.groups}, len(self.arrivals)
        if self._arm.keeps:
            for old, seed in self.renewals():
                if seed.candidate.id in found:
                    self._offer(seed, *found[seed.candidate.id], out=old.candidate.id)
            self.curriculum.fold(Trained(tuple(GroupOutcome(*one) for one in event.groups)))
            self.unscored = self._scored(self.unscored, found)
            self.waiting = self._scored(self.waiting, found)
            self.arrivals[begun:] = [
                one._replace(contested=one.newcomer.candidate.id in event.contested) for one in self.arrivals[begun:]
            ]
            self._come_in({one.number: one for one in event.mutations})
            self._launch()
        self.steps += 1

    def rows(self, step: int, groups: int) -> list[Candidate]:
        """What the student is asked at a step: newcomers first."""
        if not self._arm.keeps:
            return self._uniform(step, groups)
        found = [one.candidate for one in self._newcomers(groups)]
        return found + self._known(step, groups - len(found))

    def newcomers(self) -> list[Newcomer]:
        """All that have no score yet."""
        return [*self.unscored, *(seed for _, seed in self.renewals()), *self.waiting]

    def due(self) -> list[Launched]:
        """The proposals that come in with the next report."""
        return [one for one in self.launched if one.due == self.steps]

    def order(self, one: Launched) -> MutationOrder:
        """A proposal as a mutator is asked for it."""
        stated = self._seeds.stated(one.parent)
        return MutationOrder(WantedMutation(one.number, one.parent.id, stated, one.target, one.links), one.parent)

    def renewals(self) -> list[tuple[HeldProblem, Newcomer]]:
        """What is to leave the curriculum at this step, and the seed that takes its place: of its setting, or any."""
        pairs: list[tuple[HeldProblem, Newcomer]] = []
        taken = self._taken()
        for at, old in enumerate(self.curriculum.renewed() if not self.unscored else ()):
            free = [one for one in map(self._seed, self._seeds.names) if one.candidate.id not in taken]
            free = [one for one in free if one.cell == old.cell] or free
            if free:
                pairs.append((old, self._tree.child("renewal", self.steps, at).random().choice(free)))
                taken.add(pairs[-1][1].candidate.id)
        return pairs

    def state(self) -> Json:
        """All that decides what comes."""
        return {
            "curriculum": self.curriculum.fingerprint(),
            "steps": self.steps,
            "proposed": self.proposed,
            "unscored": [[one.candidate.id, one.tries] for one in self.unscored],
            "waiting": [[one.number, one.candidate.id, one.tries] for one in self.waiting],
            "launched": [[one.number, one.due, one.parent.id, one.target, list(one.links)] for one in self.launched],
        }

    def _seed(self, name: str) -> Newcomer:
        candidate = self._seeds.candidate(name)
        return Newcomer(SEED, setting_of(self._seeds.root(candidate)), candidate)

    def _taken(self) -> set[str]:
        """What is held, waits, or is a seed on its way: no seed to draw."""
        coming = [one.parent.id for one in self.launched if not one.links]
        return {*self.curriculum.slots, *(one.candidate.id for one in self.waiting), *coming}

    def _first(self) -> list[str]:
        """The seeds that are scored first: of each setting in turn one, in an order of its own."""
        piles: defaultdict[str, list[str]] = defaultdict(list)
        names = self._seeds.names
        for name in self._tree.child("first").random().sample(names, len(names)):
            piles[self._seed(name).cell].append(name)
        turns = sorted((at, cell, name) for cell, pile in piles.items() for at, name in enumerate(pile))
        return [name for _, _, name in turns[: self._plan.config.seeds]]

    def _newcomers(self, groups: int) -> list[Newcomer]:
        if self.unscored:
            return self.unscored[:groups]
        some = self.waiting[: max(1, groups // SHARE)]
        return ([seed for _, seed in self.renewals()] + some)[:groups]

    def _known(self, step: int, count: int) -> list[Candidate]:
        """Problems of the curriculum; seeds while it holds none."""
        slots = self._ordered()
        if not slots:
            return self._uniform(step, count)
        if self._arm.selects:
            return [slot.candidate for slot in self.curriculum.draw(count)]
        rng = self._tree.child("uniform", self.steps).random()
        some = rng.sample(slots, min(count, len(slots)))
        return [slot.candidate for slot in some + rng.choices(slots, k=count - len(some))]

    def _uniform(self, step: int, count: int) -> list[Candidate]:
        rng, names = self._tree.child("uniform", step).random(), self._seeds.names
        some = rng.sample(names, min(count, len(names)))
        return [self._seeds.candidate(name) for name in some + rng.choices(names, k=count - len(some))]

    def _ordered(self) -> list[HeldProblem]:
        return [slot for _, slot in sorted(self.curriculum.slots.items())]

    def _scored(self, newcomers: Sequence[Newcomer], found: dict[str, tuple[int, int]]) -> list[Newcomer]:
        """Those that still have no score; the others are offered to their cell."""
        left = []
        for one in newcomers:
            if one.candidate.id not in found:
                left.append(one)
            elif found[one.candidate.id][1] < 2 and one.tries < TRIES - 1:
                left.append(replace(one, tries=one.tries + 1))
            else:
                self._offer(one, *found[one.candidate.id], out=self._oldest(one.cell))
        return left

    def _oldest(self, cell: str) -> str:
        """What leaves a full cell where nobody selects."""
        held = sorted((slot.born, name) for name, slot in self.curriculum.slots.items() if slot.cell == cell)
        full = not self._arm.selects and len(held) >= self.curriculum.config.cell_size
        return held[0][1] if full else ""

    def _offer(self, one: Newcomer, passed: int, known: int, out: str) -> None:
        before = set(self.curriculum.slots)
        event = Offered(one.number, one.cell, one.candidate, passed, known, one.depth, out)
        fate = self.curriculum.fold(event) or Fate.INVALID
        left = before - set(self.curriculum.slots)
        self.arrivals.append(Arrival(self.steps, one, passed, known, fate, next(iter(left), "")))

    def _come_in(self, made: dict[int, Mutation]) -> None:
        """What was due joins those that wait, or is lost."""
        for one in self.due():
            if not one.links:
                self.waiting.append(replace(self._seed(self._seeds.root(one.parent).problem_id), number=one.number))
                continue
            mutation = made[one.number]
            self.wasted.update(mutation.wasted)
            if mutation.lost:
                self.lost[mutation.lost] += 1
            else:
                candidate = self._seeds.mutant(one.parent, mutation)
                self.waiting.append(Newcomer(one.number, one.target, candidate, one.depth + 1))
        self.launched = [one for one in self.launched if one.due != self.steps]

    def _launch(self) -> None:
        """Begin the proposals of this step, unless no step is left that they could be trained on."""
        due = self.steps + self._plan.config.lag
        if self.unscored or not self.curriculum.slots or due + 1 >= self._plan.steps:
            return
        for _ in range(min(self._mutations.batch, max(1, self._plan.prompts // SHARE))):
            self.launched.append(self._drawn(self.proposed, due))
            self.proposed += 1

    def _drawn(self, number: int, due: int) -> Launched:
        rng, slots = self._tree.child("chance", number).random(), self._ordered()
        parent = self.curriculum.parent(number) if self._arm.selects else rng.choice(slots)
        target = self.curriculum.target(number) if self._arm.selects else rng.choice(list(SETTINGS))
        links = drawn_links(self._mutations, number, self._tree, self._seeds.links(parent.candidate))
        if links:
            return Launched(number, due, parent.candidate, parent.depth, target, links)
        taken = self._taken()
        every = [self._seeds.candidate(name) for name in self._seeds.names]
        seed = rng.choice([one for one in every if one.id not in taken] or every)
        return Launched(number, due, seed, 0, "", ())


def kept(one: Arrival) -> bool:
    """Whether a newcomer has come into the curriculum."""
    return one.fate in KEPT


def coevolution_steps(journal: Journal) -> ReportedSteps[CoevolutionStep]:
    """The reports of a run."""
    return ReportedSteps(journal, CoevolutionStep)
