"""The arms of `evosyn experiment coevolve`: where the problems of each step come from.

Without a curriculum they are seeds, by lot or half of them by learnability; with one they are what it draws, and after
each step mutants are made, tried by the policy and offered. DejaQ (2601.01931) sections 4.1 to 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import NamedTuple, TypeAlias

from evosyn.evolve.curriculum import (
    Curriculum,
    CurriculumConfig,
    Offered,
    Trained,
    learnability,
)
from evosyn.evolve.events import Fate
from evosyn.ports import GroupOutcome
from evosyn.randomness import SeedTree
from evosyn.records import Candidate
from evosyn.simulation.experiment.coevolve_mutations import FAULTLESS, MutatorErrors, ToyMutant, contested, mutate
from evosyn.simulation.experiment.coevolve_world import SETTINGS, StepsProblem, steps_of
from evosyn.synthesis.mutations.asking import DISTRACTOR, SETTING, SYMBOLIC
from evosyn.synthesis.mutations.mutator import MutationConfig, drawn_links

PROBES = 8
"""Completions by which a problem is tried before it is offered."""
SCORE_EVERY, SCORED = 10, 32
"""Steps between scorings of all seeds, and the seeds that half of a batch is then drawn from."""
LINKS = (SETTING, DISTRACTOR, SYMBOLIC)
ALIKE = (1, 2)
"""The outcome that every problem has where learnability is not to be seen: (passed, known)."""

Answers: TypeAlias = list[list[tuple[str, ...]]]
"""Of each problem, those of a group."""
Probe: TypeAlias = Callable[[Sequence[StepsProblem], int], Answers]
"""Answers of the policy as it is, so many to each problem."""


@dataclass(frozen=True)
class CoevolveArm:
    """
    Attributes:
        curriculum, mutations: None where problems are seeds alone.
        blind: nothing is chosen by learnability; a problem that comes in takes the place of the oldest of its setting.
        scored: seeds are drawn by learnability.
    """

    curriculum: CurriculumConfig | None = None
    mutations: MutationConfig = field(default_factory=MutationConfig)
    errors: MutatorErrors = MutatorErrors()  # noqa: RUF009 - immutable
    blind: bool = False
    scored: bool = False


DEJAQ = CurriculumConfig()
BLIND = CurriculumConfig(decay=1, alpha=1, depth_weight=1, ignore_top=0, refresh_every=0)
"""With outcomes that are all alike: parents, targets and batches are uniform."""
ARMS: Mapping[str, CoevolveArm] = {
    "dr": CoevolveArm(),
    "sfl": CoevolveArm(scored=True),
    "resample": CoevolveArm(DEJAQ, MutationConfig(resample=1)),
    "mutate-uniform": CoevolveArm(BLIND, blind=True),
    "dejaq-s": CoevolveArm(DEJAQ, MutationConfig(distractor=0, symbolic=0, both=0, plain=1)),
    "dejaq-a": CoevolveArm(DEJAQ),
    "dejaq-a-valid": CoevolveArm(DEJAQ, errors=FAULTLESS),
}


class TriedMutant(NamedTuple):
    """A mutant when it was offered.

    Attributes:
        passed, known: of its completions; 0 where it was not tried.
        invalid: its declared answer is wrong; the truth, which no arm sees.
        numbers, contested, program: what the free checks say against it.
    """

    step: int
    depth: int
    passed: int
    known: int
    invalid: bool
    numbers: bool
    contested: bool
    program: bool
    entered: bool


class NamedSteps(NamedTuple):
    """A problem of a batch under the name by which what it came to is reported."""

    name: str
    problem: StepsProblem


class SeedSource:
    """Seeds by lot, or half of a batch from those that can be learnt from.

    Attributes:
        mutants: none.
        completions: that scoring has cost so far.
    """

    mutants: Sequence[TriedMutant] = ()

    def __init__(self, arm: CoevolveArm, seeds: Sequence[StepsProblem], tree: SeedTree, probe: Probe) -> None:
        self._arm, self._seeds, self._tree, self._probe = arm, seeds, tree, probe
        self._best: list[int] = []
        self.completions = 0
        self._score(0)

    def batch(self, step: int, groups: int) -> list[NamedSteps]:
        rng, places = self._tree.child("batch", step).random(), range(len(self._seeds))
        chosen = rng.choices(self._best, k=groups // 2) if self._best else []
        chosen += rng.choices(places, k=groups - len(chosen))
        return [NamedSteps(str(at), self._seeds[at]) for at in chosen]

    def report(self, step: int, outcomes: Sequence[GroupOutcome]) -> None:  # noqa: ARG002
        self._score(step + 1)

    def figures(self) -> Mapping[str, float]:
        return {}

    def _score(self, step: int) -> None:
        if not self._arm.scored or step % SCORE_EVERY:
            return
        tried = self._probe(self._seeds, PROBES)
        scores = [learnability(*_outcome(one, each)) or 0.0 for one, each in zip(self._seeds, tried, strict=True)]
        self._best = sorted(range(len(scores)), key=lambda at: (-scores[at], at))[:SCORED]
        self.completions += PROBES * len(self._seeds)


class OfferedSteps(NamedTuple):
    """A problem on its way into the curriculum; `mutant` is None for a further seed."""

    number: int
    problem: StepsProblem
    depth: int = 0
    parent: str = ""
    out: str = ""
    mutant: ToyMutant | None = None


class CurriculumSource:
    """What a curriculum draws; after each step it is offered mutants and further seeds.

    Attributes:
        held: the curriculum.
        mutants: all so far.
        completions: that trying them has cost so far.
    """

    def __init__(self, arm: CoevolveArm, seeds: Sequence[StepsProblem], tree: SeedTree, probe: Probe) -> None:
        self._arm, self._seeds, self._tree, self._probe = arm, seeds, tree, probe
        self.held = Curriculum(arm.curriculum or DEJAQ, SETTINGS, tree.child("curriculum"))
        self.mutants: list[TriedMutant] = []
        self.completions = 0
        self._offer([OfferedSteps(-1, one) for one in seeds], -1)

    def batch(self, step: int, groups: int) -> list[NamedSteps]:  # noqa: ARG002 - the curriculum knows it
        slots = self.held.draw(groups)
        return [NamedSteps(slot.candidate.id, steps_of(slot.candidate.text)) for slot in slots]

    def report(self, step: int, outcomes: Sequence[GroupOutcome]) -> None:
        self.held.fold(Trained(() if self._arm.blind else tuple(outcomes)))
        count = self._arm.mutations.batch
        self._offer([*self._renewals(step), *[self._made(count * step + at) for at in range(count)]], step)

    def figures(self) -> Mapping[str, float]:
        """Of what is held: the share whose declared answer is wrong, which only we know; mutations behind it; score."""
        slots = list(self.held.slots.values())
        return {
            "invalid": fmean(ToyMutant(steps_of(slot.candidate.text)).invalid for slot in slots),
            "behind": fmean(slot.depth for slot in slots),
            "learnability": fmean(map(self.held.score, slots)),
        }

    def _made(self, number: int) -> OfferedSteps:
        tree = self._tree.child("mutation")
        links = drawn_links(self._arm.mutations, number, tree, LINKS)
        rng = tree.child("made", number).random()
        if not links:
            return OfferedSteps(number, rng.choice(self._seeds))
        parent, target = self.held.parent(number), self.held.target(number)
        mutant = mutate(steps_of(parent.candidate.text), links, target, self._arm.errors, rng)
        return OfferedSteps(number, mutant.problem, parent.depth + 1, parent.candidate.id, mutant=mutant)

    def _renewals(self, step: int) -> list[OfferedSteps]:
        """Seeds, of the same setting where there are any, for the problems that are due to leave."""
        rng, found = self._tree.child("renewal", step).random(), []
        for old in self.held.renewed():
            alike = [one for one in self._seeds if one.setting == old.cell] or self._seeds
            found.append(OfferedSteps(-1, rng.choice(alike), out=old.candidate.id))
        return found

    def _offer(self, offered: Sequence[OfferedSteps], step: int) -> None:
        """Have all tried at once, then offer them in order; what is blind to outcomes tries nothing."""
        blind = self._arm.blind
        tried: Answers = [[]] * len(offered) if blind else self._probe([one.problem for one in offered], PROBES)
        for one, answers in zip(offered, tried, strict=True):
            outcome, setting = _outcome(one.problem, answers), one.problem.setting
            parents = (one.parent,) if one.parent else ()
            made = Candidate(one.problem.to_text(), parents, "mutation" if one.mutant else "seed")
            out = self._oldest(setting) if blind and one.number >= 0 else one.out
            fate = self.held.fold(Offered(one.number, setting, made, *(ALIKE if blind else outcome), one.depth, out))
            self.completions += len(answers)
            if one.mutant is not None:
                popular = contested([one.problem.answered(signs) for signs in answers], one.problem.answer)
                said = (not one.mutant.numbers_kept, popular, one.mutant.program_differs)
                entered = fate in (Fate.NEW, Fate.IMPROVED)
                self.mutants.append(TriedMutant(step, one.depth, *outcome, one.mutant.invalid, *said, entered))

    def _oldest(self, cell: str) -> str:
        """Who leaves a full setting where learnability is not to be seen; "" where there is room."""
        slots = [slot for slot in self.held.slots.values() if slot.cell == cell]
        full = len(slots) >= self.held.config.cell_size
        return min(slots, key=lambda slot: (slot.born, slot.candidate.id)).candidate.id if full else ""


def source_of(
    arm: CoevolveArm, seeds: Sequence[StepsProblem], tree: SeedTree, probe: Probe
) -> SeedSource | CurriculumSource:
    """Where the problems of an arm come from; it has tried its seeds where it needs to."""
    kind: type[SeedSource | CurriculumSource] = SeedSource if arm.curriculum is None else CurriculumSource
    return kind(arm, seeds, tree, probe)


def _outcome(problem: StepsProblem, answers: Sequence[Sequence[str]]) -> tuple[int, int]:
    """(passed, known): our own table decides, so all are known."""
    return sum(map(problem.solved_by, answers)), len(answers)
